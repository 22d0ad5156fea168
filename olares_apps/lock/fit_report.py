"""Everything that `olapps fit` says about one configuration, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olares_apps.fit.memory_model import MemoryEstimate
from olares_apps.fit.mtp import MtpResult, check_mtp
from olares_apps.fit.sweep import (
    ContextRow,
    Device,
    FileRow,
    LargestContext,
    LeverRow,
    context_sweep,
    largest_context,
    largest_per_kv_type,
    levers,
    other_files,
)
from olares_apps.fit.verdict import Measured, Verdict, required_gpu_memory
from olares_apps.lock.need import FitCase

__all__ = ["FitReport", "fit_report", "report_dict"]


@dataclass(frozen=True, slots=True)
class FitReport:
    """One configuration on one device, and what else would fit.

    ``contexts``, ``kv_types``, ``levers`` and ``files`` are estimates, also where a measured
    figure decides the verdict; ``unused`` are reasons why others do not.
    """

    title: str
    case: FitCase
    device: Device
    estimate: MemoryEstimate
    verdict: Verdict
    mtp: MtpResult
    largest: LargestContext
    contexts: tuple[ContextRow, ...]
    kv_types: Mapping[str, LargestContext]
    levers: tuple[LeverRow, ...]
    files: tuple[FileRow, ...]
    unused: tuple[str, ...] = ()

    @property
    def manifest_bytes(self) -> int:
        """Return the GPU memory that the manifest asks for, in bytes."""
        return required_gpu_memory(self.verdict.need, self.device.profile)


def fit_report(
    title: str,
    case: FitCase,
    device: Device,
    *,
    contexts: Sequence[int] | None = None,
    others: Mapping[str, int] | None = None,
    measured: Measured | None = None,
    unused: Sequence[str] = (),
) -> FitReport:
    """Work out the report; ``contexts`` None takes a sweep up to the trained context.

    ``others`` are further files of the repository with their sizes in bytes; ``measured`` is
    the figure that wins over the estimate. Raises UnknownName for a cache type that is not in
    the table.
    """
    found = case.estimate()
    asked = case.facts, case.request, case.behaviour, device
    mtp = check_mtp(case.facts, case.behaviour, file=title, drafter=case.drafter)
    verdict = device.judge(found, measured)
    if mtp.blocks_start:
        told = dict.fromkeys((*verdict.problems, *mtp.reasons))
        verdict = replace(verdict, problems=tuple(told))
    return FitReport(
        title=title,
        case=case,
        device=device,
        estimate=found,
        verdict=verdict,
        mtp=mtp,
        largest=largest_context(*asked, drafter=case.drafter),
        contexts=context_sweep(*asked, contexts, drafter=case.drafter),
        kv_types=largest_per_kv_type(*asked, drafter=case.drafter),
        levers=levers(*asked, drafter=case.drafter),
        files=other_files(*asked, list((others or {}).items()), drafter=case.drafter),
        unused=tuple(unused),
    )


def report_dict(report: FitReport) -> dict[str, Any]:
    """Return the report with stable keys; sizes are bytes, contexts tokens."""
    verdict, profile = report.verdict, report.device.profile
    return {
        "title": report.title,
        "hardware": profile.name,
        "build": report.case.behaviour.build,
        "verdict": _verdict(verdict)
        | {
            "message": verdict.message,
            "estimated": verdict.estimated,
            "measured": None
            if verdict.measured is None
            else {"bytes": verdict.measured.gpu_bytes, "source": verdict.measured.provenance},
            "measured_unused": [*filter(None, (verdict.impossible, *report.unused))],
            "usable": verdict.usable,
            "reported": verdict.reported,
            "problems": list(verdict.problems),
            "warnings": list(verdict.warnings),
        },
        "thresholds": {
            "error_below": report.device.thresholds.error_below,
            "warn_below": report.device.thresholds.warn_below,
        },
        "manifest_gpu_memory": report.manifest_bytes,
        "parts": [
            {
                "name": part.name,
                "bytes": part.bytes,
                "where": part.where,
                "exact": part.is_exact,
                "source": part.source,
                "note": part.note,
                "terms": dict(part.terms),
            }
            for part in report.estimate.parts
        ],
        "total_gpu": report.estimate.total_gpu,
        "total_host": report.estimate.total_host,
        "mtp": {"state": report.mtp.state.value, "reasons": list(report.mtp.reasons)},
        "largest_context": _largest(report.largest),
        "contexts": [{"ctx": row.ctx, **_verdict(row.verdict)} for row in report.contexts],
        "kv_types": {name: _largest(found) for name, found in report.kv_types.items()},
        "levers": [
            {
                "setting": row.setting,
                "value": row.value,
                "saved": row.saved,
                **_verdict(row.verdict),
                "largest_context": _largest(row.largest),
            }
            for row in report.levers
        ],
        "files": [
            {
                "name": row.name,
                "size": row.size,
                "missing": list(row.missing),
                "state": row.state,
                "need": row.verdict.need if row.verdict else None,
                "free": row.verdict.free if row.verdict else None,
                "largest_context": _largest(row.largest) if row.largest else None,
            }
            for row in report.files
        ],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"state": verdict.state.value, "need": verdict.need, "free": verdict.free}


def _largest(found: LargestContext) -> dict[str, Any]:
    return {"fits": found.fits, "at_all": found.at_all, "trained_limit": found.is_capped}
