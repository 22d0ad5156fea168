"""Archives: the same bytes everywhere, and nothing unsafe comes out of one."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.helm_binary import helm_params, run_helm

from olares_apps.errors import ArchiveError
from olares_apps.render.archive import MAX_ARCHIVE_BYTES, Limits, pack, unpack
from olares_apps.render.chart import ChartTree

REPOSITORY = Path(__file__).parents[2]
FILES = {
    "values.yaml": b"a: 1\n",
    "templates/config.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo}\n",
    "Chart.yaml": b"apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    "OlaresManifest.yaml": "title: Démo 🔥\n".encode(),
}


def tree(files: dict[str, bytes] | None = None) -> ChartTree:
    return ChartTree("demo", "1.0.0", "olares-1.12.6", FILES if files is None else files)


def entry(name: str, data: bytes = b"", **attributes: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info, data


def tgz(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


GOOD = entry("demo/Chart.yaml", b"name: demo\n")


def test_an_archive_names_its_content_and_opens_again() -> None:
    archive = pack(tree())
    assert archive.name == "demo-1.0.0.tgz"
    assert archive.sha256 == sha256(archive.data).hexdigest()
    assert archive.tar_sha256 == sha256(gzip.decompress(archive.data)).hexdigest()
    opened = unpack(archive.data)
    assert (opened.root, dict(opened.files)) == ("demo", FILES)


def test_entries_are_plain_neutral_files_with_chart_yaml_first() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack(tree()).data)) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == [
        "demo/Chart.yaml",
        "demo/OlaresManifest.yaml",
        "demo/templates/config.yaml",
        "demo/values.yaml",
    ]
    facts = {(m.mode, m.uid, m.gid, m.uname, m.gname, m.mtime, m.type) for m in members}
    assert facts == {(0o644, 0, 0, "", "", 0, tarfile.REGTYPE)}


def test_the_gzip_header_holds_neither_name_nor_time() -> None:
    assert pack(tree()).data[:9].hex() == "1f8b08000000000000"


@given(st.permutations(sorted(FILES)))
@settings(max_examples=20)
def test_the_order_of_files_does_not_matter(order: list[str]) -> None:
    assert pack(tree({path: FILES[path] for path in order})).data == pack(tree()).data


PACK = """
import json, sys
from olares_apps.render.archive import pack
from olares_apps.render.chart import ChartTree
files = {path: text.encode() for path, text in json.load(sys.stdin).items()}
archive = pack(ChartTree("demo", "1.0.0", "g", files))
print(archive.sha256, archive.tar_sha256)
"""


def pack_with(python: Path | str, **environment: str) -> str:
    """Pack in another process; the package's archive code needs nothing but the stdlib."""
    text = json.dumps({path: data.decode() for path, data in reversed(FILES.items())})
    result = subprocess.run(
        ["sh", "-c", 'umask 077; exec "$@"', "sh", str(python), "-c", PACK],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)} | environment,
        check=True,
    )
    return result.stdout.strip()


def expected_digests() -> str:
    archive = pack(tree())
    return f"{archive.sha256} {archive.tar_sha256}"


