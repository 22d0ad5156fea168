"""How the server is started: what it installs first, and whether anything can reach it."""

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.launch import scripts
from olares_apps.checks.rule import Found, Group, RuleBook

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "::1"))
# A command of a shell, to its end; a line that ends in a backslash goes on.
_REST: Final = r"(?P<rest>(?:\\\n|[^\n;&|])*)"
# Where a command begins: what a text quotes or a comment names is none.
_BEGIN: Final = (
    r"(?:^|[;&|({])[ \t]*(?:(?:if|then|do|else|elif|while|until|!|sudo|exec|time|nohup|env|\w+=\S*"
    r"|\S*python[\d.]*[ \t]+-m)[ \t]+)*(?P<command>(?:/[\w./-]*/)?"
)
_PIP: Final = re.compile(rf"{_BEGIN}(?:pip3?|uv pip)\s+install\b{_REST})", re.MULTILINE)
_CLONE: Final = re.compile(rf"{_BEGIN}git\s+clone\b{_REST})", re.MULTILINE)
_SYSTEM: Final = re.compile(
    rf"{_BEGIN}(?:apt-get|apt|apk|dnf|yum)\s+(?:-\S+\s+)*(?:install|add)\b{_REST})", re.MULTILINE
)
# A release or a build; of a variable nobody can tell what it names.
_OF_RELEASE: Final = re.compile(
    r"(?:--branch|-b)[ =]+[\"']?(?:[\w./-]*v?\d+\.\d|b\d{4}|\$)", re.ASCII
)
_CHECKOUT: Final = re.compile(
    r"\bgit\b[^\n;&|]{0,120}\b(?:checkout|reset)\b[^\n;&|]{0,40}\b[0-9a-f]{7,40}\b"
)
_PINNED: Final = re.compile(r"==|===|@[0-9a-f]{7,40}(?:$|#)|\.whl$|^\.{0,2}/|^\.$")
_REDIRECT: Final = re.compile(r"\d?[<>]{1,2}")
# Options of pip whose value is no package.
_WITH_VALUE: Final = frozenset(
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target "
    "--prefix --root --platform --python-version --timeout --retries --cache-dir".split()
)


@rules.warning(
    "start-installs",
    "What is installed at every start, unpinned, decides anew each time whether the app starts.",
    "public charts: pip and git at every start, budgets of 11 minutes",
)
def _installs(context: ChartContext) -> Iterator[Found]:
    """Packages with a version and sources at a commit do not count."""
    for workload, container, script in scripts(context.objects):
        for command in _unpinned(script):
            yield context.in_object(
                workload.item,
                f"container {container.name} runs this at every start: {command}",
                command.split()[0],
                hint="build it into the image, or pin the version",
            )


@lru_cache(maxsize=32)
def _unpinned(script: str) -> tuple[str, ...]:
    """Return the commands of a script that install what they find that day."""
    found = [item for item in _PIP.finditer(script) if any(map(_floats, _packages(item["rest"])))]
    if not _CHECKOUT.search(script):
        clones = _CLONE.finditer(script)
        found += [item for item in clones if not _OF_RELEASE.search(item["rest"])]
    found += _SYSTEM.finditer(script)
    texts = (item["command"].replace("\\\n", " ") for item in found)
    return tuple(" ".join(text.split())[:120] for text in texts)


def _packages(rest: str) -> Iterator[str]:
    try:
        words = shlex.split(rest.replace("\\\n", " "))
    except ValueError:
        words = rest.split()
    skip = False
    for word in words:
        redirect = _REDIRECT.match(word)
        if not skip and not redirect and not word.startswith("-"):
            yield word
        skip = word in _WITH_VALUE or (redirect is not None and redirect[0] == word)


def _floats(package: str) -> bool:
    """Say whether a package is not pinned; what a variable names cannot be told."""
    return "$" not in package and _PINNED.search(package) is None


@rules.error(
    "listens-on-loopback",
    "A server that listens on the loopback address only is reached by no Service and no probe.",
    "Kubernetes: Services and probes go to the pod's address",
)
def _loopback(context: ChartContext) -> Iterator[Found]:
    """Another container of the pod may be what the Service reaches."""
    for server in context.servers:
        host = server.value("--host")
        if host in _LOOPBACK and len(server.workload.containers) == 1:
            yield context.in_object(
                server.workload.item,
                f"container {server.container.name} listens on {host} only: no Service reaches it",
                "--host",
                hint="write --host 0.0.0.0",
                field=context.field_of_flag(server, "--host", value=host),
            )
