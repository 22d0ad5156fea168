"""The inference server of a chart: which container, which engine, which arguments.

Read from the rendered objects, so it works for charts that were made by hand. What cannot be
told from text stays unknown, and the rules that need it stay silent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Final

from olares_apps.checks.images import ImageName, parse_image
from olares_apps.checks.shape import as_map, as_maps, as_text, dig
from olares_apps.checks.shell import Command, expand_kubelet, find_command
from olares_apps.checks.workloads import Container, Workload, of_kind, workloads
from olares_apps.engines.flags import (
    FlagProblem,
    FlagTable,
    ParsedArgs,
    TableMatch,
    check_conflicts,
    check_parsed,
    find_table,
    parse_argv,
)
from olares_apps.helm import RenderedObject

__all__ = ["SHELLS", "Server", "environment", "script_of", "scripts", "servers"]

SHELLS: Final = frozenset("sh bash ash dash zsh".split())
"""Names of the shells."""
_CONTEXT: Final[Mapping[str, tuple[str, ...]]] = {
    "llamacpp": ("--ctx-size",),
    "vllm": ("--max-model-len",),
}
# Where a server listens that is told no port: help output of llama-server, vllm/config.
_DEFAULT_PORTS: Final[Mapping[str, int]] = {"llamacpp": 8080, "vllm": 8000}
_SLOTS: Final[Mapping[str, str]] = {"llamacpp": "--parallel", "vllm": "--max-num-seqs"}
_ALIAS: Final = ("--alias", "--served-model-name")
_DRAFT_LENGTHS: Final = (
    "--spec-draft-n-max",
    "--spec-ngram-mod-n-max",
    "--spec-ngram-simple-size-m",
)


# The charts of all generations start the same server, so what was read and judged is kept.
@lru_cache(maxsize=64)
def _parsed(argv: tuple[str, ...], table: FlagTable) -> ParsedArgs:
    return parse_argv(argv, table)


@lru_cache(maxsize=64)
def _judged(
    argv: tuple[str, ...], table: FlagTable, build: str | None, is_complete: bool
) -> tuple[FlagProblem, ...]:
    parsed = _parsed(argv, table)
    found = check_parsed(parsed)
    if is_complete:
        found += check_conflicts(parsed, table, build=build)
    return tuple(found)


@dataclass(eq=False)
class Server:
    """One container that runs an inference server.

    ``engine`` is ``llamacpp`` or ``vllm``, empty for one without flag tables. ``variables`` is
    the environment, ``script`` the start script, empty when the server is started directly.
    ``command`` is None when its arguments could not be told. ``stated`` is the flag table of a
    spec's engine, which knows better than the image.
    """

    workload: Workload
    container: Container
    engine: str
    variables: Mapping[str, str]
    script: str
    command: Command | None
    stated: TableMatch | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the arguments, empty when they are unknown."""
        return self.command.argv if self.command else ()

    @cached_property
    def image(self) -> ImageName | None:
        """Return the image in parts."""
        return parse_image(self.container.image)

    @cached_property
    def table(self) -> TableMatch | None:
        """Return the flag table of the build, None for an engine without tables."""
        if self.stated is not None or not self.engine:
            return self.stated
        match = find_table(self.engine, self.container.image)
        return match if match.table else None

    @cached_property
    def parsed(self) -> ParsedArgs | None:
        """Return the arguments read by the build's flag table."""
        if self.command is None or self.table is None or self.table.table is None:
            return None
        return _parsed(self.argv, self.table.table)

    @cached_property
    def problems(self) -> Sequence[FlagProblem]:
        """Return what is wrong with the arguments.

        Values that hold a variable of unknown content are not judged, and rules between
        options only when all options are known.
        """
        parsed, match = self.parsed, self.table
        if parsed is None or match is None or self.command is None:
            return ()
        found = _judged(self.argv, parsed.table, match.build, self.command.complete)
        return [item for item in found if "$" not in f"{item.flag}{item.value or ''}"]

    def value(self, *flags: str) -> str | None:
        """Return the value that counts for a flag: on the command line, else in its variable."""
        if self.parsed is None:
            return None
        known = self.parsed.value(*flags)
        if known is not None:
            return known
        flag = self.parsed.table.first(flags)
        names = flag.env if flag else ()
        return next((self.variables[name] for name in names if name in self.variables), None)

    def number(self, *flags: str) -> int | None:
        """Return the value that counts for a flag as a whole number."""
        value = self.value(*flags)
        return int(value) if value and re.fullmatch(r"\d{1,12}", value) else None

    @cached_property
    def ctx(self) -> int | None:
        """Return the context in tokens; 0 when the server chooses it, None when unknown."""
        flags = _CONTEXT.get(self.engine)
        if flags is None or self.parsed is None or self.command is None:
            return None
        if self.value(*flags) is None:
            return 0 if self.command.complete else None
        return self.number(*flags)

    @property
    def listens(self) -> int | None:
        """Return the port that the server listens on, its default where it is told none."""
        port = self.number("--port")
        if port is not None or self.parsed is None or self.command is None:
            return port
        is_unset = self.value("--port") is None and self.command.complete
        return _DEFAULT_PORTS.get(self.engine) if is_unset else None

    @cached_property
    def ports(self) -> frozenset[int]:
        """Return the ports that the server listens on, as far as they are known."""
        port = self.listens
        if port is not None:
            return frozenset((port,))
        return frozenset(self.container.ports.values())

    @property
    def parallel(self) -> int | None:
        """Return the number of slots, None when not set."""
        return self.number("--parallel")

    @property
    def slots(self) -> int | None:
        """Return how many requests are served at a time, None when not set."""
        return self.number(_SLOTS[self.engine]) if self.engine in _SLOTS else None

    @property
    def alias(self) -> str | None:
        """Return the model id that the API answers to."""
        return self.value(*_ALIAS)

    @cached_property
    def draft_length(self) -> int | None:
        """Return the most tokens drafted per step."""
        for flag in _DRAFT_LENGTHS:
            number = self.number(flag)
            if number is not None:
                return number
        found = re.search(r'"num_speculative_tokens"\s*:\s*(\d{1,3})', " ".join(self.argv))
        return int(found[1]) if found else None

    @cached_property
    def model_names(self) -> Sequence[str]:
        """Return the names of model files and repositories that arguments and environment name."""
        found = [self.value(flag) for flag in ("--model", "--mmproj", "--model-draft", "--hf-repo")]
        if self.parsed:
            found += [item.text for item in self.parsed.positionals]
        found += [
            value
            for name, value in self.variables.items()
            if re.search(r"MODEL|MMPROJ|DRAFT|TARGET|GGUF", name) and len(value) < 500
        ]
        return [item for item in found if item]


