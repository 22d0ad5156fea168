"""What spec, lock and hardware profile say about each other, as findings.

Rules: ``model-fits``, ``mtp-head``, ``model-file``, ``image-exists``, ``lock-stale``. Pure:
what the lock does not know is said, never fetched.
"""

from collections.abc import Iterator
from typing import Any, Final

from olares_apps.engines.llamacpp import LlamaCppSettings
from olares_apps.errors import UnknownName
from olares_apps.findings import Finding, Severity
from olares_apps.fit.behaviours import BuildBehaviour
from olares_apps.fit.model_check import is_impossible_size, unaccounted_bytes
from olares_apps.fit.mtp import MtpResult, MtpState, check_mtp
from olares_apps.fit.sweep import Device, FileRow, largest_context, other_files
from olares_apps.fit.verdict import (
    DEFAULT_THRESHOLDS,
    FitState,
    Thresholds,
    Verdict,
    judge_need,
)
from olares_apps.hardware import HardwareProfile
from olares_apps.lock.apply import contradictions
from olares_apps.lock.measured_memory import matching_figure, mismatches
from olares_apps.lock.model import Lock
from olares_apps.lock.need import FitCase, fit_case
from olares_apps.lock.vllm_findings import vllm_findings
from olares_apps.spec.models import AppSpec

__all__ = ["RULES", "lock_findings"]

RULES: Final = ("model-fits", "mtp-head", "model-file", "image-exists", "lock-stale")

_GIB: Final = 2**30
_LOCK: Final = "run olapps lock"
_MEASURE: Final = "measure again, or remove the record from resources.gpu_measured"
# States of the MTP rule in which the server may well draft, but nobody looked.
_OPEN: Final = frozenset({MtpState.UNKNOWN_BUILD})


