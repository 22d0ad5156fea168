"""What devices are offered by a market over HTTP, and whether all of it is there."""

import httpx
from support.market import NEW, OLD

from olares_apps.generations import OlaresVersion
from olares_apps.market.device.sync import sync
from olares_apps.market.device.transport import HttpTransport

__all__ = ["listed", "synced"]

_RELEASES = ((OLD, "1.12.5"), (NEW, "1.12.6"))


def listed(base: str) -> dict[str, dict[str, str]]:
    """Return app to generation to version as devices list them, each archive downloaded."""
    found: dict[str, dict[str, str]] = {}
    with httpx.Client(base_url=base, timeout=60) as client:
        for generation, version in _RELEASES:
            info = client.get("/api/v1/appstore/info", params={"version": version}).json()
            for key, app in info["data"]["apps"].items():
                body = {"app_ids": [key], "version": version}
                details = client.post("/api/v1/applications/info", json=body).json()
                shown = details["apps"][key]["version"]
                query = {"fileName": f"{app['name']}-{shown}.tgz"}
                chart = client.get(f"/api/v1/applications/{app['name']}/chart", params=query)
                assert (shown, chart.status_code) == (app["version"], 200)
                assert "content-encoding" not in chart.headers
                found.setdefault(app["name"], {})[generation] = shown
    return found


def synced(base: str, version: str = "1.12.7") -> dict[str, str]:
    """Return what a device of a release has after a sync that went without any problem."""
    with httpx.Client(timeout=60) as client:
        report = sync(
            HttpTransport(client, base),
            base,
            OlaresVersion.parse(version),
            lint=lambda *chart: (),
        )
    assert report.problems == []
    assert [app.name for app in report.apps if not app.appears] == []
    return {app.name: app.version for app in report.apps}
