"""Small charts on disk and in memory, for tests that render them."""

from collections.abc import Mapping
from pathlib import Path

CHART_YAML = b"apiVersion: v2\nname: demo\nversion: 1.2.3\nappVersion: '9.8'\ntype: application\n"


def chart_files(
    templates: Mapping[str, str],
    values: str = "",
    *,
    others: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """Return the files of a chart called ``demo``; template names lie below ``templates/``.

    ``values`` is the text of its values.yaml.
    """
    files = {"Chart.yaml": CHART_YAML, "values.yaml": values.encode()}
    for name, text in templates.items():
        files[f"templates/{name}"] = text.encode()
    for name, text in (others or {}).items():
        files[name] = text.encode()
    return files


def write_chart(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write the files of a chart below ``folder`` and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
