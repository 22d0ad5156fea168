"""The local market server: a thin HTTP shell around the stored answers, and a page to look at.

Needs the extra ``server`` (Starlette and uvicorn). Everything that devices ask for comes from
`Answers`; this module only translates requests.
"""

from html import escape
from typing import TYPE_CHECKING

from olares_apps.errors import MarketError, UsageError
from olares_apps.market.answers import MAX_BODY_BYTES, Answers
from olares_apps.market.store import Store

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["build_app", "serve"]

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark }}
td, th {{ text-align: left; padding: .3rem 1rem .3rem 0; vertical-align: top }}
</style>
<h1>{title}</h1>
<p>Add this address as a market source on the device: <code>{base}</code></p>
<table>
<tr><th>App<th>Name<th>Newest version<th>For Olares</tr>
{rows}
</table>
</html>
"""


def build_app(store: Store) -> "Starlette":
    """Return the ASGI application that serves a store, read only.

    Raises UsageError when the extra ``server`` is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import HTMLResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise UsageError(
            "the local server needs Starlette and uvicorn",
            hint="pip install 'olapps[server]'",
        ) from None
    answers = Answers(store)

    async def respond(request: "Request") -> "Response":
        if request.url.path == "/" and request.method in ("GET", "HEAD"):
            return HTMLResponse(_page(answers, str(request.base_url).rstrip("/")))
        answer = answers.respond(
            request.method,
            request.url.path,
            dict(request.query_params),
            await _body(request),
            if_none_match=request.headers.get("if-none-match", ""),
        )
        return Response(answer.body, status_code=answer.status, headers=dict(answer.headers))

    return Starlette(routes=[Route("/{path:path}", respond, methods=_METHODS)])


def serve(store: Store, *, host: str, port: int) -> None:
    """Serve a store until interrupted; raises UsageError without the extra ``server``."""
    app = build_app(store)
    import uvicorn

    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)


async def _body(request: "Request") -> bytes:
    """Read a body no further than the limit shows that it is too large."""
    parts, size = [], 0
    async for chunk in request.stream():
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            break
    return b"".join(parts)


def _page(answers: Answers, base: str) -> str:
    try:
        items = answers.listing()
    except MarketError as error:
        return _PAGE.format(title="This market is damaged", base=escape(error.message), rows="")
    cells = (
        (item["title"], item["name"], item["version"], item["olares_version_constraint"])
        for item in items
    )
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}' for cell in row)}</tr>" for row in cells
    )
    return _PAGE.format(title="Olares market", base=escape(base), rows=rows)
