"""Can this build draft with this file's own MTP head?

The rule is llama.cpp's own (``common_speculative_types_from_gguf``): the key
``ARCH.nextn_predict_layers`` is above zero *and* the last block has the tensor
``blk.N.nextn.eh_proj.weight``. A file with the key but without the tensors does not even
start on some architectures. That the head is there and that the build can use it are two
questions. vLLM asks config.json and the names in the checkpoint's index.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from olares_apps.fit.behaviours import (
    DRAFTER_ARCHITECTURES,
    TOLERATES_MISSING_HEAD,
    BuildBehaviour,
    fold_arch,
)
from olares_apps.fit.gguf_facts import GgufFacts

__all__ = [
    "MtpResult",
    "MtpState",
    "check_mtp",
    "check_vllm_mtp",
    "declared_mtp_layers",
    "names_mtp_tensors",
    "vllm_head",
]


class MtpState(StrEnum):
    """The answer; only ``USABLE`` drafts."""

    USABLE = "usable"
    ABSENT = "absent"
    KEY_WITHOUT_TENSORS = "key-without-tensors"
    TENSORS_WITHOUT_KEY = "tensors-without-key"
    NEEDS_DRAFTER = "needs-drafter"
    WRONG_DRAFTER = "wrong-drafter"
    BUILD_TOO_OLD = "build-too-old"
    BUILD_BROKEN = "build-broken"
    ARCH_UNSUPPORTED = "arch-unsupported"
    UNKNOWN_BUILD = "unknown-build"


@dataclass(frozen=True, slots=True)
class MtpResult:
    """Whether MTP works, why not, and what is missing in the file.

    ``blocks_start``: the server does not start with this file even when MTP is off.
    """

    state: MtpState
    reasons: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    blocks_start: bool = False

    @property
    def is_usable(self) -> bool:
        """Return whether the file and the build draft together."""
        return self.state is MtpState.USABLE

    @property
    def has_head(self) -> bool:
        """Return whether the file carries a complete head, whatever the build does with it."""
        return self.state in _HEAD_IS_THERE


_HEAD_IS_THERE = {
    MtpState.USABLE,
    MtpState.BUILD_TOO_OLD,
    MtpState.BUILD_BROKEN,
    MtpState.ARCH_UNSUPPORTED,
    MtpState.UNKNOWN_BUILD,
}
_SEPARATE = {"gemma4": "gemma4-assistant"}
_PROJECTIONS = ("nextn.pre_projection.weight", "nextn.post_projection.weight")


def check_mtp(
    facts: GgufFacts,
    behaviour: BuildBehaviour,
    *,
    file: str = "the file",
    drafter: GgufFacts | None = None,
) -> MtpResult:
    """Decide whether ``--spec-type draft-mtp`` works with these facts on this build.

    ``facts`` must be those of all parts of a split file. ``drafter`` is the file given as
    ``--spec-draft-model``, for models whose head is a file of its own; ``file`` names the
    model in reasons.
    """
    if fold_arch(facts.arch) in _SEPARATE:
        return _check_drafter(facts, behaviour, file, drafter)
    block = facts.block_count - 1
    probe = f"blk.{block}.nextn.eh_proj.weight"
    if facts.nextn == 0:
        if facts.nextn_tensors:
            return MtpResult(
                MtpState.TENSORS_WITHOUT_KEY,
                (f"{file} has nextn tensors but {facts.arch}.nextn_predict_layers is absent or 0",),
                (f"{facts.arch}.nextn_predict_layers",),
            )
        reason = (
            f"draft-mtp requested but {file} has no nextn layers "
            "(nextn_predict_layers absent/0, no blk.N.nextn.* tensors)"
        )
        return MtpResult(MtpState.ABSENT, (reason,), (f"{facts.arch}.nextn_predict_layers", probe))
    if probe not in facts.nextn_tensors:
        blocks = fold_arch(facts.arch) not in TOLERATES_MISSING_HEAD
        reasons = [f"{file} states {facts.nextn} MTP layer(s) but has no tensor {probe}"]
        if blocks:
            reasons.append(f"{facts.arch} does not start with such a file, even without MTP")
        return MtpResult(MtpState.KEY_WITHOUT_TENSORS, tuple(reasons), (probe,), blocks)
    return _check_build(facts.arch, behaviour)


def _check_build(arch: str, behaviour: BuildBehaviour) -> MtpResult:
    """Answer the second question: the head is there, can the build use it?"""
    if behaviour.number is None:
        reason = f"build {behaviour.build} is not known: whether it drafts with {arch} is open"
        return MtpResult(MtpState.UNKNOWN_BUILD, (reason,))
    if not behaviour.has_draft_mtp:
        reason = f"build {behaviour.build} has no draft-mtp; b9254 is the first seen with it"
        return MtpResult(MtpState.BUILD_TOO_OLD, (reason,))
    if behaviour.is_mtp_broken:
        reason = f"build {behaviour.build} cannot start draft-mtp (llama.cpp#28196); b10749 can"
        return MtpResult(MtpState.BUILD_BROKEN, (reason,))
    draws = behaviour.draws_mtp(arch)
    if draws is None or "has_draft_mtp" in behaviour.uncertain:
        reason = f"build {behaviour.build} was not looked at: it may lack MTP for {arch}"
        return MtpResult(MtpState.UNKNOWN_BUILD, (reason,))
    if not draws:
        reason = f"build {behaviour.build} has no MTP graph for {arch}"
        return MtpResult(MtpState.ARCH_UNSUPPORTED, (reason,))
    return MtpResult(MtpState.USABLE)


def _check_drafter(
    facts: GgufFacts, behaviour: BuildBehaviour, file: str, drafter: GgufFacts | None
) -> MtpResult:
    expected = _SEPARATE[fold_arch(facts.arch)]
    if drafter is None:
        reason = f"{facts.arch} drafts with a separate file of architecture {expected}"
        return MtpResult(MtpState.NEEDS_DRAFTER, (reason,), (f"a {expected} file for {file}",))
    if fold_arch(drafter.arch) != fold_arch(expected):
        reason = f"the drafter's architecture is {drafter.arch}, {facts.arch} needs {expected}"
        return MtpResult(MtpState.WRONG_DRAFTER, (reason,))
    missing = tuple(name for name in _PROJECTIONS if name not in drafter.nextn_tensors)
    if missing:
        return MtpResult(
            MtpState.WRONG_DRAFTER, (f"the drafter lacks {', '.join(missing)}",), missing
        )
    since = DRAFTER_ARCHITECTURES[fold_arch(expected)]
    if behaviour.number is None or 10950 < behaviour.number < since:
        reason = f"build {behaviour.build} was not looked at: it may not load {expected}"
        return MtpResult(MtpState.UNKNOWN_BUILD, (reason,))
    if behaviour.number < since:
        reason = f"build {behaviour.build} was not seen with {expected}; b{since} was"
        return MtpResult(MtpState.ARCH_UNSUPPORTED, (reason,))
    return MtpResult(MtpState.USABLE)


_MTP_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
_MTP_NAME = re.compile(r"(?:^|\.)mtp\.")
_LAYER_NAME = re.compile(r"(?:^|\.)layers\.(\d{1,6})\.")


def declared_mtp_layers(config: Mapping[str, Any]) -> int:
    """Return how many MTP layers a config.json declares."""
    return max(
        (
            value
            for scope in _scopes(config)
            for key in _MTP_KEYS
            if isinstance(value := scope.get(key), int) and not isinstance(value, bool)
        ),
        default=0,
    )


def names_mtp_tensors(config: Mapping[str, Any], tensor_names: Iterable[str]) -> bool:
    """Return whether a checkpoint has tensors of an MTP head.

    Heads are named ``mtp.*``; those of the DeepSeek family are layers numbered past
    ``num_hidden_layers``.
    """
    layers = next(
        (
            value
            for scope in _scopes(config)
            if isinstance(value := scope.get("num_hidden_layers"), int)
        ),
        None,
    )
    return any(
        _MTP_NAME.search(name)
        or (
            layers is not None
            and (found := _LAYER_NAME.search(name)) is not None
            and int(found[1]) >= layers
        )
        for name in tensor_names
    )


def vllm_head(declared: int, has_tensors: bool) -> MtpResult:
    """Decide whether vLLM can draft with a checkpoint's own head.

    ``declared`` are the MTP layers of config.json: one can declare what the checkpoint lacks.
    """
    if declared > 0 and has_tensors:
        return MtpResult(MtpState.USABLE)
    if declared > 0:
        reason = f"config.json declares {declared} MTP layer(s), the checkpoint has none"
        return MtpResult(MtpState.KEY_WITHOUT_TENSORS, (reason,), ("mtp.* tensors",))
    if has_tensors:
        reason = f"the checkpoint has MTP tensors, config.json has none of {', '.join(_MTP_KEYS)}"
        return MtpResult(MtpState.TENSORS_WITHOUT_KEY, (reason,), _MTP_KEYS[:1])
    reason = "neither config.json nor the checkpoint has an MTP head"
    return MtpResult(MtpState.ABSENT, (reason,), (_MTP_KEYS[0], "mtp.* tensors"))


def check_vllm_mtp(config: Mapping[str, Any], tensor_names: Iterable[str]) -> MtpResult:
    """Decide the same for vLLM from config.json and the names in the safetensors index."""
    return vllm_head(declared_mtp_layers(config), names_mtp_tensors(config, tensor_names))


def _scopes(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    text = config.get("text_config")
    return [config, text] if isinstance(text, Mapping) else [config]
