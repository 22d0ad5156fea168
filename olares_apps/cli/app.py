"""The `olapps` command: commands load when they are called, errors become exit codes here."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

import click

from olares_apps import __version__
from olares_apps.cli import output
from olares_apps.cli.lazy import LazyGroup
from olares_apps.errors import OlappsError

__all__ = ["cli", "main"]

# Command -> module of olares_apps.cli that defines `command`, and its one-line help.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("init", "Make a new workspace that renders and publishes at once."),
    "list": ("list_specs", "List the specs of the workspace."),
    "show": ("show", "Show one spec: its facts, arguments and files."),
    "schema": ("schema", "Print the JSON Schema of a spec."),
    "render": ("render", "Render charts from specs."),
    "lock": ("lock", "Pin the model files and images that specs name."),
    "fit": ("fit", "Estimate GPU memory and say what would fit."),
    "new": ("new", "Write a spec for a model repository."),
    "check": ("check", "Check specs and charts for everything known to break."),
    "pack": ("pack", "Pack rendered charts into archives."),
    "publish": ("publish", "Publish what changed to a market."),
    "market": ("market", "Look at, serve and repair a market."),
    "worker": ("worker", "Run the market as a Cloudflare Worker."),
    "leaderboard": ("leaderboard", "Rank measured speeds that compare."),
    "image": ("image", "Build files of custom images, from recipes."),
    "doctor": ("doctor", "Say what this machine and workspace have and lack."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "OLAPPS"},
)
@click.version_option(__version__, prog_name="olapps")
def cli() -> None:
    """Turn typed app specs into Olares charts and publish them to a market.

    Exit codes: 0 done, 1 findings or a failed operation, 2 wrong usage, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    sys.exit(run(argv))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; the only place that catches errors."""
    stream = sys.stdout
    try:
        result = cli.main(
            args=None if argv is None else list(argv), prog_name="olapps", standalone_mode=False
        )
        # A reader that has gone away is met here, not when the interpreter ends.
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort:
        output.error("interrupted")
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OlappsError as error:
        output.report_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        output.error("interrupted")
        return 130
    except BrokenPipeError:
        return _reader_gone(stream)
    except SystemExit:
        # click's own answer to a broken pipe is to replace the stream and to exit.
        if sys.stdout is not stream:
            return _reader_gone(stream)
        raise
    except OSError as error:
        output.report_os_error(error)
        return 1
    return result if isinstance(result, int) else 0


def _reader_gone(stream: TextIO) -> int:
    """Drop what is left to print: the reader has seen enough, as with `olapps list | head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 0
