"""What is wrong with a configuration, and what its estimate does not cover."""

from typing import Final

from olares_apps.fit.behaviours import BuildBehaviour
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.kv_types import KvType
from olares_apps.fit.layers import LayerPlan
from olares_apps.fit.memory_request import MemoryRequest

__all__ = ["LEGACY_POOL_WARNING", "problems_of", "warnings_of"]

LEGACY_POOL_WARNING: Final = (
    "this build with the legacy memory pool (GGML_CUDA_NO_VMM) and quantised KV takes gigabytes "
    "more as the context fills (35B with MTP: 7.9 GiB after 120K tokens); use f16 KV, a build "
    "from b9501 on, or an image with VMM"
)


def problems_of(
    facts: GgufFacts,
    request: MemoryRequest,
    types: tuple[KvType, KvType],
    *,
    has_drafter: bool,
) -> tuple[str, ...]:
    """Return the settings with which the server exits.

    ``has_drafter``: the head is a separate file, as gemma4's is.
    """
    found: list[str] = []
    key, value = types
    if value.is_quantised and not request.uses_flash_attention:
        found.append(f"V cache {value.name} needs flash attention: the server exits")
    widths = ((key, facts.key_length, "K"), (value, facts.value_length, "V"))
    for kind, width, letter in widths:
        if width and width % kind.block:
            found.append(
                f"{letter} cache {kind.name} stores blocks of {kind.block}, "
                f"which do not divide the head size {width}: the server exits"
            )
    if request.uses_mtp and not facts.nextn and not has_drafter:
        found.append("draft-mtp requested but the model has no MTP layers: the server exits")
    return tuple(found)


def warnings_of(
    facts: GgufFacts,
    plan: LayerPlan,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    types: tuple[KvType, KvType],
) -> tuple[str, ...]:
    """Return what the estimate does not cover, or covers by assumption."""
    found: list[str] = []
    if any(kind.is_quantised for kind in types):
        if not behaviour.scratch_reserved and request.no_vmm:
            found.append(LEGACY_POOL_WARNING)
        if not all(kind.has_cuda_kernel for kind in types):
            found.append("iq4_nl has no flash attention kernel on CUDA")
    if forks := sorted({kind.name for kind in types if not kind.is_upstream}):
        found.append(f"{', '.join(forks)} exists in forks only; counted in its larger known layout")
    if behaviour.number is None:
        found.append(
            f"build {behaviour.build} is not known: the more expensive behaviours are assumed"
        )
    elif behaviour.uncertain:
        found.append(
            f"build {behaviour.build} was not looked at for "
            f"{', '.join(sorted(behaviour.uncertain))}: the more expensive behaviour is assumed"
        )
    if request.parallel is None and plan.recurrent_layers:
        found.append("parallel is not set: the server takes 4 slots and 4 times the state")
    if request.gpu_layers is not None and request.gpu_layers <= facts.trunk_layers:
        found.append("layers kept on the host are counted on the GPU: the need is overstated")
    found += request.unmodelled
    found += [f"not counted: {what}" for what in plan.not_modelled]
    return tuple(found)
