"""The collector beside publishers: what is reachable or young stays, whatever the order."""

import threading
from pathlib import Path
from typing import Any

import httpx
from support.bucket import age
from support.market import PNG, Clock, build_candidate, hands
from support.worker import Worker, make_token, running

from olares_apps.market import canonical, objects
from olares_apps.market.history import history
from olares_apps.market.publish import publish
from olares_apps.market.retreat import rollback
from olares_apps.market.verify import verify

REVISIONS = 13
KEPT = 10
TOKENS = (make_token(scopes=("publish", "rollback", "collect")),)


def _collect(worker: Worker, **wish: Any) -> dict[str, Any]:
    """Ask for steps until there is nothing more to do."""
    with httpx.Client(timeout=60, headers=worker.bearer()) as client:
        while True:
            reply = client.post(f"{worker.api}/collect", json=wish)
            assert reply.status_code == 200, reply.text
            step: dict[str, Any] = reply.json()
            if step["done"]:
                return step


def test_old_revisions_and_lost_objects_go_and_every_archive_stays(
    bundle: Path, tmp_path: Path
) -> None:
    with running(bundle, tmp_path / "state", tokens=TOKENS) as worker:
        store, made = worker.store(), hands()
        for number in range(REVISIONS):
            candidate = build_candidate(
                "demoalpha", f"1.0.{2 * number}", image=f"b{number}", icon=PNG
            )
            publish(store, [candidate], publisher="t", hands=made)
        chain = [entry.identity for entry in history(store)]
        lost = objects.blob_key(canonical.digest(b"lost"))
        store.put_if_absent(lost, b"lost")
        age(worker)
        store = worker.store()
        young = objects.blob_key(canonical.digest(b"young"))
        store.put_if_absent(young, b"young")
        assert _collect(worker, keep=KEPT, dry_run=True)["removed"] > 0
        assert store.exists(lost)
        removed = _collect(worker, keep=KEPT)["removed"]
        assert removed > 3 * 20
        assert (store.exists(lost), store.exists(young)) == (False, True)
        assert [entry.identity for entry in history(store)] == chain[:KEPT]
        assert not any(store.list(f"responses/{chain[KEPT]}"))
        assert verify(store).problems == []
        with httpx.Client(base_url=worker.url) as client:
            for number in range(2 * REVISIONS):
                path = f"/api/v1/applications/demoalpha/chart?version=1.0.{number}"
                assert client.get(path).status_code == 200
        rollback(store, publisher="t", hands=made)
        assert verify(store).problems == []


def test_publishers_beside_a_collector_lose_nothing(bundle: Path, tmp_path: Path) -> None:
    with running(bundle, tmp_path / "state", tokens=TOKENS) as worker:
        clock = Clock()
        first = [build_candidate("demoalpha"), build_candidate("demobravo")]
        publish(worker.store(), first, publisher="t", hands=hands(clock))
        # Blobs that a publish finds in place, old and unreachable: put by one that gave up.
        again = {
            name: build_candidate(name, "1.0.2", image="b2") for name in ("demoalpha", "demobravo")
        }
        for candidate in again.values():
            for archive in candidate.archives:
                for data in (archive.data, canonical.encode(archive.detail)):
                    worker.store().put_if_absent(objects.blob_key(canonical.digest(data)), data)
        age(worker)
        stop, faults = threading.Event(), list[BaseException]()

        def collecting() -> None:
            try:
                while not stop.is_set():
                    _collect(worker)
            except BaseException as error:
                faults.append(error)

        collector = threading.Thread(target=collecting)
        collector.start()
        try:
            for candidate in again.values():
                publish(worker.store(), [candidate], publisher="t", hands=hands(clock))
        finally:
            stop.set()
            collector.join()
        assert faults == []
        assert verify(worker.store()).problems == []
        assert len(list(history(worker.store()))) == 3
