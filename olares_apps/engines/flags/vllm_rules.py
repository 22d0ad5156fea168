"""Rules between options of ``vllm serve``."""

import json
from collections.abc import Iterator
from typing import Any

from olares_apps.engines.flags.problems import FlagProblem
from olares_apps.engines.flags.rules import Clash, FlagRule, Launch, conflict
from olares_apps.findings import Severity

__all__ = ["VLLM_RULES", "quantization_problem"]

# vllm/config/speculative.py: methods that draft with a model of their own.
_NEEDS_MODEL = frozenset(
    "dflash dspark eagle eagle3 draft_model medusa mlp_speculator custom_class".split()
)
_NEEDS_DEPTH = frozenset(("mtp", "ngram", "ngram_gpu"))
_SHORTHANDS = (
    ("--spec-method", "method"),
    ("--spec-model", "model"),
    ("--spec-tokens", "num_speculative_tokens"),
)
# vllm/config/multimodal.py; vision_chunk is a video or an image to models that cut both alike.
_MODALITIES = ("image", "video", "audio", "vision_chunk")
# Kernels that a method's checkpoints are converted to, so that naming them is no contradiction
# (override_quantization_method of vLLM's quantisation configs).
_COMPATIBLE = {
    "awq": frozenset(("awq", "awq_marlin", "auto_awq")),
    "gptq": frozenset(("gptq", "gptq_marlin", "gptq_bitblas", "auto_gptq", "bitblas")),
    "auto-round": frozenset(("auto-round", "inc", "awq", "awq_marlin", "gptq", "gptq_marlin")),
    "modelopt": frozenset(("modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed")),
    "mxfp4": frozenset(("mxfp4", "gpt_oss_mxfp4")),
}


def _object(launch: Launch, name: str) -> dict[str, Any]:
    """Return the JSON object of a flag, dotted forms included; empty when it is none."""
    found: dict[str, Any] = {}
    for setting in launch.parsed.settings_of(name):
        try:
            value = json.loads(setting.value or "null")
        except ValueError:
            value = setting.value
        if setting.path:
            found[setting.path[0].replace("-", "_")] = value
        elif isinstance(value, dict):
            found |= {key.replace("-", "_"): item for key, item in value.items()}
    return found


def _speculative(launch: Launch) -> dict[str, Any]:
    found = _object(launch, "--speculative-config")
    for name, key in _SHORTHANDS:
        if (value := launch.parsed.value(name)) is not None:
            found.setdefault(key, value)
    return found


def _parser_alone(launch: Launch) -> Iterator[Clash]:
    parser = launch.parsed.last("--tool-call-parser")
    chosen = launch.parsed.is_on("--enable-auto-tool-choice")
    if parser is not None and not chosen:
        yield Clash(
            f"{parser.written} {parser.value} has no effect without --enable-auto-tool-choice",
            parser,
            suggestion="--enable-auto-tool-choice",
        )


def _choice_alone(launch: Launch) -> Iterator[Clash]:
    setting = launch.parsed.last("--enable-auto-tool-choice")
    if launch.parsed.is_on("--enable-auto-tool-choice") and not launch.parsed.has(
        "--tool-call-parser"
    ):
        flag = launch.table.find("--tool-call-parser")
        yield Clash(
            "--enable-auto-tool-choice needs --tool-call-parser",
            setting,
            allowed=flag.flag.values if flag else (),
            suggestion="--tool-call-parser",
        )


def _batched_tokens(launch: Launch) -> Iterator[Clash]:
    chunked = launch.parsed.last("--enable-chunked-prefill")
    tokens = launch.parsed.number("--max-num-batched-tokens")
    length = launch.parsed.number("--max-model-len")
    if chunked and chunked.negated and tokens and length and tokens < length:
        yield Clash(
            f"--max-num-batched-tokens {tokens} is below --max-model-len {length} with chunked "
            "prefill off: a full prompt fits into no step",
            launch.parsed.last("--max-num-batched-tokens"),
            suggestion=f"--max-num-batched-tokens {length}",
        )


def _incomplete(launch: Launch) -> Iterator[Clash]:
    found = _speculative(launch)
    if not found:
        return
    setting = launch.parsed.last("--speculative-config") or launch.parsed.last("--spec-method")
    method, model = found.get("method"), found.get("model")
    if method in _NEEDS_MODEL and not model:
        yield Clash(f"method {method} drafts with a model of its own: name it in model", setting)
    if method is None and model is None:
        yield Clash("speculative-config names neither method nor model", setting)
    depth = found.get("num_speculative_tokens")
    if method in _NEEDS_DEPTH and depth is None:
        yield Clash(f"method {method} needs num_speculative_tokens", setting)
    if isinstance(depth, int) and depth <= 0:
        yield Clash(f"num_speculative_tokens must be above 0, got {depth}", setting)


def _twice(launch: Launch) -> Iterator[Clash]:
    found = _object(launch, "--speculative-config")
    for name, key in _SHORTHANDS:
        setting = launch.parsed.last(name)
        if setting is not None and key in found:
            yield Clash(f"{name} and {key} in --speculative-config exclude each other", setting)


