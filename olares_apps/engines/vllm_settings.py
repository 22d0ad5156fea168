"""The settings of ``vllm serve``.

Fields that are options carry the option's own name with ``_`` for ``-``; what a version
accepts, names and values, is in its flag table.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, ClassVar, Final, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    PlainValidator,
    StrictStr,
    Tag,
)

from olares_apps.engines.flags.tables import known_builds, load_build
from olares_apps.spec.bench import SamplerValue
from olares_apps.spec.models import Closed, EngineSettings
from olares_apps.spec.types import ArgumentText, Folder, JsonObject, Line, ModelPath, Quantity

__all__ = ["OPTIONS", "VllmSettings", "VllmSpeculative"]

Word = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_][\w.:/-]{0,63}$")]
_PACKAGE: Final = r"[A-Za-z0-9][\w.-]{0,63}(\[[\w,.-]{1,63}\])?"
_PINNED: Final = rf"{_PACKAGE}==[\w.!+-]{{1,40}}"


def _pip_package(value: str) -> str:
    if re.fullmatch(_PINNED, value, re.ASCII):
        return value
    if re.fullmatch(_PACKAGE, value, re.ASCII):
        raise ValueError(f"names no version, so every start may install another: {value}==VERSION")
    raise ValueError("must be a package with its version, NAME==VERSION")


PipPackage = Annotated[
    StrictStr, AfterValidator(_pip_package), Field(json_schema_extra={"pattern": f"^{_PINNED}$"})
]
# Token ids and seeds are the largest whole numbers among sampler settings.
_LARGEST: Final = 2**32


def _sampler_number(value: object) -> float:
    """Return a number as it is, whole ones stay whole."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if not abs(value) <= _LARGEST:
        raise ValueError(f"is out of range; allowed: {-_LARGEST} to {_LARGEST}")
    return value


SamplerNumber = Annotated[
    float, PlainValidator(_sampler_number, json_schema_input_type=SamplerValue)
]


Limit = Annotated[
    Annotated[int, Field(ge=0, le=65536), Tag("number")] | Annotated[JsonObject, Tag("object")],
    Discriminator(lambda value: "object" if isinstance(value, dict) else "number"),
]


class VllmSpeculative(Closed):
    """Speculative decoding: keys of ``--speculative-config``."""

    method: Word
    """Method, for example ``mtp``, ``dflash``, ``eagle3`` or ``ngram``; older names of a method
    and the model-specific names of old versions are written as the version knows them."""
    num_speculative_tokens: Annotated[int, Field(ge=1, le=64)]
    """Tokens drafted per step."""
    draft_tensor_parallel_size: Annotated[int, Field(ge=1, le=64)] | None = None
    """GPUs that the draft model is spread over."""
    max_model_len: Annotated[int, Field(ge=16, le=2**26)] | None = None
    """Longest sequence that is drafted for, in tokens."""
    quantization: Word | None = None
    """Quantisation of the draft model."""
    attention_backend: Word | None = None
    """Attention backend of the draft model."""
    enforce_eager: bool | None = None
    """Run the draft model without CUDA graphs."""
    parallel_drafting: bool | None = None
    """Draft all tokens in one pass."""
    disable_padded_drafter_batch: bool | None = None
    """Draft without padding."""
    prompt_lookup_min: Annotated[int, Field(ge=1, le=2**26)] | None = None
    """Shortest match of prompt lookup, in tokens."""
    prompt_lookup_max: Annotated[int, Field(ge=1, le=2**26)] | None = None
    """Longest match of prompt lookup, in tokens."""
    rejection_sample_method: Word | None = None
    """How drafts are compared with the model."""
    moe_backend: Word | None = None
    """Kernels of the draft model's experts."""
    options: JsonObject = Field(default_factory=dict)
    """Further keys, checked against the version's own."""


