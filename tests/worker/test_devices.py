"""Devices sync with a Worker over HTTP as the simulator plays them."""

import httpx
import pytest
from support.market import OLD, PNG, build_candidate, hands
from support.worker import Worker

from olares_apps.generations import OlaresVersion
from olares_apps.market.device.sync import sync
from olares_apps.market.device.transport import HttpTransport
from olares_apps.market.publish import publish


@pytest.mark.parametrize(
    ("version", "offered"),
    [
        ("1.12.5", {"demoalpha": "1.0.2", "demobravo": "1.0.0"}),
        ("1.12.6", {"demoalpha": "1.0.3"}),
        ("1.12.7", {"demoalpha": "1.0.3"}),
    ],
)
def test_a_device_lists_and_downloads_what_was_published(
    worker: Worker, version: str, offered: dict[str, str]
) -> None:
    made = hands()
    first = [
        build_candidate("demoalpha", "1.0.0", icon=PNG),
        build_candidate("demobravo", generations=(OLD,)),
    ]
    publish(worker.store(), first, publisher="t", hands=made)
    update = build_candidate("demoalpha", "1.0.2", image="b2")
    publish(worker.store(), [update], publisher="t", hands=made)
    with httpx.Client() as client:
        report = sync(
            HttpTransport(client, worker.url),
            worker.url,
            OlaresVersion.parse(version),
            lint=lambda *chart: (),
        )
    assert report.problems == []
    assert {app.name: app.version for app in report.apps} == offered
    assert [app.name for app in report.apps if not app.appears] == []


def test_an_archive_goes_out_as_it_is_to_a_client_that_takes_packed_bodies(worker: Worker) -> None:
    candidate = build_candidate("demoalpha", "1.0.0")
    publish(worker.store(), [candidate], publisher="t", hands=hands())
    with httpx.Client(headers={"Accept-Encoding": "gzip, br"}) as client:
        url = f"{worker.url}/api/v2/applications/demoalpha/chart?version=1.0.0"
        reply = client.get(url)
    assert "content-encoding" not in reply.headers
    assert reply.headers["content-length"] == str(len(candidate.archives[0].data))
    assert reply.content == candidate.archives[0].data
