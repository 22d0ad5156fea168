"""What a model's weights take: as the spec says, else the least that their name tells."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from olares_apps.checks.launch import Server

if TYPE_CHECKING:
    from olares_apps.checks.context import ChartContext

__all__ = ["ALL_LAYERS", "Weights", "least_weights", "model_bytes", "on_gpu"]

# Parameters in billions; A3B and E4B are active or effective ones, 8x7B a product: not these.
_PARAMETERS: Final = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?)[Bb](?![A-Za-z0-9])")
_QUANT: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:I?Q(?P<bits>[1-8])(?:_[A-Z0-9]+)+|(?P<name>NVFP4|MXFP4|AWQ|GPTQ|INT4|FP8"
    r"|BF16|F16|FP16))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
# Small files that carry the model's name.
_BESIDES: Final = re.compile(r"mmproj|projector|draft|dflash|eagle|imatrix|lora", re.IGNORECASE)
_NAMED_BITS: Final = {
    **dict.fromkeys(("NVFP4", "MXFP4", "AWQ", "GPTQ", "INT4"), 4),
    "FP8": 8,
    **dict.fromkeys(("BF16", "F16", "FP16"), 16),
}
_OFFLOADS: Final = (
    *("--n-cpu-moe", "--cpu-moe", "--override-tensor", "--cpu-offload-gb", "--tensor-split"),
    *("--spec-draft-n-cpu-moe", "--spec-draft-cpu-moe", "--spec-draft-override-tensor"),
)
ALL_LAYERS: Final = 99
"""Number of layers on the GPU that means all of them."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A lower bound in bytes, and the name that it is read from."""

    least: int
    name: str


def least_weights(names: Iterable[str]) -> Weights | None:
    """Return the largest lower bound that names of model files or repositories give.

    A name must say both the parameters and the quantisation: 35 billion at 3 bits are 13.1 GB at
    least, since no quantisation has fewer bits per weight than its number. None when no name
    says so much.
    """
    best: Weights | None = None
    for name in names:
        last = name.rstrip("/").rpartition("/")[2]
        size, quant = _PARAMETERS.search(last), _QUANT.search(last)
        if size is None or quant is None or _BESIDES.search(last):
            continue
        bits = int(quant["bits"] or 0) or _NAMED_BITS[quant["name"].upper()]
        least = round(float(size[1]) * 10**9 * bits / 8)
        if best is None or least > best.least:
            best = Weights(least, last)
    return best


def model_bytes(context: "ChartContext") -> int | None:
    """Return the size of all model files of the spec in bytes, None when unknown."""
    if context.spec is None:
        return None
    files = context.spec.spec.model.files
    sizes = [file.size or round((file.size_gb or 0) * 10**9) for file in files]
    return sum(sizes) if sizes and all(sizes) else None


def on_gpu(server: Server) -> bool:
    """Say whether all weights of a server's model are meant to lie on the GPU."""
    if server.parsed is None or any(_is_on(server, flag) for flag in _OFFLOADS):
        return False
    layers = server.number("--n-gpu-layers")
    return layers is None or layers >= ALL_LAYERS


def _is_on(server: Server, flag: str) -> bool:
    """Say whether a flag is given, on the command line or by its variable."""
    return server.parsed is not None and (
        server.parsed.is_on(flag) or server.value(flag) is not None
    )
