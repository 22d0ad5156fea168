"""Write the generated files of the repository: JSON Schema, reference pages, the Worker's tables.

``make schema`` runs this; tests fail when one of the files is stale.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from olares_apps.checks import rules_page
from olares_apps.engines.registry import get_engine, spec_model
from olares_apps.market.answer_tables import TABLES_FILE, tables_text
from olares_apps.spec.facts import facts
from olares_apps.spec.loader import load_spec
from olares_apps.spec.reference import REFERENCE_FILE, reference_page
from olares_apps.spec.schema import SCHEMA_FILE, schema_text

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = Path("olares_apps/apps/qwen36-35b-a3b-mtp.yaml")


def spec_reference() -> str:
    """Return the reference page of specs, with the facts of the flagship as examples."""
    spec = load_spec((ROOT / EXAMPLE).read_bytes(), path=EXAMPLE, model=spec_model()).spec
    known = facts(spec, get_engine(spec.engine.type).facts(spec))
    return reference_page(spec_model(), known, example_name=EXAMPLE.stem)


OUTPUTS: Final[dict[str, Callable[[], str]]] = {
    SCHEMA_FILE: lambda: schema_text(spec_model()),
    REFERENCE_FILE: spec_reference,
    "docs/rules.md": rules_page,
    TABLES_FILE: tables_text,
}


def main() -> None:
    """Write every file whose content changed and say which."""
    for name, content in OUTPUTS.items():
        path, text = ROOT / name, content()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
