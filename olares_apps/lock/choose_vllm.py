"""How to serve a checkpoint with vLLM: share of the card, context and draft head that fit."""

from dataclasses import dataclass
from typing import Final

from olares_apps.errors import OlappsError
from olares_apps.fit.mtp import MtpResult, vllm_head
from olares_apps.fit.sweep import Device
from olares_apps.fit.verdict import FitState
from olares_apps.fit.vllm_budget import VllmFacts, VllmRequest, VllmVerdict, judge_vllm
from olares_apps.lock.choose import NothingFits
from olares_apps.lock.model import Checkpoint

__all__ = ["VllmChoice", "choose_vllm"]

# vLLM's own default; a device that leaves less gets what it has, in hundredths.
_USUAL_SHARE: Final = 0.92
_CONTEXT_STEP: Final = 1024
_SMALLEST_CONTEXT: Final = 4096


@dataclass(frozen=True, slots=True)
class VllmChoice:
    """How a checkpoint is run: the request and what the budget says about it."""

    checkpoint: Checkpoint
    request: VllmRequest
    verdict: VllmVerdict
    mtp: MtpResult


def choose_vllm(
    checkpoint: Checkpoint, *, ctx: int | None, kv_dtype: str, device: Device
) -> VllmChoice:
    """Choose the settings; ``ctx`` None takes the largest context that surely fits.

    MTP is on when config and checkpoint have the head. Raises NothingFits, with what would
    fit, and OlappsError for a checkpoint whose shape is not known.
    """
    facts, profile = checkpoint.facts, device.profile
    if facts is None:
        raise OlappsError(
            "config.json of the repository states no layers, attention heads or head size",
            hint="write the spec by hand: what it takes cannot be computed",
        )
    mtp = vllm_head(checkpoint.mtp_layers, checkpoint.mtp_tensors)
    share = min(_USUAL_SHARE, profile.usable_bytes * 100 // profile.reported_bytes / 100)

    def judged(length: int) -> tuple[VllmRequest, VllmVerdict]:
        request = VllmRequest(length, share, kv_dtype, uses_mtp=mtp.is_usable)
        return request, judge_vllm(facts, request, profile)

    wanted = ctx or facts.trained_context or _SMALLEST_CONTEXT
    request, verdict = judged(wanted)
    if _fits(facts, verdict):
        return VllmChoice(checkpoint, request, verdict, mtp)
    largest = verdict.largest[0] // _CONTEXT_STEP * _CONTEXT_STEP
    if ctx is not None or largest < _SMALLEST_CONTEXT:
        raise NothingFits(
            f"{profile.title}: {'; '.join(verdict.reasons)}",
            hint=f"--ctx {largest} fits"
            if largest >= _SMALLEST_CONTEXT
            else "choose a smaller model or other hardware",
        )
    return VllmChoice(checkpoint, *judged(largest), mtp)


def _fits(facts: VllmFacts, verdict: VllmVerdict) -> bool:
    """Return whether it fits with the larger activation; a hybrid is never surer than tight."""
    return verdict.state is FitState.FITS or (facts.is_hybrid and not verdict.reasons)
