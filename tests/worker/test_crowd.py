"""Curators at once against one Worker; the same crowd as at a folder."""

from pathlib import Path

from support.crowd import Crowd
from support.worker import Worker


def test_a_crowd_of_curators_loses_nothing_in_a_worker(worker: Worker, tmp_path: Path) -> None:
    folder = tmp_path / "crowd"
    folder.mkdir()
    crowd = Crowd(folder)
    crowd.check(worker.store(), crowd.publish(worker.url, worker.tokens[0].text))
