"""Flags from a plain listing: one line per flag, names, a tab, the Python type."""

__all__ = ["names_from_listing"]


def names_from_listing(text: str) -> dict[tuple[str, ...], str]:
    """Return names to type text (empty when the listing gives none); ``#`` lines are notes."""
    found: dict[tuple[str, ...], str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            names, _, kind = line.partition("\t")
            found[tuple(name.strip() for name in names.split(","))] = kind.strip()
    return found
