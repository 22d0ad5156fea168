"""Locks for tests."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from olares_apps.lock.model import FilePart, Lock, LockedFile, LockedImage, Origin, Platform

COMMIT: Final = "c" * 40
SHA: Final = "a" * 64
ORIGIN: Final = Origin(
    state="verified", source="https://hub.example.org", at="2026-12-01T10:00:00Z"
)


def file_of(
    *,
    role: Any = "target",
    repo: str = "example-org/Demo-35B-GGUF",
    file: str = "Demo-35B-UD-Q3_K_XL.gguf",
    requested: str = "main",
    size: int | None = None,
    parts: Sequence[tuple[str, int, str | None]] = (),
    gguf: dict[str, Any] | None = None,
    licence: str | None = "apache-2.0",
    others: Mapping[str, int] | None = None,
    gated: bool = False,
) -> LockedFile:
    if size is None:
        size = (gguf or {}).get("file_size", 1)
    return LockedFile(
        role=role,
        repo=repo,
        file=file,
        requested=requested,
        commit=COMMIT,
        gated=gated,
        licence=licence,
        origin=ORIGIN,
        parts=[
            FilePart(file=name, size=length, sha256=digest)
            for name, length, digest in (parts or [(file, size, SHA)])
        ],
        gguf=gguf,
        others=dict(others or {}),
    )


def image_of(
    image: str = "registry.example.org/llama-server:b9600",
    *,
    cuda: str | None = "13.0",
    architectures: Sequence[str] = ("amd64",),
) -> LockedImage:
    digest = "sha256:" + "d" * 64
    return LockedImage(
        image=image,
        digest=digest,
        origin=ORIGIN,
        platforms=[
            Platform(architecture=name, digest=digest, size=10**9, cuda=cuda)
            for name in architectures
        ],
    )


def lock_of(*files: LockedFile, images: Sequence[LockedImage] = ()) -> Lock:
    return Lock(files=list(files), images=list(images))
