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
_PIP: Final = re.compile(rf"\b(?:pip3?|uv pip)\s+install\b{_REST}")
_CLONE: Final = re.compile(rf"\bgit\s+clone\b{_REST}")
_SYSTEM: Final = re.compile(
    rf"\b(?:apt-get|apt|apk|dnf|yum)\s+(?:-\S+\s+)*(?:install|add)\b{_REST}"
)
_CHECKOUT: Final = re.compile(r"\bgit\b[^\n;&|]*\b(?:checkout|reset)\b[^\n;&|]*\b[0-9a-f]{7,40}\b")
_PINNED: Final = re.compile(r"==|===|@[0-9a-f]{7,40}(?:$|#)|\.whl$|^\.{0,2}/|^\.$")
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
    found = [m[0] for m in _PIP.finditer(script) if any(map(_floats, _packages(m["rest"])))]
    if not _CHECKOUT.search(script):
        found += [m[0] for m in _CLONE.finditer(script)]
    found += [m[0] for m in _SYSTEM.finditer(script)]
    return tuple(" ".join(text.replace("\\\n", " ").split())[:120] for text in found)


def _packages(rest: str) -> Iterator[str]:
    try:
        words = shlex.split(rest.replace("\\\n", " "))
    except ValueError:
        words = rest.split()
    skip = False
    for word in words:
        if not skip and not word.startswith("-"):
            yield word
        skip = word in _WITH_VALUE


def _floats(package: str) -> bool:
    return _PINNED.search(package) is None


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
