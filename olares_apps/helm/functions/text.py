"""Text functions of Sprig, the function library that Helm adds to Go's templates."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.goformat import format_value, go_quote
from olares_apps.helm.govalues import SIZE_LIMIT, IntList, StringList, StringMap, TooLarge
from olares_apps.helm.regex_syntax import compile_regex

__all__ = [
    "REGEX",
    "TEXT",
    "cut_bytes",
    "indent",
    "regex_find_all",
    "regex_match",
    "regex_replace",
    "regex_split",
    "repeat",
    "strings_of",
    "title",
]

_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001)))).translate(
    dict.fromkeys(range(28, 32))
)


def _quote(*values: Any) -> str:
    return " ".join(go_quote(format_value(value)) for value in values if value is not None)


def _squote(*values: Any) -> str:
    return " ".join(f"'{format_value(value)}'" for value in values if value is not None)


def _cat(*values: Any) -> str:
    return " ".join(format_value(value) for value in values if value is not None).strip(_SPACE)


def repeat(count: int, text: str) -> str:
    """Return the text ``count`` times."""
    if count < 0:
        raise CallFailed("strings: negative Repeat count")
    if count * len(text) > SIZE_LIMIT:
        raise TooLarge
    return text * count


def indent(count: int, text: str) -> str:
    """Put ``count`` spaces before every line, empty ones included."""
    pad = repeat(count, " ")
    if len(pad) * (text.count("\n") + 1) > SIZE_LIMIT:
        raise TooLarge
    return pad + text.replace("\n", "\n" + pad)


def strings_of(value: Any) -> StringList:
    """Return the texts of a list's items without nils; anything else is a list of itself."""
    if value is None:
        return StringList()
    items = value if isinstance(value, list) else [value]
    return StringList(format_value(item) for item in items if item is not None)


def _sort_alpha(value: Any) -> StringList:
    items = strings_of(value) if isinstance(value, list) else [format_value(value)]
    return StringList(sorted(items, key=lambda text: text.encode(errors="replace")))


def cut_bytes(text: str, start: int | None, end: int | None) -> str:
    """Return a part of the text; the places count bytes, as in Go."""
    if text.isascii():
        return text[start:end]
    return text.encode(errors="replace")[start:end].decode(errors="replace")


def _trunc(length: int, text: str) -> str:
    if length >= 0:
        return cut_bytes(text, None, length)
    return cut_bytes(text, length, None)


def _substr(start: int, end: int, text: str) -> str:
    size = len(text.encode(errors="replace"))
    if start < 0:
        start = 0
        if not 0 <= end <= size:
            raise CallFailed(f"slice bounds out of range [:{end}]")
    elif end < 0 or end > size:
        end = size
    if start > end:
        raise CallFailed(f"slice bounds out of range [{start}:{end}]")
    return cut_bytes(text, start, end)


def title(text: str) -> str:
    """Return the text with the first letter of every word in upper case."""
    return re.sub(r"(?<![\w])[^\W\d_]", lambda match: match[0].upper(), text)


def _connected(connector: str) -> Callable[[str], str]:
    """Return a function that joins the words of a name; ``HTTPServer`` has two."""

    def run(text: str) -> str:
        text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
        return re.sub(r"[\s_-]+", connector, text).lower()

    return run


def _untitle(text: str) -> str:
    return re.sub(r"(?<!\S)\S", lambda match: match[0].lower(), text)


def _swap_case(text: str) -> str:
    return text.swapcase()


def _camel_case(text: str) -> str:
    return re.sub(r"[\s_-]+(\S)", lambda match: match[1].upper(), text[:1].upper() + text[1:])


def _abbrev(width: int, text: str) -> str:
    if width < 4 or len(text) <= width:
        return text
    return text[: width - 3] + "..."


def _abbrev_both(left: int, right: int, text: str) -> str:
    if right < 4 or (left > 0 and right < 7) or len(text) <= right:
        return text
    start = min(left, len(text), len(text) - (right - 3) if len(text) - left < right - 3 else left)
    if start <= 4:
        return text[: right - 3] + "..."
    if start + right - 3 < len(text):
        return "..." + _abbrev(right - 3, text[start:])
    return "..." + text[len(text) - (right - 3) :]


def _wrap(width: int, text: str, separator: str = "\n", *, breaks: bool = False) -> str:
    """Break lines at spaces; ``breaks`` cuts a word that is longer than ``width``."""
    width = max(width, 1)
    lines, start = [], 0
    while len(text) - start > width:
        if text[start] == " ":
            start += 1
            continue
        space = text.rfind(" ", start, start + width + 1)
        if space < 0 and breaks:
            lines.append(text[start : start + width])
            start += width
            continue
        if space < 0:
            space = text.find(" ", start + width)
        if space < 0:
            break
        lines.append(text[start:space])
        start = space + 1
    return (separator or "\n").join([*lines, text[start:]])


def _numbered(parts: list[str]) -> StringMap:
    return StringMap({f"_{index}": part for index, part in enumerate(parts)})


