"""How builds of llama.cpp behave where it decides whether an app fits, starts and drafts.

Facts are in ``data/llamacpp/builds.json``, each with the first build that has it. They were
read from the source of the builds; see ``docs/flag-tables.md``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from olares_apps.engines.flags.files import build_number
from olares_apps.engines.flags.tables import find_table

__all__ = ["BuildBehaviour", "behaviours"]


@dataclass(frozen=True, slots=True)
class BuildBehaviour:
    """What one build of llama.cpp does.

    ``name`` is the build that the request stands for, None for a name that stands for none;
    ``name_exact`` is false when an image was built near it, not from it.
    ``build`` is the mainline number the facts were taken for; of a fork, of the mainline build
    it stands on; ``requested`` is the name that was asked for. ``exact`` is false when the
    build is unknown, a fork, newer than the newest one that was read, or lies between the last
    build without a fact and the first one with it; ``unsure`` names those facts.

    - ``parallel_auto_slots``: slots when ``--parallel`` is not given.
    - ``thinking_by_kwargs``: ``only`` way, or ``deprecated`` since ``--reasoning`` exists.
    - ``draft_model_alone``: a drafter without ``--spec-type`` ``drafts`` or is ``ignored``.
    - ``draft_mtp``, ``gemma4_assistant``, ``eagle3``: whether that kind of drafting works;
      ``mtp_archs``: architectures with an MTP head; ``draft_mtp_starts``: false for the
      builds that could not start with it.
    - ``mmproj_with_mtp``: images work with an MTP head inside the model;
      ``mmproj_with_drafter``: with a drafter in its own file.
    - ``spec_draft_n_max_default``: tokens drafted per step when not given.
    - ``draft_kv``: the draft context's KV type is that of the ``target`` or its ``own`` option
      (f16 by default).
    - ``mask``: ``f32-and-f16`` (6 bytes per cell and token of a ubatch) or ``f16`` (2 bytes).
    - ``logits``: reserved for a whole ``ubatch`` or ``capped`` to the slots' drafts.
    - ``scratch``: flash attention's f16 copy of quantised KV is in a transient ``pool`` or in
      the compute ``buffer``.
    - ``fit_counts_mtp``: ``--fit`` counts the MTP context: ``no``, as a ``margin``, or as a
      ``model`` of its own.
    - ``unused_mtp_weights``: ``loaded`` or ``skipped`` when no MTP drafting is on.
    - ``load_mode``: loading is set by ``mmap-mlock`` switches, by ``load-mode``, or ``both``.
    - ``log_jsonl``: whether ``--log-jsonl`` exists.
    """

    requested: str
    build: int
    name: str | None
    name_exact: bool
    exact: bool
    unsure: tuple[str, ...]
    parallel_auto_slots: int
    thinking_by_kwargs: Literal["only", "deprecated"]
    draft_model_alone: Literal["drafts", "ignored"]
    draft_mtp: bool
    mtp_archs: tuple[str, ...]
    gemma4_assistant: bool
    eagle3: bool
    draft_mtp_starts: bool
    mmproj_with_mtp: bool
    mmproj_with_drafter: bool
    spec_draft_n_max_default: int
    draft_kv: Literal["target", "own"]
    mask: Literal["f32-and-f16", "f16"]
    logits: Literal["ubatch", "capped"]
    scratch: Literal["pool", "buffer"]
    fit_counts_mtp: Literal["no", "margin", "model"]
    unused_mtp_weights: Literal["loaded", "skipped"]
    load_mode: Literal["mmap-mlock", "both", "load-mode"]
    log_jsonl: bool


_FACTS = tuple(item.name for item in fields(BuildBehaviour))[6:]


@cache
def _document() -> Mapping[str, Any]:
    path = files(__package__) / "data" / "llamacpp" / "builds.json"
    document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


@cache
def behaviours(build: str) -> BuildBehaviour:
    """Return how a build of llama.cpp behaves; ``build`` is any name ``find_table`` takes."""
    match = find_table("llamacpp", build)
    number, exact = build_number("llamacpp", match.build), match.build_exact
    document = _document()
    if number is None:
        exact = False
        upstream = match.table.upstream or match.table.build if match.table else None
        number = build_number("llamacpp", upstream) or document["last_known"]
    values: dict[str, Any] = {}
    unsure: list[str] = []
    for fact in _FACTS:
        values[fact], sure = _value(document["facts"][fact], number)
        if not sure:
            unsure.append(fact)
    values |= document["forks"].get(match.build, {})
    values["mtp_archs"] = tuple(values["mtp_archs"])
    return BuildBehaviour(
        requested=build,
        build=number,
        name=match.build,
        name_exact=match.build_exact,
        exact=exact and not unsure and number <= document["last_known"],
        unsure=tuple(unsure),
        **values,
    )


def _value(steps: list[Mapping[str, Any]], number: int) -> tuple[Any, bool]:
    """Return the value that holds for a build, and whether that is known.

    Between the last build known to be without a change and the first known to have it, the
    older value is given.
    """
    value, sure = steps[0]["value"], True
    for step in steps:
        if step["from"] <= number:
            value, sure = step["value"], True
        elif step.get("unsure_from", step["from"]) <= number:
            sure = False
    return value, sure