def servers(objects: Sequence[RenderedObject]) -> list[Server]:
    """Return the containers that run an inference server, in the order of the objects."""
    maps = {item.name: as_map(item.data.get("data")) for item in of_kind(objects, "ConfigMap")}
    found = []
    for workload in workloads(objects):
        for container in workload.containers:
            server = _server(workload, container, maps)
            if server:
                found.append(server)
    return found


def environment(
    container: Container, maps: Mapping[str, Mapping[str, object]]
) -> Mapping[str, str]:
    """Return a container's variables: ConfigMaps first, then its own, each expanded in turn."""
    variables: dict[str, str] = {}
    for _, source in as_maps(container.data.get("envFrom")):
        data = maps.get(as_text(dig(source, "configMapRef", "name")), {})
        prefix = as_text(source.get("prefix"))
        variables |= {prefix + key: as_text(value) for key, value in data.items()}
    for _, item in as_maps(container.data.get("env")):
        name = as_text(item.get("name"))
        reference = dig(item, "valueFrom", "configMapKeyRef")
        if reference is not None:
            source = maps.get(as_text(dig(reference, "name")), {})
            variables[name] = as_text(source.get(as_text(dig(reference, "key"))))
        elif "valueFrom" not in item:
            variables[name] = expand_kubelet(as_text(item.get("value")), variables)
    return variables


