"""Model files: from what a spec names to what lies on a device.

A file lies at ``/models/<owner>--<name>/<revision>/<stored path>``. The repository and the
revision are part of the path because repositories share file names: an MTP build and a plain
build of one model do, and a folder without them would serve the wrong one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from olares_apps.engines.base import MODEL_FOLDER, StoredFile
from olares_apps.errors import RenderError
from olares_apps.spec.models import ModelFile

__all__ = ["about_bytes", "stored_files"]

# A split GGUF: <name>-00001-of-00003.gguf; the server is given the first part.
_PART: Final = re.compile(r"(?P<stem>.+-)(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
# The largest models have some dozens; one variable of a process holds 128 KiB at most.
_MOST_PARTS: Final = 200
# The download script's row separator, and the endings of its own files.
_SEPARATOR: Final = "|"
_RESERVED: Final = (".part", ".part.info", ".ok", ".ok.new", ".lock")


def about_bytes(file: ModelFile) -> int | None:
    """Return the best known size of a spec's file in bytes: the exact one, else the stated one.

    For a split GGUF the stated size is that of all parts.
    """
    if file.size is not None:
        return file.size
    return None if file.size_gb is None else round(file.size_gb * 10**9)


def stored_files(files: Sequence[ModelFile]) -> tuple[StoredFile, ...]:
    """Return where every file of a spec lies, all parts of split files included.

    Raises RenderError when two files would lie in one place or a name cannot be stored.
    """
    seen: dict[str, StoredFile] = {}
    for index, file in enumerate(files):
        for item in _parts(file, f"model.files.{index}"):
            if item.path in seen:
                raise RenderError(
                    f"model files {seen[item.path].remote} and {item.remote} of {item.repo} would "
                    f"both be stored as {item.path}",
                    field=f"model.files.{index}",
                    hint="give one of them another name with stored_as",
                )
            seen[item.path] = item
    return tuple(seen.values())


def _parts(file: ModelFile, field: str) -> Iterator[StoredFile]:
    """Yield the stored files of one entry; ``field`` is its place in the spec."""
    target = file.stored_as or file.file
    found, kept = _PART.fullmatch(file.file), _PART.fullmatch(target)
    if not found:
        yield _stored(file, field, file.file, target, first=True)
        return
    if not kept or kept["number"] != found["number"] or kept["count"] != found["count"]:
        raise RenderError(
            f"stored_as {target} must end like {file.file}: the server finds the other parts of a "
            "split model by that ending",
            field=f"{field}.stored_as",
        )
    if int(found["number"]) != 1:
        raise RenderError(
            f"{file.file} is part {int(found['number'])} of {int(found['count'])}",
            field=f"{field}.file",
            hint=f"name the first part, {found['stem']}00001-of-{found['count']}.gguf; the others "
            "follow from it",
        )
    if int(found["count"]) > _MOST_PARTS:
        raise RenderError(
            f"{file.file} has {int(found['count'])} parts, limit {_MOST_PARTS}",
            field=f"{field}.file",
            hint="the list of files goes to the download in one variable, which has a size limit",
        )
    for number in range(1, int(found["count"]) + 1):
        ending = f"{number:05}-of-{found['count']}.gguf"
        yield _stored(file, field, found["stem"] + ending, kept["stem"] + ending, first=number == 1)


def _stored(file: ModelFile, field: str, remote: str, target: str, *, first: bool) -> StoredFile:
    if _SEPARATOR in remote + target:
        raise RenderError(
            f"model file {remote!r} holds '|', which the download cannot handle", field=field
        )
    if target.endswith(_RESERVED):
        raise RenderError(
            f"model file {target} has an ending that the download keeps for itself",
            field=field,
            hint="give it another name with stored_as",
        )
    folder = f"{file.repo.replace('/', '--')}/{file.revision.replace('/', '--')}"
    return StoredFile(
        role=file.role,
        repo=file.repo,
        revision=file.revision,
        remote=remote,
        folder=folder,
        path=f"{MODEL_FOLDER}/{folder}/{target}",
        size=file.size if first else None,
        sha256=file.sha256 if first else None,
        about=about_bytes(file) if first else 0,
    )
