"""vLLM: typed settings become the argument list of ``vllm serve``."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from olares_apps.engines.arguments import Arguments, json_text
from olares_apps.engines.base import (
    MODEL_FOLDER,
    Engine,
    EngineFetch,
    Launch,
    ServerProbe,
    StoredFile,
    load_seconds,
)
from olares_apps.engines.flags.tables import TableMatch, find_table
from olares_apps.engines.vllm_settings import OPTIONS, VllmSettings, VllmSpeculative
from olares_apps.errors import RenderError
from olares_apps.spec.models import AppSpec, ModelRepo
from olares_apps.spec.quantity import parse_quantity, plain_number

__all__ = ["ENGINE", "Vllm"]

# Where the hub's client keeps its token and caches; on the volume, so that a restart finds them.
_HUB_FOLDER: Final = f"{MODEL_FOLDER}/huggingface"
_MIB: Final = 2**20
_GB: Final = 10**9
# Compilation and the capture of CUDA graphs before the first answer; the installation of Python
# packages. Seconds, generous: a start that fails ends by itself.
_COMPILE_SECONDS: Final = 900
_INSTALL_SECONDS: Final = 600
# ConfigMap keys for the values that people look for.
_KEYS: Final = {
    "max_model_len": "MAX_MODEL_LEN",
    "gpu_memory_utilization": "GPU_MEMORY_UTILIZATION",
}
# Methods that draft without a model of their own.
_OWN_DRAFTS: Final = frozenset(("mtp", "ngram", "ngram_gpu", "suffix", "extract_hidden_states"))


class Vllm(Engine[VllmSettings]):
    """The engine object: registered under the entry point ``vllm``."""

    name = "vllm"
    settings = VllmSettings

    def launch(self, spec: AppSpec[VllmSettings], files: Sequence[StoredFile]) -> Launch:
        """Return the server's argument list, in an order that never changes by itself.

        Raises RenderError when model, files and settings do not go together, or when the
        version has no word for a setting.
        """
        settings = spec.engine
        target = _source(spec, files, "target")
        if target is None:
            raise RenderError(
                "vllm needs a model",
                field="model",
                hint="name its repository in model.repos, or its files in model.files",
            )
        drafter = _source(spec, files, "drafter")
        line = Arguments()
        if "-m" in settings.command:  # the module takes no positional model in every version
            line.add("--model", target.name, key="MODEL_NAME")
        else:
            line.word(target.name, key="MODEL_NAME")
        if target.revision:
            line.add("--revision", target.revision)
        line.add("--served-model-name", spec.alias, key="MODEL_ALIAS")
        line.add("--host", "0.0.0.0")  # noqa: S104  the container's own network
        line.add("--port", str(settings.port))
        for name in OPTIONS:
            _option(line, name, getattr(settings, name))
        if settings.tool_call_parser:
            line.argv.append("--enable-auto-tool-choice")
            line.add("--tool-call-parser", settings.tool_call_parser)
        if settings.chat_template_file:
            line.file("--chat-template", settings.chat_template_file)
        _speculative(line, settings, drafter)
        fetch = _fetch(spec)
        if fetch:
            line.add("--download-dir", settings.download_dir)
        line.argv.extend(settings.extra_args)
        loaded = [item.about for item in files] + [_bytes(item) for item in spec.model.repos]
        waiting = load_seconds(loaded) + _COMPILE_SECONDS
        return Launch(
            command=_command(settings),
            argv=line.argv,
            probe=ServerProbe(
                "/health", waiting + (_INSTALL_SECONDS if settings.pip_packages else 0)
            ),
            config=line.config,
            refers=line.refers,
            env={"VLLM_NO_USAGE_STATS": "1"},
            assets=line.assets,
            shm_mib=-(-parse_quantity(settings.shm) // _MIB),
            fetch=fetch,
            gpu_share=settings.gpu_memory_utilization,
        )

    def facts(self, spec: AppSpec[VllmSettings]) -> Mapping[str, object]:
        """Return the facts of this engine that texts may name."""
        settings, drafts = spec.engine, spec.engine.speculative
        return {
            "kv": settings.kv_cache_dtype or "auto",
            "parallel": settings.max_num_seqs,
            "batch": settings.max_num_batched_tokens,
            "quantization": settings.quantization,
            "gpu_share": round(settings.gpu_memory_utilization * 100),
            "build": _match(settings).build or "",
            "draft_method": _method(_match(settings), drafts.method) if drafts else "",
            "draft_n": drafts.num_speculative_tokens if drafts else 0,
        }


ENGINE = Vllm()


@dataclass(frozen=True, slots=True)
class _Source:
    """A model as the server is told of it: a repository or a place; ``revision`` if pinned."""

    name: str
    revision: str | None = None


def _source(spec: AppSpec[VllmSettings], files: Sequence[StoredFile], role: str) -> _Source | None:
    """Return the one model of a role; raises RenderError when there are several."""
    repos = list(spec.repos(role))
    stored = [item for item in files if item.role == role]
    places = {_place(item) for item in stored}
    if len(repos) + len(places) > 1:
        named = [item.repo for item in repos] + sorted(places)
        raise RenderError(
            f"vllm takes one model of role {role}, found {len(named)}: {', '.join(named)}",
            field="model",
            hint="give what belongs to no model the role extra",
        )
    if repos:
        revision = repos[0].revision
        return _Source(repos[0].repo, None if revision == "main" else revision)
    return _Source(places.pop()) if places else None


def _place(item: StoredFile) -> str:
    """Return what the server is pointed at: a GGUF itself, else the folder of its repository."""
    return item.path if item.path.endswith(".gguf") else f"{MODEL_FOLDER}/{item.folder}"


def _bytes(item: ModelRepo) -> int | None:
    return None if item.size_gb is None else round(item.size_gb * _GB)


def _fetch(spec: AppSpec[VllmSettings]) -> EngineFetch | None:
    if not spec.model.repos:
        return None
    folder = spec.engine.download_dir
    if not PurePosixPath(folder).is_relative_to(MODEL_FOLDER):
        raise RenderError(
            f"engine.download_dir {folder} is not below {MODEL_FOLDER}: the model would fill the "
            "container's own disk and be lost at every restart",
            hint=f"write {_HUB_FOLDER}",
        )
    sizes = [_bytes(item) for item in spec.model.repos]
    known = [size for size in sizes if size is not None]
    return EngineFetch(
        size=sum(known) if len(known) == len(sizes) else None, env={"HF_HOME": _HUB_FOLDER}
    )


def _command(settings: VllmSettings) -> list[str]:
    """Return the container's command: plain, or a shell that installs packages first."""
    if not settings.pip_packages:
        return list(settings.command)
    if not settings.command:
        raise RenderError(
            "engine.pip_packages needs engine.command: what the image would start is not known",
            hint="write command: [vllm, serve]",
        )
    packages = " ".join(map(shlex.quote, settings.pip_packages))
    script = f'pip install --quiet {packages} && exec {shlex.join(settings.command)} "$@"'
    # The word after the script is the shell's own name; "$@" begins with the next one.
    return ["sh", "-c", script, "--"]


