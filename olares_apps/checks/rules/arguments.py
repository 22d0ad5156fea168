"""What the arguments of a container name: variables that it has, files that somebody downloads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.downloads import place_on_volume, row_targets, script_targets
from olares_apps.checks.launch import SHELLS, Server, environment, script_of
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_map, as_maps, as_text, dig
from olares_apps.checks.workloads import Container, Workload, of_kind
from olares_apps.errors import nearest

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

_REFERENCE: Final = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_UPPER: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_LINKED: Final = re.compile(r"[A-Z0-9_]+_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)")


@rules.error(
    "variable-undefined",
    "Without a variable of that name the kubelet leaves $(NAME) as it stands.",
    "Kubernetes documentation: Define a Command and Arguments for a Container",
)
def _undefined(context: ChartContext) -> Iterator[Found]:
    """Scripts of a shell are left out: there ``$(name)`` runs a command."""
    servers = {(server.workload.name, server.container.name) for server in context.servers}
    for workload in context.workloads:
        for container in workload.all_containers:
            yield from _undefined_in_env(context, workload, container)
            is_server = (workload.name, container.name) in servers
            words = _words(container, is_server=is_server)
            wanted = [(name, word) for word in words for name in _references(word)]
            names = _names(context, container) if wanted else None
            if names is None:
                continue
            for name, word in wanted:
                if name not in names and not _by_service(context, workload, name):
                    yield _unknown(context, workload, container, name, sorted(names), word)


def _undefined_in_env(
    context: ChartContext, workload: Workload, container: Container
) -> Iterator[Found]:
    """A variable can only use those that come before it."""
    entries = [item for _, item in as_maps(container.data.get("env"))]
    if not any("$(" in as_text(item.get("value")) for item in entries):
        return
    names = set(_from_maps(context, container) or ())
    own = {as_text(item.get("name")) for item in entries}
    for item in entries:
        label, value = as_text(item.get("name")), as_text(item.get("value"))
        for name in _references(value):
            if name in names or not _UPPER.fullmatch(name):
                continue
            if _by_service(context, workload, name):
                continue
            where = "is set after it" if name in own else "the container does not have"
            yield context.in_object(
                workload.item,
                f"variable {label} of container {container.name} uses $({name}), which {where}",
                hint=f"set {name} before {label}, or write $$({name}) for the text itself",
                below=(f"name: {container.name}", f"name: {label}", f"$({name})"),
                field=context.field_of_variable(label),
            )
        names.add(label)


def _unknown(
    context: ChartContext,
    workload: Workload,
    container: Container,
    name: str,
    known: Sequence[str],
    word: str,
) -> Found:
    close = nearest(name, known)
    listed = ", ".join(known[:12]) or "none"
    return context.in_object(
        workload.item,
        f"container {container.name} gets $({name}) as it stands: it has no such variable "
        f"(known: {listed})",
        hint=f"did you mean $({close})?" if close else "set it in env or in the ConfigMap",
        below=(f"name: {container.name}", f"$({name})"),
        field=context.field_of_word(word),
    )


def _references(text: str) -> list[str]:
    """Return the names that a text refers to; ``$$`` is one dollar sign."""
    return [found[1] for found in _REFERENCE.finditer(text) if found[1]] if "$(" in text else []


def _words(container: Container, *, is_server: bool) -> list[str]:
    """Return the words of a command that are no script of a shell.

    Without a command the image may start a shell, so what follows ``-c`` is left out, unless
    the image is that of a server, to which ``-c`` means something else.
    """
    command = container.words("command")
    words = [*command, *container.words("args")]
    shell = next((i for i, word in enumerate(words) if word.rpartition("/")[2] in SHELLS), None)
    if shell is None and (command or is_server):
        return words
    start = 0 if shell is None else shell + 1
    flag = next((i for i in range(start, len(words)) if re.fullmatch(r"-[a-z]*c", words[i])), None)
    return words if flag is None else [*words[: flag + 1], *words[flag + 2 :]]


def _names(context: ChartContext, container: Container) -> frozenset[str] | None:
    """Return the variables of a container, None when some come from outside the chart."""
    mapped = _from_maps(context, container)
    if mapped is None:
        return None
    own = {as_text(item.get("name")) for _, item in as_maps(container.data.get("env"))}
    return frozenset(mapped | own)


def _from_maps(context: ChartContext, container: Container) -> set[str] | None:
    maps = {i.name: as_map(i.data.get("data")) for i in of_kind(context.objects, "ConfigMap")}
    found: set[str] = set()
    for _, source in as_maps(container.data.get("envFrom")):
        name = as_text(dig(source, "configMapRef", "name"))
        if name not in maps:
            return None
        found |= {as_text(source.get("prefix")) + key for key in maps[name]}
    return found


def _by_service(context: ChartContext, workload: Workload, name: str) -> bool:
    """Say whether the cluster itself may set a variable: it names every Service."""
    if name.startswith("KUBERNETES_"):
        return True
    if workload.pod.get("enableServiceLinks") is False:
        return False
    services = (item.name.replace("-", "_").upper() for item in of_kind(context.objects, "Service"))
    return bool(_LINKED.fullmatch(name)) or any(name.startswith(f"{s}_PORT") for s in services)


# Flags of each engine that name a file or folder which must be there when the server starts.
_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "llamacpp": ("--model", "--mmproj", "--model-draft", "--lora", "--control-vector"),
    "vllm": ("--model", "--tokenizer"),
}
# Flags with which the server fetches the file itself.
_FETCHES: Final = ("--model-url", "--hf-repo", "--docker-repo")


@rules.error(
    "model-file-not-downloaded",
    "A server that opens a file which nothing brings onto the volume ends at once.",
    "public charts: a file renamed in the download and not in the arguments",
)
def _missing(context: ChartContext) -> Iterator[Found]:
    """Silent when one container that can write there does what cannot be told from its text."""
    for server in context.servers:
        if server.value(*_FETCHES):
            continue
        for flag, path in _opened(server):
            place = place_on_volume(server.workload, server.container, path)
            brought = _brought(context, server, place) if place else None
            if not place or not brought or _is_there(place, brought):
                continue
            names = sorted(PurePosixPath(item).name for item in brought)
            name = PurePosixPath(path).name
            close = nearest(name, names)
            yield context.in_object(
                server.workload.item,
                f"{flag} {path} is downloaded by no container (downloaded: {', '.join(names)})",
                hint=f"did you mean {close}?" if close else "download it, or correct the path",
                below=(f"name: {server.container.name}", flag),
                field=context.field_of_flag(server, flag, value=path),
            )


def _opened(server: Server) -> Iterator[tuple[str, str]]:
    """Yield flag and path of every file that the arguments name for certain."""
    words = [(flag, server.value(flag)) for flag in _FILES.get(server.engine, ())]
    if server.engine == "vllm" and server.parsed and server.value("--model") is None:
        words += [("model", item.text) for item in server.parsed.positionals[:1]]
    for flag, path in words:
        if path and path.startswith("/") and "$" not in path and "," not in path:
            yield flag, str(PurePosixPath(path))


def _brought(context: ChartContext, server: Server, place: str) -> frozenset[str] | None:
    """Return every file that containers bring near a place, None when that cannot be told."""
    maps = {i.name: as_map(i.data.get("data")) for i in of_kind(context.objects, "ConfigMap")}
    found: set[str] = set()
    for workload in context.workloads:
        for container in workload.all_containers:
            if not _reaches(workload, container, place):
                continue
            variables = environment(container, maps)
            script = script_of(workload, container, maps)
            targets = row_targets(variables) if "MODEL_FILES" in script else None
            if targets is None:
                targets = script_targets(script, variables) if script else None
            if targets is None and not script and _is_same(server, workload, container):
                targets = frozenset()
            if targets is None:
                return None
            places = (place_on_volume(workload, container, item) for item in targets)
            found |= {item for item in places if item}
    return frozenset(found)


def _is_same(server: Server, workload: Workload, container: Container) -> bool:
    return (server.workload.name, server.container.name) == (workload.name, container.name)


def _reaches(workload: Workload, container: Container, place: str) -> bool:
    """Say whether a container can write at a place, in it or above it."""
    for mount in container.mounts:
        folder = as_text(mount.get("mountPath"))
        root = place_on_volume(workload, container, folder) if folder else None
        if root is None or mount.get("readOnly") is True:
            continue
        near, far = f"{root.rstrip('/')}/", f"{place}/"
        if far.startswith(near) or near.startswith(far):
            return True
    return False


def _is_there(place: str, brought: frozenset[str]) -> bool:
    """Say whether a file, or anything inside a folder, is brought."""
    return any(item == place or item.startswith(f"{place}/") for item in brought)
