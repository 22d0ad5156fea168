"""What lies in a workspace beside its specs: icons, and charts that no spec renders."""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from olares_apps.checks.fleet import OwnIcons
from olares_apps.cli.workbench import Workbench
from olares_apps.generations import GENERATIONS
from olares_apps.spec.loader import LoadedSpec

__all__ = ["own_icons", "stray_charts"]

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
    if not _is_this_machine(address) and host not in (urlsplit(item).netloc for item in markets):
        return None
    folder = bench.workspace.folder("icons")
    files = folder.iterdir() if folder.is_dir() else ()
    apps = frozenset(path.stem for path in files if path.suffix in _ICON_ENDINGS)
    return OwnIcons(address, config.workspace.icons, apps)


def _is_this_machine(address: str) -> bool:
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
