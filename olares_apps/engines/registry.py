"""The engines that exist: entry points of the group ``olapps.engines.v1``.

The built-in ones are registered in ``pyproject.toml`` like any plug-in; the table below lets
them work from a source tree too, where no package metadata exists.
"""

from collections.abc import Mapping
from functools import cache, reduce
from importlib import import_module
from importlib.metadata import entry_points
from operator import or_
from typing import Annotated, Any, Final, get_args

from olares_apps.engines.base import Engine
from olares_apps.errors import UnknownName, UsageError
from olares_apps.spec.models import AppSpec

__all__ = ["GROUP", "engines", "get_engine", "spec_model"]

GROUP: Final = "olapps.engines.v1"
_BUILT_IN: Final = {
    name: f"olares_apps.engines.{name}:ENGINE"
    for name in ("container", "llamacpp", "lucebox", "vllm")
}


@cache
def engines() -> Mapping[str, Engine[Any]]:
    """Return every registered engine by name, in the order of the names.

    Raises UsageError for a plug-in that cannot be loaded or takes a name that is taken.
    """
    places = dict(_BUILT_IN)
    for point in entry_points(group=GROUP):
        if places.setdefault(point.name, point.value) != point.value:
            raise UsageError(
                f"engine '{point.name}' is registered as {places[point.name]} and {point.value}",
                hint="uninstall one of the two packages",
            )
    return {name: _load(name, places[name]) for name in sorted(places)}


def _load(name: str, place: str) -> Engine[Any]:
    module, _, attribute = place.partition(":")
    hint = "update or uninstall the package that provides it"
    try:
        engine = getattr(import_module(module), attribute)
    except Exception as error:  # a plug-in may raise anything while it is imported
        raise UsageError(
            f"engine '{name}' cannot be loaded from {place}: {error}", hint=hint
        ) from error
    fault = _fault(name, engine)
    if fault:
        raise UsageError(f"engine '{name}' of {place} {fault}", hint=hint)
    found: Engine[Any] = engine
    return found


def _fault(name: str, engine: object) -> str | None:
    """Return what keeps an object from being the engine of that name; None when nothing does."""
    if not isinstance(engine, Engine):
        return "is no olares_apps.engines.base.Engine"
    if engine.name != name:
        return f"calls itself '{engine.name}'"
    kind = engine.settings.model_fields["type"].annotation
    if get_args(kind) != (name,):
        return f"has settings whose type is not Literal['{name}']"
    return None


def get_engine(name: str) -> Engine[Any]:
    """Return the engine called ``name``; raises UnknownName for any other."""
    found = engines().get(name)
    if found is None:
        raise UnknownName("engine", name, list(engines()))
    return found


@cache
def spec_model() -> type[AppSpec[Any]]:
    """Return the concrete spec model: its engine settings are those of any registered engine."""
    from pydantic import Field

    kinds = [engine.settings for engine in engines().values()]
    settings: Any = reduce(or_, kinds)
    if len(kinds) > 1:
        settings = Annotated[settings, Field(discriminator="type")]
    model: type[AppSpec[Any]] = AppSpec[settings]
    return model
