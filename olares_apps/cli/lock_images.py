"""The images that a chart adds on its own, which its lock pins beside those of the spec."""

from collections.abc import Iterator
from typing import Any

from olares_apps.spec.models import AppSpec

__all__ = ["added_images"]


def added_images(*specs: AppSpec[Any]) -> list[str]:
    """Return the images that the charts of a spec and its variants may run beside its own.

    The one that does the download or waits for it, Model Console, and the one that opens
    folders to a server without root, which a chart needs for some of its folders only.
    """
    return list(dict.fromkeys(image for spec in specs for image in _added(spec)))


def _added(spec: AppSpec[Any]) -> Iterator[str]:
    from olares_apps.render import assemble, console, pod

    if spec.model.files:
        yield assemble.DOWNLOAD_IMAGE
    if spec.run_as_user is not None or spec.model.console:
        yield pod.PERMISSIONS_IMAGE
    if spec.model.console:
        yield console.IMAGE
