"""The files of a chart as rules read them: texts, YAML documents, the manifest for each role."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from olares_apps.checks import rendering
from olares_apps.checks.documents import Document, Unreadable, read_document
from olares_apps.checks.rendering import Failure, Template
from olares_apps.errors import Problem

if TYPE_CHECKING:
    from olares_apps.checks.listing import Listing
    from olares_apps.render.chart import ChartTree

__all__ = ["MANIFEST", "TEXT_ENDINGS", "ChartFiles"]

MANIFEST: Final = "OlaresManifest.yaml"
TEXT_ENDINGS: Final = (".yaml", ".yml", ".tpl", ".sh", ".txt", ".json", ".md", ".conf", ".py")
"""Ends of the names of files that are text."""


class ChartFiles:
    """The part of a chart's context that reads its files."""

    if TYPE_CHECKING:
        files: Mapping[str, bytes]
        folder: str
        listing: Listing | None
        tree: ChartTree | None

        @property
        def is_literal(self) -> bool:
            """Say whether devices read the manifest as it is."""

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Return the text of every file; bytes that are not UTF-8 are replaced."""
        return {path: data.decode("utf-8-sig", "replace") for path, data in self.files.items()}

    def text(self, path: str) -> str:
        """Return the text of one file, empty when it is not there."""
        return self.texts.get(path, "")

    @cached_property
    def undecodable(self) -> Mapping[str, int]:
        """Return the text files that are not UTF-8, each with the offset of the first bad byte."""
        found = {}
        for path, data in self.files.items():
            if path.endswith(TEXT_ENDINGS):
                try:
                    data.decode()
                except UnicodeDecodeError as error:
                    found[path] = error.start
        return found

    def inside(self, path: str) -> str:
        """Return the path of an entry of the listing as the chart's own files are named."""
        packed = self.listing is not None and self.listing.is_archive
        return path.removeprefix("./").removeprefix(f"{self.folder}/") if packed else path

    @cached_property
    def chart(self) -> Document:
        """Return Chart.yaml."""
        return self._document("Chart.yaml", may_be_empty=False)

    @cached_property
    def values(self) -> Document:
        """Return values.yaml."""
        return self._document("values.yaml")

    @cached_property
    def manifest_file(self) -> str:
        """Return the path of the manifest: the shallowest, as devices choose it.

        One of i18n/ is never meant, though a device would take it for want of another.
        """
        found = (
            path
            for path in self.files
            if path.lower().endswith("olaresmanifest.yaml") and not path.startswith("i18n/")
        )
        return min(found, key=lambda path: (path.count("/"), path), default=MANIFEST)

    @cached_property
    def manifest_template(self) -> Template:
        """Return the manifest as a template; devices render those older than 0.12.0."""
        return rendering.read_template(self.manifest_file, self.text(self.manifest_file))

    @cached_property
    def manifests(self) -> Mapping[bool, Document]:
        """Return the manifest as an administrator (True) and another user (False) get it."""
        text = self.text(self.manifest_file)
        if self.tree is not None and self.tree.manifest:
            known = Document(self.manifest_file, text, self.tree.manifest)
            return {False: known, True: known}
        if "{{" not in text or self.is_literal:
            plain = self._document(self.manifest_file, may_be_empty=False)
            return {False: plain, True: plain}
        return {admin: self._rendered_manifest(text, admin=admin) for admin in (False, True)}

    @cached_property
    def manifest_fails(self) -> bool:
        """Say whether the manifest is a template that does not render."""
        is_template = not self.is_literal and "{{" in self.text(self.manifest_file)
        return is_template and any(
            isinstance(rendering.render_manifest(item.text, item.path, admin=admin), Failure)
            for item in (self.manifest_template,)
            for admin in (False, True)
        )

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Return the manifest's data, as a user who is no administrator gets it.

        Raises Unreadable when there is none, so that a rule which needs it stays silent.
        """
        if not self.manifests[False].is_readable:
            raise Unreadable
        return self.manifest_data

    @property
    def manifest_data(self) -> Mapping[str, Any]:
        """Return the manifest's data, empty when there is none."""
        return self.manifests[False].data

    @cached_property
    def translations(self) -> Mapping[str, Document]:
        """Return the manifest of every locale folder below i18n/."""
        found = {}
        known = self.tree.i18n if self.tree is not None else {}
        for path in sorted(self.files):
            parts = path.split("/")
            if len(parts) == 3 and parts[0] == "i18n" and parts[2].lower() == MANIFEST.lower():
                data = known.get(parts[1])
                found[parts[1]] = (
                    self._document(path) if data is None else Document(path, self.text(path), data)
                )
        return found

    def _document(self, path: str, *, may_be_empty: bool = True) -> Document:
        if path not in self.files:
            return Document(path, "", exists=False)
        if path in self.undecodable:
            return Document(path, self.text(path), problem=Problem("is not UTF-8"))
        return read_document(path, self.text(path), may_be_empty=may_be_empty)

    def _rendered_manifest(self, text: str, *, admin: bool) -> Document:
        rendered = rendering.render_manifest(text, self.manifest_file, admin=admin)
        if isinstance(rendered, Failure):
            problem = Problem(rendered.message, line=rendered.line)
            return Document(self.manifest_file, text, problem=problem)
        return read_document(self.manifest_file, rendered, may_be_empty=False)
