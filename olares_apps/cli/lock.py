"""`olapps lock`: fetch what is known about model files and images, and pin it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import names_argument, output_option, root_option

if TYPE_CHECKING:
    from olares_apps.errors import Problem
    from olares_apps.lock.gather import Fault, Gatherer
    from olares_apps.spec.loader import LoadedSpec

__all__ = ["command", "open_gatherer"]


@click.command()
@names_argument
@click.option("--all", "everything", is_flag=True, help="All specs; the default without a name.")
@click.option("--upgrade", is_flag=True, help="Ask again for what is locked already.")
@click.option("--offline", is_flag=True, help="Use the cache only, never the network.")
@root_option
@output_option()
def command(
    names: tuple[str, ...],
    everything: bool,
    upgrade: bool,
    offline: bool,
    root: Path | None,
    output: str,
) -> int:
    """Pin the model files and images of specs in NAME.lock.yaml.

    Fetches sizes, digests, commits and GGUF headers from the model hub, and digests from image
    registries. Nothing that is locked already is asked for without --upgrade.
    """
    from olares_apps.cli.lock_images import added_images
    from olares_apps.cli.progress import progress
    from olares_apps.cli.workbench import all_facts, open_workbench
    from olares_apps.errors import SpecError, UsageError
    from olares_apps.lock.errors import LockBroken
    from olares_apps.lock.file import load_lock, lock_path, write_lock
    from olares_apps.lock.gather import update_locks
    from olares_apps.lock.wanted import wanted_images, with_variants
    from olares_apps.spec.loader import variant_of

    if names and everything:
        raise UsageError("give names or --all, not both")
    bench = open_workbench(root)
    top = bench.workspace.root
    selected = bench.select(names)
    todo = []
    for loaded in selected:
        variants = [
            variant_of(loaded, profile, facts=all_facts).spec for profile in loaded.spec.variants
        ]
        spec = with_variants(loaded.spec, variants)
        by_profile = list(zip(loaded.spec.variants, variants, strict=True))
        images = wanted_images(loaded.spec, by_profile, added_images(loaded.spec, *variants))
        try:
            known = load_lock(top / loaded.path, shown=loaded.path)
        except LockBroken as error:
            if not upgrade:
                raise
            out.note(f"{error}\n{lock_path(loaded.path)} cannot be used and is made anew")
            known = None
        todo.append((spec, known, images))
    with open_gatherer(offline=offline) as gatherer, progress("locking") as advance:
        updates = update_locks(todo, gatherer, upgrade=upgrade, progress=advance)
    missing = {image: why for update in updates for image, why in update.missing.items()}
    for image, why in missing.items():
        out.note(f"{image}, which the chart adds, is not pinned: {why}")
    rows: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for loaded, update in zip(selected, updates, strict=True):
        path = lock_path(top / loaded.path).relative_to(top)
        # A lock with a fault would hide it from the next run: the old one stays.
        written = not update.faults and write_lock(top / loaded.path, update.lock)
        found = _located(loaded, update.faults)
        problems += found
        rows.append(
            {
                "name": loaded.name,
                "app": loaded.spec.app,
                "lock": path.as_posix(),
                "written": written,
                "fetched": list(update.fetched),
                "kept": update.kept,
                "bytes_read": dict(update.read),
                "faults": [
                    {"field": fault.field, "kind": type(fault.error).__name__, "message": str(item)}
                    for fault, item in zip(update.faults, found, strict=True)
                ],
            }
        )
    if output == "json":
        out.print_json({"specs": rows})
    else:
        for row in rows:
            state = "written" if row["written"] else "unchanged"
            if row["faults"]:
                state = f"not written, {len(row['faults'])} faults"
            asked = f"{len(row['fetched'])} facts asked for, {row['kept']} kept"
            click.echo(f"{row['name']}: {state} ({asked}; {row['lock']})")
            for file, size in row["bytes_read"].items():
                click.echo(f"  {size / 10**6:.1f} MB read of {file}")
    if problems:
        raise SpecError(problems)
    return 0


def _located(loaded: "LoadedSpec", faults: "Sequence[Fault]") -> "tuple[Problem, ...]":
    """Return faults as problems of the spec file, with line and column."""
    from olares_apps.errors import Problem, SpecError

    found = [
        Problem(fault.error.message, field=fault.field, hint=fault.error.hint) for fault in faults
    ]
    return loaded.located(SpecError(found)).problems


@contextmanager
def open_gatherer(*, offline: bool) -> "Iterator[Gatherer]":
    """Open hub and registries with the settings of the environment."""
    import os
    from datetime import UTC, datetime

    from olares_apps.lock.cache import Cache, cache_folder
    from olares_apps.lock.credentials import Credentials, docker_config
    from olares_apps.lock.gather import Gatherer
    from olares_apps.lock.hub import Hub
    from olares_apps.lock.network import Network
    from olares_apps.lock.registry import Registry

    config = docker_config(os.environ, Path.home())
    cache = Cache(cache_folder(os.environ))
    networks = Network(), Network()
    try:
        yield Gatherer(
            Hub(cache=cache, network=networks[0], offline=offline),
            Registry(
                cache=cache,
                credentials=Credentials(config),
                network=networks[1],
                offline=offline,
            ),
            now=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
    finally:
        for network in networks:
            network.close()