def lock_findings(
    spec: AppSpec[Any],
    lock: Lock | None,
    behaviour: BuildBehaviour | None,
    profile: HardwareProfile,
    *,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> list[Finding]:
    """Return every finding about a spec and its lock.

    ``behaviour`` replaces that of the spec's build when given. A spec without a lock gets one
    ``lock-stale`` warning, and only a measured figure of its GPU memory can be judged.
    """
    device = Device(profile, thresholds)
    if lock is None:
        if not spec.model.files and not spec.model.repos:
            return []
        message = "nothing is known about the model files and images: there is no lock"
        stale = _finding(spec, "lock-stale", Severity.WARNING, message, _LOCK)
        return [stale, *_measured(spec, device)]
    case = fit_case(spec, lock)
    if case and behaviour:
        case = FitCase(case.facts, case.request, behaviour, case.drafter)
    return [
        *_model_files(spec, lock),
        *_stale(spec, lock),
        *_images(spec, lock, profile),
        *(_head(spec, lock, case) if case else ()),
        *(_fits(spec, lock, case, device) if case else _measured(spec, device)),
        *vllm_findings(spec, lock, device, is_measured=matching_figure(spec, profile) is not None),
    ]


def _finding(
    spec: AppSpec[Any], rule: str, severity: Severity, message: str, hint: str = ""
) -> Finding:
    return Finding(rule, severity, message, app=spec.app, hint=hint)


def _model_files(spec: AppSpec[Any], lock: Lock) -> Iterator[Finding]:
    for error in contradictions(spec, lock):
        yield _finding(spec, "model-file", Severity.ERROR, error.message, error.hint or "")
    gated = [file.repo for file in lock.files if file.gated]
    gated += [item.repo for item in lock.repos if item.gated]
    token = spec.settings.get("HF_TOKEN")
    for repo in dict.fromkeys(() if token and token.required else gated):
        message = f"repo {repo} is gated: each user must accept its terms and have a token"
        hint = (
            "add HF_TOKEN with required: true and a description to settings, so that nobody can "
            "install the app without one, and say so in the text"
        )
        yield _finding(spec, "model-file", Severity.WARNING, message, hint)
    for file in lock.files:
        facts = file.facts
        if facts is not None and (beyond := unaccounted_bytes(facts)):
            message = (
                f"{file.file} of {file.repo} has {facts.file_size} bytes, its header accounts "
                f"for {facts.file_size - beyond}: it may not be the file that it says"
            )
            severity = Severity.ERROR if is_impossible_size(facts) else Severity.WARNING
            hint = "compare it with the repository's page, then olapps lock --upgrade"
            yield _finding(spec, "model-file", severity, message, hint)
        for part in file.parts:
            if part.sha256 is None:
                message = f"{part.file} of {file.repo} has no digest: a download is not verified"
                yield _finding(spec, "model-file", Severity.WARNING, message, "state its sha256")


def _stale(spec: AppSpec[Any], lock: Lock) -> Iterator[Finding]:
    for file in spec.model.files:
        entry = lock.file(file.repo, file.file)
        what = f"{file.repo}/{file.file}"
        if entry is None:
            message = f"{what} is not in the lock"
        elif file.revision not in (entry.requested, entry.commit):
            message = f"{what} is locked for revision {entry.requested}, not {file.revision}"
        elif entry.origin.state == "stated":
            message = f"{what} is stated by hand and was never compared with the hub"
        elif file.file.endswith(".gguf") and entry.gguf is None:
            message = f"{what} is locked without its header: memory and draft head are not judged"
        else:
            continue
        yield _finding(spec, "lock-stale", Severity.WARNING, message, _LOCK)
    for item in spec.model.repos:
        known = lock.repo(item.repo)
        if known is None:
            message = f"{item.repo} is not in the lock"
        elif item.revision not in (known.requested, known.commit):
            message = f"{item.repo} is locked for revision {known.requested}, not {item.revision}"
        else:
            continue
        yield _finding(spec, "lock-stale", Severity.WARNING, message, _LOCK)
    for other in spec.model.alternatives:
        if lock.alternative(other.repo, other.file) is None:
            message = f"the alternative {other.repo}/{other.file} is not in the lock"
            yield _finding(spec, "lock-stale", Severity.WARNING, message, _LOCK)


def _images(spec: AppSpec[Any], lock: Lock, profile: HardwareProfile) -> Iterator[Finding]:
    own = spec.engine.image
    for image in dict.fromkeys((own, *(step.image for step in spec.init))):
        entry = lock.image(image)
        if entry is None:
            message = f"whether the image {image} exists is not known"
            yield _finding(spec, "image-exists", Severity.WARNING, message, _LOCK)
            continue
        platforms = {item.architecture.partition("/")[0]: item for item in entry.platforms}
        wanted = profile.architecture
        if wanted and wanted not in platforms:
            has = ", ".join(sorted(platforms))
            message = (
                f"the image {image} has no {wanted} variant (it has {has}), {profile.name} needs it"
            )
            yield _finding(spec, "image-exists", Severity.ERROR, message, "choose another image")
        elif image == own:
            served = [platforms[wanted]] if wanted else entry.platforms
            declared = next((item.cuda for item in served if item.cuda), None)
            yield from _cuda(spec, declared, profile)


def _cuda(spec: AppSpec[Any], declared: str | None, profile: HardwareProfile) -> Iterator[Finding]:
    ceiling = profile.cuda_ceiling
    if declared and ceiling and _minor(declared) > _minor(ceiling):
        message = (
            f"image CUDA {declared} > driver capability {ceiling} of device profile {profile.name}"
        )
        hint = f"choose an image built with CUDA {ceiling} or older"
        yield _finding(spec, "image-exists", Severity.ERROR, message, hint)


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _head(spec: AppSpec[Any], lock: Lock, case: FitCase) -> Iterator[Finding]:
    settings = spec.engine
    name = spec.target.file if spec.target else "the file"
    result = check_mtp(case.facts, case.behaviour, file=name, drafter=case.drafter)
    wants = isinstance(settings, LlamaCppSettings) and case.request.uses_mtp
    if not result.is_usable and (wants or result.blocks_start):
        open_ = result.state in _OPEN
        severity = Severity.WARNING if open_ else Severity.ERROR
        hint = _head_hint(spec, lock, case.behaviour, result)
        yield _finding(spec, "mtp-head", severity, "; ".join(result.reasons), hint)
    elif result.is_usable and not wants and case.request.speculation is None:
        message = f"{name} carries an MTP head that the settings do not use"
        hint = "set engine.speculative to {method: mtp, n_max: 3}"
        yield _finding(spec, "mtp-head", Severity.INFO, message, hint)


def _head_hint(spec: AppSpec[Any], lock: Lock, behaviour: BuildBehaviour, result: MtpResult) -> str:
    """Name alternatives that carry the head, else files that look as if they had one.

    Where the file has it, the build is what to change.
    """
    if result.state in _OPEN:
        return "name a build that is known in engine.build, or try one prompt and look for draft_n"
    if result.has_head:
        return "choose an image of a build that drafts with this architecture"
    carriers = [
        f"{item.repo}/{item.file} ({item.size / 10**9:.1f} GB)"
        for item in lock.alternatives
        if item.facts is not None and check_mtp(item.facts, behaviour).has_head
    ]
    if carriers:
        return f"these carry the head: {', '.join(carriers)}"
    unseen = [
        item.repo for item in spec.model.alternatives if not lock.alternative(item.repo, item.file)
    ]
    if unseen:
        return f"{_LOCK} to see whether {', '.join(unseen)} carries the head"
    names = [name for file in lock.files for name in file.others if "mtp" in name.casefold()]
    if names:
        return f"the repository has {', '.join(names[:3])}"
    return "use a file that carries the head, such as one of a repository named -MTP-GGUF"


def _fits(spec: AppSpec[Any], lock: Lock, case: FitCase, device: Device) -> Iterator[Finding]:
    try:
        found = case.estimate()
    except UnknownName as error:
        message = f"memory cannot be estimated: {error.message}"
        yield _finding(spec, "model-fits", Severity.WARNING, message, error.hint or "")
        yield from _measured(spec, device)
        return
    measured = matching_figure(spec, device.profile)
    verdict = device.judge(found, measured)
    if verdict.impossible:
        hint = "measure again, in MiB, after a long prompt"
        yield _finding(spec, "model-fits", Severity.ERROR, verdict.impossible, hint)
    for problem in verdict.problems:
        if "no MTP layers" not in problem:  # that is mtp-head's to say
            yield _finding(spec, "model-fits", Severity.ERROR, problem)
    if verdict.state is not FitState.FITS:
        is_error = verdict.state is FitState.DOES_NOT_FIT
        severity = Severity.ERROR if is_error else Severity.WARNING
        hint = _what_fits(lock, case, device) if is_error else ""
        yield _finding(spec, "model-fits", severity, _said(verdict), hint)
    if measured is None:
        for reason in mismatches(spec, device.profile):
            yield _finding(spec, "model-fits", Severity.INFO, reason, _MEASURE)
    for warning in verdict.warnings:
        yield _finding(spec, "model-fits", Severity.WARNING, warning)
    stated = spec.resources.gpu_memory_parts
    total = sum(part.gb for part in stated) * 10**9
    if stated and verdict.need > total * 1.05:
        message = (
            f"the stated GPU memory of {total / _GIB:.1f} GiB is below the estimate of "
            f"{verdict.need / _GIB:.1f} GiB"
        )
        yield _finding(
            spec, "model-fits", Severity.WARNING, message, "correct resources.gpu_memory_parts"
        )


def _said(verdict: Verdict) -> str:
    """Return the verdict's message, with where a measured figure is from."""
    measured = verdict.measured
    return f"{verdict.message} (measured: {measured.provenance})" if measured else verdict.message


def _measured(spec: AppSpec[Any], device: Device) -> Iterator[Finding]:
    """Judge a measured figure where nothing can be estimated."""
    measured = matching_figure(spec, device.profile)
    if measured is None:
        for reason in mismatches(spec, device.profile):
            yield _finding(spec, "model-fits", Severity.INFO, reason, _MEASURE)
        return
    state, message = judge_need(measured.gpu_bytes, device.profile, device.thresholds)
    if state is not FitState.FITS:
        severity = Severity.ERROR if state is FitState.DOES_NOT_FIT else Severity.WARNING
        message = f"{message} (measured: {measured.provenance})"
        yield _finding(spec, "model-fits", severity, message)


def _what_fits(lock: Lock, case: FitCase, device: Device) -> str:
    """Suggest the largest context of this file, and the largest other file that fits as asked.

    What leaves less than the comfortable margin is called tight, as its verdict would be.
    """
    found = largest_context(case.facts, case.request, case.behaviour, device, drafter=case.drafter)
    ideas = []
    if found.fits:
        more = f" ({found.at_all} tight)" if found.at_all and found.at_all > found.fits else ""
        ideas.append(f"a context of {found.fits} tokens{more}")
    elif found.at_all:
        ideas.append(f"a context of {found.at_all} tokens (tight)")
    if row := _best_other(lock, case, device):
        tight = ", tight" if row.state == FitState.TIGHT else ""
        ideas.append(f"{row.name} ({row.size / 10**9:.1f} GB{tight})")
    return f"would fit: {', '.join(ideas)}" if ideas else "no context of this file fits this card"


def _best_other(lock: Lock, case: FitCase, device: Device) -> FileRow | None:
    target = next((file for file in lock.files if file.role == "target"), None)
    if target is None or not target.others:
        return None
    rows = other_files(
        case.facts,
        case.request,
        case.behaviour,
        device,
        list(target.others.items()),
        drafter=case.drafter,
    )
    by_state = {state: [row for row in rows if row.state == state] for state in FitState}
    return next(iter(by_state[FitState.FITS] + by_state[FitState.TIGHT]), None)
