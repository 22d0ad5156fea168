"""Everything that `olapps fit` says about one vLLM configuration, as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from olares_apps.fit.mtp import MtpResult, vllm_head
from olares_apps.fit.sweep import Device
from olares_apps.fit.verdict import FitState, Measured, judge_need
from olares_apps.fit.vllm_budget import ACTIVATION, KV_BYTES, VllmVerdict
from olares_apps.lock.vllm_need import VllmCase

__all__ = ["VllmReport", "vllm_report", "vllm_report_dict"]

_SMALLEST = 4096


@dataclass(frozen=True, slots=True)
class VllmReport:
    """One configuration on one device as a bound, other contexts, and a measured figure.

    ``contexts`` are (tokens, verdict); ``kv_types`` maps a cache type to the range of its
    largest context. ``state`` and ``message`` are those of the measured figure if there is one.
    """

    title: str
    case: VllmCase
    device: Device
    verdict: VllmVerdict
    state: FitState
    message: str
    mtp: MtpResult
    contexts: tuple[tuple[int, VllmVerdict], ...]
    kv_types: dict[str, tuple[int, int]]
    measured: Measured | None = None
    unused: tuple[str, ...] = ()


def vllm_report(
    title: str,
    case: VllmCase,
    device: Device,
    *,
    contexts: Sequence[int] | None = None,
    measured: Measured | None = None,
    unused: Sequence[str] = (),
) -> VllmReport:
    """Work out the report; ``contexts`` None takes powers of two up to the trained context."""
    profile = device.profile
    verdict = case.judge(profile)
    state = verdict.state
    message = "; ".join(verdict.reasons) or "the cache of one request fits"
    if measured:
        state, message = judge_need(measured.gpu_bytes, profile, device.thresholds)
    head = vllm_head(case.checkpoint.mtp_layers, case.checkpoint.mtp_tensors)

    def changed(**settings: Any) -> VllmVerdict:
        return replace(case, request=replace(case.request, **settings)).judge(profile)

    sizes = _contexts(case) if contexts is None else contexts
    return VllmReport(
        title=title,
        case=case,
        device=device,
        verdict=verdict,
        state=state,
        message=message,
        mtp=head,
        contexts=tuple((ctx, changed(max_model_len=ctx)) for ctx in sizes),
        kv_types={
            kind: changed(kv_dtype=kind).largest for kind in ("auto", "fp8") if kind in KV_BYTES
        },
        measured=measured,
        unused=tuple(unused),
    )


def _contexts(case: VllmCase) -> tuple[int, ...]:
    trained = case.facts.trained_context or case.request.max_model_len
    chosen, step = {trained, case.request.max_model_len}, _SMALLEST
    while step < trained:
        chosen.add(step)
        step *= 2
    return tuple(sorted(chosen))


def vllm_report_dict(report: VllmReport) -> dict[str, Any]:
    """Return the report with stable keys; sizes are bytes, contexts tokens."""
    case, verdict, profile = report.case, report.verdict, report.device.profile
    request = case.request
    return {
        "title": report.title,
        "hardware": profile.name,
        "verdict": {
            "state": report.state.value,
            "message": report.message,
            "requested": verdict.requested,
            "usable": profile.usable_bytes,
            "reported": profile.reported_bytes,
            "measured": None
            if report.measured is None
            else {"bytes": report.measured.gpu_bytes, "source": report.measured.provenance},
            "measured_unused": list(report.unused),
            "reasons": list(verdict.reasons),
            "warnings": [*verdict.warnings, *case.notes],
        },
        "parts": [
            {"name": "weights", "bytes": case.facts.weight_bytes},
            {"name": "drafter-weights", "bytes": request.drafter_bytes},
            {"name": "on-the-host", "bytes": request.offload_bytes},
            {"name": "kv-of-one-request", "bytes": verdict.kv_needed},
            {"name": "activation-least", "bytes": ACTIVATION[0]},
            {"name": "activation-most", "bytes": ACTIVATION[1]},
        ],
        "kv_available": list(verdict.kv_available),
        "quantization": case.checkpoint.quant_method,
        "mtp": {"state": report.mtp.state.value, "reasons": list(report.mtp.reasons)},
        "largest_context": list(verdict.largest),
        "contexts": [
            {"ctx": ctx, "state": found.state.value, "kv": found.kv_needed}
            for ctx, found in report.contexts
        ],
        "kv_types": {kind: list(found) for kind, found in report.kv_types.items()},
    }