def _option(line: Arguments, name: str, value: Any) -> None:
    """Append an option whose field has its name, in the form of the value's type."""
    flag = f"--{name.replace('_', '-')}"
    if value is None or value == {}:
        return
    if isinstance(value, bool):
        line.switch(flag, f"--no-{flag[2:]}", value)
    elif isinstance(value, dict):
        line.add(flag, json_text(value))
    else:
        text = plain_number(value) if isinstance(value, float) else str(value)
        line.add(flag, text, key=_KEYS.get(name))


def _match(settings: VllmSettings) -> TableMatch:
    return find_table("vllm", settings.build_name)


def _method(match: TableMatch, name: str) -> str:
    """Return a speculative method as the version calls it.

    Versions before 0.11 know multi-token prediction by the name of the first model that had
    it, later ones take such names for aliases of ``mtp``. Raises RenderError when the version
    does not have the method.
    """
    shape = match.table.shapes.get("SpeculativeConfig") if match.table else None
    key = shape.keys.get("method") if shape else None
    if key is None:
        return name
    found = key.deprecated.get(name, name)
    if found in key.values or not match.exact:
        return found
    specific = [item for item in key.values if item.endswith("_mtp")]
    if len(specific) == 1 and (found == "mtp" or found.endswith("_mtp")):
        return specific[0]
    raise RenderError(
        f"engine.speculative.method {name} does not exist in vLLM {match.build} "
        f"(it has {', '.join(key.values)})",
        hint="choose another method or an image of another version",
    )


def _speculative(line: Arguments, settings: VllmSettings, drafter: _Source | None) -> None:
    wanted = settings.speculative
    if wanted is None:
        if drafter:
            raise RenderError(
                f"the model has the drafter {drafter.name}, but engine.speculative is not set: "
                "the server would never draft with it",
                field="model",
                hint="set engine.speculative or remove the drafter",
            )
        return
    method = _method(_match(settings), wanted.method)
    if drafter is None and method not in _OWN_DRAFTS and not method.endswith("_mtp"):
        raise RenderError(
            f"engine.speculative.method {method} needs a draft model",
            hint="name it in model.repos with the role drafter",
        )
    line.add("--speculative-config", _config(wanted, method, drafter), key="SPEC_CONFIG")


def _config(wanted: VllmSpeculative, method: str, drafter: _Source | None) -> str:
    keys = wanted.model_dump(exclude_none=True, exclude={"method", "options"})
    clash = sorted(
        wanted.options.keys() & {"method", "model", "revision", *type(wanted).model_fields}
    )
    if clash:
        raise RenderError(
            f"engine.speculative.options.{clash[0]} has a place of its own",
            hint=f"set engine.speculative.{clash[0]}, or the drafter's repository in model.repos",
        )
    if drafter:
        keys["model"] = drafter.name
        if drafter.revision:
            keys["revision"] = drafter.revision
    return json_text({"method": method, **keys, **wanted.options})
