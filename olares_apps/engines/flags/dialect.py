"""How each engine splits its argument list into options and values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from olares_apps.engines.flags.model import FlagMatch, FlagTable

__all__ = ["Dialect", "dialect_of"]

_NUMBER = re.compile(r"-(\d+|\d*\.\d+)$")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The argument syntax of an engine.

    ``equals``: ``--flag=value`` is one option with its value. ``dotted``: ``--flag.key value``
    sets one key of a JSON option. ``abbreviates``: a unique beginning of a long name counts as
    the name. ``dash_value``: a value may begin with a dash; otherwise only negative numbers
    and texts with spaces may. ``positional``: one argument without a dash, and the word
    ``serve`` before it, belong to no option.
    """

    equals: bool
    dotted: bool
    abbreviates: bool
    dash_value: bool
    positional: bool

    def fold(self, name: str) -> str:
        """Return a name as the engine looks it up: ``_`` counts as ``-`` in long names."""
        if not name.startswith("--"):
            return name
        head, dot, tail = name.partition(".") if self.dotted else (name, "", "")
        return head.replace("_", "-") + dot + tail

    def find(self, table: FlagTable, name: str) -> FlagMatch | None:
        """Return the flag that the engine takes the name for, abbreviations included."""
        found = table.find(name)
        if found or not self.abbreviates or not name.startswith("--") or len(name) < 4:
            return found
        full = [item for item in table.names() if item.startswith(name)]
        matches = {id(match.flag): match for item in full if (match := table.find(item))}
        return next(iter(matches.values())) if len(matches) == 1 else None

    def looks_like_option(self, text: str) -> bool:
        """Return whether the engine takes the text for an option, not for a value."""
        if not text.startswith("-") or text == "-":
            return False
        return not (_NUMBER.match(text) or " " in text)


_DIALECTS: Mapping[str, Dialect] = {
    # common_params_parse_ex of llama.cpp: the next argument is the value, whatever it is.
    "llamacpp": Dialect(
        equals=False, dotted=False, abbreviates=False, dash_value=True, positional=False
    ),
    # argparse as it is.
    "lucebox": Dialect(
        equals=True, dotted=False, abbreviates=True, dash_value=False, positional=False
    ),
    # argparse, as vLLM's FlexibleArgumentParser extends it.
    "vllm": Dialect(equals=True, dotted=True, abbreviates=True, dash_value=False, positional=True),
}


def dialect_of(engine: str) -> Dialect:
    """Return the argument syntax of an engine; unknown engines read like vLLM's argparse."""
    return _DIALECTS.get(engine, _DIALECTS["vllm"])
