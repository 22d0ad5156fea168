"""Where in a spec a value of its chart was written: the field, and its line in the file."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.models import AppSpec
from olares_apps.spec.positions import FieldPath

__all__ = ["argument_field", "image_field", "line_in_spec", "manifest_field", "variable_field"]

# Field of the manifest, indexes left out -> the field of the spec that it is made of. The
# longest beginning of a path that is listed counts.
_FIELDS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("metadata", "name"): ("app",),
    ("metadata", "appid"): ("app",),
    ("metadata", "title"): ("title",),
    ("metadata", "description"): ("text", "summary"),
    ("metadata", "icon"): ("icon",),
    ("metadata", "version"): ("version",),
    ("metadata", "categories"): ("categories",),
    ("spec", "versionName"): ("version",),
    ("spec", "fullDescription"): ("text", "about"),
    ("spec", "upgradeDescription"): ("releases",),
    ("spec", "developer"): ("developer",),
    ("spec", "website"): ("website",),
    ("spec", "sourceCode"): ("source_code",),
    ("spec", "license"): ("licenses",),
    ("spec", "locale"): ("locales",),
    ("spec", "promoteImage"): ("screenshots",),
    **{
        (*block, key): ("resources", field)
        for block in (("spec",), ("spec", "accelerator"))
        for key, field in (
            ("requiredCpu", "cpu"),
            ("limitedCpu", "cpu_limit"),
            ("requiredMemory", "memory"),
            ("limitedMemory", "memory_limit"),
            ("requiredDisk", "disk"),
            ("limitedDisk", "disk"),
            ("requiredGpu", "gpu_memory"),
            ("limitedGpu", "gpu_memory"),
            ("requiredGPUMemory", "gpu_memory"),
            ("limitedGPUMemory", "gpu_memory"),
        )
    },
    ("entrances", "title"): ("entrance", "title"),
    ("entrances", "authLevel"): ("entrance", "auth_level"),
    ("entrances", "openMethod"): ("entrance", "open_method"),
    ("entrances", "port"): ("engine", "port"),
}
_OF_CHART: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("name",): ("app",),
    ("version",): ("version",),
    ("description",): ("text", "summary"),
}
# Part of a spec that may be left out -> the field that decides instead.
_MADE_OF: Final = {
    "resources": "engine",
    "entrance": "title",
    "releases": "version",
    "locales": "text",
    "website": "model",
}
# Lists that stand in the spec entry by entry as in the manifest.
_LISTS: Final = ("screenshots", "categories")
_ROLES: Final = {"mmproj": "mmproj", "draft": "drafter"}


def manifest_field(file: str, path: FieldPath) -> FieldPath | None:
    """Return the field of the spec that a field of Chart.yaml or of a manifest is made of.

    None for what the chart adds itself.
    """
    names = tuple(step for step in path if isinstance(step, str))
    if file == "Chart.yaml":
        return _OF_CHART.get(names[:1])
    field = next(
        (_FIELDS[names[:end]] for end in range(len(names), 0, -1) if names[:end] in _FIELDS), None
    )
    parts = PurePosixPath(file).parts
    if len(parts) == 3 and parts[0] == "i18n":
        is_text = field is not None and field[0] == "text"
        return ("locales", parts[1], *field[1:]) if field and is_text else field
    indexes = [step for step in path if isinstance(step, int)]
    return (*field, *indexes[:1]) if field and field[0] in _LISTS else field


def argument_field(spec: AppSpec[Any], names: Iterable[str], value: str | None) -> FieldPath | None:
    """Return the field that an argument of the server comes from.

    ``names`` are all spellings of its flag, or the one word that belongs to no flag. None for
    an argument that the engine adds by itself.
    """
    spellings = list(names)
    engine = spec.engine
    for index, item in enumerate(engine.extra_args):
        if item.partition("=")[0] in spellings or item in spellings:
            after = engine.extra_args[index + 1 : index + 2]
            is_value = value is not None and after == [value] and value not in spellings
            return ("engine", "extra_args", index + is_value)
    owned = engine.reserved_arguments()
    field = next((owned[name] for name in spellings if name in owned), None)
    if field == "model.files":
        return ("model", "files", *_index_of_role(spec, spellings))
    return tuple(field.split(".")) if field and " " not in field else None


def _index_of_role(spec: AppSpec[Any], spellings: Iterable[str]) -> list[int]:
    """Return the index of the first model file of the role that a flag stands for."""
    written = " ".join(spellings)
    role = next((role for word, role in _ROLES.items() if word in written), "target")
    return [index for index, item in enumerate(spec.model.files) if item.role == role][:1]


def image_field(spec: AppSpec[Any], image: str) -> FieldPath | None:
    """Return the field of a container image, None for one that the chart adds."""
    return ("engine", "image") if image and image == spec.engine.image else None


def variable_field(spec: AppSpec[Any], name: str) -> FieldPath | None:
    """Return the field of an environment variable, None for one that the chart sets."""
    return ("engine", "env", name) if name in spec.engine.env else None


def line_in_spec(loaded: LoadedSpec, field: FieldPath, piece: str = "") -> int:
    """Return the line of a field, or of a piece of its value.

    A default stands nowhere: then it is the line of the part that leaves it out, or of the field
    that the default is made of.
    """
    spot = loaded.positions.inside(field, piece) if piece else None
    if spot is None and loaded.positions.key(field[:1]) is None:
        field = (_MADE_OF.get(str(field[0]), "app"),)
    return (spot or loaded.positions.nearest(field)).line
