"""What a template engine left in a chart where an author's words belong."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_maps, as_text, dig

__all__ = ["rules"]

rules = RuleBook(Group.TEXT)

_ENTITY: Final = re.compile(r"&(?:amp|lt|gt|quot|apos|#3[49]|#x2[27]);")
_RESIDUE: Final = frozenset(("None", "undefined", "<no value>", "<nil>"))


@rules.warning(
    "template-residue",
    "Entities and words such as None come from a template engine, not from an author.",
    "IBM/mcp-context-forge#4605; ansible/ansible#7984",
)
def _residue(context: ChartContext) -> Iterator[Found]:
    """Entities that the spec itself holds are left alone."""
    own = context.spec.text if context.spec else ""
    for path in (
        ("metadata", "description"),
        ("spec", "fullDescription"),
        ("spec", "upgradeDescription"),
    ):
        found = _ENTITY.search(as_text(dig(context.manifest, *path)))
        if found and found[0] not in own:
            yield context.in_manifest(
                f"{'.'.join(path)} holds the entity {found[0]}",
                *path,
                piece=found[0],
                hint="write the character itself",
            )
    for workload in context.workloads:
        for container in workload.all_containers:
            entries = as_maps(container.data.get("env"))
            words = [(as_text(item.get("name")), as_text(item.get("value"))) for _, item in entries]
            words += [("image", container.image)]
            words += [("an argument", word) for word in container.words("args")]
            for name, value in words:
                if value in _RESIDUE:
                    yield context.in_object(
                        workload.item,
                        f"{name} of container {container.name} is the word {value}",
                        value,
                        hint="leave out what has no value",
                        field=context.field_of_variable(name),
                    )
