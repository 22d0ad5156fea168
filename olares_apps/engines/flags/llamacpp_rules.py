"""Rules between options of llama.cpp's server."""

import json
from collections.abc import Iterator
from typing import Any

from olares_apps.engines.flags.rules import Clash, FlagRule, Launch
from olares_apps.findings import Severity

__all__ = ["LLAMACPP_RULES"]

_KV = (("--cache-type-v", "kv.v"), ("--spec-draft-type-v", "draft kv.v"), ("-ctvd", "draft kv.v"))
_PLAIN_TYPES = frozenset(("f32", "f16", "bf16"))
_DRAFTER = ("--spec-draft-model", "--model-draft")
_DRAFTER_SOURCES = (*_DRAFTER, "--spec-draft-hf", "--hf-repo-draft", "--mtp-head")
_DEPTH = ("--spec-draft-n-max", "--spec-draft-n-min", "--draft-max", "--draft-min")
_MTP = frozenset(("mtp", "draft-mtp", "nextn"))
_NEEDS_DRAFTER = frozenset(
    "draft draft-simple eagle3 draft-eagle3 dflash draft-dflash draft-dspark".split()
)
_OFF = frozenset(("off", "false", "0", "disabled"))
_OLD_LOADING = ("--mlock", "--mmap", "--direct-io")
DEFAULT_BATCH, DEFAULT_UBATCH = 2048, 512


def _spec_types(launch: Launch) -> list[str]:
    """Return the kinds of speculation that are asked for; ``none`` counts as none."""
    values = [value for item in launch.parsed.settings_of("--spec-type") for value in item.values]
    kinds = [kind for value in values for kind in value.split(",")]
    return [kind for kind in kinds if kind != "none"]


def _has_drafter(launch: Launch) -> bool:
    return launch.parsed.has(*_DRAFTER_SOURCES)


def _quantised_v(launch: Launch) -> Iterator[Clash]:
    attention = launch.parsed.value("--flash-attn")
    if attention not in _OFF:
        return
    seen: set[int] = set()
    for name, word in _KV:
        setting = launch.parsed.last(name)
        if setting is None or setting.value in _PLAIN_TYPES or setting.value is None:
            continue
        if setting.position not in seen:
            seen.add(setting.position)
            yield Clash(
                f"{word}={setting.value} needs flash_attn on|auto (got {attention}): the server "
                "refuses a quantised V cache without flash attention",
                setting,
                suggestion="--flash-attn on",
            )


def _no_cuda_kernel(launch: Launch) -> Iterator[Clash]:
    if launch.parsed.value("--flash-attn") in _OFF:
        return
    for name in ("--cache-type-k", "--cache-type-v"):
        setting = launch.parsed.last(name)
        if setting and setting.value == "iq4_nl":
            yield Clash(
                f"{setting.written} iq4_nl has no flash attention kernel for CUDA: attention "
                "would run on the CPU; q4_0 takes the same memory",
                setting,
                suggestion=f"{setting.written} q4_0",
            )


def _parallel_unset(launch: Launch) -> Iterator[Clash]:
    if launch.behaviour is None or launch.table.find("--parallel") is None:
        return
    slots = launch.behaviour.parallel_auto_slots
    given = launch.parsed.number("--parallel")
    if slots > 1 and (given is None or given < 0):
        yield Clash(
            f"--parallel is not set: {launch.build} then takes {slots} slots, with {slots} times "
            "the recurrent state; write the number of slots",
            launch.parsed.last("--parallel"),
            flag="--parallel",
            suggestion="--parallel 1",
        )


def _parallel_splits(launch: Launch) -> Iterator[Clash]:
    slots, ctx = launch.parsed.number("--parallel"), launch.parsed.number("--ctx-size")
    if slots and ctx and slots > 1 and not launch.parsed.is_on("--kv-unified"):
        yield Clash(
            f"context per slot = {ctx // slots}: {slots} slots share --ctx-size {ctx}",
            launch.parsed.last("--parallel"),
            suggestion="--parallel 1",
        )


def _drafter_missing(launch: Launch) -> Iterator[Clash]:
    needing = [kind for kind in _spec_types(launch) if kind in _NEEDS_DRAFTER]
    if needing and not _has_drafter(launch):
        flag = launch.table.first(_DRAFTER)
        yield Clash(
            f"--spec-type {needing[0]} needs a drafter: set {flag.name if flag else _DRAFTER[0]}",
            launch.parsed.last("--spec-type"),
            suggestion=flag.name if flag else None,
        )


