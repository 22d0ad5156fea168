"""Jinja as the templates use it.

Charts are templates of templates: ``[[ ]]`` and ``[% %]`` are filled in here, ``{{ }}`` is
left for Helm. Nothing is HTML, so nothing is escaped; what is undefined, None or a boolean is
an error where it would be printed, because YAML would silently take it for something else.
"""

import traceback
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from olares_apps.errors import RenderError
from olares_apps.render.scalars import scalar

if TYPE_CHECKING:
    import jinja2

__all__ = ["Renderer"]


class Renderer:
    """Renders a fixed set of templates; each is compiled once."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    @cached_property
    def _environment(self) -> "jinja2.Environment":
        import jinja2

        environment = jinja2.Environment(
            block_start_string="[%",
            block_end_string="%]",
            variable_start_string="[[",
            variable_end_string="]]",
            comment_start_string="[#",
            comment_end_string="#]",
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,  # noqa: S701  YAML and Markdown, never HTML
            undefined=jinja2.StrictUndefined,
            finalize=_finalize,
            auto_reload=False,
            cache_size=-1,
            # The name as file name: error positions then carry it.
            loader=jinja2.FunctionLoader(lambda name: (self._files[name], name, None)),
        )
        environment.filters["scalar"] = scalar
        environment.filters["group"] = group_digits
        return environment

    def render(self, name: str, context: Mapping[str, object]) -> str:
        """Fill in one template; raises RenderError that names its line."""
        import jinja2

        try:
            return self._environment.get_template(name).render(context)
        except jinja2.TemplateSyntaxError as error:
            _fail(error.name or name, error.lineno, error)
        except Exception as error:  # an expression of a template may raise anything
            frames = traceback.extract_tb(error.__traceback__)
            place = next((f for f in reversed(frames) if f.filename in self._files), None)
            _fail(place.filename if place else name, place.lineno if place else None, error)


def group_digits(number: float) -> str:
    """Return a number with commas between its thousands: ``262,144``."""
    return f"{number:,}"


def _finalize(value: object) -> object:
    if value is None or isinstance(value, bool):
        raise RenderError(f"a template prints {value!r}: use [% if %] around it")
    return value


def _fail(name: str, line: int | None, error: Exception) -> NoReturn:
    where = f"template {name}:{line}" if line else f"template {name}"
    hint = error.hint if isinstance(error, RenderError) else None
    raise RenderError(f"{where}: {error}", hint=hint) from error
