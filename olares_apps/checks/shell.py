"""Start scripts: the server's argument list as a shell would give it, as far as text tells."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Command", "expand", "expand_kubelet", "find_command", "shell_defaults"]

_MAX_SCRIPT: Final = 256 * 1024
_SERVER: Final = re.compile(
    r"""(?:^|[\s;&|(])(?:exec\s+)?
    (?P<binary>["']?[\w./${}-]*\bllama-server\b["']?
      |["']?[\w./${}-]*\bvllm["']?\s+serve\b
      |["']?[\w./${}-]*\bpython[\d.]*["']?\s+(?:-\w\s+)*-m\s+(?:vllm|sglang)[\w.]+)
    (?P<rest>(?:\s.*)?)$""",
    re.VERBOSE,
)
_ASSIGNMENT: Final = re.compile(
    r"\s*(?:export\s+|local\s+|readonly\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)"
)
_VARIABLE: Final = re.compile(
    r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?::?-(?P<default>[^{}]*))?\}|(?P<plain>[A-Za-z_]\w*))"
)
_SHOWS: Final = re.compile(r"\s*(?:echo|printf|log|#)\b|\s*#")
_OPERATORS: Final = frozenset(";|&<>()")


@dataclass(frozen=True, slots=True)
class Command:
    """A server's command found in a script.

    ``argv`` is without the binary; ``complete`` is False when a part of it could not be told,
    such as the items of an array.
    """

    binary: str
    argv: tuple[str, ...]
    complete: bool


def expand_kubelet(text: str, variables: Mapping[str, str]) -> str:
    """Expand ``$(NAME)`` as the kubelet does: ``$$`` is one ``$``, an unknown name stays."""
    if "$" not in text:
        return text

    def replace(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^()]*)\)", replace, text)


def shell_defaults(script: str) -> list[tuple[str, str]]:
    """Return every ``${NAME:-default}`` of a script as name and default; messages do not count."""
    lines = (line for line in script[:_MAX_SCRIPT].splitlines() if not _SHOWS.match(line))
    found = (item for line in lines for item in _VARIABLE.finditer(line))
    return [(item["braced"], item["default"]) for item in found if item["default"]]


def find_command(script: str, variables: Mapping[str, str]) -> Command | None:
    """Return the command that starts an inference server, None when there is none.

    ``variables`` is the environment; assignments of the script are followed line by line,
    whatever conditions stand around them.
    """
    if len(script) > _MAX_SCRIPT:
        return None
    known = dict(variables)
    command = None
    for line in re.sub(r"\\\n\s*", " ", script).split("\n"):
        if line.lstrip().startswith("#"):
            continue
        found = _SERVER.search(line)
        if found and not re.match(r"\s*(?:echo|printf|test|\[|if|which|command)\b", line):
            command = _command(found["binary"], found["rest"], known) or command
            continue
        assigned = _ASSIGNMENT.fullmatch(line)
        if assigned:
            value = _word(assigned["value"], known)
            if value is not None:
                known[assigned["name"]] = value
    return command


def _command(binary: str, rest: str, variables: Mapping[str, str]) -> Command | None:
    words = _split(rest)
    if words is None:
        return None
    argv: list[str] = []
    complete = True
    for word in words:
        if word and set(word) <= _OPERATORS:
            break
        if "[@]" in word or "$@" in word or "$*" in word:
            complete = False
            continue
        value, sure = expand(word, variables)
        complete = complete and sure
        if _is_list(word, value):
            argv += value.split()
        elif value or not _VARIABLE.fullmatch(word):
            argv.append(value)
    return Command(binary.strip("\"'"), tuple(argv), complete)


def _split(text: str) -> list[str] | None:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:
        return None


def _is_list(word: str, value: str) -> bool:
    """Say whether a variable stands for several arguments: unquoted in the script, by its look."""
    return bool(_VARIABLE.fullmatch(word)) and value.startswith("-") and " " in value


def _word(text: str, variables: Mapping[str, str]) -> str | None:
    words = _split(text)
    if not words or len(words) > 1:
        return "" if words == [] else None
    value, sure = expand(words[0], variables)
    return value if sure and "$(" not in value and "`" not in value else None


def expand(word: str, variables: Mapping[str, str]) -> tuple[str, bool]:
    """Return a word with its variables replaced, and whether all of them are known."""
    sure = True

    def replace(found: re.Match[str]) -> str:
        nonlocal sure
        name = found["braced"] or found["plain"]
        value = variables.get(name)
        if not value and found["default"] is not None:
            return found["default"].strip("\"'")
        if value is None:
            sure = False
            return found[0]
        return value

    for _ in range(3):
        expanded = _VARIABLE.sub(replace, word)
        if expanded == word or "$" not in expanded:
            return expanded, sure
        word = expanded
    return word, sure
