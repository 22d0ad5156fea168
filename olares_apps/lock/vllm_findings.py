"""What a vLLM spec and the checkpoint in its lock say about each other."""

import re
from collections.abc import Iterator
from typing import Any

from olares_apps.engines.flags import find_table
from olares_apps.engines.flags.conflicts import check_quantization
from olares_apps.engines.flags.parse import parse_argv
from olares_apps.engines.flags.tables import build_of_image
from olares_apps.engines.vllm_settings import VllmSettings
from olares_apps.findings import Finding, Severity
from olares_apps.fit.mtp import vllm_head
from olares_apps.fit.sweep import Device
from olares_apps.fit.verdict import FitState
from olares_apps.fit.vllm_budget import stricter_between
from olares_apps.lock.model import Checkpoint, Lock
from olares_apps.lock.vllm_need import is_mtp, vllm_case
from olares_apps.spec.models import AppSpec

__all__ = ["vllm_findings"]


def vllm_findings(
    spec: AppSpec[Any], lock: Lock, device: Device, *, is_measured: bool = False
) -> Iterator[Finding]:
    """Yield what is wrong with quantisation, draft head and memory of a vLLM spec.

    ``is_measured``: a measured figure decides about memory. Nothing without a checkpoint.
    """
    settings = spec.engine
    checkpoint = lock.checkpoint("target")
    if not isinstance(settings, VllmSettings) or checkpoint is None:
        return
    yield from _quantisation(spec, settings, checkpoint)
    yield from _head(spec, settings, checkpoint, lock)
    if not is_measured:
        yield from _budget(spec, lock, device)


def _quantisation(
    spec: AppSpec[Any], settings: VllmSettings, checkpoint: Checkpoint
) -> Iterator[Finding]:
    table = find_table("vllm", settings.build_name).table
    if settings.quantization is None or table is None:
        return
    parsed = parse_argv(["--quantization", settings.quantization], table)
    if problem := check_quantization(parsed, checkpoint.quant_method):
        hint = "remove engine.quantization: the server reads the method from the model"
        yield Finding("model-file", Severity.ERROR, problem.message, app=spec.app, hint=hint)


def _head(
    spec: AppSpec[Any], settings: VllmSettings, checkpoint: Checkpoint, lock: Lock
) -> Iterator[Finding]:
    drafting = settings.speculative
    has_drafter = lock.checkpoint("drafter") is not None or any(spec.repos("drafter"))
    wants = drafting is not None and is_mtp(drafting.method) and not has_drafter
    result = vllm_head(checkpoint.mtp_layers, checkpoint.mtp_tensors)
    if wants and not result.is_usable:
        message = f"speculative method mtp requested: {'; '.join(result.reasons)}"
        yield Finding("mtp-head", Severity.ERROR, message, app=spec.app, hint=_other(lock))
    elif result.is_usable and drafting is None:
        message = "the checkpoint carries an MTP head that the settings do not use"
        hint = "set engine.speculative to {method: mtp, num_speculative_tokens: 2}"
        yield Finding("mtp-head", Severity.INFO, message, app=spec.app, hint=hint)


def _other(lock: Lock) -> str:
    carriers = [
        item.repo
        for item in lock.alternatives
        if (found := item.checkpoint) and vllm_head(found.mtp_layers, found.mtp_tensors).is_usable
    ]
    if carriers:
        return f"these carry the head: {', '.join(carriers)}"
    return "use a checkpoint that kept its mtp.* tensors: quantising often drops them"


def _budget(spec: AppSpec[Any], lock: Lock, device: Device) -> Iterator[Finding]:
    case = vllm_case(spec, lock, other_apps=device.other_apps)
    if case is None:
        message = "memory cannot be bounded: config.json states no layers, heads or head size"
        yield Finding("model-fits", Severity.INFO, message, app=spec.app)
        return
    verdict = case.judge(device.profile)
    severity = Severity.ERROR if verdict.state is FitState.DOES_NOT_FIT else Severity.WARNING
    longest = verdict.largest[0]
    for reason in verdict.reasons:
        hint = f"max_model_len {longest} fits" if longest and "max_model_len" in reason else ""
        yield Finding("model-fits", severity, reason, app=spec.app, hint=hint)
    for note in (*verdict.warnings, *case.notes):
        yield Finding("model-fits", Severity.INFO, note, app=spec.app)
    is_sure = verdict.state is FitState.FITS
    for change in _stricter(spec):
        severity = Severity.INFO if is_sure else Severity.WARNING
        hint = "start it once on the new version before it is published"
        yield Finding("model-fits", severity, change, app=spec.app, hint=hint)


def _stricter(spec: AppSpec[Any]) -> list[str]:
    """Return why what was measured on an older version may not start on the spec's."""
    here = _version(spec.engine.build_name)
    found = []
    for record in spec.bench:
        there = _version(record.image) if record.image else None
        if here and there:
            found += [
                f"{why} (record {record.id} is of {there[0]}.{there[1]})"
                for why in stricter_between(there, here)
            ]
    return found


def _version(name: str) -> tuple[int, int] | None:
    build = build_of_image("vllm", name)
    found = re.match(r"(\d+)\.(\d+)", build.name) if build else None
    return (int(found[1]), int(found[2])) if found else None
