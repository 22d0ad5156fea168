"""A first spec for a chosen model file: complete, plain, and meant to be edited."""

import json
import re
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

from olares_apps.fit.gguf_shards import shard_names
from olares_apps.lock.checkpoint import download_size
from olares_apps.lock.choose import Choice, quant_of
from olares_apps.lock.choose_vllm import VllmChoice
from olares_apps.lock.hub import RepoFacts

__all__ = ["app_name", "draft_spec", "draft_vllm_spec", "set_apart"]

_MODEL_PAGE: Final = "https://huggingface.co"
_LLAMACPP_LICENCE: Final = "https://github.com/ggml-org/llama.cpp/blob/master/LICENSE"
_VLLM_LICENCE: Final = "https://github.com/vllm-project/vllm/blob/main/LICENSE"
# Drafted tokens per step where nothing was measured: the figure of the vendor's own recipes.
_VLLM_DRAFTS: Final = 2
_HEADER: Final = (
    "# Written by `olapps new` from {repo}: texts are a start, settings were computed.\n\n"
)
_TITLE_BYTES: Final = 30
_ALIAS_CHARACTERS: Final = 100
_APP_CHARACTERS: Final = 30


def app_name(name: str) -> str:
    """Return an Olares app name for a spec name: its letters and digits, a letter first."""
    kept = re.sub(r"[^a-z0-9]", "", name.lower())[:_APP_CHARACTERS]
    return kept if kept[:1].isalpha() else f"llm{kept}"[:_APP_CHARACTERS]


def draft_spec(
    name: str,
    facts: RepoFacts,
    choice: Choice,
    *,
    revision: str,
    image: str,
    hardware: str,
    developer: str,
) -> str:
    """Return the YAML text of a spec called ``name``.

    The licence is the one that the repository declares, and a pointer to its page without one.
    """
    size = sum(facts.files[part][0] for part in shard_names(choice.file))
    request, drafting = choice.request, choice.mtp.is_usable
    file: dict[str, Any] = {"repo": facts.repo, "file": choice.file}
    if quant := quant_of(choice.file):
        file["quant"] = quant
    file["size_gb"] = _gigabytes(size)
    if revision != "main":
        file["revision"] = revision
    engine: dict[str, Any] = {
        "type": "llamacpp",
        "image": image,
        "ctx": request.ctx,
        "parallel": 1,
        "kv": {"k": request.kv_k, "v": request.kv_v},
        "batch": request.batch,
        "ubatch": request.ubatch,
    }
    if drafting:
        engine["speculative"] = {"method": "mtp", "n_max": request.n_max}
    return _text(
        facts,
        {
            "kind": choice.facts.arch + (" + MTP" if drafting else ""),
            "native_ctx": max(choice.facts.context_length, 256),
            "files": [file],
        },
        engine,
        name=name,
        quant=quant,
        drafting=drafting,
        hardware=hardware,
        developer=developer,
        engine_licence=("MIT", _LLAMACPP_LICENCE),
        limits=["Text only.", "One request at a time; further ones wait."],
    )


def draft_vllm_spec(
    name: str,
    facts: RepoFacts,
    choice: VllmChoice,
    *,
    revision: str,
    image: str,
    hardware: str,
    developer: str,
) -> str:
    """Return the YAML text of a spec called ``name`` for a checkpoint that vLLM serves."""
    request, drafting = choice.request, choice.mtp.is_usable
    checkpoint = choice.checkpoint
    repo: dict[str, Any] = {"repo": facts.repo}
    if checkpoint.quant_method:
        repo["quant"] = checkpoint.quant_method
    repo["size_gb"] = _gigabytes(download_size(facts))
    if revision != "main":
        repo["revision"] = revision
    engine: dict[str, Any] = {
        "type": "vllm",
        "image": image,
        "max_model_len": request.max_model_len,
        "gpu_memory_utilization": request.gpu_memory_utilization,
        "max_num_seqs": 4,
    }
    if request.kv_dtype != "auto":
        engine["kv_cache_dtype"] = request.kv_dtype
    if drafting:
        engine["speculative"] = {"method": "mtp", "num_speculative_tokens": _VLLM_DRAFTS}
    trained = checkpoint.facts.trained_context if checkpoint.facts else 0
    kind = (checkpoint.architectures or ["model"])[0]
    return _text(
        facts,
        {
            "kind": kind + (" + MTP" if drafting else ""),
            "native_ctx": max(trained, request.max_model_len, 256),
            "repos": [repo],
        },
        engine,
        name=name,
        quant=checkpoint.quant_method,
        drafting=drafting,
        hardware=hardware,
        developer=developer,
        engine_licence=("Apache-2.0", _VLLM_LICENCE),
        limits=["Text only.", "The first start compiles kernels and takes minutes."],
    )


