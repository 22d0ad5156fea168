"""Options of llama-server that change memory and that the estimate does not follow.

Typed settings of a spec are part of the request; these come as further arguments or as
variables. Names: ``common/arg.cpp`` of b9254 and b11434.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["projector_on_host", "unmodelled_options"]

_LESS: Final = "the need on the GPU is overstated, that of the host understated"
_MORE: Final = "the need is understated"
_OFF: Final = frozenset({"0", "off", "false", "no", "disabled"})


@dataclass(frozen=True, slots=True)
class _Option:
    """Flags that mean one thing, the variable that does, and how the estimate is wrong then.

    ``on_zero`` says that only the value 0 has the effect; without it that value has none.
    """

    flags: tuple[str, ...]
    what: str
    effect: str
    variable: str = ""
    on_zero: bool = False


_OPTIONS: Final = (
    _Option(("--cpu-moe", "-cmoe"), "keeps all experts on the host", _LESS, "LLAMA_ARG_CPU_MOE"),
    _Option(
        ("--n-cpu-moe", "-ncmoe"),
        "keeps the experts of some layers on the host",
        _LESS,
        "LLAMA_ARG_N_CPU_MOE",
    ),
    _Option(
        ("--override-tensor", "-ot"),
        "places tensors by name",
        _LESS,
        "LLAMA_ARG_OVERRIDE_TENSOR",
    ),
    _Option(
        ("--no-kv-offload", "-nkvo"),
        "keeps the KV cache on the host",
        _LESS,
        "LLAMA_ARG_KV_OFFLOAD",
        on_zero=True,
    ),
    _Option(
        (
            "--spec-draft-cpu-moe",
            "--cpu-moe-draft",
            "-cmoed",
            "--spec-draft-n-cpu-moe",
            "--spec-draft-ncmoe",
            "--n-cpu-moe-draft",
            "-ncmoed",
            "--spec-draft-override-tensor",
            "--override-tensor-draft",
            "-otd",
        ),
        "keeps parts of the draft model on the host",
        _LESS,
    ),
    _Option(
        ("--spec-draft-ctx-size", "--ctx-size-draft", "-cd"),
        "gives the draft model a context of its own",
        "its cache is counted with the target's context",
    ),
    _Option(
        (
            "--split-mode",
            "-sm",
            "--tensor-split",
            "-ts",
            "--main-gpu",
            "-mg",
            "--device",
            "-dev",
            "--rpc",
            "--spec-draft-device",
            "--device-draft",
            "-devd",
        ),
        "spreads the model over devices",
        "everything is counted on one GPU",
        "LLAMA_ARG_TENSOR_SPLIT",
    ),
    _Option(
        ("--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled"),
        "loads further weights",
        _MORE,
    ),
    _Option(
        ("--image-max-tokens", "--image-min-tokens"),
        "sets the largest image",
        "the projector's compute is a rule of thumb",
        "LLAMA_ARG_IMAGE_MAX_TOKENS",
    ),
    _Option(
        ("--embedding", "--embeddings", "--rerank", "--reranking", "--pooling"),
        "makes an embedding server, which computes a whole batch at once",
        _MORE,
        "LLAMA_ARG_EMBEDDINGS",
    ),
    _Option(
        (),
        "lets the GPU's memory overflow into the host's",
        "too large a need is slow instead of an error",
        "GGML_CUDA_ENABLE_UNIFIED_MEMORY",
    ),
)


def unmodelled_options(arguments: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return what in further arguments and variables the estimate does not follow, and why.

    Each text names the option as it was written.
    """
    return tuple(
        f"{written} {option.what}: {option.effect}"
        for option in _OPTIONS
        for written in _uses(option, arguments, env)
    )


def projector_on_host(arguments: Sequence[str], env: Mapping[str, str]) -> bool:
    """Return whether the projector is kept off the GPU."""
    flags = ("--no-mmproj-offload",)
    return any(_long(item) in flags for item in arguments) or _is_off(
        env.get("LLAMA_ARG_MMPROJ_OFFLOAD", "")
    )


def _uses(option: _Option, arguments: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    for index, item in enumerate(arguments):
        if _long(item) in option.flags:
            value = arguments[index + 1] if index + 1 < len(arguments) else ""
            if value != "0" or option.on_zero:
                yield item
    value = env.get(option.variable, "")
    if value and _is_off(value) == option.on_zero:
        yield f"{option.variable}={value}"


def _is_off(value: str) -> bool:
    return value.casefold() in _OFF


def _long(argument: str) -> str:
    """Return a flag as its table has it: servers take _ for - in long names."""
    return argument.replace("_", "-") if argument.startswith("--") else argument
