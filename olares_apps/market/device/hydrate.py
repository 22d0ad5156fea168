"""Hydration: what the device's chart-repo does with an archive before an app is listed.

Source: contract 3.2 and 3.3. The archive is unpacked, every template is rendered once for an
administrator and once for another user with the reduced context and functions, and the
rendered manifest must agree with the catalogue.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olares_apps.checks.platform import USER, hydration_values
from olares_apps.errors import ArchiveError, OlappsError
from olares_apps.helm import HYDRATION, Limits, render_chart
from olares_apps.helm.yamlio import load_yaml
from olares_apps.market.device.manifest_types import type_faults
from olares_apps.render.archive import unpack

__all__ = ["Hydrated", "hydrate", "open_archive"]

ROLES = {"administrator": True, "other user": False}
# chart-repo has 30 s for a whole app (contract 3.2); rendering is a small part of it.
_LIMITS = Limits(seconds=10.0)


@dataclass(frozen=True, slots=True)
class Hydrated:
    """An app that a device lists: the chart's files and its manifest as rendered."""

    files: Mapping[str, bytes]
    manifest: Mapping[str, Any]


def open_archive(name: str, data: bytes, encoding: str) -> Mapping[str, bytes]:
    """Return the chart's files as the device unpacks them; raises ArchiveError with the reason.

    ``data`` is the body after the device's HTTP client undid ``encoding``, the answer's
    Content-Encoding: an archive that is sent as its own encoding arrives as a bare tar.
    """
    if encoding and data[257:262] == b"ustar":
        raise ArchiveError(f"was sent with Content-Encoding: {encoding} and arrives as bare tar")
    if not data:
        raise ArchiveError("is empty; a device keeps the empty file for this version")
    if data[:2] != b"\x1f\x8b":
        shown = data[:24].decode("latin-1").split("\n")[0]
        raise ArchiveError(f"does not begin with the gzip magic but with {shown!r}")
    content = unpack(data, name="archive")
    if content.root != name:
        raise ArchiveError(f"unpacks to {content.root}/, the device opens {name}/")
    return content.files


def hydrate(name: str, version: str, files: Mapping[str, bytes]) -> tuple[Hydrated, list[str]]:
    """Render an unpacked chart for both roles; return it with every problem found."""
    problems: list[str] = []
    manifest: Mapping[str, Any] = {}
    for role, admin in ROLES.items():
        try:
            manifest = _render(name, files, admin=admin)
        except (OlappsError, ValueError) as error:
            problems.append(f"rendering for the {role} fails: {error}")
        else:
            problems += _disagreements(name, version, manifest)
    return Hydrated(files, manifest), list(dict.fromkeys(problems))


def _render(name: str, files: Mapping[str, bytes], *, admin: bool) -> Mapping[str, Any]:
    entrances = _entrance_names(files)
    rendered = render_chart(
        files,
        values=hydration_values(entrances, admin=admin),
        release_name=name,
        namespace=f"{name}-{USER}",
        profile=HYDRATION,
        limits=_LIMITS,
    )
    path = min(
        (path for path in rendered if path.lower().endswith("olaresmanifest.yaml")),
        key=lambda path: (path.count("/"), path),
        default=None,
    )
    if path is None:
        raise ValueError("no OlaresManifest.yaml in the archive")
    manifest = load_yaml(rendered[path], file=path, yes_is_bool=False)
    if not isinstance(manifest, dict):
        raise ValueError(f"{path} is no mapping")
    wrong = type_faults(manifest)
    if wrong:
        raise ValueError(f"{path}: {'; '.join(wrong)}")
    return manifest


def _entrance_names(files: Mapping[str, bytes]) -> list[str]:
    """Read the entrance names as well as an unrendered manifest lets."""
    try:
        text = files.get("OlaresManifest.yaml", b"").decode()
        manifest = load_yaml(text, file="OlaresManifest.yaml", yes_is_bool=False)
        return [str(item["name"]) for item in manifest["entrances"]]
    except (OlappsError, UnicodeDecodeError, KeyError, TypeError):
        return []


def _disagreements(name: str, version: str, manifest: Mapping[str, Any]) -> Iterator[str]:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        yield "the manifest has no metadata"
        return
    if metadata.get("version") != version:
        yield (
            f"the catalogue says {version}, the manifest {metadata.get('version')!r}: the app is "
            "rendered again for ever and an install by the catalogue's version is not found"
        )
    if metadata.get("name") != name:
        yield f"the catalogue says {name}, the manifest {metadata.get('name')!r}"
