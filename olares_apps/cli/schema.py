"""`olapps schema`: the JSON Schema of a spec, for editors and other tools."""

import click

__all__ = ["command"]


@click.command()
def command() -> None:
    """Print the JSON Schema (draft-07) of a spec."""
    from olares_apps.engines.registry import spec_model
    from olares_apps.spec.schema import schema_text

    click.echo(schema_text(spec_model()), nl=False)
