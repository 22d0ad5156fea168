"""The lock file beside a spec: ``NAME.lock.yaml``, written by the tool, read strictly."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final, TypeVar
from uuid import uuid4

from pydantic import ValidationError

from olares_apps.errors import Problem, SpecError
from olares_apps.lock.errors import LockBroken
from olares_apps.lock.model import SCHEMA, Lock
from olares_apps.spec.positions import Positions
from olares_apps.spec.translate import problems_of
from olares_apps.spec.yaml_source import MAX_BYTES, decode, read_mapping, unify_line_ends

__all__ = ["SUFFIX", "dump_lock", "load_lock", "lock_path", "parse_lock", "write_lock"]

SUFFIX: Final = ".lock.yaml"
_HEADER: Final = (
    "# Written by `olapps lock`: facts about the files and images of the spec beside it.\n"
)
_DEAD_AFTER: Final = 3600.0
"""Seconds."""
_NUMBER_STARTS: Final = frozenset("+-.0123456789")

AnyPath = TypeVar("AnyPath", bound=PurePath)


def lock_path(spec: AnyPath) -> AnyPath:
    """Return where the lock of a spec file lies."""
    return spec.with_name(spec.name.removesuffix(".yaml") + SUFFIX)


def dump_lock(lock: Lock) -> str:
    """Return a lock as YAML: the same lock gives the same text, fields in a fixed order."""
    import yaml

    plain = lock.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _HEADER + yaml.dump(
        plain, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=100
    )


def parse_lock(text: str, file: PurePath) -> Lock:
    """Read a lock; raises LockBroken with every problem of the file and its line."""
    try:
        data = read_mapping(text, file)
    except SpecError as error:
        raise _broken(error) from None
    positions = Positions(text, file)
    if data.get("schema") != SCHEMA:
        found = f"is {data['schema']!r}" if "schema" in data else "is missing"
        line = positions.nearest(("schema",)).line
        message = f"{found}, this version reads {SCHEMA}"
        raise LockBroken([Problem(message, file, line, field="schema")])
    try:
        return Lock.model_validate(data)
    except ValidationError as error:
        raise LockBroken(problems_of(error, data, positions, file, Lock)) from None


def load_lock(spec: Path, *, shown: PurePath | None = None) -> Lock | None:
    """Return the lock beside a spec file, None when there is none; raises LockBroken.

    ``shown`` is the spec's path for messages, by default its name.
    """
    path = lock_path(spec)
    file = lock_path(shown or PurePath(spec.name))
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LockBroken([Problem(f"cannot be read: {error.strerror}", file)]) from None
    try:
        return parse_lock(unify_line_ends(decode(data, file)), file)
    except LockBroken:
        raise
    except SpecError as error:
        raise _broken(error) from None


def write_lock(spec: Path, lock: Lock) -> bool:
    """Write the lock beside a spec file when its text differs; returns whether it did.

    The file is replaced in one step: a reader sees the old lock or the new one.
    """
    path = lock_path(spec)
    data = dump_lock(lock).encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return False
    partial = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    partial.write_bytes(data)
    _clear_leftovers(path, partial)
    partial.replace(path)
    return True


def _clear_leftovers(path: Path, partial: Path) -> None:
    """Remove what writers that died left beside a lock; a living one needs no hour."""
    now = partial.stat().st_mtime
    for other in path.parent.glob(f".{path.name}.*"):
        with suppress(OSError):
            if now - other.stat().st_mtime > _DEAD_AFTER:
                other.unlink()


def _broken(error: SpecError) -> LockBroken:
    """Return what the reader of specs found; its hints are about specs."""
    return LockBroken([replace(problem, hint=None) for problem in error.problems])


def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes lists of numbers and names on one line: one entry per fact in a diff."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent_list(dumper: Dumper, data: list[Any]) -> Any:
        flow = all(isinstance(item, int | str) for item in data)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)

    def represent_text(dumper: Dumper, text: str) -> Any:
        # A commit such as 12e4... is a number to readers of YAML 1.2.
        style = "'" if text[:1] in _NUMBER_STARTS else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(list, represent_list)
    Dumper.add_representer(str, represent_text)
    return Dumper
