"""Which files a container brings onto a volume, as far as its script tells with certainty."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from posixpath import join, normpath
from typing import Final

from olares_apps.checks.shape import as_text, dig
from olares_apps.checks.shell import expand
from olares_apps.checks.workloads import Container, Workload

__all__ = ["place_on_volume", "row_targets", "script_targets"]

_MAX_SCRIPT: Final = 64 * 1024
_OPERATORS: Final = frozenset(";|&()")
_REDIRECTS: Final = frozenset("<>&")
_ASSIGNMENT: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
# Words in front of a command, and commands that bring no file of a name of their own choice.
_KEYWORDS: Final = frozenset("if then else elif fi do done while until ! { } time exec".split())
_HARMLESS: Final = frozenset(
    "echo printf test [ [[ mkdir chmod chown rm sleep exit return set unset ls cat true false : "
    "date stat sha256sum md5sum du wc grep head tail awk sed cut tr wait kill ulimit shift sync df "
    "id which command basename dirname export local readonly break continue llama-server "
    "nvidia-smi vllm".split()
)
_MOVES: Final = frozenset(("mv", "cp", "ln"))
# Options that leave the file's name or folder to something else than the command line.
_NAMED_BY_SERVER: Final = re.compile(
    r"-[A-Za-z]*[OJPKi]|--(?:remote-name|output-dir|config|directory-prefix|input-file).*"
)


def row_targets(variables: Mapping[str, str]) -> frozenset[str] | None:
    """Return the files that the project's own download script makes, None for another script.

    It reads ``MODEL_FILES``, one ``repo|revision|path|stored|size|sha256`` per line, and keeps
    them below ``MODEL_DIR``.
    """
    rows, folder = variables.get("MODEL_FILES", ""), variables.get("MODEL_DIR", "")
    cells = [row.split("|") for row in rows.splitlines() if row.strip()]
    if not cells or not folder.startswith("/") or any(len(row) != 6 for row in cells):
        return None
    return frozenset(normpath(join(folder, row[3])) for row in cells)


def script_targets(script: str, variables: Mapping[str, str]) -> frozenset[str] | None:
    """Return every file that a shell script can have made, None when that cannot be told.

    A loop over names, a function, a program that is not known and a value that is not certain
    make the answer None: it is better to say nothing than to accuse a chart that works.
    """
    if len(script) > _MAX_SCRIPT:
        return None
    known: dict[str, str | None] = dict(variables)
    found: set[str] = set()
    for line in re.sub(r"\\\n\s*", " ", script).split("\n"):
        commands = _commands(line)
        if commands is None:
            return None
        for words, redirects in commands:
            targets = _targets(words, known)
            written = [_path(word, known) for word in redirects]
            if targets is None or None in written:
                return None
            found |= targets | {item for item in written if item}
    return frozenset(found)


def _commands(line: str) -> list[tuple[list[str], list[str]]] | None:
    """Return the simple commands of a line with the files that they are redirected into."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    commands: list[tuple[list[str], list[str]]] = [([], [])]
    redirect = ""
    for token in tokens:
        words, redirects = commands[-1]
        if token and set(token) <= _REDIRECTS and set(token) & {"<", ">"}:
            redirect = token
            if words and words[-1].isdecimal():
                words.pop()  # the number of a stream
        elif token and set(token) <= _OPERATORS:
            if "(" in token and words:
                return None  # a function, or a command inside another one
            commands.append(([], []))
        elif redirect:
            if ">" in redirect and not token.isdecimal():
                redirects.append(token)
            redirect = ""
        else:
            words.append(token)
    return commands


def _targets(words: Sequence[str], known: dict[str, str | None]) -> set[str] | None:
    """Return the files that one command makes; its assignments are noted in ``known``."""
    rest = list(words)
    while rest and (rest[0] in _KEYWORDS or _ASSIGNMENT.fullmatch(rest[0])):
        assigned = _ASSIGNMENT.fullmatch(rest.pop(0))
        if assigned:
            _assign(assigned["name"], assigned["value"], known)
    if not rest:
        return set()
    name = PurePosixPath(rest[0]).name
    if name in ("export", "local", "readonly"):
        for word in rest[1:]:
            assigned = _ASSIGNMENT.fullmatch(word)
            if assigned:
                _assign(assigned["name"], assigned["value"], known)
    if name in _HARMLESS:
        return set()
    if name in ("curl", "wget"):
        return _fetched(name, rest[1:], known)
    if name in _MOVES:
        return _moved(rest[1:], known)
    return None


def _assign(name: str, value: str, known: dict[str, str | None]) -> None:
    """Note a value; a name that had another one before is uncertain from now on."""
    text = _plain(value, known)
    known[name] = text if known.get(name, text) == text else None


def _plain(word: str, known: Mapping[str, str | None]) -> str | None:
    """Return a word with its variables replaced, None when one of them is not certain."""
    certain = {name: value for name, value in known.items() if value is not None}
    if any(name in known and name not in certain for name in re.findall(r"\$\{?(\w+)", word)):
        return None
    value, sure = expand(word, certain)
    return value if sure and "$" not in value and "`" not in value else None


def _path(word: str, known: Mapping[str, str | None]) -> str | None:
    value = _plain(word, known)
    return value if value and value.startswith("/") and "*" not in value else None


def _fetched(name: str, words: Sequence[str], known: Mapping[str, str | None]) -> set[str] | None:
    """Return where a download goes: nowhere on a disk without an option that says so."""
    short, long = ("o", "--output") if name == "curl" else ("O", "--output-document")
    found = set()
    for index, word in enumerate(words):
        if word.startswith(f"{long}="):
            target = word.partition("=")[2]
        elif word == long or re.fullmatch(rf"-[A-Za-z]*{short}", word):
            target = words[index + 1] if index + 1 < len(words) else ""
        elif _NAMED_BY_SERVER.fullmatch(word):
            return None
        else:
            continue
        if target == "-":
            continue
        path = _path(target, known)
        if path is None:
            return None
        found.add(path)
    if name == "wget" and not found:
        return None  # named after the address, in the current folder
    return found


def _moved(words: Sequence[str], known: Mapping[str, str | None]) -> set[str] | None:
    operands = [word for word in words if not word.startswith("-")]
    if len(operands) != 2:
        return None
    source, target = _plain(operands[0], known), _path(operands[1], known)
    if source is None or target is None:
        return None
    return {str(PurePosixPath(target)), str(PurePosixPath(target) / PurePosixPath(source).name)}


def place_on_volume(workload: Workload, container: Container, path: str) -> str | None:
    """Return what a path of a container means to all containers of the chart that share it.

    None for the container's own disk and for volumes that hold only what the chart gives them.
    """
    best: tuple[str, Mapping[str, object]] | None = None
    for mount in container.mounts:
        folder = as_text(mount.get("mountPath")).rstrip("/") or "/"
        inside = path == folder or path.startswith(folder.rstrip("/") + "/")
        if inside and (best is None or len(folder) >= len(best[0])):
            best = folder, mount
    if best is None:
        return None
    folder, mount = best
    volume = as_text(mount.get("name"))
    source = workload.volumes.get(volume, {})
    rest = join(as_text(mount.get("subPath")), path.removeprefix(folder).lstrip("/"))
    host = as_text(dig(source, "hostPath", "path"))
    claim = as_text(dig(source, "persistentVolumeClaim", "claimName"))
    if host:
        return f"host:{normpath(join(host, rest))}"
    if claim:
        return normpath(f"claim:{claim}/{rest}")
    return normpath(f"{workload.name}:{volume}/{rest}") if "emptyDir" in source else None
