"""Which of the measured figures of a spec is about the configuration that it has now."""

from collections.abc import Iterator
from typing import Any, Final

from olares_apps.engines.flags.tables import build_of_image
from olares_apps.engines.registry import get_engine
from olares_apps.fit.verdict import MIB, Measured
from olares_apps.hardware import HardwareProfile
from olares_apps.spec.models import AppSpec, EngineSettings, MeasuredMemory

__all__ = ["matching_figure", "mismatches"]

# Field of a record -> the engine's fact that it must equal, where the engine has that fact.
_ENGINE_FACTS: Final = ("kv", "parallel", "ubatch", "draft_n")


def matching_figure(spec: AppSpec[Any], profile: HardwareProfile) -> Measured | None:
    """Return the measured figure of exactly this configuration on this device, if there is one.

    The first of several counts.
    """
    for record in spec.resources.gpu_measured:
        if not any(_differences(spec, record, profile)):
            provenance = f"{record.source}, on {record.hardware} with {record.build}"
            return Measured(record.mib * MIB, provenance)
    return None


def mismatches(spec: AppSpec[Any], profile: HardwareProfile) -> tuple[str, ...]:
    """Return why each of the other measured figures is not used, with every difference."""
    found = []
    for record in spec.resources.gpu_measured:
        if different := list(_differences(spec, record, profile)):
            found.append(
                f"the measured {record.mib} MiB ({record.source}) are of another configuration: "
                + "; ".join(different)
            )
    return tuple(found)


def _differences(
    spec: AppSpec[Any], record: MeasuredMemory, profile: HardwareProfile
) -> Iterator[str]:
    if record.hardware != profile.name:
        yield f"hardware {record.hardware}, here {profile.name}"
    engine = spec.engine
    facts = get_engine(engine.type).facts(spec)
    build = engine.build or str(facts.get("build") or engine.image)
    if record.build not in (build, engine.image) and not _is_build(engine, record.build):
        yield f"build {record.build}, the spec has {build}"
    files = [file.file for file in spec.model.files if file.role != "extra"]
    files += [item.repo for item in spec.model.repos if item.role != "extra"]
    if set(record.files) != set(files):
        yield f"files {', '.join(record.files)}, the spec has {', '.join(files) or 'none'}"
    if record.ctx != engine.context_tokens:
        yield f"ctx {record.ctx}, the spec has {engine.context_tokens}"
    for name in _ENGINE_FACTS:
        stated, actual = str(getattr(record, name)), str(facts.get(name, ""))
        if name in facts and _once(actual) != _once(stated):
            yield f"{name} {stated}, the spec has {actual}"


def _is_build(engine: EngineSettings, name: str) -> bool:
    """Return whether two names, of which one may be an image, mean the same known build."""
    mine = build_of_image(engine.type, engine.build_name)
    return mine is not None and mine == build_of_image(engine.type, name)


def _once(kind: str) -> str:
    """Return ``q4_0`` for ``q4_0/q4_0``: both ways of writing it are right."""
    key, slash, value = kind.partition("/")
    return key if slash and key == value else kind
