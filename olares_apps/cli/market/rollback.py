"""`olapps market rollback`."""

import sys

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import market_option, output_option

__all__ = ["command"]


@click.command()
@click.option("--to", metavar="REVISION", help="Name, or its first digits, of the revision.")
@click.option("--steps", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--republish",
    "again",
    is_flag=True,
    help="Publish the old content as the next versions: devices only move up.",
)
@click.option(
    "--app", "apps", multiple=True, metavar="APP", help="With --republish: only this app."
)
@click.option("--note", default="", metavar="TEXT", help="Why; kept in the history.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@market_option
@output_option()
def command(
    to: str | None,
    steps: int,
    again: bool,
    apps: tuple[str, ...],
    note: str,
    yes: bool,
    market: str | None,
    output: str,
) -> None:
    """Offer an older revision again.

    Devices that already have newer versions keep them; --republish brings the old content to
    them too, under the next versions.
    """
    from olares_apps.cli.stores import store_for
    from olares_apps.errors import UsageError
    from olares_apps.market import retreat

    if apps and not again:
        raise UsageError("--app goes with --republish", hint="a rollback moves the whole market")
    store = store_for(market)
    confirm(f"Roll {store.url} back?", yes)
    if again:
        report = retreat.republish(
            store, to=to, steps=steps, apps=apps or None, publisher=who(), note=note
        )
        lines = [
            f"{step.app}: {', '.join(step.before.values()) or '-'} -> "
            f"{', '.join(step.after.values())}"
            for step in report.plan.changes
        ]
        if not lines:
            lines = ["nothing to republish: the market offers that content already"]
        lines.append(f"live revision {report.revision}")
        if report.changed:
            lines.append(
                "next: put the old content back into the spec and run olapps publish, which writes "
                "the version into it; newer content goes above it with olapps publish --bump patch"
            )
        _print(output, report.as_dict(), lines)
        return
    moved = retreat.rollback(store, to=to, steps=steps, publisher=who(), note=note)
    lines = [
        f"{change.app}: {', '.join(change.before.values()) or '-'} -> "
        f"{', '.join(change.after.values()) or 'removed'}"
        for change in moved.changes
    ]
    lines.append(f"live revision {moved.revision}")
    if moved.changes:
        lines.append(
            "next: devices that run a newer version keep it; to reach them too, put this content "
            "back into the spec and run olapps publish --bump patch"
        )
    _print(output, moved.as_dict(), lines)


def confirm(question: str, yes: bool, why: str = "this changes what devices see") -> None:
    """Ask on a terminal; elsewhere only ``--yes`` will do. Raises UsageError or Abort."""
    from olares_apps.errors import UsageError

    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(why, hint="add --yes to do it unasked")
    click.confirm(question, abort=True, err=True)


def who() -> str:
    """Return the publisher's name of the workspace around, or of the system's user."""
    import getpass

    from olares_apps.cli.stores import workspace_root
    from olares_apps.errors import WorkspaceError
    from olares_apps.spec.workspace import load_config

    try:
        return load_config(workspace_root()).publisher.name
    except WorkspaceError:
        return getpass.getuser()


def _print(output: str, data: dict[str, object], lines: list[str]) -> None:
    if output == "json":
        out.print_json(data)
    else:
        click.echo("\n".join(lines))
