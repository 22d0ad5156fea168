"""From the names in a spec to facts: what is missing in a lock is fetched, several at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.pool import AsyncResult, ThreadPool
from threading import Lock as Mutex
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import ValidationError

from olares_apps.errors import FetchError, OlappsError, UsageError
from olares_apps.fit.gguf_shards import shard_names
from olares_apps.fit.model_check import require_model
from olares_apps.lock.apply import contradictions, is_commit
from olares_apps.lock.checkpoint import checkpoint_of, download_size, is_checkpoint
from olares_apps.lock.errors import HubFailed, LaterPart, Offline, RegistryFailed
from olares_apps.lock.hub import Hub, RepoFacts
from olares_apps.lock.model import (
    FilePart,
    Lock,
    LockedFile,
    LockedImage,
    LockedRepo,
    Origin,
    Platform,
)
from olares_apps.lock.registry import ImageFacts, Registry
from olares_apps.lock.wanted import WantedImage
from olares_apps.spec.models import AppSpec, ModelAlternative, ModelFile, ModelRepo

__all__ = [
    "Fault",
    "Gatherer",
    "Update",
    "plausible",
    "update_locks",
]

Key = TypeVar("Key")
Facts = TypeVar("Facts")

Entry: TypeAlias = LockedFile | LockedImage | LockedRepo

_THREADS: Final = 6


@dataclass(frozen=True, slots=True)
class Fault:
    """One fact that could not be had, or that denies the spec; ``field`` is a path of the spec."""

    field: str
    error: OlappsError


@dataclass(frozen=True, slots=True)
class Update:
    """What became of one spec's lock: ``lock`` is the new one, complete unless there are faults.

    ``fetched`` names what was asked for, ``kept`` counts what was known already. ``read`` is
    how many bytes of each model file were fetched, for those of which any were. ``missing``
    maps images that the chart adds to why they are not pinned.
    """

    lock: Lock
    fetched: tuple[str, ...]
    kept: int
    faults: tuple[Fault, ...]
    read: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, OlappsError] = field(default_factory=dict)


@dataclass
class Gatherer:
    """Fetches single facts. ``now`` returns the time as the lock writes it."""

    hub: Hub
    registry: Registry
    now: Callable[[], str]
    _repos: dict[tuple[str, str], Future[RepoFacts]] = field(default_factory=dict)
    _images: dict[str, Future[ImageFacts]] = field(default_factory=dict)
    _guard: Mutex = field(default_factory=Mutex)

    def file(self, file: ModelFile, revision: str) -> LockedFile:
        """Return the facts of a model file at ``revision``; a stated commit may do offline.

        Raises LaterPart, FactsError for a target whose header describes no model, and what hub
        and registry raise.
        """
        first = shard_names(file.file)[0]
        if first != file.file:
            raise LaterPart(file.file, first)
        try:
            facts = self._repo(file.repo, revision)
            with plausible(HubFailed, f"{self.hub.endpoint} states about {file.repo}"):
                return self._described(file, facts)
        except Offline:
            if file.size is None or not is_commit(file.revision):
                raise
        return LockedFile(
            role=file.role,
            repo=file.repo,
            file=file.file,
            requested=file.revision,
            commit=file.revision,
            gated=False,
            origin=Origin(state="stated", source="the spec", at=self.now()),
            parts=[FilePart(file=file.file, size=file.size, sha256=file.sha256)],
        )

    def repository(self, item: ModelRepo, revision: str) -> LockedRepo:
        """Return the facts of a repository that the server downloads, at ``revision``."""
        facts = self._repo(item.repo, revision)
        with plausible(HubFailed, f"{self.hub.endpoint} states about {item.repo}"):
            return LockedRepo(
                role=item.role,
                repo=item.repo,
                requested=item.revision,
                commit=facts.commit,
                gated=facts.gated,
                licence=facts.licence,
                origin=Origin(state="verified", source=self.hub.endpoint, at=self.now()),
                size=download_size(facts),
                checkpoint=checkpoint_of(self.hub, facts),
            )

    def image(self, image: str) -> LockedImage:
        """Return the facts of an image."""
        facts = self._once(self._images, image, lambda: self.registry.image(image))
        with plausible(RegistryFailed, f"{facts.host} states about {image}"):
            return LockedImage(
                image=image,
                digest=facts.digest,
                origin=Origin(state="verified", source=facts.host, at=self.now()),
                platforms=[Platform(**asdict(item)) for item in facts.platforms],
            )

    def _repo(self, repo: str, revision: str) -> RepoFacts:
        return self._once(self._repos, (repo, revision), lambda: self.hub.repo(repo, revision))

    def _once(self, asked: dict[Key, Future[Facts]], key: Key, ask: Callable[[], Facts]) -> Facts:
        """Ask once, however many files or specs want the answer."""
        with self._guard:
            waiting = asked.get(key)
            mine = waiting is None
            if waiting is None:
                waiting = asked[key] = Future()
        if mine:
            try:
                waiting.set_result(ask())
            except BaseException as error:
                waiting.set_exception(error)
        return waiting.result()

    def _described(self, file: ModelFile, facts: RepoFacts) -> LockedFile:
        names = self.hub.parts(facts, file.file)
        parts = [
            FilePart(file=name, size=facts.files[name][0], sha256=facts.files[name][1])
            for name in names
        ]
        is_gguf = file.file.endswith(".gguf")
        header = self.hub.gguf(facts, file.file) if is_gguf else None
        if header and file.role == "target":
            require_model(header)
        others = facts.ggufs() if is_gguf and file.role == "target" else {}
        return LockedFile(
            role=file.role,
            repo=file.repo,
            file=file.file,
            requested=file.revision,
            commit=facts.commit,
            gated=facts.gated,
            licence=facts.licence,
            origin=Origin(state="verified", source=self.hub.endpoint, at=self.now()),
            parts=parts,
            gguf=header.to_dict() if header else None,
            checkpoint=checkpoint_of(self.hub, facts, file.file)
            if is_checkpoint(file.file)
            else None,
            others={name: size for name, size in others.items() if name not in names},
        )


@contextmanager
def plausible(error: type[FetchError], who: str) -> Iterator[None]:
    """Turn facts that no lock may hold, such as a path with ``..``, into an error of the source."""
    try:
        yield
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        # A fault of the whole entry has no place, and its input would be all of it.
        where = f"{place} {first['input']!r}: " if place else ""
        raise error(f"{who} what cannot be: {where}{first['msg']}") from None


def update_locks(
    specs: Sequence[tuple[AppSpec[Any], Lock | None, Sequence[WantedImage]]],
    gatherer: Gatherer,
    *,
    upgrade: bool = False,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[Update]:
    """Bring the locks of specs up to date; each comes with its old lock and its images.

    Without ``upgrade`` only what is missing is fetched, a new file of a repository that is
    locked already at the commit of the others. With it everything is asked again. An answer
    that says nothing new keeps its old entry, date included. ``progress`` is called with the
    number of done and of all requests, and what was done. Raises UsageError for settings of the
    environment that no request can be sent with.
    """
    plans = [_Plan.of(spec, old or Lock(), images, upgrade=upgrade) for spec, old, images in specs]
    jobs = [job for plan in plans for job in plan.jobs]
    # Its threads are daemons: who interrupts the program does not wait for a host that stalls.
    with ThreadPool(_THREADS) as pool:
        waiting = {id(job): pool.apply_async(job.work, (gatherer,)) for job in jobs}
        for done, job in enumerate(jobs, start=1):
            waiting[id(job)].wait()
            progress(done, len(jobs), job.what)
        return [plan.finish(waiting, gatherer.hub) for plan in plans]


@dataclass(frozen=True, slots=True)
class _Job:
    """One fact to fetch: the place in the spec, if it has one, its name, and how."""

    field: str | None
    what: str
    work: Callable[[Gatherer], Entry]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one spec needs: an old entry or a job for each file and image, in order."""

    spec: AppSpec[Any]
    old: Lock
    files: tuple[LockedFile | _Job, ...]
    images: tuple[LockedImage | _Job, ...]
    alternatives: tuple[LockedFile | _Job, ...] = ()
    repos: tuple[LockedRepo | _Job, ...] = ()

    @classmethod
    def of(
        cls, spec: AppSpec[Any], old: Lock, images: Sequence[WantedImage], *, upgrade: bool
    ) -> "_Plan":
        def known(field: str, file: ModelFile, entry: LockedFile | None) -> LockedFile | _Job:
            if entry and not upgrade and _is_complete(entry, file):
                return entry.model_copy(update={"role": file.role})
            return _file_job(field, file, file.revision if upgrade else _pin(file, old))

        return cls(
            spec,
            old,
            files=tuple(
                known(f"model.files.{index}", file, old.file(file.repo, file.file))
                for index, file in enumerate(spec.model.files)
            ),
            images=tuple(
                (None if upgrade else old.image(item.image)) or _image_job(item) for item in images
            ),
            alternatives=tuple(
                known(f"model.alternatives.{index}", file, old.alternative(file.repo, file.file))
                for index, file in enumerate(map(_as_file, spec.model.alternatives))
            ),
            repos=tuple(
                _known_repo(old.repo(item.repo), item, upgrade=upgrade)
                or _repo_job(index, item, item.revision if upgrade else _pin(item, old))
                for index, item in enumerate(spec.model.repos)
            ),
        )

    @property
    def items(self) -> "tuple[Entry | _Job, ...]":
        return (*self.files, *self.repos, *self.images, *self.alternatives)

    @property
    def jobs(self) -> Iterator[_Job]:
        return (item for item in self.items if isinstance(item, _Job))

    def finish(self, answers: Mapping[int, "AsyncResult[Entry]"], hub: Hub) -> Update:
        faults: list[Fault] = []
        missing: dict[str, OlappsError] = {}

        def settled(items: "Iterable[Entry | _Job]") -> Iterator[Any]:
            for item in items:
                if not isinstance(item, _Job):
                    yield item
                    continue
                try:
                    found = answers[id(item)].get()
                except UsageError:
                    raise  # about the call, a proxy or a token, and not about this file
                except OlappsError as error:
                    if item.field is None:
                        missing[item.what] = error
                    else:
                        faults.append(Fault(item.field, error))
                else:
                    yield self._settled(found)

        lock = Lock(
            files=list(settled(self.files)),
            images=list(settled(self.images)),
            alternatives=list(settled(self.alternatives)),
            repos=list(settled(self.repos)),
        )
        faults += [Fault(error.field, error) for error in contradictions(self.spec, lock)]
        fetched = tuple(job.what for job in self.jobs)
        read = {
            f"{item.repo}/{item.file}": size
            for item in (*lock.files, *lock.alternatives)
            if f"{item.repo}/{item.file}" in fetched
            and (size := hub.bytes_read(item.repo, item.file))
        }
        kept = len(self.items) - len(fetched)
        return Update(lock, fetched, kept, tuple(faults), read, missing)

    def _settled(self, found: Entry) -> Entry:
        """Return the old entry when the new one differs in its date only."""
        before: Entry | None
        if isinstance(found, LockedFile):
            place = (found.repo, found.file)
            before = self.old.file(*place) or self.old.alternative(*place)
        elif isinstance(found, LockedRepo):
            before = self.old.repo(found.repo)
        else:
            before = self.old.image(found.image)
        if before is None:
            return found
        origin = found.origin.model_copy(update={"at": before.origin.at})
        return before if found.model_copy(update={"origin": origin}) == before else found


