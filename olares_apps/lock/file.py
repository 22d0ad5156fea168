"""The lock file beside a spec: ``NAME.lock.yaml``, written by the tool, read strictly."""

from pathlib import Path, PurePath
from typing import Any, Final
from uuid import uuid4

from olares_apps.lock.errors import LockBroken
from olares_apps.lock.model import Lock

__all__ = ["SUFFIX", "dump_lock", "load_lock", "lock_path", "parse_lock", "write_lock"]

SUFFIX: Final = ".lock.yaml"
_HEADER: Final = (
    "# Written by `olapps lock`: facts about the files and images of the spec beside it.\n"
)
_LARGEST: Final = 4 * 2**20


def lock_path(spec: Path) -> Path:
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
    """Read a lock; raises LockBroken that names the first thing wrong and its place."""
    import yaml
    from pydantic import ValidationError

    try:
        raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise LockBroken(str(file), f"not YAML: {_one_line(error)}") from None
    if not isinstance(raw, dict):
        raise LockBroken(str(file), "a lock is a mapping")
    if raw.get("schema") != 1:
        raise LockBroken(str(file), f"schema {raw.get('schema')!r}, this version reads 1")
    try:
        return Lock.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise LockBroken(str(file), f"{place}: {first['msg']}") from None


def load_lock(spec: Path) -> Lock | None:
    """Return the lock beside a spec file, None when there is none; raises LockBroken."""
    path = lock_path(spec)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LockBroken(str(path), f"cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise LockBroken(str(path), f"has more than {_LARGEST} bytes")
    try:
        return parse_lock(data.decode("utf-8"), PurePath(path.name))
    except UnicodeDecodeError:
        raise LockBroken(str(path), "is not UTF-8 text") from None


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
    partial.replace(path)
    return True


def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes lists of numbers and names on one line: one entry per fact in a diff."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent_list(dumper: Dumper, data: list[Any]) -> Any:
        flow = all(isinstance(item, int | str) for item in data)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)

    Dumper.add_representer(list, represent_list)
    return Dumper


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
