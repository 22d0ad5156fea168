"""The detail document of an archive: what a device stores about one app.

It is derived from the chart's manifest and locale files alone, so it is immutable together
with the archive and names no time. Types and spellings follow the Olares contract 2.5: a
value of the wrong type is dropped by a device without a word.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from olares_apps.errors import MarketError
from olares_apps.market import canonical
from olares_apps.market.entries import Card, archive_name
from olares_apps.render.chart import ChartTree
from olares_apps.spec.quantity import parse_cpu, parse_quantity
from olares_apps.spec.types import app_id

__all__ = ["card", "detail_document", "with_version"]

Json = dict[str, Any]

# Detail field: manifest field of `spec`. Plain strings, "" when the manifest has none.
_SPEC_TEXTS: Final = {
    name: name
    for name in "versionName promoteVideo subCategory developer target submitter doc website "
    "featuredImage sourceCode namespace".split()
}
_SPEC_LISTS: Final = ("promoteImage", "supportArch", "license", "legal", "subCharts")
_TOP_LISTS: Final = ("entrances", "ports", "envs")
_TOP_OBJECTS: Final = ("permission", "middleware", "options", "tailscale")
_LONG_TEXTS: Final = ("fullDescription", "upgradeDescription")


def _bytes(text: str) -> str:
    return str(parse_quantity(text))


def _cores(text: str) -> str:
    return format(parse_cpu(text).normalize() + Decimal(0), "f")


# Detail field: (manifest field, reader). The catalogue writes CPU and GPU in capitals and GPU
# memory comes from the accelerator block where a manifest has one.
_SIZES: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    f"{side}{name}": (f"{side}{manifest}", read)
    for side in ("required", "limited")
    for name, manifest, read in (
        ("Memory", "Memory", _bytes),
        ("Disk", "Disk", _bytes),
        ("CPU", "Cpu", _cores),
        ("GPU", "Gpu", _bytes),
    )
}


def detail_document(chart: ChartTree) -> Json:
    """Return the detail document of a chart (contract 2.5).

    Sizes are strings: bytes for memory, disk and GPU memory, cores for CPU, "0" for none.
    Raises MarketError when the chart contradicts itself: a version or name that differs, a
    size that is no quantity, a locale that is listed and has no texts. A text that a locale
    lacks falls back to the manifest's.
    """
    manifest = chart.manifest
    metadata: Mapping[str, Any] = manifest.get("metadata") or {}
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    _agree(chart, metadata)
    locales = _locales(chart, spec)
    identity = app_id(chart.app)
    detail: Json = {
        "id": identity,
        "appID": identity,
        "name": chart.app,
        "chartName": archive_name(chart.app, chart.version),
        "cfgType": str(manifest.get("olaresManifest.type") or "app"),
        "apiVersion": str(manifest.get("apiVersion") or ""),
        "version": chart.version,
        "icon": str(metadata.get("icon") or ""),
        "title": str(metadata.get("title") or ""),
        "description": str(metadata.get("description") or ""),
        "categories": _texts(metadata.get("categories")),
        "locale": list(locales),
        "onlyAdmin": bool(spec.get("onlyAdmin", False)),
        "rating": 0,
        "supportClient": dict(spec.get("supportClient") or {}),
        "screenshots": [],
        "tags": [],
        "appLabels": [],
    }
    detail |= {name: str(spec.get(field) or "") for name, field in _SPEC_TEXTS.items()}
    detail["versionName"] = detail["versionName"] or chart.version
    detail |= {name: list(spec.get(name) or []) for name in _SPEC_LISTS}
    detail |= {name: list(manifest.get(name) or []) for name in _TOP_LISTS}
    detail |= {name: dict(manifest.get(name) or {}) for name in _TOP_OBJECTS}
    detail |= _sizes(chart.app, spec)
    detail["i18n"] = {locale: _localised(chart, locale, metadata, spec) for locale in locales}
    for name in _LONG_TEXTS:
        by_locale = {locale: detail["i18n"][locale]["spec"][name] for locale in locales}
        detail[name] = by_locale or str(spec.get(name) or "")
    detail["versionHistory"] = [
        {
            "appName": chart.app,
            "version": chart.version,
            "versionName": detail["versionName"],
            "upgradeDescription": str(spec.get("upgradeDescription") or ""),
        }
    ]
    try:
        canonical.encode(detail)
    except ValueError as error:
        raise MarketError(
            f"{chart.app}: OlaresManifest.yaml {error}",
            hint="write it as text, in quotes",
        ) from error
    return detail


def with_version(detail: Mapping[str, Any], version: str) -> Json:
    """Return a detail document under another version; nothing else of it changes."""
    old = detail["version"]
    name = detail["versionName"]
    label = version if name == old else name
    history = [
        {**item, "version": version, "versionName": label} for item in detail["versionHistory"][:1]
    ]
    return {
        **detail,
        "version": version,
        "versionName": label,
        "chartName": archive_name(detail["name"], version),
        "versionHistory": history,
    }


def card(detail: Mapping[str, Any]) -> Card:
    """Return what lists show of a detail document."""
    return Card(
        description=detail["description"],
        icon=detail["icon"],
        categories=tuple(detail["categories"]),
        cfg_type=detail["cfgType"],
        featured_image=detail.get("featuredImage", ""),
        labels=tuple(detail.get("appLabels", ())),
    )


def _agree(chart: ChartTree, metadata: Mapping[str, Any]) -> None:
    for field, expected in (("name", chart.app), ("version", chart.version)):
        found = metadata.get(field)
        if found != expected:
            raise MarketError(
                f"{chart.app}: the chart's {field} is {expected}, "
                f"metadata.{field} of OlaresManifest.yaml is {found!r}",
                hint="render the chart again",
            )


def _locales(chart: ChartTree, spec: Mapping[str, Any]) -> Sequence[str]:
    listed = _texts(spec.get("locale"))
    for locale in listed:
        if locale not in chart.i18n and chart.i18n:
            raise MarketError(
                f"{chart.app}: locale {locale} is listed, "
                f"but i18n/{locale}/OlaresManifest.yaml is missing",
                hint="add the texts or take the locale out of spec.locale",
            )
    return listed if chart.i18n else []


def _localised(
    chart: ChartTree, locale: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> Json:
    file = chart.i18n[locale]
    own, default = (file.get("metadata") or {}), metadata
    title, description = (str(own.get(k) or default.get(k) or "") for k in ("title", "description"))
    texts = file.get("spec") or {}
    return {
        "metadata": {"title": title, "description": description},
        "entrances": [],
        "spec": {name: str(texts.get(name) or spec.get(name) or "") for name in _LONG_TEXTS},
    }


def _sizes(app: str, spec: Mapping[str, Any]) -> Json:
    accelerators = spec.get("accelerator") or []
    amounts: Mapping[str, Any] = spec
    if accelerators:
        first = accelerators[0]
        amounts = first | {
            f"{side}Gpu": first.get(f"{side}GPUMemory") for side in ("required", "limited")
        }
    sizes = {}
    for name, (field, read) in _SIZES.items():
        value = str(amounts.get(field) or "0")
        try:
            sizes[name] = "0" if value == "0" else read(value)
        except ValueError as error:
            raise MarketError(
                f"{app}: {field} is '{value}', which {error}",
                hint="quote the amount and use a Kubernetes unit",
            ) from error
    return sizes


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value or []]
