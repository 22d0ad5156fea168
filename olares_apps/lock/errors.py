"""What can go wrong with outside facts, each its own class.

Tree::

    FetchError
    |-- RepoMissing             no such repository, or a private one
    |   `-- RepoGated           its owner grants access one by one
    |-- RepoMoved               the hub answers under another name
    |-- RevisionMissing         no such branch, tag or commit
    |-- ModelFileMissing        no such file; suggests the nearest name
    |   `-- ShardsMissing       some parts of a split file are not there
    |-- LaterPart               a part of a split file that is not the first
    |-- HubFailed               the hub does not answer, or not in a way that makes sense
    |-- RangeRefused            a server that ignores ranges or sends another one
    |-- FileChanged             the file became another between two ranges
    |-- TooManyRequests         still limited after the retries
    |-- Offline                 not in the cache, and the network must not be asked
    |-- ImageMissing            no such image or tag
    |-- ImageDenied             the registry wants other credentials
    |-- RegistryFailed          the registry does not answer, or not in a way that makes sense
    `-- Contradiction           the spec states what the fetched facts deny

A lock file that cannot be read is LockBroken, a SpecError: it has problems with lines.
"""

from collections.abc import Iterable, Sequence

from olares_apps.errors import FetchError, Problem, SpecError, nearest

__all__ = [
    "Contradiction",
    "FileChanged",
    "HubFailed",
    "ImageDenied",
    "ImageMissing",
    "LaterPart",
    "LockBroken",
    "ModelFileMissing",
    "Offline",
    "RangeRefused",
    "RegistryFailed",
    "RepoGated",
    "RepoMissing",
    "RepoMoved",
    "RevisionMissing",
    "ShardsMissing",
    "TooManyRequests",
]


class RepoMissing(FetchError):
    """A repository that the hub does not show to us."""

    def __init__(self, repo: str, message: str | None = None, hint: str | None = None) -> None:
        self.repo = repo
        super().__init__(
            message or f"the model repository {repo} is missing or private",
            hint=hint or "check the spelling; for a private one set HF_TOKEN",
        )


class RepoGated(RepoMissing):
    """A repository whose owner grants access, which this token does not have."""

    def __init__(self, repo: str, *, has_token: bool) -> None:
        self.has_token = has_token
        super().__init__(
            repo,
            f"the model repository {repo} is gated"
            + (" and HF_TOKEN has no access to it" if has_token else " and no token is set"),
            "accept its terms on the hub, set HF_TOKEN here, and tell users that the app needs "
            "their own token",
        )


class RepoMoved(FetchError):
    """A repository that answers under another name; devices follow a redirect only for a while."""

    def __init__(self, repo: str, now: str) -> None:
        self.repo, self.now = repo, now
        super().__init__(f"the model repository {repo} moved to {now}", hint=f"write repo: {now}")


class RevisionMissing(FetchError):
    """A branch, tag or commit that the repository does not have."""

    def __init__(self, repo: str, revision: str) -> None:
        self.repo, self.revision = repo, revision
        super().__init__(
            f"{repo} has no revision {revision}",
            hint="name a branch, a tag or a commit of that repository; the usual one is main",
        )


class ModelFileMissing(FetchError):
    """A file that the repository does not have at that revision."""

    def __init__(self, repo: str, file: str, revision: str, known: Iterable[str]) -> None:
        self.repo, self.file, self.revision = repo, file, revision
        known = list(known)
        ending = "." + file.rpartition(".")[2]
        alike = [name for name in known if name.endswith(ending)] or known
        self.suggestion = _same_name(file, alike) or nearest(file, alike)
        if self.suggestion:
            hint = f"did you mean {self.suggestion}?"
        else:
            listed = ", ".join(sorted(alike)[:8])
            hint = f"it has {listed}" if listed else "the repository is empty"
        super().__init__(f"{file} is not in {repo} at {revision}", hint=hint)


def _same_name(file: str, known: Sequence[str]) -> str | None:
    """Return the file of that name in another folder, or in other letters."""
    wanted = file.rpartition("/")[2].casefold()
    return next((name for name in known if name.rpartition("/")[2].casefold() == wanted), None)


class ShardsMissing(ModelFileMissing):
    """Parts of a split model that the repository does not have."""

    def __init__(self, repo: str, file: str, revision: str, missing: Sequence[str]) -> None:
        FetchError.__init__(
            self,
            f"{', '.join(missing)} of {file} missing in {repo} at {revision}",
            hint="every part of a split model is needed: choose another file",
        )
        self.repo, self.file, self.revision = repo, file, revision
        self.missing, self.suggestion = tuple(missing), None


class LaterPart(FetchError):
    """A part of a split model where its first one must stand; ``first`` is that one."""

    def __init__(self, file: str, first: str) -> None:
        self.file, self.first = file, first
        super().__init__(
            f"{file} is a later part of a split model",
            hint=f"name the first part, {first}; the others follow from it",
        )


class HubFailed(FetchError):
    """The model hub did not answer, or with something that makes no sense."""


class RangeRefused(FetchError):
    """A server that does not send the range that was asked for."""

    def __init__(self, address: str, what: str) -> None:
        self.address = address
        super().__init__(
            f"{address}: {what}",
            hint="the header of a model is read by ranges: try without a mirror",
        )


class FileChanged(FetchError):
    """A file that became another while it was read."""

    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__(
            f"{address} changed while its header was read", hint="run the command again"
        )


class TooManyRequests(FetchError):
    """A host that still limits us after the retries; ``retry_after`` is seconds, if stated."""

    def __init__(self, host: str, retry_after: float | None) -> None:
        self.host, self.retry_after = host, retry_after
        wait = f" and asks to wait {retry_after:.0f} s" if retry_after else ""
        super().__init__(
            f"{host} limits requests{wait}",
            hint="wait, or log in: limits are higher with an account",
        )


class Offline(FetchError):
    """A fact that is not in the cache while the network must not be asked."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not in the cache", hint="run it once without --offline")


class ImageMissing(FetchError):
    """An image or tag that the registry does not have; ``tag`` is one like it that it has."""

    def __init__(self, image: str, tag: str | None = None) -> None:
        self.image, self.tag = image, tag
        super().__init__(
            f"the image {image} does not exist",
            hint=f"the tag {tag} exists" if tag else "check registry, name and tag of the image",
        )


class ImageDenied(FetchError):
    """An image that the registry does not show with the credentials at hand."""

    def __init__(self, image: str, *, has_credentials: bool) -> None:
        self.image = image
        super().__init__(
            f"the image {image} is missing or private"
            + ("; the registry refuses the stored credentials" if has_credentials else ""),
            hint="check its name; for a private one run docker login",
        )


class RegistryFailed(FetchError):
    """The registry did not answer, or with something that makes no sense."""


class LockBroken(SpecError):
    """A lock file that cannot be read; carries every problem, with file and line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(
            problems, hint="olapps lock writes it: olapps lock --upgrade makes it anew"
        )


class Contradiction(FetchError):
    """What the spec states by hand and the fetched facts deny; ``field`` is a path of the spec."""

    def __init__(self, field: str, stated: object, fetched: object, where: str) -> None:
        self.field, self.stated, self.fetched = field, stated, fetched
        super().__init__(
            f"{field} is stated as {stated}, {where} has {fetched}",
            hint="correct the spec; if the file is meant to have changed, olapps lock --upgrade",
        )
