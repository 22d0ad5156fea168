"""How pages are written: HTML templates that escape everything, one style, one script.

Style and script stand in the page itself, so a page is one request and stays whole when its
publisher's tool moves on. The content security policy allows exactly those two by their
digests, pictures of the market itself, and nothing else.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from olares_apps.bench.grouping import Row
from olares_apps.bench.leaderboard import differences
from olares_apps.render.environment import group_digits
from olares_apps.render.templates import shipped_folder
from olares_apps.spec.facts import short_tokens

if TYPE_CHECKING:
    import jinja2

__all__ = ["HTML", "PICTURE_POLICY", "Written", "gib", "look_digest", "write_page"]

HTML: Final = "text/html; charset=utf-8"
PICTURE_POLICY: Final = "default-src 'none'"
_GIB: Final = 2**30
_HEADINGS_ABOVE: Final = 2


@dataclass(frozen=True, slots=True)
class Written:
    """A finished page and the policy that it is served with."""

    data: bytes
    policy: str


def write_page(name: str, context: Mapping[str, Any]) -> Written:
    """Fill in the page template ``name``; every value is escaped."""
    text = _environment().get_template(name).render(context)
    return Written(text.encode("utf-8", "replace"), _policy())


@cache
def look_digest() -> str:
    """Return the digest of all page templates: another one means that pages look different."""
    whole = "\0".join(f"{name}\0{text}" for name, text in sorted(_files().items()))
    return sha256(whole.encode()).hexdigest()


def gib(size: int) -> str:
    """Return a size in GiB with one decimal: ``21.9``."""
    return f"{size / _GIB:.1f}"


@cache
def _files() -> Mapping[str, str]:
    folder = shipped_folder() / "pages"
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in folder.iterdir()
        if path.suffix in (".html", ".css", ".js") and not path.name.startswith(".")
    }


@cache
def _policy() -> str:
    return (
        "default-src 'none'; "
        f"style-src '{_source_hash('style.css')}'; script-src '{_source_hash('script.js')}'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def _source_hash(name: str) -> str:
    return f"sha256-{b64encode(sha256(_files()[name].encode()).digest()).decode()}"


@cache
def _environment() -> "jinja2.Environment":
    import jinja2
    from markupsafe import Markup

    files = _files()
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(dict(files)),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    # Our own two files are the only text that enters a page as it stands.
    environment.globals["style"] = Markup(files["style.css"])  # noqa: S704
    environment.globals["script"] = Markup(files["script.js"])  # noqa: S704
    environment.filters |= {
        "gib": gib,
        "grouped": group_digits,
        "short": short_tokens,
        "share": _share,
        "settings": _settings,
        "unlike": _unlike,
        "markdown": _markdown,
        "inline": _inline,
    }
    return environment


def _settings(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name.replace('-', ' ')}: {values[name]}" for name in sorted(values))


def _unlike(row: Row, first: Row) -> str:
    return ", ".join(differences(row, first))


def _share(part: str | int, whole: str | int) -> str:
    """Return a part of a whole in per cent, at most 100: the width of a bar."""
    value = Decimal(part) * 100 / Decimal(whole) if Decimal(whole) else Decimal(0)
    return f"{min(value, Decimal(100)):.2f}"


@cache
def _markdown_it() -> Any:
    from markdown_it import MarkdownIt

    # HTML in the text is shown as text; addresses other than http, https and mailto are none.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def _markdown(text: str) -> Any:
    from markupsafe import Markup

    reader = _markdown_it()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # Headings of a text stand below those of the page.
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_ABOVE, 6)}"
    html = reader.renderer.render(tokens, reader.options, {})
    return Markup(html)  # noqa: S704  escaped by the renderer


def _inline(text: str) -> Any:
    from markupsafe import Markup

    return Markup(_markdown_it().renderInline(text))  # noqa: S704  escaped by the renderer
