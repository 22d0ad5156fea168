"""Rules between the parts of a spec that shape its chart.

Sources: the Olares contract, sections 5.2, 5.4, 5.5 and 6.2.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from olares_apps.spec.conflict import Conflict
from olares_apps.spec.fields import FieldError, value_at
from olares_apps.spec.structure import ACCELERATORS, CONSOLE, CONSOLE_TITLE, Setting

if TYPE_CHECKING:
    from olares_apps.spec.models import AppSpec

__all__ = ["STRUCTURE_RULES"]

# Names that the chart's own containers, volumes and objects have.
_OWN_NAMES: Final = ("server", "download", "permissions", "config", "scripts", "files", "mounts")
# What a chart with Model Console has besides.
_CONSOLE_NAMES: Final = (CONSOLE, "wait", "prepare")
_MOST_ENTRANCES: Final = 10
# Folders of the image that a volume, empty at first, would hide.
_SYSTEM_FOLDERS: Final = frozenset(
    "/bin /boot /dev /etc /lib /lib64 /proc /sbin /sys /usr /usr/bin /usr/lib "
    "/usr/local /usr/local/bin /usr/local/cuda /usr/local/lib /usr/sbin".split()
)
_KERNEL_FOLDERS: Final = ("/dev/", "/proc/", "/sys/")
_OWN_FOLDERS: Final = ("/models", "/config", "/scripts", "/dev/shm", "/")  # noqa: S108
# What Service, probes, flag table and the image itself follow besides the arguments.
_FIXED_FIELDS: Final = tuple(f"engine.{name}" for name in "type image build port binary".split())
_TRUSTED_REGISTRY: Final = "docker.io/"
# A Service's name is a DNS label.
_LONGEST_NAME: Final = 63


def _services(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    ports = {spec.engine.port: "engine.port"}
    for index, service in enumerate(spec.services):
        path = ("services", index)
        if service.port in ports:
            yield Conflict((*path, "port"), f"{service.port} is also that of {ports[service.port]}")
        ports.setdefault(service.port, f"services.{index}.port")
        if len(f"{spec.app}-{service.name}") > _LONGEST_NAME:
            message = f"{spec.app}-{service.name} is longer than {_LONGEST_NAME} characters"
            yield Conflict((*path, "name"), message)
        if service.name.endswith("-"):
            yield Conflict((*path, "name"), f"{service.name} ends with a hyphen")
        if service.name in _OWN_NAMES:
            yield Conflict((*path, "name"), f"{service.name} is a name of the chart's own parts")
    yield from _repeated("services", "name", (item.name for item in spec.services))


def _entrances(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    known = {item.name for item in spec.services}
    places: list[tuple[tuple[str | int, ...], str | None]] = [
        (("entrance", "service"), spec.entrance.service),
        *((("entrances", at, "service"), e.service) for at, e in enumerate(spec.entrances)),
    ]
    for path, service in places:
        if service is not None and service not in known:
            listed = ", ".join(sorted(known)) or "none"
            yield Conflict(path, f"there is no service {service}", f"services: {listed}")
    names = (item.name for item in spec.entrances)
    yield from _repeated("entrances", "name", names, taken={spec.app: "the main entrance"})
    titles = (item.title for item in spec.entrances)
    taken = {spec.entrance_title: "the main entrance"}
    yield from _repeated("entrances", "title", titles, taken=taken)


def _repeated(
    field: str, key: str, values: Iterable[str], *, taken: dict[str, str] | None = None
) -> Iterator[Conflict]:
    seen = dict(taken or {})
    for index, value in enumerate(values):
        if value in seen:
            yield Conflict((field, index, key), f"{value} is also that of {seen[value]}")
        seen.setdefault(value, f"{field}.{index}")


def _volumes(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    seen: dict[str, str] = {}
    for index, volume in enumerate(spec.volumes):
        for number, mount in enumerate(volume.mounts):
            path = ("volumes", index, "mounts", number)
            if mount in _OWN_FOLDERS:
                yield Conflict(path, f"{mount} is a folder of the chart itself", "choose another")
            elif mount in _SYSTEM_FOLDERS or mount.startswith(_KERNEL_FOLDERS):
                message = f"{mount} is a folder of the system: the volume would hide it"
                yield Conflict(path, message, "choose another, for example /data")
            elif mount in seen:
                yield Conflict(path, f"{mount} is also that of {seen[mount]}")
            file = next((f for f in spec.config_files if mount.startswith(f"{f}/")), None)
            if file:
                yield Conflict(path, f"{mount} lies in {file}, which config_files makes a file")
            seen.setdefault(mount, ".".join(map(str, path)))


def _config_files(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    for path in spec.config_files:
        folder = next((f for f in _OWN_FOLDERS[:-1] if path.startswith(f"{f}/")), None)
        if folder:
            message = f"lies in {folder}, a folder of the chart itself"
            yield Conflict(("config_files", path), message, "choose another folder")
        file = next((f for f in spec.config_files if path.startswith(f"{f}/")), None)
        if file:
            message = f"lies in {file}, which is a file too"
            yield Conflict(("config_files", path), message, "choose another folder")


def _init(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    """Admission lets only images of docker.io run as root, which most images do."""
    for index, step in enumerate(spec.init):
        if not step.image.startswith(_TRUSTED_REGISTRY):
            registry = step.image.partition("/")[0]
            yield Conflict(
                ("init", index, "image"),
                f"devices refuse init containers of {registry}",
                "use an image of docker.io, best one of docker.io/beclab",
            )
        if step.name.endswith("-"):
            yield Conflict(("init", index, "name"), f"{step.name} ends with a hyphen")
        if step.name in _OWN_NAMES:
            yield Conflict(("init", index, "name"), f"{step.name} is a container of the chart")
    yield from _repeated("init", "name", (item.name for item in spec.init))


def _support(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    support = spec.support
    for index, mode in enumerate(support.accelerators):
        needed = ACCELERATORS[mode]
        if needed and needed not in support.arch:
            yield Conflict(
                ("support", "accelerators", index),
                f"{mode} needs {needed} in support.arch",
                f"add {needed}, if the image is made for it",
            )
    for field in ("arch", "accelerators"):
        yield from (
            Conflict(("support", field, at), f"{item} is listed twice")
            for at, item in enumerate(getattr(support, field))
            if item in getattr(support, field)[:at]
        )


def _settings(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    for name, setting in spec.settings.items():
        path = ("settings", name)
        if name.startswith("OLARES_"):
            hint = f"give it another name and write source: {name}"
            yield Conflict(path, "names that begin with OLARES_ belong to the system", hint)
        if name in spec.engine.env:
            yield Conflict(path, f"engine.env sets {name} too", "keep one of the two")
        if setting.field is None:
            yield from _ranges(path, setting, None)
            continue
        if setting.type is not None or setting.required or setting.source:
            hint = "leave type, required and source out: they follow from the field"
            yield Conflict(path, f"changes {setting.field}, whose value is its default", hint)
        try:
            value = value_at(spec, setting.field)
        except FieldError:
            value = None
        outside = not setting.field.startswith("engine.") or setting.field in _FIXED_FIELDS
        if outside or isinstance(value, bool | dict | list):
            message = f"{setting.field} cannot be a setting"
            yield Conflict((*path, "field"), message, "name a number or a word of engine")
        elif value is None:
            hint = "the default of a setting is the value in the spec: set it"
            yield Conflict((*path, "field"), f"{setting.field} has no value", hint)
        else:
            yield from _ranges(path, setting, value)
    fields = [item.field for item in spec.settings.values() if item.field]
    for name, item in spec.settings.items():
        if item.field and fields.count(item.field) > 1:
            yield Conflict(("settings", name, "field"), f"two settings change {item.field}")


def _ranges(path: tuple[str, str], setting: Setting, value: Any) -> Iterator[Conflict]:
    low, high = setting.min, setting.max
    numeric = isinstance(value, int) or setting.type == "int"
    if (low is not None or high is not None) and not numeric:
        yield Conflict(path, "only whole numbers have min and max", "use choices")
    elif low is not None and high is not None and low > high:
        yield Conflict((*path, "min"), f"{low} is above max, {high}")
    elif numeric and value is not None:
        if low is not None and value < low:
            yield Conflict((*path, "min"), f"{setting.field} is {value}, below {low}")
        if high is not None and value > high:
            yield Conflict((*path, "max"), f"{setting.field} is {value}, above {high}")
    if setting.choices and value is not None and value not in setting.choices:
        yield Conflict((*path, "choices"), f"{setting.field} is {value}, which is not among them")
    if setting.choices and (low is not None or high is not None):
        yield Conflict((*path, "choices"), "choices leave min and max nothing to say")
    if numeric and low is not None and low < 0:
        yield Conflict((*path, "min"), f"{low} is below 0, which no range of a device can say")


def _console(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    """Model Console takes an entrance, a Service and names of containers of its own."""
    if not spec.model.console:
        return
    path = ("model", "console")
    token = spec.settings.get("HF_TOKEN")
    if token is not None and token.required:
        yield Conflict(
            path,
            "the console downloads public models only, and settings.HF_TOKEN is required",
            "remove it: the download script takes the owner's token",
        )
    if not spec.model.files:
        yield Conflict(path, "there are no files to download", "leave it out")
    if len(spec.entrances) >= _MOST_ENTRANCES - 1:
        message = f"its entrance would be one more than {_MOST_ENTRANCES}"
        yield Conflict(path, message, "leave it out, or remove an entrance")
    for field, names in (
        ("services", (item.name for item in spec.services)),
        ("entrances", (item.name for item in spec.entrances)),
        ("init", (item.name for item in spec.init)),
    ):
        for index, name in enumerate(names):
            if name in _CONSOLE_NAMES:
                message = f"{name} is a name of Model Console's own parts"
                yield Conflict((field, index, "name"), message)
    titles: list[tuple[tuple[str | int, ...], str]] = [
        (("entrance", "title"), spec.entrance_title),
        *((("entrances", at, "title"), item.title) for at, item in enumerate(spec.entrances)),
    ]
    for place, title in titles:
        if title == CONSOLE_TITLE:
            yield Conflict(place, f"{title} is the title of Model Console's own entrance")
    for index, file in enumerate(spec.model.files):
        # The variable that names the places has a comma between them.
        if "," in (file.stored_as or file.file):
            message = "Model Console cannot store a name with a comma"
            yield Conflict(("model", "files", index), message, "set stored_as")


STRUCTURE_RULES: Final = (
    _console,
    _services,
    _entrances,
    _volumes,
    _config_files,
    _init,
    _support,
    _settings,
)