class VllmSettings(EngineSettings):
    """Settings of ``vllm serve``."""

    context_field: ClassVar[str] = "max_model_len"

    type: Literal["vllm"]
    """Name of the engine."""
    command: list[ArgumentText] = Field(default=["vllm", "serve"])
    """Server command inside the image, arguments follow it. An empty list keeps the image's own
    entry point."""
    pip_packages: list[PipPackage] = Field(default_factory=list)
    """Python packages installed at every start because the image lacks them, ``NAME==VERSION``."""
    download_dir: Folder = "/models/huggingface"
    """Folder below ``/models`` for repositories that the server downloads itself."""
    shm: Quantity = "8Gi"
    """Size of the memory volume at ``/dev/shm``, which the server's processes talk through."""
    max_model_len: Annotated[int, Field(ge=16, le=2**26)]
    """Longest sequence, prompt and answer, in tokens."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)]
    """Share of the card's memory that the server takes, whatever the model needs."""
    max_num_seqs: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Most requests at a time."""
    max_num_batched_tokens: Annotated[int, Field(ge=1, le=2**26)] | None = None
    """Most tokens per step."""
    cpu_offload_gb: Annotated[float, Field(ge=0, le=2000)] | None = None
    """Weights kept in host memory, in GiB per GPU."""
    kv_cache_memory_bytes: Annotated[int, Field(gt=0, le=2 * 10**12)] | None = None
    """Size of the KV cache in bytes, instead of what is left of the share."""
    quantization: Word | None = None
    """Quantisation method; leave it out where the model's own config names it."""
    dtype: Word | None = None
    """Type of the activations."""
    kv_cache_dtype: Word | None = None
    """Type of the KV cache."""
    calculate_kv_scales: bool | None = None
    """Compute the scales of an fp8 KV cache while running."""
    block_size: Annotated[int, Field(ge=1, le=8192)] | None = None
    """Tokens per block of the KV cache."""
    tensor_parallel_size: Annotated[int, Field(ge=1, le=64)] | None = None
    """GPUs that each layer is spread over."""
    pipeline_parallel_size: Annotated[int, Field(ge=1, le=64)] | None = None
    """GPUs that the layers are divided among."""
    enable_expert_parallel: bool | None = None
    """Divide experts among the GPUs instead of spreading each one."""
    attention_backend: Word | None = None
    """Attention kernels."""
    attention_config: JsonObject = Field(default_factory=dict)
    """Keys of the attention configuration."""
    moe_backend: Word | None = None
    """Kernels of the experts."""
    kernel_config: JsonObject = Field(default_factory=dict)
    """Keys of the kernel configuration."""
    compilation_config: JsonObject = Field(default_factory=dict)
    """Keys of the compilation configuration, CUDA graphs included."""
    enforce_eager: bool | None = None
    """Run without compilation and CUDA graphs."""
    language_model_only: bool | None = None
    """Load no encoders of a multimodal model."""
    limit_mm_per_prompt: dict[str, Limit] = Field(default_factory=dict)
    """Most items per prompt by modality, for example ``{image: 1}``."""
    mm_processor_kwargs: JsonObject = Field(default_factory=dict)
    """Arguments of the multimodal processor."""
    trust_remote_code: bool | None = None
    """Run Python code that comes with the model."""
    hf_overrides: JsonObject = Field(default_factory=dict)
    """Changes to the model's config."""
    tokenizer_mode: Word | None = None
    """Kind of the tokenizer."""
    config_format: Word | None = None
    """Format of the model's config."""
    load_format: Word | None = None
    """Format of the weights."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    """Seed of the sampler."""
    enable_prefix_caching: bool | None = None
    """Keep the cache of common beginnings."""
    enable_chunked_prefill: bool | None = None
    """Split long prompts over steps."""
    async_scheduling: bool | None = None
    """Plan the next step while one runs."""
    scheduler_reserve_full_isl: bool | None = None
    """Admit a request only when its whole prompt fits into the KV cache."""
    performance_mode: Word | None = None
    """What the scheduler is tuned for."""
    disable_hybrid_kv_cache_manager: bool | None = None
    """Give all layers of a hybrid model the same cache."""
    mamba_cache_dtype: Word | None = None
    """Type of the recurrent state."""
    mamba_ssm_cache_dtype: Word | None = None
    """Type of the recurrent state's SSM part."""
    mamba_cache_mode: Word | None = None
    """How recurrent states are kept for prefix caching."""
    mamba_block_size: Annotated[int, Field(ge=1, le=2**26)] | None = None
    """Tokens between kept recurrent states."""
    tool_call_parser: Word | None = None
    """Parser of tool calls; it also turns on automatic tool choice."""
    reasoning_parser: Word | None = None
    """Parser of thinking."""
    chat_template_file: ModelPath | None = None
    """A chat template of the workspace that replaces the model's own."""
    chat_template_content_format: Word | None = None
    """How message content is given to the chat template."""
    default_chat_template_kwargs: JsonObject = Field(default_factory=dict)
    """Arguments of the chat template, for example ``enable_thinking: false``."""
    generation_config: Line | None = None
    """Where default sampler settings come from: ``auto``, ``vllm`` or a folder."""
    override_generation_config: dict[str, SamplerNumber] = Field(default_factory=dict)
    """Default sampler settings, for example ``temperature: 0.6``."""
    speculative: VllmSpeculative | None = None
    """Speculative decoding."""

    @property
    def context_tokens(self) -> int:
        """Return the configured context in tokens."""
        return self.max_model_len

    @classmethod
    def reserved_arguments(cls) -> Mapping[str, str]:
        """Return the flags, all aliases included, that a field or the chart itself sets."""
        return _reserved()


