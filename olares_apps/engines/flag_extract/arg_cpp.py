"""Flags from llama.cpp's ``common/arg.cpp``, read as text: nothing is compiled or run."""

import re
from collections.abc import Iterator

from olares_apps.engines.flag_extract.help_text import (
    deprecation_in,
    form_of_hint,
    replacement_in,
    shape_of,
)
from olares_apps.engines.flags.model import Flag, ValueForm

__all__ = ["flags_from_arg_cpp"]

_START = re.compile(r"add_opt\(common_arg\(")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_EXAMPLES = re.compile(r"\.set_examples\(\{([^}]*)\}\)")
_EXCLUDES = re.compile(r"\.set_excludes\(\{([^}]*)\}\)")
_WORDS = re.compile(r'value == "([^"]+)"')


def flags_from_arg_cpp(text: str, speculative: str = "") -> list[Flag]:
    """Return the options of ``llama-server`` in source order.

    ``text`` is ``common/arg.cpp``; ``speculative`` is ``common/speculative.cpp``, which holds
    the kinds of speculation in builds that list them by a function. Options of other programs
    are left out. Options whose names are computed at run time are not found.
    """
    source = _COMMENT.sub(lambda found: found[1] or " ", text)
    kinds = _speculation_kinds(speculative)
    cache_types = _cache_types(source)
    flags = []
    for arguments, chain in _options(source):
        if _is_for_server(chain):
            flags.append(_flag(arguments, chain, kinds, cache_types))
    return flags


def _options(source: str) -> Iterator[tuple[list[str], str]]:
    """Yield the constructor arguments of each option and the calls chained to it."""
    for found in _START.finditer(source):
        inner_end = _closing(source, found.end() - 1)
        outer_end = _closing(source, found.start() + len("add_opt"))
        yield _split(source[found.end() : inner_end]), source[inner_end + 1 : outer_end]


def _closing(source: str, start: int) -> int:
    """Return the index of the bracket that closes the one at ``start``."""
    depth = 0
    for index, char in _code(source, start):
        depth += char in "([{"
        depth -= char in ")]}"
        if depth == 0:
            return index
    return len(source)


def _code(source: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield positions and characters outside string and character literals."""
    index, quote = start, ""
    while index < len(source):
        char = source[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        else:
            yield index, char
        index += 1


def _split(source: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for index, char in _code(source, 0):
        depth += char in "([{"
        depth -= char in ")]}"
        if char == "," and depth == 0:
            parts.append(source[begin:index].strip())
            begin = index + 1
    return [*parts, source[begin:].strip()]


def _strings(source: str) -> list[str]:
    return [found.replace('\\"', '"').replace("\\n", "\n") for found in _STRING.findall(source)]


def _is_for_server(chain: str) -> bool:
    if "set_preset_only" in chain:
        return False
    excluded = _EXCLUDES.search(chain)
    if excluded and "LLAMA_EXAMPLE_SERVER" in excluded[1]:
        return False
    examples = _EXAMPLES.search(chain)
    named = re.findall(r"LLAMA_EXAMPLE_(\w+)", examples[1]) if examples else ["COMMON"]
    return "SERVER" in named or "COMMON" in named


def _speculation_kinds(source: str) -> tuple[str, ...]:
    found = re.search(r"type_from_name_map\w* = \{(.*?)\};", source, re.DOTALL)
    return tuple(re.findall(r'\{\s*"([^"]+)"', found[1])) if found else ()


def _cache_types(source: str) -> tuple[str, ...]:
    found = re.search(r"kv_cache_types = \{(.*?)\};", source, re.DOTALL)
    names = re.findall(r"GGML_TYPE_(\w+)", found[1]) if found else []
    # The names of types are in ggml.c: the constant in lower case, but turbo3 for TURBO3_0.
    return tuple(re.sub(r"^(turbo\d)_0$", r"\1", name.lower()) for name in names)


def _flag(
    arguments: list[str], chain: str, kinds: tuple[str, ...], cache_types: tuple[str, ...]
) -> Flag:
    names = _strings(arguments[0])
    rest = arguments[1:]
    negated: list[str] = []
    if rest[0].startswith("{"):
        negated = _strings(rest.pop(0))
    handler = rest.pop()
    signature = handler[: handler.find("{")]
    help_text = "".join(_strings(rest.pop()))
    hint = " ".join("".join(_strings(part)) or part for part in rest)
    removed = _removal(handler, help_text)
    form, values = _form(signature, handler, hint, help_text)
    if "kv_cache_type_from_str(" in handler:
        form, values = ValueForm.ENUM, cache_types
    if "--spec-type" in names and kinds and not values:
        form, values = ValueForm.LIST, kinds
    env = re.findall(r'\.set_env\(\s*"(\w+)"', chain)
    return Flag(
        names=tuple(names),
        negated=tuple(negated),
        form=form,
        values=values,
        env=tuple(env),
        removed=removed,
        deprecated=deprecation_in(help_text),
        repeatable="--spec-type" in names and form is ValueForm.LIST,
        shape=shape_of(form, help_text),
    )


def _removal(handler: str, help_text: str) -> str | None:
    told = replacement_in(help_text)
    called = re.search(r'arg_removed\(\s*"(?:use )?([^"]*)"', handler)
    return called[1] if told is None and called else told


def _form(
    signature: str, handler: str, hint: str, help_text: str
) -> tuple[ValueForm, tuple[str, ...]]:
    if not hint:
        return ValueForm.NONE, ()
    by_hint, listed = form_of_hint(hint, help_text, None)
    if re.search(r"\bint\b", signature):
        return (ValueForm.ENUM, listed) if listed else (ValueForm.INT, ())
    if signature.count("std::string") == 2:
        return ValueForm.PAIR, ()
    words = tuple(dict.fromkeys(_WORDS.findall(handler)))
    if "is_truthy(" in handler:
        return ValueForm.ENUM, ("on", "off", *(["auto"] if "is_autoy(" in handler else []))
    if listed and not words:
        return by_hint, listed
    if re.search(r"std::sto(i|l|ul|ll|ull)\(\s*value\b", handler):
        return ValueForm.INT, words
    if re.search(r"std::sto[fd]\(\s*value\b", handler):
        return ValueForm.FLOAT, words
    if len(words) > 1 and "throw" in handler:
        return ValueForm.ENUM, words
    if by_hint is ValueForm.INT:
        return ValueForm.STRING, ()
    return by_hint, listed
