"""llama.cpp's server: typed settings become its argument list."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StrictStr

from olares_apps.spec.models import Closed, EngineSettings
from olares_apps.spec.types import ArgumentText, ModelPath

__all__ = ["KvTypes", "LlamaCppSettings", "Sampling", "Speculative"]

CacheType = Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{1,15}$")]


class KvTypes(Closed):
    """Types of the KV cache; what a build accepts is in its flag table."""

    k: CacheType = "f16"
    """Type of the keys."""
    v: CacheType = "f16"
    """Type of the values; a quantised one needs flash attention."""


class Speculative(Closed):
    """Speculative decoding, in neutral words; the build decides the spelling of the flag."""

    method: Literal["mtp", "draft", "eagle3", "dflash", "ngram-simple", "ngram-mod", "ngram-cache"]
    """Where drafts come from: the model's own MTP head, a drafter file, or the prompt."""
    n_max: Annotated[int, Field(ge=1, le=64)]
    """Most tokens drafted per step."""
    n_min: Annotated[int, Field(ge=0, le=64)] | None = None
    """Fewest tokens worth drafting."""
    kv: KvTypes | None = None
    """Types of the draft's own KV cache; by default the build's choice."""
    gpu_layers: Annotated[int, Field(ge=0)] | None = None
    """Layers of a drafter on the GPU."""


class Sampling(Closed):
    """Default sampler of the server."""

    temp: Annotated[float, Field(ge=0, le=5)] | None = None
    """Temperature."""
    top_k: Annotated[int, Field(ge=0)] | None = None
    """Keep the k likeliest tokens; 0 keeps all."""
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Keep the likeliest tokens up to this probability mass."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Drop tokens below this share of the likeliest one."""
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    """Penalty for tokens already present."""


class LlamaCppSettings(EngineSettings):
    """Settings of ``llama-server``."""

    type: Literal["llamacpp"]
    """Name of the engine."""
    binary: Annotated[str, Field(pattern=r"^/?[\w./-]+$")] = "/app/llama-server"
    """Server binary inside the image."""
    ctx: Annotated[int, Field(ge=256, le=2**26)]
    """Context in tokens over all slots."""
    parallel: Annotated[int, Field(ge=1, le=256)]
    """Slots that share the context. Mandatory: unset means four slots and four times the
    recurrent state."""
    kv: KvTypes = KvTypes()
    """Types of the KV cache."""
    batch: Annotated[int, Field(ge=1, le=65536)] = 2048
    """Logical batch in tokens."""
    ubatch: Annotated[int, Field(ge=1, le=65536)] = 512
    """Physical batch in tokens; compute buffers grow with it."""
    flash_attn: Literal["on", "off", "auto"] = "on"
    """Flash attention."""
    gpu_layers: Annotated[int, Field(ge=0, le=9999)] = 99
    """Layers on the GPU; 99 means all."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 16
    """CPU threads."""
    jinja: bool = True
    """Use the model's chat template."""
    speculative: Speculative | None = None
    """Speculative decoding."""
    chat_template_args: dict[str, JsonValue] = Field(default_factory=dict)
    """Arguments of the chat template, for example ``enable_thinking: false``."""
    chat_template_file: ModelPath | None = None
    """A chat template of the workspace that replaces the model's own."""
    reasoning: Literal["on", "off", "auto"] | None = None
    """Thinking, for builds that have ``--reasoning``."""
    sampling: Sampling = Sampling()
    """Default sampler."""
    kv_unified: bool | None = None
    """One KV cache for all slots."""
    swa_full: bool = False
    """Keep the full cache of sliding-window layers."""
    context_shift: bool | None = None
    """Shift the context when it is full."""
    cache_ram: Annotated[int, Field(ge=-1)] | None = None
    """Host memory of the prompt cache in MiB; -1 is unlimited, 0 turns it off."""
    ctx_checkpoints: Annotated[int, Field(ge=0)] | None = None
    """Context checkpoints per slot kept in host memory."""
    load_mode: Literal["mmap", "no-mmap", "mlock"] | None = None
    """How the file is loaded; the build decides the spelling of the flag."""
    op_offload: bool | None = None
    """Offload host tensor operations to the GPU."""
    slot_save_path: ArgumentText | None = None
    """Folder for saved slots."""

    @property
    def context_tokens(self) -> int:
        """Return the configured context in tokens."""
        return self.ctx
