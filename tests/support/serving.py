"""A real uvicorn on a free loopback port, for as long as a test needs it."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn

from olares_apps.market.server import build_app
from olares_apps.market.store import Store, open_store


@contextlib.contextmanager
def serving(market: str | Store) -> Iterator[str]:
    """Serve a store while the block runs; yields its address."""
    store = open_store(market) if isinstance(market, str) else market
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(build_app(store), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
