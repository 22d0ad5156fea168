"""From a spec and its lock to the spec that is rendered: exact sizes, digests and commits."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from olares_apps.engines.base import StoredFile
from olares_apps.lock.errors import Contradiction
from olares_apps.lock.model import Lock, LockedFile, LockedRepo
from olares_apps.spec.models import AppSpec, ModelFile, ModelRepo

__all__ = ["apply_lock", "contradictions", "exact_files", "is_commit"]

# A stated size in GB is rounded by hand; GB taken for GiB, a common mistake, is 7 % off.
_SIZE_TOLERANCE: Final = 0.02


def is_commit(revision: str) -> bool:
    """Return whether a revision is a full commit, which stands for itself for ever."""
    return len(revision) in (40, 64) and all(letter in "0123456789abcdef" for letter in revision)


def contradictions(spec: AppSpec[Any], lock: Lock) -> Iterator[Contradiction]:
    """Yield what the spec states and the lock denies: size, sha256, commit."""
    for index, file in enumerate(spec.model.files):
        locked = lock.file(file.repo, file.file)
        if locked is not None and locked.requested == file.revision:
            yield from _file_contradictions(f"model.files.{index}", file, locked)
    for index, item in enumerate(spec.model.repos):
        known = lock.repo(item.repo)
        if known is not None and known.requested == item.revision:
            yield from _repo_contradictions(f"model.repos.{index}", item, known)


def _file_contradictions(
    field: str, file: ModelFile, locked: LockedFile
) -> Iterator[Contradiction]:
    where = f"{locked.repo} at {locked.commit[:12]}"
    first = locked.parts[0]
    if is_commit(file.revision) and file.revision != locked.commit:
        yield Contradiction(f"{field}.revision", file.revision, locked.commit, where)
    if file.size is not None and file.size not in (first.size, locked.size):
        yield Contradiction(f"{field}.size", f"{file.size} bytes", f"{first.size} bytes", where)
    if file.sha256 is not None and first.sha256 not in (None, file.sha256):
        yield Contradiction(f"{field}.sha256", file.sha256, first.sha256, where)
    if file.size_gb is not None:
        actual = locked.size / 10**9
        if not _is_about(file.size_gb, locked.size):
            yield Contradiction(f"{field}.size_gb", f"{file.size_gb} GB", f"{actual:.2f} GB", where)


def _repo_contradictions(field: str, item: ModelRepo, known: LockedRepo) -> Iterator[Contradiction]:
    where = f"{known.repo} at {known.commit[:12]}"
    if is_commit(item.revision) and item.revision != known.commit:
        yield Contradiction(f"{field}.revision", item.revision, known.commit, where)
    # People state the weights, or everything that is downloaded.
    sizes = [known.size, *([known.checkpoint.weight_bytes] if known.checkpoint else [])]
    if item.size_gb is not None and not any(_is_about(item.size_gb, size) for size in sizes):
        stated, actual = f"{item.size_gb} GB", f"{known.size / 10**9:.2f} GB"
        yield Contradiction(f"{field}.size_gb", stated, actual, where)


def _is_about(gigabytes: float, size: int) -> bool:
    return abs(size / 10**9 - gigabytes) <= max(gigabytes * _SIZE_TOLERANCE, 0.06)


def apply_lock(spec: AppSpec[Any], lock: Lock | None) -> AppSpec[Any]:
    """Return the spec with what the lock knows: commit, size and sha256 of every file.

    Of a repository that the server downloads, commit and size. What is not locked, or locked
    for another revision, stays as it is. Of a split model the total goes into ``size_gb``;
    :func:`exact_files` has the parts.

    Raises Contradiction when the spec states something else.
    """
    if lock is None:
        return spec
    for found in contradictions(spec, lock):
        raise found
    files = [_locked(file, lock) for file in spec.model.files]
    repos = [_locked_repo(item, lock) for item in spec.model.repos]
    if files == spec.model.files and repos == spec.model.repos:
        return spec
    model = spec.model.model_copy(update={"files": files, "repos": repos})
    return spec.model_copy(update={"model": model})


def _locked_repo(item: ModelRepo, lock: Lock) -> ModelRepo:
    known = lock.repo(item.repo)
    if known is None or known.requested != item.revision or not known.size:
        return item
    return item.model_copy(update={"revision": known.commit, "size_gb": known.size / 10**9})


def _locked(file: ModelFile, lock: Lock) -> ModelFile:
    locked = lock.file(file.repo, file.file)
    if locked is None or locked.requested != file.revision:
        return file
    update: dict[str, Any] = {"revision": locked.commit}
    if len(locked.parts) == 1:
        update |= {"size": locked.size, "sha256": locked.parts[0].sha256 or file.sha256}
    else:
        update |= {"size": None, "sha256": None, "size_gb": locked.size / 10**9}
    return file.model_copy(update=update)


def exact_files(files: Sequence[StoredFile], lock: Lock | None) -> tuple[StoredFile, ...]:
    """Return stored files with the size and digest of each part, where the lock has them.

    ``about`` stays a figure of the whole model on its first part, as budgets expect it.
    """
    if lock is None:
        return tuple(files)
    parts = lock.parts()
    exact: list[StoredFile] = []
    for file in files:
        locked, part = parts.get((file.repo, file.remote), (None, None))
        if locked is None or part is None or locked.commit != file.revision:
            exact.append(file)
            continue
        about = locked.size if part == locked.parts[0] else 0
        exact.append(replace(file, size=part.size, sha256=part.sha256 or file.sha256, about=about))
    return tuple(exact)
