"""The manifest's metadata block: what the market lists."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.rules.manifest import is_web_address
from olares_apps.checks.shape import as_list, as_map, as_text, dig, shown
from olares_apps.spec.types import TITLE_BYTES

__all__ = ["rules"]

rules = RuleBook(Group.DATA)

_REQUIRED: Final = ("name", "icon", "description", "title", "version")
_METADATA_KEYS: Final = frozenset(
    "name icon description title version appid categories categories_v2 tags rating target "
    "type".split()
)
_SLUG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@rules.error(
    "metadata-required",
    "name, icon, description, title and version are required.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _metadata(context: ChartContext) -> Iterator[Found]:
    if not context.manifests[False].exists or context.manifests[False].problem:
        return
    metadata = as_map(context.manifest.get("metadata"))
    for key in _REQUIRED:
        value = metadata.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            yield context.in_manifest(
                f"metadata.{key} is missing", "metadata", hint=f"write {key}: ..."
            )


@rules.error(
    "metadata-name-length",
    "Names have 1 to 30 characters.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _name_length(context: ChartContext) -> Iterator[Found]:
    name = as_text(dig(context.manifest, "metadata", "name"))
    if len(name) > 30:
        yield context.in_manifest(
            f"metadata.name is {len(name)} characters, limit 30",
            "metadata",
            "name",
            hint="shorten it",
        )


@rules.error(
    "metadata-title-length",
    "Titles have 1 to 30 bytes.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _title_length(context: ChartContext) -> Iterator[Found]:
    title = as_text(dig(context.manifest, "metadata", "title"))
    characters, size = len(title), len(title.encode("utf-8", "replace"))
    if characters > TITLE_BYTES:
        message = f"metadata.title is {characters} characters, limit {TITLE_BYTES}"
    elif size > TITLE_BYTES:
        message = (
            f"metadata.title is {size} bytes ({characters} characters; an accent takes two), "
            f"limit {TITLE_BYTES}"
        )
    else:
        return
    yield context.in_manifest(message, "metadata", "title", hint="shorten it")


@rules.error(
    "metadata-icon-url",
    "The icon is fetched by the user's browser: an absolute address.",
    "OAC validate.go",
    blocks=True,
)
def _icon(context: ChartContext) -> Iterator[Found]:
    icon = dig(context.manifest, "metadata", "icon")
    if icon and not is_web_address(icon):
        yield context.in_manifest(
            f"metadata.icon {shown(icon)} is no absolute http or https address",
            "metadata",
            "icon",
            hint="write the full address, for example https://market.example.org/icons/app.png",
        )


@rules.error(
    "metadata-unknown-key",
    "The newest linter rejects keys of metadata that it does not know.",
    "OAC validate.go and taxonomy.go",
    applies=Applies.NEW,
    blocks=True,
)
def _metadata_keys(context: ChartContext) -> Iterator[Found]:
    for key in as_map(context.manifest.get("metadata")):
        if key not in _METADATA_KEYS:
            yield context.in_manifest(
                f"metadata.{key} is no known key",
                "metadata",
                key,
                hint="remove it: the newest linter refuses unknown keys of metadata",
            )


@rules.error(
    "metadata-taxonomy-slug",
    "categories_v2 and tags are slugs.",
    "OAC taxonomy.go",
    applies=Applies.NEW,
    blocks=True,
)
def _slugs(context: ChartContext) -> Iterator[Found]:
    for key in ("categories_v2", "tags"):
        for index, item in enumerate(as_list(dig(context.manifest, "metadata", key))):
            if not isinstance(item, str) or not _SLUG.fullmatch(item):
                yield context.in_manifest(
                    f"metadata.{key}[{index}] {shown(item)} is no slug",
                    "metadata",
                    key,
                    index,
                    hint="write lower-case words joined by single hyphens",
                )
