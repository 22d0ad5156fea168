"""Which file of a model repository to serve: the largest that fits with the wanted context."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from olares_apps.errors import OlappsError
from olares_apps.fit.behaviours import BuildBehaviour
from olares_apps.fit.gguf_errors import GgufError
from olares_apps.fit.gguf_facts import FactsError, GgufFacts
from olares_apps.fit.gguf_shards import missing_shards
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.model_check import require_model
from olares_apps.fit.mtp import MtpResult, check_mtp
from olares_apps.fit.sweep import Device, FileRow, is_model, largest_context, other_files
from olares_apps.fit.verdict import FitState, Verdict

__all__ = ["Choice", "NothingFits", "choose_file", "quant_of"]

# Drafted tokens per step: the default of current builds and the measured best (docs/fit.md).
N_MAX: Final = 3
_QUANT: Final = re.compile(
    r"(?:^|[-._/])((?:UD-)?(?:I?Q\d+(?:_[A-Z0-9]+)*|TQ\d_\d|BF16|F16|F32|MXFP4(?:_MOE)?))(?=[-.])",
    re.IGNORECASE,
)


class NothingFits(OlappsError):
    """No file of the repository fits with the wanted context; the hint says what would."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen file, how it is run, and the other files with their verdicts, largest first."""

    file: str
    facts: GgufFacts
    request: MemoryRequest
    verdict: Verdict
    mtp: MtpResult
    rows: tuple[FileRow, ...]


def quant_of(file: str) -> str | None:
    """Return the quantisation label in a file name, such as ``UD-Q3_K_XL``."""
    found = _QUANT.findall(file)
    return found[-1] if found else None


def choose_file(
    files: Mapping[str, int],
    header: Callable[[str], GgufFacts],
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
) -> Choice:
    """Choose the largest file that fits; ``request.ctx`` 0 asks for the trained context.

    ``files`` are the GGUF files and their sizes in bytes; ``header`` reads one. Sizes alone
    rank the files, and the header of the chosen one decides. MTP is on when the file has its
    head and the build can use it. Raises NothingFits, or FactsError for a header that describes
    no model.
    """
    read = partial(_model, header)
    names = [name for name in files if is_model(name)]
    if not names:
        raise NothingFits(
            "the repository has no GGUF model", hint="name a repository of GGUF files"
        )
    shape = _shape(files, names, read)
    if not (request.ctx or shape.context_length):
        raise NothingFits(
            "the model's header does not say which context it was trained for",
            hint="name one with --ctx",
        )
    asked = _with_head(shape, request, behaviour)
    rows = other_files(shape, asked, behaviour, device, [(name, files[name]) for name in names])
    blocked: list[str] = []
    left = list(rows)
    for row in rows:
        if row.verdict is None or row.verdict.state is not FitState.FITS:
            continue
        left.remove(row)
        facts = read(row.name)
        final = _with_head(facts, request, behaviour)
        verdict = device.judge(estimate(facts, final, behaviour))
        if verdict.state is FitState.FITS:
            mtp = check_mtp(facts, behaviour, file=row.name)
            if mtp.blocks_start:
                blocked += mtp.reasons
                continue
            return Choice(row.name, facts, final, verdict, mtp, rows)
    if blocked:
        raise NothingFits(
            "; ".join(dict.fromkeys(blocked)),
            hint="name a repository whose files carry the head, or none of it",
        )
    raise NothingFits(
        f"no file fits {device.profile.title} with {request.ctx or shape.context_length} tokens",
        hint=_instead(shape, asked, behaviour, device, left),
    )


def _model(header: Callable[[str], GgufFacts], file: str) -> GgufFacts:
    try:
        facts = header(file)
        require_model(facts)
    except FactsError as error:
        raise FactsError(f"{file}: {error.message}", hint=error.hint) from None
    return facts


def _shape(
    files: Mapping[str, int], names: Sequence[str], header: Callable[[str], GgufFacts]
) -> GgufFacts:
    """Return the header that stands for all: that of the smallest complete model.

    The smallest is the least likely to be an unquantised original of another layout. A file
    whose header says nothing of use is passed over; the last one's error is raised.
    """
    sets: dict[str, list[str]] = {}
    for name in names:
        sets.setdefault(_first_part(name), []).append(name)
    whole = [first for first, parts in sets.items() if not missing_shards(first, parts)]
    order = sorted(whole or sets, key=lambda first: sum(files[part] for part in sets[first]))
    for first in order[:-1]:
        try:
            return header(first)
        except (GgufError, FactsError):
            continue
    return header(order[-1])


def _first_part(name: str) -> str:
    return re.sub(r"-\d{5}-of-(\d{5})\.gguf$", r"-00001-of-\1.gguf", name)


def _with_head(
    facts: GgufFacts, request: MemoryRequest, behaviour: BuildBehaviour
) -> MemoryRequest:
    usable = check_mtp(facts, behaviour).is_usable
    ctx = request.ctx or facts.context_length
    return replace(
        request,
        ctx=ctx,
        spec_type="mtp" if usable else None,
        n_max=N_MAX if usable else None,
    )


def _instead(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
    rows: Sequence[FileRow],
) -> str:
    for row in rows:
        if row.largest and row.largest.fits:
            return f"{row.name} would with --ctx {row.largest.fits}"
    small = replace(request, kv_k="q4_0", kv_v="q4_0")
    found = largest_context(facts, small, behaviour, device)
    if found.fits:
        return f"the smallest file would with --kv q4_0 --ctx {found.fits}"
    return "choose a smaller model or other hardware"
