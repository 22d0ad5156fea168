"""The other side of a difference, as a server has it, and the table that both sides replay.

After a change of the differences write the table again:
`PYTHONPATH=tests python -m support.differences`.
"""

import json
from pathlib import Path
from typing import Any, Final

from olares_apps.market.differences import difference

TABLE: Final = Path(__file__).parents[1] / "worker" / "differences.json"
_ENTRIES: Final = [
    f'"demo{n}":{{"size":{n * 7919},"state":"live","title":"Demo"}}' for n in range(9)
]
_LINES: Final = [f"<li class='app'><a href='/apps/demo{n}'>Demo {n}</a>\n" for n in range(9)]


def apply(base: bytes, text: bytes) -> bytes:
    """Do the steps of a difference; raises ValueError for what is no step of this base."""
    steps = json.loads(text)
    if not isinstance(steps, list):
        raise ValueError("no list of steps")
    return b"".join(_part(base, step) for step in steps)


def _part(base: bytes, step: Any) -> bytes:
    match step:
        case str():
            return step.encode()
        case [int(offset), int(length)] if min(step) >= 0 and offset + length <= len(base):
            return base[offset : offset + length]
    raise ValueError(f"{step!r} is no step")


def texts() -> dict[str, tuple[str, str]]:
    """Return pairs of a base and what replaces it, by what happened."""
    old = f'{{"apps":{{{",".join(_ENTRIES)}}},"hash":"a"}}'
    page = "".join(_LINES)
    chinese = page.replace("D", "演")
    return {
        "nothing changed": (old, old),
        "an entry changed": (old, old.replace("31676", "31677")),
        "the first entry changed": (old, old.replace("demo0", "demo10")),
        "an entry was added": (old, old.replace('"demo5"', '"new":{"size":1},"demo5"')),
        "an entry was taken away": (old, old.replace(f"{_ENTRIES[3]},", "")),
        "an entry moved to the front": (page, _LINES[6] + page.replace(_LINES[6], "")),
        "the order is another": (page, "".join(reversed(_LINES))),
        "not all is ASCII": (chinese, chinese.replace("演emo 4", "🦙")),
        "the same entry many times": ("[" + "{}," * 40 + "{}]", "[" + "{}," * 41 + "{}]"),
        "nothing is the same": ("abc", "xyz"),
        "there was nothing": ("", page),
        "there is nothing": (page, ""),
    }  # fmt: skip


BY_HAND: Final = {
    "no step": ("abc", "[]", ""),
    "steps that add nothing": ("abc", '[[0,0],"",[3,0]]', ""),
    "a copy twice and backwards": ("abcdef", '[[3,3],"-",[0,3],[3,3]]', "def-abcdef"),
    "a half of a character, completed": ("é", "[[0,1],[1,1]]", "é"),
    "an escape": ("", '["\\u6f14"]', "演"),
}  # fmt: skip
"""Steps that no `difference` makes and a server does: base, steps, and what comes out."""

IMPOSSIBLE: Final = [
    "", "{", "null", "1", '"abc"', '{"0":[0,1]}', "[null]", "[1]", "[[0]]", "[[]]", "[[0,1,1]]",
    "[[0,4]]", "[[3,1]]", "[[4,0]]", "[[-1,1]]", "[[0,-1]]", "[[2,-1]]", "[[0.5,1]]", "[[0,1.5]]",
    '[["0",1]]', '[[0,"1"]]', "[[null,1]]", "[[0,[1]]]", "[[[0,1]]]", '[{"0":0,"1":1,"length":2}]',
    "[[9007199254740992,1]]", "[[1,9007199254740992]]", "[[9007199254740991,9007199254740991]]",
    "[[1e400,1]]", "[[0,1e400]]", "[[-1e400,1]]", "[[18446744073709551616,1]]", "[[0,1],]",
    "[[0,NaN]]",
]  # fmt: skip
"""What cannot be done with the base `abc`."""


def table() -> dict[str, Any]:
    """Return what is recorded: what the client makes, and what a server must make of it."""
    made = []
    for name, (base, new) in texts().items():
        found = difference(base.encode(), new.encode())
        assert found is not None
        made.append({"what": name, "base": base, "difference": found.decode(), "new": new})
    by_hand = [
        {"what": name, "base": base, "difference": text, "new": new}
        for name, (base, text, new) in BY_HAND.items()
    ]
    return {"made": made, "by_hand": by_hand, "base": "abc", "impossible": list(IMPOSSIBLE)}


if __name__ == "__main__":
    TABLE.write_text(json.dumps(table(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