def test_time_zone_locale_umask_and_hash_seed_do_not_matter() -> None:
    odd = {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "77"}
    assert pack_with(sys.executable, **odd) == expected_digests()


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_every_supported_python_gives_the_same_bytes(minor: int) -> None:
    versions = sorted((Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python"))
    if not versions:
        pytest.skip(f"no Python 3.{minor} is installed here")
    assert pack_with(versions[-1]) == expected_digests()


@pytest.mark.parametrize("helm", helm_params())
def test_helm_reads_an_archive_like_a_folder(helm: Path, tmp_path: Path) -> None:
    archive = pack(tree())
    (tmp_path / archive.name).write_bytes(archive.data)
    output = run_helm(helm, "template", "x", str(tmp_path / archive.name))
    assert "# Source: demo/templates/config.yaml" in output


def test_an_archive_over_one_mebibyte_is_refused_with_the_largest_file() -> None:
    noise = os.urandom(MAX_ARCHIVE_BYTES)
    with pytest.raises(ArchiveError, match="limit 1048576") as caught:
        pack(tree({**FILES, "templates/big.yaml": noise}))
    assert "templates/big.yaml" in str(caught.value.hint)


def gzip_twice() -> bytes:
    return gzip.compress(pack(tree()).data)


def bomb() -> bytes:
    return tgz(GOOD, entry("demo/zeros", bytes(40 * 2**20)))


UNSAFE: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "is empty"),
    "an error page": (lambda: b"<!DOCTYPE html><html>", "not gzip data"),
    "a bare tar": (lambda: gzip.decompress(pack(tree()).data), "not gzip data"),
    "gzip inside gzip": (gzip_twice, "gzip inside gzip"),
    "gzip of text": (lambda: gzip.compress(b"hello" * 400), "not a tar"),
    "a cut download": (lambda: pack(tree()).data[:-20], "truncated"),
    "a flipped byte": (lambda: flip(pack(tree()).data, 200), "damaged|truncated"),
    "data after the end": (lambda: pack(tree()).data + b"tail", "4 bytes after"),
    "a second member": (lambda: pack(tree()).data * 2, "bytes after"),
    "a bomb": (bomb, "unpacks to more than"),
    "too many files": (lambda: tgz(*[entry(f"demo/{n}") for n in range(1100)]), "more than 1000"),
    "a parent path": (lambda: tgz(GOOD, entry("demo/../evil", b"x")), r"unsafe path 'demo/\.\."),
    "an absolute path": (lambda: tgz(GOOD, entry("/etc/evil", b"x")), "unsafe path '/etc/evil'"),
    "a dotted path": (lambda: tgz(entry("./demo/Chart.yaml", b"x")), r"unsafe path '\./demo"),
    "a backslash": (lambda: tgz(GOOD, entry("demo\\evil", b"x")), "unsafe path"),
    "a symbolic link": (
        lambda: tgz(GOOD, entry("demo/x", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
        "link demo/x -> /etc/passwd",
    ),
    "a hard link": (
        lambda: tgz(GOOD, entry("demo/x", type=tarfile.LNKTYPE, linkname="demo/Chart.yaml")),
        "link demo/x -> demo/Chart.yaml",
    ),
    "a device": (lambda: tgz(GOOD, entry("demo/x", type=tarfile.CHRTYPE)), "not a plain file"),
    "a duplicate": (lambda: tgz(GOOD, GOOD), "demo/Chart.yaml twice"),
    "two roots": (
        lambda: tgz(GOOD, entry("other/x", b"x")),
        "one top folder, it holds demo, other",
    ),
    "no root": (lambda: tgz(entry("Chart.yaml", b"x")), "one top folder"),
    "no file": (lambda: tgz(entry("demo/", type=tarfile.DIRTYPE)), "one top folder"),
    "too large itself": (lambda: b"\x1f\x8b" + bytes(MAX_ARCHIVE_BYTES), "limit 1048576"),
}


def flip(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


@pytest.mark.parametrize(("build", "reason"), UNSAFE.values(), ids=UNSAFE.keys())
def test_an_archive_that_cannot_be_trusted_is_refused(
    build: Callable[[], bytes], reason: str
) -> None:
    with pytest.raises(ArchiveError, match=reason) as caught:
        unpack(build(), name="demo-1.0.0.tgz")
    assert str(caught.value).startswith("demo-1.0.0.tgz ")


def test_a_sparse_entry_cannot_claim_more_than_there_is() -> None:
    sparse = entry("demo/x", b"x" * 512, type=tarfile.GNUTYPE_SPARSE)
    with pytest.raises(ArchiveError):
        unpack(tgz(GOOD, sparse))


def test_folder_entries_of_other_packers_are_accepted() -> None:
    data = tgz(entry("demo", type=tarfile.DIRTYPE), GOOD)
    assert unpack(data).files == {"Chart.yaml": b"name: demo\n"}


@given(st.integers(0, 400), st.binary(min_size=1, max_size=40))
@settings(max_examples=150)
def test_damage_anywhere_is_an_error_and_never_a_crash(position: int, noise: bytes) -> None:
    data = pack(tree()).data
    position %= len(data)
    damaged = data[:position] + noise + data[position + len(noise) :]
    opened = None
    with suppress(ArchiveError):
        opened = unpack(damaged, limits=Limits(unpacked=2**20))
    assert opened is None or dict(opened.files) == FILES
