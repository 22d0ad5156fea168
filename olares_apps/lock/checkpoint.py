"""Checkpoints of safetensors files on the hub: which files a server loads, and what they say."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from olares_apps.errors import UsageError
from olares_apps.fit.mtp import declared_mtp_layers, names_mtp_tensors
from olares_apps.fit.vllm_budget import vllm_facts
from olares_apps.lock.hub import Hub, RepoFacts
from olares_apps.lock.model import Checkpoint

__all__ = ["INDEX", "checkpoint_of", "download_size", "is_checkpoint"]

INDEX: Final = ".safetensors.index.json"
_WEIGHTS: Final = ".safetensors"
_CONFIG: Final = "config.json"
# Files of other formats, which a server that reads safetensors leaves out.
_OTHER_WEIGHTS: Final = (".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack", ".tflite")
# A second copy of the weights in the vendor's own layout (load_format of vLLM ignores it).
_ORIGINAL: Final = "original/"


def is_checkpoint(file: str) -> bool:
    """Return whether a file is a safetensors file or the index of several."""
    return file.endswith((_WEIGHTS, INDEX))


def checkpoint_of(hub: Hub, facts: RepoFacts, file: str | None = None) -> Checkpoint | None:
    """Return what the checkpoint of ``file``, or of the repository's top folder, says.

    None when there are no safetensors files. Raises what the hub's methods raise.
    """
    folder = file.rpartition("/")[0] if file else ""
    names = [file] if file else _loaded(facts)
    if not names:
        return None
    place = f"{folder}/{_CONFIG}" if folder else _CONFIG
    config = hub.document(facts, place) if place in facts.files else {}
    parts = {part for name in names for part in hub.parts(facts, name) if not part.endswith(INDEX)}
    weights = sum(facts.files[part][0] for part in parts)
    tensors = (tensor for name in names for tensor in hub.tensors(facts, name))
    return _described(config, weights, tensors)


def _described(config: dict[str, Any], weights: int, tensors: Iterable[str]) -> Checkpoint:
    shape: dict[str, int | bool] | None
    try:
        shape = {
            name: value
            for name, value in asdict(vllm_facts(config, weights)).items()
            if name != "weight_bytes"
        }
    except UsageError:
        shape = None
    listed = config.get("architectures")
    quantisation = config.get("quantization_config")
    method = quantisation.get("quant_method") if isinstance(quantisation, dict) else None
    return Checkpoint(
        architectures=[item for item in listed if isinstance(item, str)]
        if isinstance(listed, list)
        else [],
        quant_method=method if isinstance(method, str) else None,
        mtp_layers=max(0, declared_mtp_layers(config)),
        mtp_tensors=names_mtp_tensors(config, tensors),
        weight_bytes=weights,
        shape=shape,
    )


def _loaded(facts: RepoFacts) -> list[str]:
    """Return the files that stand for the weights: an index, else every file of the top folder."""
    top = sorted(name for name in facts.files if "/" not in name)
    indexes = [name for name in top if name.endswith(INDEX)]
    usual = f"model{INDEX}"
    if indexes:
        return [usual if usual in indexes else indexes[0]]
    whole = [name for name in top if name.endswith(_WEIGHTS)]
    return ["model.safetensors"] if "model.safetensors" in whole else whole


def download_size(facts: RepoFacts) -> int:
    """Return how many bytes a server downloads that takes a repository whole.

    Where there are safetensors files, weights of other formats are left out.
    """
    names = [name for name in facts.files if not name.startswith(_ORIGINAL)]
    if any(name.endswith(_WEIGHTS) for name in names):
        names = [name for name in names if not name.endswith(_OTHER_WEIGHTS)]
    return sum(facts.files[name][0] for name in names)