def _drafter_ignored(launch: Launch) -> Iterator[Clash]:
    behaviour = launch.behaviour
    if behaviour is None or behaviour.draft_model_alone == "drafts":
        return
    setting = launch.parsed.last(*_DRAFTER)
    if setting is not None and not _spec_types(launch):
        yield Clash(
            f"{setting.written} is set but the spec type is none: no speculation will happen "
            f"({launch.build} needs --spec-type as well)",
            setting,
            suggestion="--spec-type draft-simple",
        )


def _depth_ignored(launch: Launch) -> Iterator[Clash]:
    if _spec_types(launch) or _has_drafter(launch):
        return
    for name in _DEPTH:
        setting = launch.parsed.last(name)
        if setting is not None and setting.flag.removed is None:
            yield Clash(f"{setting.written} has no effect: no --spec-type and no drafter", setting)
            return


def _kinds_exclude(launch: Launch) -> Iterator[Clash]:
    kinds = _spec_types(launch)
    settings = launch.parsed.settings_of("--spec-type")
    written = [kind for item in settings for value in item.values for kind in value.split(",")]
    drafting = [kind for kind in dict.fromkeys(kinds) if kind in _NEEDS_DRAFTER | _MTP]
    if len(drafting) > 1:
        yield Clash(
            f"{' and '.join(drafting)} exclude each other: there is one draft context",
            settings[-1],
            suggestion=f"--spec-type {drafting[0]}",
        )
    if kinds and "none" in written:
        yield Clash(
            f"none turns off {', '.join(kinds)}: leave it out",
            settings[-1],
            severity=Severity.WARNING,
        )


def _not_implemented(launch: Launch) -> Iterator[Clash]:
    behaviour, kinds = launch.behaviour, _spec_types(launch)
    if behaviour is None:
        return
    setting = launch.parsed.last("--spec-type")
    if "draft-eagle3" in kinds and not behaviour.eagle3:
        yield Clash(
            f"{launch.build} lists draft-eagle3 but drafts with it only from b9606", setting
        )
    if "draft-mtp" in kinds and not behaviour.draft_mtp_starts:
        yield Clash(
            f"{launch.build} cannot start with draft-mtp (b10741 to b10748); take b10749 or later",
            setting,
            severity=Severity.ERROR,
        )
    if "draft-mtp" in kinds and launch.parsed.has(*_DRAFTER) and not behaviour.gemma4_assistant:
        yield Clash(
            f"draft-mtp with a drafter in its own file works from b9549 (yours: {launch.build})",
            setting,
        )


def _images_with_mtp(launch: Launch) -> Iterator[Clash]:
    behaviour, mmproj = launch.behaviour, launch.parsed.last("--mmproj")
    if behaviour is None or mmproj is None:
        return
    if not (_MTP & set(_spec_types(launch)) or launch.parsed.has("--mtp-head")):
        return
    needs = "b9617" if _has_drafter(launch) else "b9180"
    works = behaviour.mmproj_with_drafter if _has_drafter(launch) else behaviour.mmproj_with_mtp
    if not works:
        yield Clash(
            f"mmproj + draft-mtp crashes on the first image before {needs} (yours: {launch.build})",
            mmproj,
            severity=Severity.ERROR if behaviour.name_exact else Severity.WARNING,
        )
    elif behaviour.name is None:
        yield Clash(
            f"mmproj + draft-mtp crashes on the first image before {needs}; the build of "
            f"{launch.build} is not known",
            mmproj,
            severity=Severity.WARNING,
        )


def _ubatch(launch: Launch) -> Iterator[Clash]:
    given = launch.parsed.number("--batch-size")
    batch = given if given is not None else DEFAULT_BATCH
    ubatch = launch.parsed.number("--ubatch-size")
    if ubatch is not None and batch > 0 and ubatch > batch:
        yield Clash(
            f"ubatch {ubatch} is above batch {batch}: the server takes {batch} for both",
            launch.parsed.last("--ubatch-size"),
            suggestion=f"--batch-size {ubatch}",
        )


