"""Rendering: one spec and one generation to a chart, a chart to an archive."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olares_apps.render.assemble import Renderable, asset_paths, render_chart

__all__ = ["Renderable", "asset_paths", "render_chart"]


def __getattr__(name: str) -> Any:
    """Load the assembling only for who renders: archives and trees are wanted without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from olares_apps.render import assemble

    return getattr(assemble, name)