def _split(separator: str, text: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if 0 < count < len(text):
        return [*text[: count - 1], text[count - 1 :]]
    return list(text)


def _range(start: int, stop: int, step: int) -> IntList:
    if step == 0 or (stop < start) != (step < 0):
        return IntList()
    if abs(stop - start) // abs(step) > SIZE_LIMIT // 16:
        raise TooLarge
    return IntList(range(start, stop, step))


def _seq(*numbers: int) -> str:
    if len(numbers) == 1:
        first, step, last = 1, 1 if numbers[0] >= 1 else -1, numbers[0]
    elif len(numbers) == 2:
        first, last = numbers
        step = 1 if last >= first else -1
    elif len(numbers) == 3:
        first, step, last = numbers
        if last < first and step > 0:
            return ""
    else:
        return ""
    return " ".join(map(str, _range(first, last + (1 if last >= first else -1), step)))


def regex_match(pattern: str, text: str) -> bool:
    """Tell whether the pattern occurs in the text."""
    return compile_regex(pattern).search(text) is not None


def _regex_match_or_false(pattern: str, text: str) -> bool:
    try:
        return regex_match(pattern, text)
    except CallFailed as error:
        if "parsing" in str(error):
            return False
        raise


def _regex_find(pattern: str, text: str) -> str:
    found = compile_regex(pattern).search(text)
    return "" if found is None else text[found[0] : found[1]]


def regex_find_all(pattern: str, text: str, limit: int) -> StringList:
    """Return the matches, at most ``limit`` if that is not negative."""
    matches = compile_regex(pattern).finditer(text, limit)
    return StringList(text[found[0] : found[1]] for found in matches)


def regex_replace(pattern: str, text: str, replacement: str) -> str:
    """Replace every match; ``$1`` and ``${name}`` stand for groups."""
    regex = compile_regex(pattern)
    return regex.replace(text, lambda found: regex.expand(replacement, text, found))


def _regex_replace_literal(pattern: str, text: str, replacement: str) -> str:
    return compile_regex(pattern).replace(text, lambda _: replacement)


def regex_split(pattern: str, text: str, limit: int) -> StringList:
    """Split the text at the matches, into at most ``limit`` parts if that is not negative."""
    if limit == 0:
        return StringList()
    if pattern and not text:
        return StringList([""])
    parts: list[str] = []
    begin = end = 0
    for found in compile_regex(pattern).finditer(text, limit):
        if len(parts) == limit - 1:
            break
        end = found[0]
        if found[1]:
            parts.append(text[begin:end])
        begin = found[1]
    if end != len(text):
        parts.append(text[begin:])
    return StringList(parts)


def _regex_quote(text: str) -> str:
    return re.sub(r"[\\.+*?()|\[\]{}^$]", lambda match: "\\" + match[0], text)


def _plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _with_must(table: Mapping[str, Callable[..., Any]], parameters: str) -> dict[str, Function]:
    """Return the functions under their names and under ``must`` plus name."""
    result = {}
    for name, call in table.items():
        result[name] = result[f"must{name[0].upper()}{name[1:]}"] = fn(parameters, call)
    return result


REGEX: Final[Mapping[str, Function]] = {
    "mustRegexMatch": fn("string string", regex_match),
    "regexMatch": fn("string string", _regex_match_or_false),
    "regexQuoteMeta": fn("string", _regex_quote),
    **_with_must({"regexFind": _regex_find}, "string string"),
    **_with_must({"regexFindAll": regex_find_all, "regexSplit": regex_split}, "string string int"),
    **_with_must(
        {"regexReplaceAll": regex_replace, "regexReplaceAllLiteral": _regex_replace_literal},
        "string string string",
    ),
}

TEXT: Final[Mapping[str, Function]] = {
    "abbrev": fn("int string", _abbrev),
    "abbrevboth": fn("int int string", _abbrev_both),
    "camelcase": fn("string", _camel_case),
    "cat": fn("any...", _cat),
    "contains": fn("string string", lambda part, text: part in text),
    "hasPrefix": fn("string string", lambda part, text: text.startswith(part)),
    "hasSuffix": fn("string string", lambda part, text: text.endswith(part)),
    "hello": fn("", lambda: "Hello!"),
    "indent": fn("int string", indent),
    "initials": fn("string", lambda text: "".join(word[0] for word in text.split())),
    "join": fn("string any", lambda separator, value: separator.join(strings_of(value))),
    "kebabcase": fn("string", _connected("-")),
    "lower": fn("string", str.lower),
    "nindent": fn("int string", lambda count, text: "\n" + indent(count, text)),
    "nospace": fn("string", lambda text: "".join(c for c in text if c not in _SPACE)),
    "plural": fn("string string int", _plural),
    "quote": fn("any...", _quote),
    "repeat": fn("int string", repeat),
    "replace": fn("string string string", lambda old, new, text: text.replace(old, new)),
    "seq": fn("int...", _seq),
    "snakecase": fn("string", _connected("_")),
    "sortAlpha": fn("any", _sort_alpha),
    "split": fn("string string", lambda separator, text: _numbered(_split(separator, text))),
    "splitList": fn("string string", lambda separator, text: StringList(_split(separator, text))),
    "splitn": fn("string int string", lambda sep, count, text: _numbered(_split(sep, text, count))),
    "squote": fn("any...", _squote),
    "substr": fn("int int string", _substr),
    "swapcase": fn("string", _swap_case),
    "title": fn("string", title),
    "toStrings": fn("any", strings_of),
    "trim": fn("string", lambda text: text.strip(_SPACE)),
    "trimAll": fn("string string", lambda characters, text: text.strip(characters)),
    "trimPrefix": fn("string string", lambda part, text: text.removeprefix(part)),
    "trimSuffix": fn("string string", lambda part, text: text.removesuffix(part)),
    "trimall": fn("string string", lambda characters, text: text.strip(characters)),
    "trunc": fn("int string", _trunc),
    "until": fn("int", lambda count: _range(0, count, 1 if count >= 0 else -1)),
    "untilStep": fn("int int int", _range),
    "untitle": fn("string", _untitle),
    "upper": fn("string", str.upper),
    "wrap": fn("int string", _wrap),
    "wrapWith": fn(
        "int string string", lambda width, sep, text: _wrap(width, text, sep, breaks=True)
    ),
}