def _kwargs(launch: Launch) -> dict[str, Any]:
    try:
        found = json.loads(launch.parsed.value("--chat-template-kwargs") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _thinking_twice(launch: Launch) -> Iterator[Clash]:
    setting = launch.parsed.last("--reasoning")
    kwargs = _kwargs(launch)
    if setting is not None and "enable_thinking" in kwargs:
        yield Clash(
            f"thinking is set twice: {setting.written} {setting.value} and enable_thinking "
            f"{json.dumps(kwargs['enable_thinking'])} in --chat-template-kwargs",
            setting,
            suggestion=f"--reasoning {setting.value}",
        )


def _thinking_by_kwargs(launch: Launch) -> Iterator[Clash]:
    kwargs = _kwargs(launch)
    if "enable_thinking" not in kwargs or launch.parsed.has("--reasoning"):
        return
    if launch.table.find("--reasoning") is None:
        return
    word = "on" if kwargs["enable_thinking"] else "off"
    yield Clash(
        f"enable_thinking in --chat-template-kwargs is deprecated in {launch.build}: write "
        f"--reasoning {word}",
        launch.parsed.last("--chat-template-kwargs"),
        suggestion=f"--reasoning {word}",
    )


def _loading_twice(launch: Launch) -> Iterator[Clash]:
    setting = launch.parsed.last("--load-mode")
    old = [
        found
        for name in _OLD_LOADING
        if (found := launch.parsed.last(name)) and found.flag.removed is None
    ]
    if setting is not None and old:
        yield Clash(
            f"{setting.written} and {old[0].written} set the same thing: only the last one counts",
            setting,
            suggestion=f"--load-mode {setting.value}",
        )


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

LLAMACPP_RULES: tuple[FlagRule, ...] = (
    FlagRule(
        "quantised-v-cache-needs-flash-attention",
        "llamacpp",
        _E,
        "the server refuses to start",
        "ggml-org/llama.cpp#28524",
        _quantised_v,
    ),
    FlagRule(
        "cache-type-without-cuda-kernel",
        "llamacpp",
        _W,
        "attention falls back to the CPU",
        "ggml_cuda_fattn_kv_type_supported",
        _no_cuda_kernel,
    ),
    FlagRule(
        "parallel-unset",
        "llamacpp",
        _W,
        "several slots multiply memory and may divide the context",
        "help of --parallel: default auto",
        _parallel_unset,
    ),
    FlagRule(
        "parallel-splits-context",
        "llamacpp",
        _I,
        "a request gets a part of the stated context",
        "llama_context: n_ctx_seq",
        _parallel_splits,
    ),
    FlagRule(
        "drafter-missing",
        "llamacpp",
        _E,
        "this kind of speculation drafts with a second model",
        "common/speculative.cpp",
        _drafter_missing,
    ),
    FlagRule(
        "draft-model-without-spec-type",
        "llamacpp",
        _W,
        "the drafter is loaded and never asked",
        "ggml-org/llama.cpp#23988",
        _drafter_ignored,
    ),
    FlagRule(
        "draft-depth-without-speculation",
        "llamacpp",
        _W,
        "a depth without anything that drafts",
        "common/speculative.cpp",
        _depth_ignored,
    ),
    FlagRule(
        "speculation-kinds-exclude",
        "llamacpp",
        _E,
        "kinds that draft with a model share one context",
        "common/speculative.cpp",
        _kinds_exclude,
    ),
    FlagRule(
        "speculation-not-in-build",
        "llamacpp",
        _W,
        "the build lists a kind that does not work in it",
        "ggml-org/llama.cpp#18039, #23398, #28196",
        _not_implemented,
    ),
    FlagRule(
        "mmproj-with-mtp",
        "llamacpp",
        _E,
        "the server dies on the first image",
        "ggml-org/llama.cpp#22673, #24384",
        _images_with_mtp,
    ),
    FlagRule(
        "ubatch-above-batch",
        "llamacpp",
        _W,
        "the intended physical batch does not apply",
        "llama_context: n_ubatch",
        _ubatch,
    ),
    FlagRule(
        "thinking-set-twice",
        "llamacpp",
        _W,
        "two settings for one thing; the last argument wins",
        "ggml-org/llama.cpp#20409",
        _thinking_twice,
    ),
    FlagRule(
        "thinking-through-template-kwargs",
        "llamacpp",
        _W,
        "deprecated since --reasoning exists (b8287)",
        "ggml-org/llama.cpp#20297",
        _thinking_by_kwargs,
    ),
    FlagRule(
        "loading-set-twice",
        "llamacpp",
        _W,
        "only the last of the loading options counts",
        "common/arg.cpp of b10405",
        _loading_twice,
    ),
)
