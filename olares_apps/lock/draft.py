"""A first spec for a chosen model file: complete, plain, and meant to be edited."""

import re
from typing import Any, Final

from olares_apps.fit.gguf_shards import shard_names
from olares_apps.lock.choose import Choice, quant_of
from olares_apps.lock.hub import RepoFacts

__all__ = ["app_name", "draft_spec"]

_MODEL_PAGE: Final = "https://huggingface.co"
_ENGINE_LICENCE: Final = "https://github.com/ggml-org/llama.cpp/blob/master/LICENSE"
_HEADER: Final = (
    "# Written by `olapps new` from {repo}: texts are a start, settings were computed.\n\n"
)
_TITLE_BYTES: Final = 30
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
    import yaml

    model = _model_name(facts.repo)
    licence = facts.licence
    size = sum(facts.files[part][0] for part in shard_names(choice.file))
    request, drafting = choice.request, choice.mtp.is_usable
    file: dict[str, Any] = {"repo": facts.repo, "file": choice.file}
    if quant := quant_of(choice.file):
        file["quant"] = quant
    file["size_gb"] = round(size / 10**9, 1 if size >= 10**9 else 3) or 0.001
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
    head = " It drafts with its own multi-token prediction head." if drafting else ""
    quantised = "{{ name }} as {{ quant }}" if quant else "{{ name }}"
    spec = {
        "app": app_name(name),
        "version": "1.0.0",
        "title": _title(model),
        "alias": re.sub(r"[^a-z0-9._-]", "-", model.lower().replace(" ", "-")),
        "text": {
            "summary": f"{quantised} with {{{{ ctx_k }}}} tokens of context.{head}",
            "limits": ["Text only.", "One request at a time; further ones wait."],
        },
        "developer": developer,
        "licenses": {
            "model": {
                "text": licence or "see the model's page",
                "url": f"{_MODEL_PAGE}/{facts.repo}",
            },
            "engine": {"text": "MIT", "url": _ENGINE_LICENCE},
        },
        "model": {
            "name": model,
            "kind": choice.facts.arch + (" + MTP" if drafting else ""),
            "native_ctx": max(choice.facts.context_length, 256),
            "files": [file],
        },
        "engine": engine,
        "hardware": hardware,
    }
    text: str = yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)
    return _HEADER.format(repo=facts.repo) + text


def _model_name(repo: str) -> str:
    name = re.sub(r"[-_.]gguf$", "", repo.partition("/")[2], flags=re.IGNORECASE)
    return re.sub(r"[-_]+", " ", name).strip() or name


def _title(model: str) -> str:
    words = model.split()
    while len(words) > 1 and len(" ".join(words).encode()) > _TITLE_BYTES:
        words.pop()
    return " ".join(words).encode()[:_TITLE_BYTES].decode(errors="ignore").strip()
