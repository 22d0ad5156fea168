"""What an object replaces: the last one that was seen in its place in a market.

The place of an answer is its path below the revision. Whoever publishes reads the live revision and
not its answers; those follow from it, so they are computed and not fetched.
"""

from olares_apps.market import canonical, objects
from olares_apps.market.records import Revision

__all__ = ["Counterparts"]

_REVISIONS, _ANSWERS = "revisions", "responses"


class Counterparts:
    """The last revision and the last answers that were read or written, by their place."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, bytes]] = {}
        self._computed = False

    def saw(self, key: str, data: bytes) -> None:
        """Remember an object of a market, if it is one that others replace."""
        place = _place(key)
        if place is not None:
            self._seen[place] = key, data

    def at(self, key: str) -> bytes | None:
        """Return the bytes of an object that was seen, if it is the last one in its place."""
        seen = self._seen.get(_place(key) or "")
        return seen[1] if seen and seen[0] == key else None

    def of(self, key: str) -> tuple[str, bytes] | None:
        """Return key and bytes of what the object at ``key`` replaces, as far as it is known."""
        place = _place(key)
        if place is None:
            return None
        if place not in self._seen and not self._computed:
            self._compute()
        return self._seen.get(place)

    def _compute(self) -> None:
        """Compute the answers of the revision; another version of the tool may have had others."""
        from olares_apps.market.prepare import prepare

        key, data = self._seen.get(_REVISIONS, ("", b""))
        identity = canonical.digest(data)
        if key != objects.revision_key(identity):
            return
        self._computed = True
        prepared = prepare(Revision.decode(data, key))
        if prepared.identity == identity:
            for path, answer in prepared.answers.items():
                self._seen.setdefault(path, (objects.answer_key(identity, path), answer))


def _place(key: str) -> str | None:
    kind, _, rest = key.partition("/")
    if kind == _REVISIONS:
        return kind
    return rest.partition("/")[2] if kind == _ANSWERS else None
