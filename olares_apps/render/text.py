"""The texts of an app's page, in every locale: facts of the spec filled into text templates.

Free text of the spec may name facts by placeholders; what is derived (files, context, memory,
speed, licences) comes from ``text/<locale>/*.md``, and what only one engine can say from
``engines/<engine>/<locale>/runs.md``. A locale without templates of its own borrows those of
en-US around its own free text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.render.templates import Templates
from olares_apps.spec.models import AppSpec, AppText
from olares_apps.spec.placeholders import expand

__all__ = ["DEFAULT_LOCALE", "PageText", "page_texts"]

DEFAULT_LOCALE: Final = "en-US"
# Older release notes shown below the newest; the market's history keeps all of them.
_EARLIER_RELEASES: Final = 4


@dataclass(frozen=True, slots=True)
class PageText:
    """One locale's texts: a plain sentence, the page in Markdown, the release notes."""

    description: str
    full: str
    upgrade: str


def page_texts(
    spec: AppSpec[Any],
    templates: Templates,
    *,
    facts: Mapping[str, object],
    gpu_memory: str | None,
) -> dict[str, PageText]:
    """Return the texts of an app by locale: en-US first, the others in alphabetical order.

    ``facts`` answer the placeholders of free text and are open to the templates;
    ``gpu_memory`` is the need in whole GiB (``21``), or None without a GPU. Release notes keep
    the versions that the spec gives them, in every generation: notes name each other by them.
    Raises RenderError for a template fault and SpecError for a placeholder without a fact.
    """
    writer = _Writer(spec, templates, facts, gpu_memory)
    return {locale: writer.page(locale) for locale in writer.locales}


class _Writer:
    def __init__(
        self,
        spec: AppSpec[Any],
        templates: Templates,
        facts: Mapping[str, object],
        gpu_memory: str | None,
    ) -> None:
        self._spec, self._templates, self._facts = spec, templates, facts
        self._built_in = {name.split("/")[1] for name in templates.names("text/")}
        releases = [
            {
                "version": item.version,
                "notes": self._expand(item.notes, f"releases.{number}.notes").strip("\n"),
            }
            for number, item in enumerate(spec.releases[: 1 + _EARLIER_RELEASES])
        ]
        self._common = {
            "spec": spec,
            "facts": facts,
            "gpu_memory": gpu_memory,
            "releases": releases,
        }

    @property
    def locales(self) -> list[str]:
        others = (self._built_in | self._spec.locales.keys()) - {DEFAULT_LOCALE}
        return [DEFAULT_LOCALE, *sorted(others)]

    def page(self, locale: str) -> PageText:
        source = locale if locale in self._built_in else DEFAULT_LOCALE
        context = self._common | self._own(locale) | {"engine_lines": self._engine_lines(locale)}
        # Every reader agrees about a text that does not end in a line break.
        return PageText(
            *(
                self._templates.render(f"text/{source}/{name}.md", context).strip("\n")
                for name in ("description", "full", "upgrade")
            )
        )

    def _engine_lines(self, locale: str) -> str:
        """Return the engine's own lines of the page, empty when it has none."""
        for place in (locale, DEFAULT_LOCALE):
            name = f"engines/{self._spec.engine.type}/{place}/runs.md"
            if name in self._templates.files:
                return self._templates.render(name, self._common).strip("\n")
        return ""

    def _own(self, locale: str) -> dict[str, Any]:
        default = locale == DEFAULT_LOCALE
        text = self._spec.text if default else self._spec.locales.get(locale)
        where = "text" if default else f"locales.{locale}"
        # A locale without own texts shows what is derived and the default ones.
        text = text or AppText.model_construct(summary="")
        return {
            "summary": self._expand(text.summary, f"{where}.summary"),
            "about": self._expand(text.about, f"{where}.about"),
            "limits": [
                self._expand(item, f"{where}.limits.{number}")
                for number, item in enumerate(text.limits)
            ],
        }

    def _expand(self, text: str, where: str) -> str:
        return expand(text, self._facts, where)
