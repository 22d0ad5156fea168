"""vLLM apps as data: stacks that run on real devices, as changes of the flagship."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from support.sample_specs import FLAGSHIP, make_spec

from olares_apps.spec.models import AppSpec

__all__ = ["DFLASH", "ELASTIC", "TURBO", "VISION", "VOICE", "vllm_spec"]

GEMMA: Final = {"repo": "cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit", "quant": "AWQ-INT4", "size_gb": 17}
ELASTIC: Final[Mapping[str, Any]] = {
    "alias": "nemotron-elastic-30b",
    "model.repos": [
        {
            "repo": "nvidia/NVIDIA-Nemotron-Labs-3-Elastic-30B-A3B-NVFP4",
            "quant": "NVFP4",
            "size_gb": 19.0,
        }
    ],
    "engine": {
        "type": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404",
        "max_model_len": 4096,
        "gpu_memory_utilization": 0.95,
        "max_num_seqs": 1,
        "dtype": "auto",
        "trust_remote_code": True,
        "compilation_config": {
            "cudagraph_mode": "PIECEWISE",
            "max_cudagraph_capture_size": 4,
            "cudagraph_capture_sizes": [1, 2, 4],
        },
        "env": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    },
}
VISION: Final[Mapping[str, Any]] = {
    "alias": "gemma-4-26b-vision",
    "model.repos": [GEMMA],
    "engine": {
        "type": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.21.0-cu129",
        "max_model_len": 131072,
        "gpu_memory_utilization": 0.92,
        "max_num_seqs": 4,
        "max_num_batched_tokens": 8192,
        "attention_backend": "triton_attn",
        "kv_cache_dtype": "fp8",
        "dtype": "auto",
        "trust_remote_code": True,
        "enable_prefix_caching": True,
        "limit_mm_per_prompt": {"image": 1},
        "tool_call_parser": "gemma4",
    },
}
DFLASH: Final[Mapping[str, Any]] = {
    "alias": "gemma-4-26b-a4b-dflash",
    "model.repos": [
        GEMMA,
        {"repo": "z-lab/gemma-4-26B-A4B-it-DFlash", "role": "drafter", "size_gb": 0.86},
    ],
    "engine": {
        "type": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.21.0-cu129",
        "download_dir": "/models",
        "max_model_len": 16384,
        "gpu_memory_utilization": 0.92,
        "max_num_seqs": 4,
        "max_num_batched_tokens": 8192,
        "attention_backend": "triton_attn",
        "kv_cache_dtype": "fp8",
        "dtype": "auto",
        "trust_remote_code": True,
        "enable_prefix_caching": True,
        "speculative": {"method": "dflash", "num_speculative_tokens": 8},
    },
}
TURBO: Final[Mapping[str, Any]] = {
    "alias": "qwen3.6-27b",
    "model.repos": [{"repo": "Lorbus/Qwen3.6-27B-int4-AutoRound", "quant": "INT4"}],
    "engine": {
        "type": "vllm",
        "image": "docker.io/aamsellem/vllm-qwen36-blackwell:0.20.0-genesis-v3",
        "command": ["/entrypoint.sh", "serve"],
        "download_dir": "/models",
        "max_model_len": 88000,
        "gpu_memory_utilization": 0.97,
        "max_num_seqs": 1,
        "max_num_batched_tokens": 4096,
        "quantization": "auto_round",
        "dtype": "float16",
        "kv_cache_dtype": "turboquant_k8v4",
        "language_model_only": True,
        "trust_remote_code": True,
        "reasoning_parser": "qwen3",
        "enable_prefix_caching": True,
        "enable_chunked_prefill": True,
        "tool_call_parser": "qwen3_coder",
        "performance_mode": "interactivity",
        "async_scheduling": True,
        "scheduler_reserve_full_isl": False,
        "attention_config": {"flash_attn_version": 2},
        "speculative": {"method": "mtp", "num_speculative_tokens": 3},
    },
}
VOICE: Final[Mapping[str, Any]] = {
    "alias": "gemma-4-e4b-mtp",
    "model.repos": [
        {"repo": "google/gemma-4-E4B-it", "size_gb": 10.0},
        {"repo": "google/gemma-4-E4B-it-assistant", "role": "drafter", "size_gb": 0.5},
    ],
    "engine": {
        "type": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.21.0-cu129",
        "pip_packages": ["soundfile==0.13.1", "librosa==0.11.0"],
        "max_model_len": 32000,
        "gpu_memory_utilization": 0.85,
        "limit_mm_per_prompt": {"image": 1, "audio": 1},
        "dtype": "auto",
        "trust_remote_code": True,
        "enable_prefix_caching": True,
        "speculative": {"method": "mtp", "num_speculative_tokens": 3},
    },
}


def vllm_spec(stack: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> AppSpec[Any]:
    """Return a stack as a spec, with changes by dotted path; None removes a key."""
    base = {
        "app": "demovllmone",
        "title": "Demo vLLM One",
        "text": {"summary": "A demo on your own device."},
        "model": {key: value for key, value in FLAGSHIP["model"].items() if key != "files"},
        "resources": {},
    }
    return make_spec(deepcopy({**base, **stack, **(changes or {})}))
