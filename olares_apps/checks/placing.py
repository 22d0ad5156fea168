"""Findings with their place: a field of the spec where a value comes from there, else the chart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olares_apps.checks.launch import Server
from olares_apps.checks.places import (
    line_below,
    line_of_kind,
    line_of_path,
    line_of_piece,
    line_of_text,
)
from olares_apps.checks.rule import Found
from olares_apps.checks.spec_places import (
    argument_field,
    image_field,
    line_in_spec,
    manifest_field,
    variable_field,
)
from olares_apps.checks.workloads import Container
from olares_apps.helm import RenderedObject
from olares_apps.spec.positions import FieldPath

if TYPE_CHECKING:
    from olares_apps.spec.loader import LoadedSpec

__all__ = ["Placing"]


class Placing:
    """The part of a chart's context that knows where things stand."""

    if TYPE_CHECKING:
        spec: LoadedSpec | None

        @property
        def manifest_file(self) -> str:
            """Return the path of the manifest."""

        @property
        def objects(self) -> Sequence[RenderedObject]:
            """Return the Kubernetes objects."""

        def text(self, path: str) -> str:
            """Return the text of one file, empty when it is not there."""

    def in_manifest(
        self, message: str, *path: str | int, hint: str = "", piece: str = "", **more: Any
    ) -> Found:
        """Return a finding about a field of the manifest, or about a piece of its text."""
        return self.in_document(self.manifest_file, message, path, hint=hint, piece=piece, **more)

    def in_document(
        self,
        file: str,
        message: str,
        path: tuple[str | int, ...] = (),
        *,
        hint: str = "",
        piece: str = "",
        **more: Any,
    ) -> Found:
        """Return a finding about a field of a YAML file.

        A value that comes from a field of the spec is shown there.
        """
        field = manifest_field(file, path) if self.spec else None
        if field is not None:
            return self.in_spec(message, field, piece=piece, hint=hint, **more)
        text = self.text(file)
        line = line_of_piece(text, path, piece) if piece else line_of_path(text, path)
        return Found(message, file, line, hint, **more)

    def in_spec(
        self, message: str, field: FieldPath, *, hint: str = "", piece: str = "", **more: Any
    ) -> Found:
        """Return a finding about a field of the spec, which must be there."""
        if self.spec is None:
            raise ValueError("a chart without a spec has no fields of one")
        return Found(
            message, str(self.spec.path), line_in_spec(self.spec, field, piece), hint, **more
        )

    def in_object(
        self,
        item: RenderedObject,
        message: str,
        *pieces: str,
        hint: str = "",
        below: tuple[str, ...] = (),
        field: FieldPath | None = None,
        **more: Any,
    ) -> Found:
        """Return a finding about a rendered object; ``pieces`` stand on the line meant.

        ``field`` is the field of the spec that the value comes from: with one the finding is
        about the spec. Else the line is one of the template: that of the last of ``below``,
        texts that stand below each other, then the nearest that holds all pieces, then the one
        on which the object's kind stands.
        """
        if self.spec is not None and field is not None:
            return self.in_spec(message, field, hint=hint, **more)
        text = self.text(item.file)
        start = self._start_of(item)
        line = line_below(text, *below, start=start) if below else None
        if line is None and pieces:
            line = line_of_text(text, *pieces, near=start)
        return Found(message, item.file, line or start, hint, **more)

    def field_of_image(self, container: Container) -> FieldPath | None:
        """Return the field of the spec that a container's image comes from."""
        return image_field(self.spec.spec, container.image) if self.spec else None

    def field_of_binary(self, container: Container) -> FieldPath | None:
        """Return the field of the spec that says what a container starts, else its image's."""
        stated = self.spec and getattr(self.spec.spec.engine, "binary", None)
        return ("engine", "binary") if stated else self.field_of_image(container)

    def field_of_flag(
        self, server: Server, *flags: str, value: str | None = None
    ) -> FieldPath | None:
        """Return the field of the spec that an argument of the server comes from.

        ``flags`` are spellings of one flag, of which any will do; ``value`` is the word of its
        value that is meant, None for the flag itself.
        """
        if self.spec is None:
            return None
        names = dict.fromkeys(flags)
        if server.parsed is not None:
            known = server.parsed.table.first(flags)
            names |= dict.fromkeys((*known.names, *known.negated) if known else ())
        return argument_field(self.spec.spec, names, value)

    def field_of_word(self, word: str) -> FieldPath | None:
        """Return the field of the spec that holds a word of the command line as it stands."""
        return argument_field(self.spec.spec, (word,), None) if self.spec else None

    def field_of_variable(self, name: str) -> FieldPath | None:
        """Return the field of the spec that sets an environment variable."""
        return variable_field(self.spec.spec, name) if self.spec else None

    def _start_of(self, item: RenderedObject) -> int:
        """Return the line of the template on which an object's kind stands."""
        text = self.text(item.file)
        if "{{" not in text:
            return item.line
        alike = [
            other for other in self.objects if other.file == item.file and other.kind == item.kind
        ]
        at = next((index for index, other in enumerate(alike) if other.name == item.name), 0)
        return line_of_kind(text, item.kind, at) or 1
