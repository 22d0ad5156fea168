"""`olapps market serve`."""

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import market_option

__all__ = ["command"]


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8765, show_default=True)
@market_option
def command(host: str, port: int, market: str | None) -> None:
    """Serve a market to devices on this network, read only, until interrupted."""
    from olares_apps.cli.stores import store_for
    from olares_apps.market.server import serve

    store = store_for(market)
    out.note(f"serving {store.url} on http://{host}:{port} (Ctrl-C ends it)")
    serve(store, host=host, port=port)