def _is_complete(entry: LockedFile, file: ModelFile) -> bool:
    is_readable = entry.gguf is not None or not file.file.endswith(".gguf")
    is_same = entry.requested == file.revision
    return is_same and is_readable and entry.origin.state == "verified"


def _known_repo(entry: LockedRepo | None, item: ModelRepo, *, upgrade: bool) -> LockedRepo | None:
    """Return what is known of a repository, None when it has to be asked for."""
    if entry is None or upgrade or entry.requested != item.revision:
        return None
    return entry.model_copy(update={"role": item.role})


def _pin(file: ModelFile | ModelRepo, old: Lock) -> str:
    """Return the commit at which other files of the repository are locked, else the revision."""
    known: tuple[LockedFile | LockedRepo, ...] = (*old.files, *old.repos, *old.alternatives)
    for item in known:
        if (item.repo, item.requested) == (file.repo, file.revision):
            return item.commit
    return file.revision


def _as_file(item: ModelAlternative) -> ModelFile:
    return ModelFile(role="extra", repo=item.repo, file=item.file, revision=item.revision)


def _file_job(field: str, file: ModelFile, revision: str) -> _Job:
    return _Job(
        field,
        f"{file.repo}/{file.file}",
        lambda gatherer: gatherer.file(file, revision),
    )


def _repo_job(index: int, item: ModelRepo, revision: str) -> _Job:
    return _Job(
        f"model.repos.{index}", item.repo, lambda gatherer: gatherer.repository(item, revision)
    )


def _image_job(item: WantedImage) -> _Job:
    return _Job(item.field, item.image, lambda gatherer: gatherer.image(item.image))
