"""`olapps render`: charts from specs, written, compared or shown as a difference."""

from collections.abc import Sequence
from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import (
    generation_option,
    hardware_option,
    names_argument,
    output_option,
    root_option,
)

__all__ = ["command"]


@click.command()
@names_argument
@click.option("--all", "everything", is_flag=True, help="All specs; the default without a name.")
@click.option(
    "--out",
    "folder",
    envvar="OLAPPS_RENDER_OUT",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for GENERATION/APP; by default the charts folder of the workspace.",
)
@generation_option
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Render with another value, for example engine.ctx=131072. Needs --out or --diff.",
)
@hardware_option
@click.option("--diff", is_flag=True, help="Show what would change and write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when charts are stale.")
@root_option
@output_option()
def command(
    names: tuple[str, ...],
    everything: bool,
    folder: Path | None,
    generations: tuple[str, ...],
    changes: tuple[str, ...],
    hardware: str | None,
    diff: bool,
    check: bool,
    root: Path | None,
    output: str,
) -> int:
    """Render the charts of specs into GENERATION/APP folders.

    A chart for another hardware profile has the app's own name and version: only the charts for
    the spec's own profile are published.
    """
    from olares_apps.cli.pool import fan_out
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.errors import UsageError
    from olares_apps.render.folder import Change, compare, unified_diff, write
    from olares_apps.spec.overrides import override

    if names and everything:
        raise UsageError("give names or --all, not both")
    if (changes or hardware) and not (folder or diff):
        option = "--set" if changes else "--hardware"
        raise UsageError(
            f"{option} would put charts into the workspace that are not those to publish",
            hint="add --out FOLDER, or --diff to look at the effect",
        )
    bench = open_workbench(root)
    selected = bench.select(names, hardware=hardware)
    wanted = bench.wanted(generations)
    if changes:
        selected = [override(loaded, changes) for loaded in selected]
    top = folder or bench.charts
    # Everything is rendered before anything is written: a fault in one spec changes no file.
    per_spec = fan_out(
        lambda loaded: [tree for _, tree in bench.charts_of(loaded, wanted)], selected
    )
    trees = [tree for found in per_spec for tree in found]
    places = [bench.chart_folder(top, tree) for tree in trees]
    results: list[tuple[Path, list[Change]]] = [
        (place, compare(place, tree)) for place, tree in zip(places, trees, strict=True)
    ]
    if not (diff or check):
        for (place, _), tree in zip(results, trees, strict=True):
            write(place, tree)
    if output == "json":
        out.print_json(
            {
                "written": not (diff or check),
                "charts": [
                    {
                        "app": tree.app,
                        "generation": tree.generation,
                        "version": tree.version,
                        "folder": str(place),
                        "changes": [{"file": c.path, "kind": c.kind} for c in found],
                    }
                    for tree, (place, found) in zip(trees, results, strict=True)
                ],
            }
        )
    elif diff:
        for place, found in results:
            for change in found:
                click.echo(unified_diff(place.name, change), nl=False)
    else:
        for tree, (place, found) in zip(trees, results, strict=True):
            state = _state(found, check=check)
            click.echo(f"{tree.app} {tree.version} {tree.generation}: {state} ({place})")
    stale = any(found for _, found in results)
    return 1 if check and stale else 0


def _state(found: Sequence[object], *, check: bool) -> str:
    if not found:
        return "unchanged"
    return f"{len(found)} files {'are stale' if check else 'written'}"