def _text(
    facts: RepoFacts,
    model: dict[str, Any],
    engine: dict[str, Any],
    *,
    name: str,
    quant: str | None,
    drafting: bool,
    hardware: str,
    developer: str,
    engine_licence: tuple[str, str],
    limits: list[str],
) -> str:
    import yaml

    title = _model_name(facts.repo)
    head = " It drafts with its own multi-token prediction head." if drafting else ""
    quantised = "{{ name }} as {{ quant }}" if quant else "{{ name }}"
    spec = {
        "app": app_name(name),
        "version": "1.0.0",
        "title": _title(title),
        "alias": re.sub(r"[^a-z0-9._-]", "-", title.lower().replace(" ", "-")),
        "text": {
            "summary": f"{quantised} with {{{{ ctx_k }}}} tokens of context.{head}",
            "limits": limits,
        },
        "developer": developer,
        "licenses": {
            "model": {
                "text": facts.licence or "see the model's page",
                "url": f"{_MODEL_PAGE}/{facts.repo}",
            },
            "engine": {"text": engine_licence[0], "url": engine_licence[1]},
        },
        "model": {"name": title, **model},
        "engine": engine,
        "hardware": hardware,
    }
    text: str = yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)
    return _HEADER.format(repo=facts.repo) + text


def _gigabytes(size: int) -> float:
    return round(size / 10**9, 1 if size >= 10**9 else 3) or 0.001


def _model_name(repo: str) -> str:
    name = re.sub(r"[-_.]gguf$", "", repo.partition("/")[2], flags=re.IGNORECASE)
    return re.sub(r"[-_]+", " ", name).strip() or name


def _title(model: str) -> str:
    words = model.split()
    while len(words) > 1 and len(" ".join(words).encode()) > _TITLE_BYTES:
        words.pop()
    return " ".join(words).encode()[:_TITLE_BYTES].decode(errors="ignore").strip()


def set_apart(text: str, titles: Iterable[str], aliases: Iterable[str]) -> str:
    """Return a drafted spec with a title and an alias that none of these apps has.

    Two specs of one model, for two quantisations, differ by a number.
    """
    for field, taken, most, join in (
        ("title", titles, _TITLE_BYTES, " "),
        ("alias", aliases, _ALIAS_CHARACTERS, "-"),
    ):
        known = {name.strip().casefold() for name in taken}
        line = re.search(rf"^{field}: (.*)$", text, re.MULTILINE)
        stated = _plain(line[1]) if line else ""
        if line is None or stated.casefold() not in known:
            continue
        number = next(
            n for n in count(2) if _numbered(stated, n, most, join).casefold() not in known
        )
        own = _numbered(stated, number, most, join)
        text = text.replace(line[0], f"{field}: {json.dumps(own, ensure_ascii=False)}", 1)
    return text


def _plain(written: str) -> str:
    import yaml

    return str(yaml.safe_load(written))


def _numbered(name: str, number: int, most: int, join: str) -> str:
    ending = f"{join}{number}"
    room = most - len(ending)
    return name.encode()[:room].decode(errors="ignore").rstrip(" -._") + ending