def script_of(
    workload: Workload, container: Container, maps: Mapping[str, Mapping[str, object]]
) -> str:
    """Return the shell script that a container runs, empty when it runs none.

    A script is given inline after ``-c`` or lies in a ConfigMap that is mounted.
    """
    words = [*container.words("command"), *container.words("args")]
    if not words:
        return ""
    if PurePosixPath(words[0]).name not in SHELLS:
        return _mounted(workload, container, maps, words[0])
    for index, word in enumerate(words[1:], start=1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[index + 1] if index + 1 < len(words) else ""
        if not word.startswith("-"):
            return _mounted(workload, container, maps, word)
    return ""


def _mounted(
    workload: Workload, container: Container, maps: Mapping[str, Mapping[str, object]], path: str
) -> str:
    for mount in container.mounts:
        volume = workload.volumes.get(as_text(mount.get("name")), {})
        data = maps.get(as_text(dig(volume, "configMap", "name")))
        if not data:
            continue
        folder = PurePosixPath(as_text(mount.get("mountPath")) or "/")
        for key, value in data.items():
            name = folder if mount.get("subPath") == key else folder / key
            if str(name) == path and isinstance(value, str):
                return value
    return ""


def _server(
    workload: Workload, container: Container, maps: Mapping[str, Mapping[str, object]]
) -> Server | None:
    variables = environment(container, maps)
    script = script_of(workload, container, maps)
    command = find_command(script, variables) if script else _direct(container, variables)
    engine = _engine(command, container.image)
    if engine is None:
        return None
    return Server(workload, container, engine, variables, script, command)


def _direct(container: Container, variables: Mapping[str, str]) -> Command | None:
    """Return the command of a container that starts its server without a shell."""
    command = [expand_kubelet(word, variables) for word in container.words("command")]
    args = [expand_kubelet(word, variables) for word in container.words("args")]
    words = [*command, *args]
    for index, word in enumerate(words):
        name = PurePosixPath(word).name
        if name == "llama-server":
            return Command(word, tuple(words[index + 1 :]), True)
        if name == "vllm" and words[index + 1 : index + 2] == ["serve"]:
            return Command("vllm serve", tuple(words[index + 2 :]), True)
        is_python = index > 0 and PurePosixPath(words[index - 1]).name.startswith("python")
        if word == "-m" and is_python and words[index + 1 : index + 2]:
            module = words[index + 1]
            return Command(f"-m {module}", tuple(words[index + 2 :]), True)
    if not command and _engine(None, container.image):
        return Command("", tuple(args), True)
    return None


def _engine(command: Command | None, image: str) -> str | None:
    """Return the engine's name, empty for a server without flag tables, None for no server."""
    binary = command.binary if command else ""
    if "llama-server" in binary:
        return "llamacpp"
    if "vllm" in binary:
        return "vllm"
    if "sglang" in binary:
        return ""
    name = parse_image(image)
    if name is None or (command and binary):
        return None
    repository = name.repository.lower()
    if re.search(r"(?:^|/)vllm-openai$", repository):
        return "vllm"
    if re.search(r"llama\.?-?cpp", repository) and "server" in name.tag:
        return "llamacpp"
    return None


def scripts(objects: Sequence[RenderedObject]) -> Iterator[tuple[Workload, Container, str]]:
    """Yield every container that runs a shell script, with the script."""
    maps = {item.name: as_map(item.data.get("data")) for item in of_kind(objects, "ConfigMap")}
    for workload in workloads(objects):
        for container in workload.all_containers:
            script = script_of(workload, container, maps)
            if script:
                yield workload, container, script
