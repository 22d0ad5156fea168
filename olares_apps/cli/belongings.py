"""What lies in a workspace beside its specs: pictures, and charts that no spec renders."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from olares_apps.checks.fleet import OwnIcons
from olares_apps.cli.workbench import Workbench
from olares_apps.generations import GENERATIONS
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.models import AppSpec

__all__ = ["is_this_machine", "own_icons", "pictures", "stray_charts"]

_LARGEST = 9 * 2**20
_ICON_ENDINGS = (".png", ".webp")


def own_icons(bench: Workbench) -> OwnIcons | None:
    """Return the icons of the workspace when one of its markets serves them, else None.

    That is known of a market with the same address, and of this machine, where
    `olapps market serve` answers.
    """
    config = bench.workspace.config
    address = bench.publisher.icons
    markets = (config.market.default, *config.market.stores.values())
    host = urlsplit(address).netloc
    if not is_this_machine(address) and host not in (urlsplit(item).netloc for item in markets):
        return None
    folder = bench.workspace.folder("icons")
    files = folder.iterdir() if folder.is_dir() else ()
    apps = frozenset(path.stem for path in files if path.suffix in _ICON_ENDINGS)
    return OwnIcons(address, config.workspace.icons, apps)


def pictures(bench: Workbench, spec: AppSpec[Any]) -> Mapping[str, bytes]:
    """Return the bytes of an app's icon and screenshots by address, as far as they are here.

    An icon is that of the icons folder, a screenshot a file with the last part of its address as
    its name. Of a picture beyond every limit only the beginning is read.
    """
    icons, screenshots = bench.workspace.folder("icons"), bench.workspace.folder("screenshots")
    own = spec.icon or f"{bench.publisher.icons}/{spec.app}.png"
    places = {own: [icons / f"{spec.app}{ending}" for ending in _ICON_ENDINGS]}
    for address in spec.screenshots:
        places[address] = [screenshots / PurePosixPath(urlsplit(address).path).name]
    found: dict[str, bytes] = {}
    for address, files in places.items():
        for file in files:
            if file.is_file():
                with file.open("rb") as stream:
                    found.setdefault(address, stream.read(_LARGEST))
    return found


def is_this_machine(address: str) -> bool:
    """Say whether an address is reached from this machine alone."""
    name = urlsplit(address).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def stray_charts(bench: Workbench, specs: Sequence[LoadedSpec]) -> list[str]:
    """Return the folders of rendered charts whose app no spec has.

    ``specs`` are all that can be used; what a broken one is called counts too.
    """
    known = {loaded.spec.app for loaded in specs} | bench.workspace.apps.keys()
    name = bench.workspace.config.workspace.charts
    return [
        f"{name}/{generation.name}/{path.parent.name}"
        for generation in GENERATIONS
        for path in sorted((bench.charts / generation.name).glob("*/Chart.yaml"))
        if path.parent.name not in known
    ]
