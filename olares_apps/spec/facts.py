"""Facts: what a spec knows, under the names that texts may use as placeholders.

The archive's version is no fact: the archives of one spec have different numbers, and a text
that named one would be wrong in the others.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from olares_apps.spec.models import AppSpec, BenchRecord, MemoryPart, ModelFile, ModelRepo

__all__ = ["decimal_text", "facts", "short_tokens"]

_GB: Final = 10**9
_GIB: Final = 2**30


def facts(spec: AppSpec[Any], engine: Mapping[str, object]) -> dict[str, object]:
    """Return the facts of a spec, with those of its engine, as text may name them.

    Values are text, numbers or further mappings (``bench.ctx_32k.tps``); None stands for what
    the spec leaves open. Sizes are GB (10^9 bytes) or GiB as the name says, speeds are tokens
    per second, shares are per cent. Common names win over the engine's.
    """
    target = spec.target or next(spec.repos("target"), None)
    headline = spec.bench[0] if spec.bench else None
    ctx = spec.engine.context_tokens
    return {
        **engine,
        "app": spec.app,
        "title": spec.title,
        "alias": spec.alias,
        "name": spec.model.name,
        "kind": spec.model.kind,
        "native_ctx": spec.model.native_ctx,
        "native_ctx_k": short_tokens(spec.model.native_ctx),
        "ctx": ctx,
        "ctx_k": None if ctx is None else short_tokens(ctx),
        "port": spec.engine.port,
        "image": spec.engine.image,
        "hardware": spec.hardware,
        "cpu": spec.resources.cpu,
        "memory": spec.resources.memory,
        **_file(target),
        "files": {
            **{item.role: _file(item) for item in reversed(spec.model.repos)},
            **{item.role: _file(item) for item in reversed(spec.model.files)},
        },
        "gpu_memory": _memory(spec.resources.gpu_memory_parts),
        "tps": decimal_text(headline.tps) if headline else None,
        "acceptance": _acceptance(headline) if headline else None,
        "runs": _runs(headline) if headline else None,
        "bench": {_identifier(record.id): _record(record) for record in spec.bench},
    }


def short_tokens(tokens: int) -> str:
    """Return a number of tokens the way people write context lengths.

    Whole thousands count in thousands (32000 is 32K, 128000 is 128K). Other multiples of 1024
    count in 1024s below 256 * 1024 (32768 is 32K, 131072 is 128K) and from 1024 * 1024 on
    (1048576 is 1M); between the two, and for everything else, thousands are counted and the
    rest is dropped: 262144 is 262K, as model pages name it. Below 1000 all digits stay.
    """
    if tokens < 1000:
        return str(tokens)
    for million in (2**20, 10**6):
        if tokens % million == 0:
            return f"{tokens // million}M"
    if tokens % 1000 and tokens % 1024 == 0 and tokens < 256 * 1024:
        return f"{tokens // 1024}K"
    return f"{tokens // 1000}K"


def decimal_text(value: float) -> str:
    """Return a number with at most two decimals, without trailing zeros: ``249.3``, ``17.2``."""
    text = format(round(Decimal(repr(value)), 2), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _file(file: ModelFile | ModelRepo | None) -> dict[str, object]:
    return {
        "model_repo": file and file.repo,
        "model_file": file.file if isinstance(file, ModelFile) else None,
        "quant": file and file.quant,
        **_sizes(file),
    }


def _sizes(file: ModelFile | ModelRepo | None) -> dict[str, object]:
    exact = file.size if isinstance(file, ModelFile) else None
    size = exact or (file and file.size_gb and file.size_gb * _GB)
    return {
        "size_gb": f"{size / _GB:.1f}" if size else None,
        "size_gib": f"{size / _GIB:.1f}" if size else None,
    }


def _memory(parts: Sequence[MemoryPart]) -> dict[str, object]:
    """Return the stated parts by name in GB, and their sum in GB and in GiB."""
    total = sum(part.gb for part in parts)
    return {
        **{re.sub(r"\W+", "_", part.part.lower()): decimal_text(part.gb) for part in parts},
        "total": decimal_text(total) if parts else None,
        "total_gib": f"{total * _GB / _GIB:.1f}" if parts else None,
    }


def _record(record: BenchRecord) -> dict[str, object]:
    slowest, fastest = _range(record)
    return {
        "tps": decimal_text(record.tps),
        "ctx": record.ctx,
        "ctx_k": None if record.ctx is None else short_tokens(record.ctx),
        "runs": _runs(record),
        "acceptance": _acceptance(record),
        "slowest": slowest,
        "fastest": fastest,
        "tokens": record.protocol.tokens,
        "prompt": record.protocol.prompt,
        "hardware": record.hardware,
        "image": record.image,
        "model_file": record.model_file,
        "settings": " ".join(f"{k}={v}" for k, v in sorted(record.settings.items())) or None,
    }


def _runs(record: BenchRecord) -> int | None:
    return record.runs or len(record.details) or None


def _acceptance(record: BenchRecord) -> str | None:
    return None if record.acceptance is None else decimal_text(record.acceptance)


def _range(record: BenchRecord) -> tuple[str | None, str | None]:
    speeds = [run.tps for run in record.details] or record.tps_range
    return (decimal_text(min(speeds)), decimal_text(max(speeds))) if speeds else (None, None)
