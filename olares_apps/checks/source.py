"""Reading a chart to check from a folder or an archive that may hold anything.

Nothing outside is followed, sizes and counts are bounded, and what is wrong is kept as facts
for the archive rules instead of being raised, so that one look tells everything. Packing and
the strict way of unpacking are in ``render.archive``.
"""

import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from olares_apps.checks.listing import Entry, EntryKind, Fault, FaultKind, GzipFacts, Listing
from olares_apps.errors import UsageError
from olares_apps.render.archive import Limits

__all__ = ["LIMITS", "Source", "read_archive", "read_folder", "read_source"]

LIMITS: Final = Limits(archive=32 * 2**20, unpacked=64 * 2**20, files=2000)
"""What is read of a folder or archive at most; charts are a thousandth of it."""
_GZIP: Final = b"\x1f\x8b"
_NAME_FLAG: Final = 8
_EXTRA_FLAG: Final = 4
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Source:
    """A chart as it was found: its files by path inside the chart, and the listing."""

    files: dict[str, bytes]
    folder: str
    listing: Listing


@dataclass(slots=True)
class _Budget:
    """What may still be read, and what was found to be wrong."""

    limits: Limits
    entries: list[Entry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    size: int = 0

    def takes(self, amount: int) -> bool:
        """Count ``amount`` bytes of one more file; say whether it may still be read."""
        if self.size + amount > self.limits.unpacked:
            self.fault(FaultKind.SIZE, f"holds more than {self.limits.unpacked} bytes")
            return False
        self.size += amount
        return True

    def counts(self) -> bool:
        """Say whether one more entry may be listed."""
        if len(self.entries) >= self.limits.files:
            most = self.limits.files
            self.fault(FaultKind.SIZE, f"holds more than {most} entries; the rest was not read")
            return False
        return True

    def fault(self, kind: FaultKind, message: str, *, loses: bool = True) -> None:
        """Keep a fault once; one of the packing that follows from another is none of its own."""
        fault = Fault(kind, message, loses)
        follows = kind is FaultKind.PACKING and any(known.loses for known in self.faults)
        if fault not in self.faults and not follows:
            self.faults.append(fault)


def read_source(path: Path, *, limits: Limits = LIMITS) -> Source:
    """Return the chart at ``path``, a folder or an archive.

    Raises UsageError when there is neither, or when nothing in it looks like a chart.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path} cannot be read: {reason}") from error
    if stat.S_ISDIR(mode):
        source = read_folder(path, limits=limits)
        if not any(PurePosixPath(name).name in _CHART_FILES for name in source.files):
            raise UsageError(
                f"{path} is no chart: it holds neither Chart.yaml nor OlaresManifest.yaml",
                hint="name the folder that holds Chart.yaml, or a .tgz",
            )
        return source
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is neither a folder nor a file")
    with path.open("rb") as file:
        data = file.read(limits.archive + 1)
    return read_archive(data, path.name, limits=limits)


_CHART_FILES: Final = ("Chart.yaml", "OlaresManifest.yaml")


def read_folder(root: Path, *, limits: Limits = LIMITS) -> Source:
    """Return the chart in a folder; links are followed only inside it.

    Raises UsageError when the folder itself cannot be listed.
    """
    budget = _Budget(limits)
    files: dict[str, bytes] = {}
    try:
        top = root.resolve(strict=True)
        for path in _walk(top, budget):
            _read_entry(top, path, budget, files)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{root} cannot be read: {error}") from error
    listing = Listing(
        name=top.name,
        is_archive=False,
        entries=tuple(budget.entries),
        faults=tuple(budget.faults),
    )
    return Source(files, top.name, listing)


def _walk(top: Path, budget: _Budget) -> Iterator[Path]:
    """Yield every path below a folder in order, without entering links; stop at the limit."""
    stack = [top]
    while stack:
        folder = stack.pop()
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except OSError as error:
            shown = folder.relative_to(top)
            budget.fault(FaultKind.CONTENT, f"{shown} cannot be read: {error.strerror}")
            continue
        for name in names:
            if not budget.counts():
                return
            path = folder / name
            yield path
            if path.is_dir() and not path.is_symlink():
                stack.append(path)


def _read_entry(top: Path, path: Path, budget: _Budget, files: dict[str, bytes]) -> None:
    name = _plain_name(path.relative_to(top).as_posix(), budget)
    facts = path.lstat()
    mode = stat.S_IMODE(facts.st_mode)
    if stat.S_ISLNK(facts.st_mode):
        target = str(path.readlink())
        real = Path(os.path.realpath(path))
        inside = real.is_relative_to(top) and real.exists()
        budget.entries.append(Entry(name, EntryKind.LINK, mode, target=target, leaves=not inside))
        if inside and real.is_file():
            _read_file(real, name, budget, files)
    elif stat.S_ISDIR(facts.st_mode):
        budget.entries.append(Entry(name, EntryKind.FOLDER, mode))
    elif stat.S_ISREG(facts.st_mode):
        budget.entries.append(Entry(name, EntryKind.FILE, mode, facts.st_size))
        _read_file(path, name, budget, files)
    else:
        budget.entries.append(Entry(name, EntryKind.OTHER, mode))


def _read_file(path: Path, name: str, budget: _Budget, files: dict[str, bytes]) -> None:
    try:
        size = path.stat().st_size
        if budget.takes(size):
            with path.open("rb") as file:
                files[name] = file.read(budget.limits.unpacked)
    except OSError as error:
        budget.fault(FaultKind.CONTENT, f"{name} cannot be read: {error.strerror}")


def _plain_name(name: str, budget: _Budget) -> str:
    """Return a file name that can be printed; names that are not UTF-8 are a fault."""
    try:
        name.encode()
    except UnicodeEncodeError:
        name = name.encode("utf-8", "replace").decode()
        budget.fault(FaultKind.CONTENT, f"the name {name} is not UTF-8", loses=False)
    return name


# Archives


def read_archive(data: bytes, name: str, *, limits: Limits = LIMITS) -> Source:
    """Return the chart in an archive; ``name`` is its file name."""
    budget = _Budget(limits)
    files: dict[str, bytes] = {}
    gzip = GzipFacts()
    if len(data) > limits.archive:
        budget.fault(FaultKind.SIZE, f"is larger than {limits.archive} bytes and was not read")
    elif not data:
        budget.fault(FaultKind.PACKING, "is empty")
    elif data[:2] != _GZIP:
        is_tar = tarfile.is_tarfile(io.BytesIO(data))
        shown = (
            "a bare tar without gzip" if is_tar else f"not gzip, it begins with {data[:4].hex(' ')}"
        )
        budget.fault(FaultKind.PACKING, f"is {shown}", loses=not is_tar)
        if is_tar:
            _read_tar(data, budget, files)
    else:
        gzip = _gzip_facts(data)
        _read_tar(_gunzip(data, budget), budget, files)
    if not files and not budget.faults:
        budget.fault(FaultKind.PACKING, "is an archive without a file")
    roots = tuple(sorted({path.partition("/")[0] for path in files if "/" in path}))
    root = _chart_root(files, roots)
    inside = {
        path.removeprefix(f"{root}/"): content
        for path, content in files.items()
        if not root or path.startswith(f"{root}/")
    }
    listing = Listing(
        name=name,
        is_archive=True,
        size=len(data),
        sha256=sha256(data).hexdigest(),
        roots=roots,
        entries=tuple(budget.entries),
        faults=tuple(budget.faults),
        gzip=gzip,
    )
    return Source(inside, root, listing)


def _chart_root(files: dict[str, bytes], roots: tuple[str, ...]) -> str:
    """Return the folder that holds the chart: the shallowest with a Chart.yaml.

    Without any it is the one top folder; empty for a chart that lies loose in the archive.
    """
    folders = (path.rpartition("/") for path in files)
    found = [folder for folder, _, name in folders if name == "Chart.yaml"]
    if found:
        return min(found, key=lambda folder: (folder.count("/") if folder else -1, folder))
    return roots[0] if len(roots) == 1 else ""


def _gunzip(data: bytes, budget: _Budget) -> bytes:
    """Return the unpacked bytes, as many as the limit allows."""
    limit = budget.limits.unpacked
    reader = zlib.decompressobj(wbits=31)
    try:
        tar = reader.decompress(data, limit + 1)
    except zlib.error as error:
        budget.fault(FaultKind.PACKING, f"is damaged gzip: {error}")
        return b""
    if len(tar) > limit:
        budget.fault(FaultKind.SIZE, f"unpacks to more than {limit} bytes; the rest was not read")
        return tar[:limit]
    if not reader.eof:
        budget.fault(FaultKind.PACKING, "is truncated")
    elif reader.unused_data:
        trailing = f"holds {len(reader.unused_data)} bytes after its gzip data"
        budget.fault(FaultKind.PACKING, trailing, loses=False)
    return _gunzip_again(tar, budget) if tar[:2] == _GZIP else tar


def _gunzip_again(data: bytes, budget: _Budget) -> bytes:
    """Return what a second gzip layer holds."""
    inner = zlib.decompressobj(wbits=31)
    try:
        tar = inner.decompress(data, budget.limits.unpacked)
    except zlib.error:
        tar = b""
    message = "is not a tar: gzip inside gzip"
    budget.fault(FaultKind.PACKING, message, loses=not inner.eof)
    return tar


def _gzip_facts(data: bytes) -> GzipFacts:
    """Return what the gzip header holds beside the data."""
    flags, mtime = data[3] if len(data) > 3 else 0, int.from_bytes(data[4:8], "little")
    if not flags & _NAME_FLAG or flags & _EXTRA_FLAG:
        return GzipFacts("", mtime)
    raw = data[10 : 10 + _LONGEST_NAME].split(b"\0", 1)[0]
    return GzipFacts(raw.decode("latin-1"), mtime)


def _read_tar(tar: bytes, budget: _Budget, files: dict[str, bytes]) -> None:
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            for entry in archive:
                if not budget.counts():
                    return
                _read_member(archive, entry, budget, files)
            # The reader ends without a word where a header is cut or is none.
            end = archive.offset
            if tar[end : end + tarfile.BLOCKSIZE] != bytes(tarfile.BLOCKSIZE):
                budget.fault(FaultKind.PACKING, "is truncated: its tar has no end")
    except (tarfile.TarError, ValueError, EOFError, OSError, OverflowError) as error:
        budget.fault(FaultKind.PACKING, f"is not a tar archive: {error}")


def _read_member(
    archive: tarfile.TarFile, entry: tarfile.TarInfo, budget: _Budget, files: dict[str, bytes]
) -> None:
    name = _plain_name(entry.name, budget).removeprefix("./") or "."
    kind = _kind(entry)
    unsafe = _is_unsafe(name)
    mtime = int(entry.mtime) if 0 <= entry.mtime < 2**40 else 0
    budget.entries.append(
        Entry(name, kind, entry.mode & 0o7777, entry.size, entry.linkname[:200], unsafe, mtime)
    )
    if kind is not EntryKind.FILE or unsafe:
        return
    if entry.size < 0:
        budget.fault(FaultKind.CONTENT, f"states a size below zero for {name}")
        return
    if name in files:
        budget.fault(FaultKind.CONTENT, f"holds {name} twice", loses=False)
    if not budget.takes(entry.size):
        return
    stream = archive.extractfile(entry)
    content = stream.read(entry.size) if stream else b""
    if len(content) != entry.size:
        budget.fault(FaultKind.PACKING, f"is truncated inside {name}")
    files[name] = content


def _kind(entry: tarfile.TarInfo) -> EntryKind:
    if entry.issym() or entry.islnk():
        return EntryKind.LINK
    if entry.isdir():
        return EntryKind.FOLDER
    return EntryKind.FILE if entry.isreg() and not entry.issparse() else EntryKind.OTHER


def _is_unsafe(name: str) -> bool:
    parts = name.removesuffix("/").split("/")
    return (
        name.startswith("/")
        or "\\" in name
        or bool({"", ".", ".."} & set(parts[1:]))
        or (parts[0] in ("", ".."))
    )
