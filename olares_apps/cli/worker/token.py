"""`olapps worker token`: create, list and revoke."""

from datetime import UTC, datetime
from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.durations import duration
from olares_apps.cli.options import output_option, root_option

__all__ = ["command"]


@click.group()
def command() -> None:
    """Give out and take back tokens for publishing.

    The Worker's folder keeps their entries in tokens.json, which holds digests and no token. They
    count when they were sent: npx wrangler secret put TOKENS < tokens.json
    """


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    default="publish",
    show_default=True,
    metavar="SCOPE,...",
    help="publish, rollback (also remove), collect (gc).",
)
@click.option("--apps", metavar="PREFIX,...", help="Only apps whose name begins so.")
@click.option("--expires", callback=duration, default="90d", show_default=True, metavar="DURATION")
@root_option
@output_option()
def create(
    name: str, scope: str, apps: str | None, expires: int, root: Path | None, output: str
) -> None:
    """Make a token for NAME and print it, once.

    To replace a token make a second one of that name: both are valid until the first is revoked.
    """
    import secrets

    from olares_apps.cli.worker.workshop import open_workshop
    from olares_apps.errors import UsageError
    from olares_apps.render.folder import write_file
    from olares_apps.worker.tokens import PREFIX, encode, new_entry

    prefixes = _words(apps or "")
    if apps is not None and not prefixes:
        # An unset variable of a shell must not make a token for every app.
        raise UsageError("--apps names no prefix", hint="leave the option out for every app")
    shop = open_workshop(root)
    text = PREFIX + secrets.token_urlsafe(32)
    entry = new_entry(
        name,
        text,
        scopes=_words(scope),
        apps=prefixes,
        now=datetime.now(UTC),
        seconds=expires,
    )
    write_file(shop.tokens, encode([*shop.read_tokens(), entry]))
    if output == "json":
        out.print_json({"token": text, "entry": entry.to_json(), "file": str(shop.tokens)})
        return
    click.echo(text)
    out.note(f"{entry.name} may {', '.join(entry.scopes)} until {entry.expires}")
    out.note(f"digest in {shop.tokens}: {entry.sha256}")
    out.note("the token is shown once: put it into OLAPPS_MARKET_TOKEN of the publisher")
    _next(shop.folder)


@command.command("list")
@root_option
@output_option()
def list_tokens(root: Path | None, output: str) -> None:
    """List the entries of tokens.json."""
    from olares_apps.cli.worker.workshop import open_workshop

    entries, now = open_workshop(root).read_tokens(), datetime.now(UTC)
    if output == "json":
        out.print_json(
            {"tokens": [{**entry.to_json(), "valid": entry.valid_at(now)} for entry in entries]}
        )
        return
    out.table(
        ["NAME", "DIGEST", "SCOPES", "APPS", "EXPIRES"],
        [
            [
                entry.name,
                entry.sha256[:12],
                ",".join(entry.scopes),
                ",".join(entry.apps) or "all",
                entry.expires if entry.valid_at(now) else f"{entry.expires} (expired)",
            ]
            for entry in entries
        ],
    )


@command.command()
@click.argument("which", metavar="NAME|DIGEST")
@root_option
@output_option()
def revoke(which: str, root: Path | None, output: str) -> None:
    """Take out a token by its name or the first digits of its digest."""
    from olares_apps.cli.worker.workshop import open_workshop
    from olares_apps.render.folder import write_file
    from olares_apps.worker import tokens

    shop = open_workshop(root)
    before = shop.read_tokens()
    after = tokens.revoke(before, which)
    write_file(shop.tokens, tokens.encode(after))
    (gone,) = [entry for entry in before if entry not in after]
    if output == "json":
        out.print_json({"revoked": gone.to_json(), "file": str(shop.tokens)})
        return
    click.echo(f"revoked {gone.name} {gone.sha256[:12]}")
    _next(shop.folder)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _next(folder: Path) -> None:
    out.note(f"next: cd {folder} && npx wrangler secret put TOKENS < tokens.json")
