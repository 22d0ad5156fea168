"""What a build of llama.cpp does that changes how much memory it takes.

A build is its number (``b9254``). Each behaviour is known by the first build that was seen
with it and the last that was seen without; between the two the answer is unknown, and the
more expensive one is taken. Forks and commits map to a number by a table; a build that is
not known at all gets the expensive answer to every question.

Sources: upstream sources of builds b9101 to b11434 and starts of them; docs/fit.md lists
the pull requests.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = [
    "BUILD_ALIASES",
    "CHANGES",
    "MTP_ARCHITECTURES",
    "NEWEST_SEEN",
    "BuildBehaviour",
    "Change",
    "behaviour_of",
    "build_number",
    "fold_arch",
]


@dataclass(frozen=True, slots=True)
class Change:
    """One behaviour: first build seen with it, last seen without, and the costly answer."""

    first_with: int
    last_without: int
    costly: bool
    what: str


CHANGES: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "has_draft_mtp": Change(9254, 9101, True, "spec type draft-mtp and MTP contexts"),
        "draft_default_3": Change(9254, 9101, False, "spec-draft-n-max defaults to 3, was 16"),
        "draft_kv_own_type": Change(
            9388, 9305, False, "draft KV type is its own option (f16), was the target's"
        ),
        "mask_f16": Change(9444, 9388, False, "KQ mask in f16, was f32 with an f16 copy"),
        "logits_capped": Change(9464, 9444, False, "logits reserved for the slots, was a ubatch"),
        "scratch_reserved": Change(
            9501, 9460, False, "f16 scratch of flash attention inside the compute buffer (#23907)"
        ),
        "mtp_weights_on_demand": Change(10405, 10001, False, "MTP weights loaded only with MTP"),
    }
)

# Architectures with an MTP graph, by the first build they were seen in; each row adds to
# those above. Names are those of general.architecture, compared without '-' and '_'.
MTP_ARCHITECTURES: Final[tuple[tuple[int, frozenset[str]], ...]] = tuple(
    (build, frozenset(names.split()))
    for build, names in (
        (9254, "qwen35 qwen35moe"),
        (9496, "step35"),
        (9802, "cohere2moe"),
        (10001, "hyv3"),
        (10405, "deepseek2 deepseek32 deepseek4 glmdsa mimo2 nemotronhmoe qwen3next"),
        (10739, "bailingmoe3 glm4moe"),
        (11434, "glm5next qwen4exp"),
    )
)

# gemma4 drafts with a separate file of this architecture.
DRAFTER_ARCHITECTURES: Final[Mapping[str, int]] = MappingProxyType({"gemma4assistant": 11434})

# Builds that cannot start draft-mtp at all (ggml-org/llama.cpp#28196, fixed in b10749).
MTP_BROKEN: Final = range(10741, 10749)

# Recurrent architectures whose state can be rolled back, at the price of one copy per draft
# token (llm_arch_supports_rs_rollback, b11434); others use checkpoints in host memory.
ROLLBACK_ARCHITECTURES: Final = frozenset(
    "qwen35 qwen35moe qwen4exp nemotronh nemotronhmoe deepseek4 glm5next kimik3 lfm2 lfm2moe "
    "bailingmoe3".split()
)

# Architectures that start when the MTP key is there but the tensors are not.
TOLERATES_MISSING_HEAD: Final = frozenset(
    "bailingmoe3 cohere2moe deepseek2 deepseek32 glmdsa glm4moe glm5next hyv3 mimo2 step35".split()
)

# Speculation that keeps rollback copies of the recurrent state (need_n_rs_seq, common.h).
ROLLBACK_SPEC_TYPES: Final = frozenset(
    {"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"}
)

# Neutral and old names of speculation methods.
SPEC_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "mtp": "draft-mtp",
        "draft": "draft-simple",
        "eagle3": "draft-eagle3",
        "dflash": "draft-dflash",
    }
)

# Commits and images of forks that were placed beside an upstream build.
BUILD_ALIASES: Final[Mapping[str, int]] = MappingProxyType({"ad27757": 9254})

NEWEST_SEEN: Final = 11434
_NUMBER = re.compile(r"(?:^|[^0-9a-z])b(\d{4,6})(?![0-9a-z])")


def fold_arch(arch: str) -> str:
    """Return an architecture name without the '-' and '_' that differ between sources."""
    return arch.replace("-", "").replace("_", "").casefold()


@dataclass(frozen=True, slots=True)
class BuildBehaviour:
    """The answers for one build.

    ``number`` is None when the build is not known; ``uncertain`` names the behaviours whose
    answer was assumed, because nobody looked at a build between the two that bound it.
    """

    build: str
    number: int | None
    has_draft_mtp: bool
    draft_default_3: bool
    draft_kv_own_type: bool
    mask_f16: bool
    logits_capped: bool
    scratch_reserved: bool
    mtp_weights_on_demand: bool
    uncertain: frozenset[str] = frozenset()

    @property
    def default_n_max(self) -> int:
        """Return the most drafted tokens when the option is not given."""
        return 3 if self.draft_default_3 else 16

    @property
    def is_mtp_broken(self) -> bool:
        """Return whether this build is one of those that cannot start draft-mtp."""
        return self.number is not None and self.number in MTP_BROKEN

    def draws_mtp(self, arch: str) -> bool | None:
        """Return whether the build has an MTP graph for ``arch``; None when nobody looked.

        A build between a row of MTP_ARCHITECTURES and the row before it is not known for the
        architectures that the later row adds.
        """
        if self.number is None:
            return None
        wanted, before = fold_arch(arch), 9101
        for build, names in MTP_ARCHITECTURES:
            if wanted in names:
                if self.number >= build:
                    return True
                return False if self.number <= before else None
            before = build
        return False if self.number <= NEWEST_SEEN else None


def build_number(build: str) -> int | None:
    """Return the upstream build number behind a build name, image tag or commit.

    Understands ``b9254``, ``9254``, ``server-cuda13-b8740`` and the names in BUILD_ALIASES,
    alone or inside a tag such as ``master-ad27757``. None when the name says nothing.
    """
    text = build.strip().casefold()
    if re.fullmatch(r"\d{4,6}", text):
        return int(text)
    if found := _NUMBER.search(text):
        return int(found[1])
    words = re.split(r"[^0-9a-z]+", text)
    return next((BUILD_ALIASES[word] for word in words if word in BUILD_ALIASES), None)


def behaviour_of(build: str | int) -> BuildBehaviour:
    """Return what a build does; an unknown build gets the costly answers, marked uncertain."""
    number = build if isinstance(build, int) else build_number(build)
    answers: dict[str, bool] = {}
    uncertain: set[str] = set()
    for name, change in CHANGES.items():
        if number is not None and number >= change.first_with:
            answers[name] = True
        elif number is not None and number <= change.last_without:
            answers[name] = False
        else:
            answers[name] = change.costly
            uncertain.add(name)
    label = f"b{build}" if isinstance(build, int) else build
    return BuildBehaviour(label, number, **answers, uncertain=frozenset(uncertain))