# Options whose field has their name, in the order in which they are written.
OPTIONS: Final = tuple(
    "max_model_len gpu_memory_utilization max_num_seqs max_num_batched_tokens cpu_offload_gb "
    "kv_cache_memory_bytes quantization dtype kv_cache_dtype calculate_kv_scales block_size "
    "tensor_parallel_size pipeline_parallel_size enable_expert_parallel attention_backend "
    "attention_config moe_backend kernel_config compilation_config enforce_eager "
    "language_model_only limit_mm_per_prompt mm_processor_kwargs trust_remote_code hf_overrides "
    "tokenizer_mode config_format load_format seed enable_prefix_caching enable_chunked_prefill "
    "async_scheduling scheduler_reserve_full_isl performance_mode "
    "disable_hybrid_kv_cache_manager mamba_cache_dtype mamba_ssm_cache_dtype mamba_cache_mode "
    "mamba_block_size reasoning_parser chat_template_content_format default_chat_template_kwargs "
    "generation_config override_generation_config".split()
)
# Further owned flags by what sets them.
_OWNED: Final = {
    "model.repos": "--model --revision",
    "alias": "--served-model-name",
    "the chart": "--host --hf-token",
    "engine.port": "--port",
    "engine.download_dir": "--download-dir",
    "engine.tool_call_parser": "--tool-call-parser --enable-auto-tool-choice",
    "engine.chat_template_file": "--chat-template",
    "engine.speculative": "--speculative-config --spec-method --spec-model --spec-tokens",
}


@cache
def _reserved() -> Mapping[str, str]:
    """Return owned flag to field, with every alias and negated form that any version has."""
    owned = {flag: field for field, flags in _OWNED.items() for flag in flags.split()}
    owned |= {f"--{name.replace('_', '-')}": f"engine.{name}" for name in OPTIONS}
    tables = [load_build("vllm", build) for build in known_builds("vllm")]
    aliases = {
        alias: field
        for flag, field in owned.items()
        for table in tables
        if (found := table.find(flag)) is not None
        for alias in (*found.flag.names, *found.flag.negated)
    }
    return aliases | owned
