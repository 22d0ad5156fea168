"""The local market server: a thin HTTP shell around the stored answers.

Needs the extra ``server`` (Starlette and uvicorn). Everything that devices and people ask for
comes from `Answers`; this module only translates requests.
"""

import socket
from typing import TYPE_CHECKING

from olares_apps.errors import UsageError
from olares_apps.market.answers import MAX_BODY_BYTES, Answers
from olares_apps.market.store import Store

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

__all__ = ["build_app", "serve"]

_DRAINED_BYTES = 16 * 1024 * 1024


def build_app(store: Store) -> "Starlette":
    """Return the ASGI application that serves a store, read only.

    Raises UsageError when the extra ``server`` is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError:
        raise _needs_extra() from None
    answers = Answers(store)

    async def respond(request: Request) -> Response:
        # Not request.url.path: an address such as /health%3Fx would lose its end there.
        path = str(request.scope["path"])
        answer = answers.respond(
            request.method,
            path,
            dict(request.query_params),
            await _body(request),
            if_none_match=request.headers.get("if-none-match", ""),
        )
        return Response(answer.body, status_code=answer.status, headers=dict(answer.headers))

    class Everything:
        """Takes every method: which ones a path allows is for `Answers` to say."""

        async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
            try:
                response = await respond(Request(scope, receive))
            except ClientDisconnect:
                return
            await response(scope, receive, send)

    return Starlette(routes=[Route("/{path:path}", Everything())])


def serve(store: Store, *, host: str, port: int) -> None:
    """Serve a store until interrupted.

    Raises UsageError without the extra ``server`` and for an address that cannot be used.
    """
    app = build_app(store)
    try:
        import uvicorn
    except ImportError:
        raise _needs_extra() from None
    with _listener(host, port) as listener:
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    """Return a bound socket; taken here so that a port in use is an error like any other."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="choose another --port or --host",
        ) from None


def _needs_extra() -> UsageError:
    return UsageError(
        "the local server needs Starlette and uvicorn", hint="pip install 'olapps[server]'"
    )


async def _body(request: "Request") -> bytes:
    """Return a body as far as it is looked at; what is beyond the limit is read and dropped.

    A client that is still sending would take an early answer for a broken connection.
    """
    kept, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if len(kept) <= MAX_BODY_BYTES:
            kept += chunk
        if size > _DRAINED_BYTES:
            break
    return bytes(kept)
