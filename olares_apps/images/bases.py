"""Facts about NVIDIA's base images: what a CUDA version compiles for, how a system installs.

Architectures: release notes of CUDA 11.8 to 13.4 and the ``nvcc`` manuals, as CMake's own list
(``CMakeCUDAArchitecturesAll``) has them. Systems: the tags of ``nvidia/cuda`` and the CMake that
each distribution packages; ggml compiles CUDA with CMake 3.18 or newer.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["CUDA_RELEASES", "SYSTEMS", "System", "architectures_of", "first_with", "release_of"]

Release = tuple[int, int]

CUDA_RELEASES: Final[tuple[Release, ...]] = (
    (11, 8),
    *((12, minor) for minor in (0, 1, 2, 3, 4, 5, 6, 8, 9)),
    *((13, minor) for minor in (0, 1, 2, 3, 4)),
)
"""Releases with base images that are known here, oldest first; there is no 12.7."""

_OLDEST, _NEWEST = CUDA_RELEASES[0], CUDA_RELEASES[-1]
# First and last release that compiles for it.
_SPANS: Final[Mapping[str, tuple[Release, Release]]] = {
    **dict.fromkeys(("3.5", "3.7"), (_OLDEST, (11, 8))),
    **dict.fromkeys(("5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2"), (_OLDEST, (12, 9))),
    **dict.fromkeys(("7.5", "8.0", "8.6", "8.7", "8.9", "9.0"), (_OLDEST, _NEWEST)),
    "8.8": ((13, 0), _NEWEST),
    "9.0a": ((12, 0), _NEWEST),
    **dict.fromkeys(("10.0", "10.0a", "12.0", "12.0a"), ((12, 8), _NEWEST)),
    **dict.fromkeys(("10.1", "10.1a"), ((12, 8), (12, 9))),
    "10.1f": ((12, 9), (12, 9)),
    **dict.fromkeys(
        ("10.0f", "10.3", "10.3a", "10.3f", "12.0f", "12.1", "12.1a", "12.1f"), ((12, 9), _NEWEST)
    ),
    **dict.fromkeys(("11.0", "11.0a", "11.0f"), ((13, 0), _NEWEST)),
}


class System(NamedTuple):
    """A distribution of the base images: its package manager, its CMake, its first CUDA."""

    manager: str
    cmake: tuple[int, int]
    first: Release


SYSTEMS: Final[Mapping[str, System]] = {
    "ubuntu18.04": System("apt-get", (3, 10), (11, 8)),
    "ubuntu20.04": System("apt-get", (3, 16), (11, 8)),
    "ubuntu22.04": System("apt-get", (3, 22), (11, 8)),
    "ubuntu24.04": System("apt-get", (3, 28), (12, 5)),
    **dict.fromkeys(
        ("rockylinux8", "rockylinux9", "rockylinux10", "ubi8", "ubi9", "ubi10"),
        System("dnf", (3, 20), (11, 8)),
    ),
    "centos7": System("yum", (2, 8), (11, 8)),
}
"""Systems by the word that ends a tag."""


def release_of(version: str) -> Release:
    """Return major and minor number of a CUDA version such as ``13.1.0``."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def architectures_of(release: Release) -> list[str]:
    """Return the compute capabilities that a release compiles for, lowest first.

    A release newer than all that are known counts as the newest known one.
    """
    known = min(release, _NEWEST)
    found = [name for name, (first, last) in _SPANS.items() if first <= known <= last]
    return sorted(found, key=lambda name: (float(name.rstrip("af")), name))


def first_with(architecture: str) -> Release | None:
    """Return the first release that compiles for a capability, None when none that is known."""
    span = _SPANS.get(architecture)
    return span[0] if span else None
