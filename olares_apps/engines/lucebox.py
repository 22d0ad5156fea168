"""Lucebox: the DFlash server of lucebox-hub, with its own engine for tree drafts.

Options and defaults are those of ``dflash/scripts/server.py``.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from olares_apps.engines.arguments import Arguments
from olares_apps.engines.base import (
    MODEL_FOLDER,
    Engine,
    EngineFetch,
    Launch,
    ServerProbe,
    StoredFile,
    load_seconds,
)
from olares_apps.errors import RenderError
from olares_apps.spec.models import AppSpec, Closed, EngineSettings
from olares_apps.spec.types import ArgumentText, RepoId

__all__ = ["ENGINE", "Lucebox", "LuceboxSettings"]

CacheType = Literal["f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "tq3_0"]


class LuceboxKv(Closed):
    """Types of Lucebox's KV cache."""

    k: CacheType = "q4_0"
    """Type of the keys."""
    v: CacheType = "q4_0"
    """Type of the values."""


class LuceboxSettings(EngineSettings):
    """Settings of Lucebox's server. It decodes greedily and serves one request at a time."""

    type: Literal["lucebox"]
    """Name of the engine."""
    command: Annotated[list[ArgumentText], Field(min_length=1)] = Field(
        default=["python3", "scripts/server.py"]
    )
    """Server command inside the image, arguments follow it."""
    binary: ArgumentText | None = None
    """Place of ``test_dflash`` inside the image; by default the server's own choice."""
    ctx: Annotated[int, Field(ge=256, le=2**26)] = 16384
    """Context in tokens."""
    kv: LuceboxKv = LuceboxKv()
    """Types of the KV cache."""
    budget: Annotated[int, Field(ge=1, le=256)] = 22
    """Most tokens of a draft tree (DDTree) per step."""
    fa_window: Annotated[int, Field(ge=0, le=2**26)] | None = None
    """Window of the attention layers in tokens; 0 is full attention."""
    prefix_cache_slots: Annotated[int, Field(ge=0, le=256)] = 0
    """Beginnings of prompts kept in GPU memory."""
    prefill_cache_slots: Annotated[int, Field(ge=0, le=256)] = 0
    """Whole prompts kept in GPU memory."""
    tokenizer: RepoId | None = None
    """Repository of the tokenizer, which the server downloads; by default told by the model."""

    @property
    def context_tokens(self) -> int:
        """Return the configured context in tokens."""
        return self.ctx

    @classmethod
    def reserved_arguments(cls) -> Mapping[str, str]:
        """Return the flags that a field or the chart itself sets."""
        return {flag: field for field, flags in _OWNED.items() for flag in flags.split()}


_OWNED: Final = {
    "model.files": "--target --draft",
    "the chart": "--host",
    "engine.port": "--port",
    "engine.binary": "--bin",
    "engine.ctx": "--max-ctx",
    "engine.kv.k": "--cache-type-k --ctk --kv-f16",
    "engine.kv.v": "--cache-type-v --ctv",
    "engine.budget": "--budget",
    "engine.fa_window": "--fa-window",
    "engine.prefix_cache_slots": "--prefix-cache-slots",
    "engine.prefill_cache_slots": "--prefill-cache-slots",
    "engine.tokenizer": "--tokenizer",
}


class Lucebox(Engine[LuceboxSettings]):
    """The engine object: registered under the entry point ``lucebox``."""

    name = "lucebox"
    settings = LuceboxSettings

    def launch(self, spec: AppSpec[LuceboxSettings], files: Sequence[StoredFile]) -> Launch:
        """Return the server's argument list.

        Raises RenderError unless there is one target and one drafter.
        """
        settings = spec.engine
        target, drafter = (_only(files, role) for role in ("target", "drafter"))
        line = Arguments()
        line.add("--host", "0.0.0.0")  # noqa: S104  the container's own network
        line.add("--port", str(settings.port))
        line.add("--target", target.path)
        line.add("--draft", drafter.path)
        if settings.binary:
            line.add("--bin", settings.binary)
        line.add("--budget", str(settings.budget), key="BUDGET")
        line.add("--max-ctx", str(settings.ctx), key="MAX_CTX")
        line.add("--ctk", settings.kv.k)
        line.add("--ctv", settings.kv.v)
        for name in ("fa_window", "prefix_cache_slots", "prefill_cache_slots", "tokenizer"):
            value = getattr(settings, name)
            if value is not None:
                line.add(f"--{name.replace('_', '-')}", str(value))
        line.argv.extend(settings.extra_args)
        return Launch(
            command=settings.command,
            argv=line.argv,
            probe=ServerProbe("/health", load_seconds([item.about for item in files])),
            config={"MODEL_REPO": target.repo, "MODEL_FILE": target.remote} | line.config,
            refers=line.refers,
            # The tokenizer comes from the hub at the first start: some MB.
            fetch=EngineFetch(size=50 * 10**6, env={"HF_HOME": f"{MODEL_FOLDER}/huggingface"}),
        )

    def facts(self, spec: AppSpec[LuceboxSettings]) -> Mapping[str, object]:
        """Return the facts of this engine that texts may name."""
        settings, kv = spec.engine, spec.engine.kv
        return {
            "kv": kv.k if kv.k == kv.v else f"{kv.k}/{kv.v}",
            "kv_k": kv.k,
            "kv_v": kv.v,
            "parallel": 1,
            "budget": settings.budget,
            "build": settings.build or "",
            "draft_method": "dflash",
            "draft_n": settings.budget,
        }


ENGINE = Lucebox()


def _only(files: Sequence[StoredFile], role: str) -> StoredFile:
    found = [item for item in files if item.role == role]
    if len(found) != 1:
        raise RenderError(
            f"lucebox takes one model file of role {role}, found {len(found)}",
            field="model.files",
            hint=f"name it in model.files with the role {role}; give further files the role extra",
        )
    return found[0]
