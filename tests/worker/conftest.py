"""Fixtures: the bundle is built once, a Worker runs for one test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.worker import Worker, build_bundle, require_worker, running


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_worker()
    return build_bundle(tmp_path_factory.mktemp("bundle"))


@pytest.fixture
def worker(bundle: Path, tmp_path: Path) -> Iterator[Worker]:
    with running(bundle, tmp_path / "state") as started:
        yield started
