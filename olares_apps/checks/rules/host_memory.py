"""Host memory: that the pod's limit holds what the server keeps outside the GPU."""

from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_text, size
from olares_apps.checks.weights import least_weights, model_bytes, on_gpu

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

_GB: Final = 10**9
_GIB: Final = 2**30
_MAPPED: Final = ("auto", "mmap", "mmap+mlock")
_LOCKED: Final = ("mlock", "mmap+mlock")
_OFF: Final = ("0", "off", "false", "disabled")
_ON: Final = ("1", "on", "true", "enabled")


def _loading(server: Server) -> tuple[bool, bool]:
    """Return whether the files are mapped into memory, and whether they are locked there.

    Source: common/arg.cpp, --load-mode with its older switches and their variables.
    """
    parsed, mode = server.parsed, server.value("--load-mode")
    if mode is not None:
        return mode in _MAPPED, mode in _LOCKED
    if parsed is None:
        return True, False
    mapping, locked = parsed.last("--mmap", "--no-mmap"), parsed.is_on("--mlock")
    if mapping is not None:
        return not (mapping.negated or mapping.written == "--no-mmap"), locked
    variables = server.variables
    is_off = variables.get("LLAMA_ARG_MMAP", "").lower() in _OFF
    is_off = is_off or "LLAMA_ARG_NO_MMAP" in variables
    return not is_off, locked or variables.get("LLAMA_ARG_MLOCK", "").lower() in _ON


@rules.warning(
    "memory-limit-below-model",
    "Without mmap, and with a prompt cache, host memory holds what the limit does not allow.",
    "aamsellem/olares-one-market#10",
)
def _memory(context: ChartContext) -> Iterator[Found]:
    """Without a spec the least that the weights' name tells, where they stay in host memory."""
    total = model_bytes(context)
    for server in context.servers:
        limit = size(server.container.resource("limits", "memory"))
        if limit is None:
            continue
        if server.engine == "llamacpp":
            yield from _weights(context, server, total, limit)
        cache = server.number("--cache-ram")
        if cache is not None and limit < cache * 2**20 + 2 * _GIB:
            yield context.in_object(
                server.workload.item,
                f"the prompt cache may take {cache} MiB, limits.memory is "
                f"{server.container.resource('limits', 'memory')}",
                "cache-ram",
                hint="raise the limit or lower --cache-ram",
                field=context.field_of_flag(server, "--cache-ram"),
            )


def _weights(
    context: ChartContext, server: Server, total: int | None, limit: int
) -> Iterator[Found]:
    is_mapped, is_locked = _loading(server)
    need, what = total, "the model files"
    if total is None and not on_gpu(server) and (is_locked or not is_mapped):
        weights = least_weights(server.model_names)
        need, what = (weights.least, f"the weights of {weights.name}") if weights else (None, "")
    if need is None:
        return
    told = f"{need / _GB:.1f} GB{'' if total else ' at least'}"
    request = size(server.container.resource("requests", "memory"))
    if limit < need:
        yield context.in_object(
            server.workload.item,
            f"limits.memory {server.container.resource('limits', 'memory')} of container "
            f"{server.container.name} is below {what}, {told}"
            f" ({'page cache counts' if is_mapped else 'mmap off'})",
            "memory:",
            as_text(server.container.resource("limits", "memory")),
            hint=f"write {-(-need // _GIB) + 4}Gi or more",
            field=("resources", "memory_limit"),
        )
    if is_locked and request is not None and request < need:
        yield context.in_object(
            server.workload.item,
            f"the model ({told}) is locked into memory, requests.memory is only "
            f"{server.container.resource('requests', 'memory')}",
            hint=f"request {-(-need // _GIB) + 1}Gi, or drop --mlock",
            below=(f"name: {server.container.name}", "requests:", "memory:"),
            field=("resources", "memory"),
        )