def _graph_sizes(launch: Launch) -> Iterator[Clash]:
    found = _object(launch, "--compilation-config")
    setting = launch.parsed.last("--compilation-config")
    sizes, most = found.get("cudagraph_capture_sizes"), found.get("max_cudagraph_capture_size")
    if not isinstance(sizes, list) or not all(isinstance(size, int) for size in sizes):
        return
    ordered = sorted(set(sizes))
    if sizes not in (ordered, ordered[::-1]):
        yield Clash(
            f"cudagraph_capture_sizes {sizes}: write each size once, in order: {ordered}",
            setting,
            severity=Severity.WARNING,
            suggestion=json.dumps(ordered),
        )
    if isinstance(most, int) and ordered and ordered[-1] != most:
        yield Clash(
            f"max_cudagraph_capture_size {most} must be the largest of cudagraph_capture_sizes "
            f"({ordered[-1]})",
            setting,
            suggestion=str(ordered[-1]),
        )


def _eager(launch: Launch) -> Iterator[Clash]:
    graph = [key for key in _object(launch, "--compilation-config") if "cudagraph" in key]
    if launch.parsed.is_on("--enforce-eager") and graph:
        yield Clash(
            f"--enforce-eager turns CUDA graphs off: {', '.join(graph)} has no effect",
            launch.parsed.last("--enforce-eager"),
        )


def _counts(launch: Launch) -> dict[str, object]:
    """Return the most items per prompt by modality; a limit with options holds it in count."""
    found = _object(launch, "--limit-mm-per-prompt")
    return {
        name: item.get("count", 1) if isinstance(item, dict) else item
        for name, item in found.items()
    }


def _modalities(launch: Launch) -> Iterator[Clash]:
    setting = launch.parsed.last("--limit-mm-per-prompt")
    for name in _counts(launch):
        if name not in _MODALITIES:
            yield Clash(
                f"limit-mm-per-prompt: {name} is no modality "
                f"(known: {', '.join(_MODALITIES)}): the limit has no effect",
                setting,
                allowed=_MODALITIES,
            )


def _language_only(launch: Launch) -> Iterator[Clash]:
    allowed = [name for name, count in _counts(launch).items() if count != 0]
    if launch.parsed.is_on("--language-model-only") and allowed:
        yield Clash(
            f"--language-model-only takes no {', '.join(allowed)}, whatever "
            "--limit-mm-per-prompt says",
            launch.parsed.last("--limit-mm-per-prompt"),
        )


def _no_model(launch: Launch) -> Iterator[Clash]:
    parsed = launch.parsed
    if not parsed.positionals and not parsed.has("--model") and not parsed.has("--config"):
        yield Clash("no model is named: vLLM would fetch and serve its default one", flag="--model")


_E, _W = Severity.ERROR, Severity.WARNING

VLLM_RULES: tuple[FlagRule, ...] = (
    FlagRule(
        "tool-parser-without-auto-tool-choice",
        "vllm",
        _E,
        "tool calls stay plain text",
        "vllm-project/vllm#9312",
        _parser_alone,
    ),
    FlagRule(
        "auto-tool-choice-without-parser",
        "vllm",
        _E,
        "the server refuses to start",
        "validate_parsed_serve_args",
        _choice_alone,
    ),
    FlagRule(
        "batched-tokens-below-context",
        "vllm",
        _E,
        "the server refuses to start",
        "vllm/config/scheduler.py",
        _batched_tokens,
    ),
    FlagRule(
        "speculative-config-incomplete",
        "vllm",
        _E,
        "the server refuses to start",
        "vllm/config/speculative.py",
        _incomplete,
    ),
    FlagRule(
        "speculative-config-twice",
        "vllm",
        _E,
        "the server refuses to start",
        "EngineArgs.create_speculative_config",
        _twice,
    ),
    FlagRule(
        "cudagraph-sizes",
        "vllm",
        _E,
        "sizes and maximum must agree",
        "vllm/config/vllm.py",
        _graph_sizes,
    ),
    FlagRule(
        "eager-with-cudagraph", "vllm", _W, "settings without effect", "vllm/config/vllm.py", _eager
    ),
    FlagRule(
        "modality-unknown",
        "vllm",
        _W,
        "a limit without effect",
        "vllm/config/multimodal.py",
        _modalities,
    ),
    FlagRule(
        "language-model-only-with-limits",
        "vllm",
        _W,
        "images and audio are refused, which the limits promise",
        "vllm/config/multimodal.py",
        _language_only,
    ),
    FlagRule(
        "model-not-named",
        "vllm",
        _W,
        "another model than the described one",
        "vllm/config/model.py",
        _no_model,
    ),
)

_QUANTIZATION = FlagRule(
    "quantization-differs-from-model",
    "vllm",
    Severity.ERROR,
    "the server refuses to start",
    "vllm-project/vllm#5842",
    lambda launch: (),
)


def quantization_problem(launch: Launch, quant_method: str | None) -> FlagProblem | None:
    """Return the contradiction between ``--quantization`` and the model's ``quant_method``.

    ``quant_method`` is that of the model's ``config.json`` (None when it has none). The flag
    is hardly ever needed: vLLM reads the method from the model.
    """
    setting = launch.parsed.last("--quantization")
    if setting is None or setting.value is None or quant_method is None:
        return None
    named, stated = setting.value, quant_method
    if named == stated or named in _COMPATIBLE.get(stated.replace("_", "-"), frozenset()):
        return None
    if named in _COMPATIBLE.get(stated, frozenset()):
        return None
    message = f"quantization {named} differs from model config {stated}; omit the flag"
    return conflict(_QUANTIZATION, Clash(message, setting, suggestion="omit --quantization"))
