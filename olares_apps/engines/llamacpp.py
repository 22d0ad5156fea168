"""llama.cpp's server: typed settings become its argument list."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, StrictStr

from olares_apps.engines.arguments import Arguments
from olares_apps.engines.base import Engine, Launch, ServerProbe, StoredFile, load_seconds
from olares_apps.engines.llamacpp_flavours import binary_of, build_of, flavour_of
from olares_apps.engines.llamacpp_spelling import Spelling, spelling_of
from olares_apps.errors import RenderError
from olares_apps.spec.models import AppSpec, Closed, EngineSettings
from olares_apps.spec.quantity import plain_number
from olares_apps.spec.types import Folder, JsonObject, ModelPath

__all__ = ["ENGINE", "KvTypes", "LlamaCpp", "LlamaCppSettings", "Sampling", "Speculative"]

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
    n_max: Annotated[int, Field(ge=1, le=64)] | None = None
    """Most tokens drafted per step; by default the build's choice."""
    n_min: Annotated[int, Field(ge=0, le=64)] | None = None
    """Fewest tokens worth drafting."""
    kv: KvTypes | None = None
    """Types of the draft's own KV cache; by default the build's choice."""
    gpu_layers: Annotated[int, Field(ge=0, le=9999)] | None = None
    """Layers of a drafter on the GPU."""
    ctx: Annotated[int, Field(ge=1, le=2**26)] | None = None
    """Context of a drafter in tokens, for builds that let it differ from the target's."""
    block: Annotated[int, Field(ge=1, le=64)] | None = None
    """Tokens that a head drafts in one block, for builds of the flavour atomic."""
    cross_ctx: Annotated[int, Field(ge=1, le=2**20)] | None = None
    """Tokens of the target that a DFlash drafter looks at, for builds of the flavour beellama."""


class Sampling(Closed):
    """Default sampler of the server."""

    temp: Annotated[float, Field(ge=0, le=5)] | None = None
    """Temperature."""
    top_k: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
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
    flavour: Literal["mainline", "buun", "beellama", "atomic"] | None = None
    """Main line or fork that the image was built from; by default told by the image."""
    binary: Annotated[str, Field(pattern=r"^/?[\w./-]+$")] | None = None
    """Server binary inside the image; by default where images of its flavour have it."""
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
    chat_template_args: JsonObject = Field(default_factory=dict)
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
    cache_ram: Annotated[int, Field(ge=-1, le=2**22)] | None = None
    """Host memory of the prompt cache in MiB; -1 is unlimited, 0 turns it off."""
    ctx_checkpoints: Annotated[int, Field(ge=0, le=65536)] | None = None
    """Context checkpoints per slot kept in host memory."""
    load_mode: Literal["mmap", "no-mmap", "mlock", "no-mmap-mlock"] | None = None
    """How the file is loaded; the build decides the spelling of the flag."""
    op_offload: bool | None = None
    """Offload host tensor operations to the GPU."""
    mmproj_gpu_swap: bool = False
    """Keep the projector in host memory between images, for builds of buun and beellama."""
    kv_tail_tokens: Annotated[int, Field(ge=0, le=2**26)] | None = None
    """Newest tokens of a quantised KV cache kept exact, for builds of the flavour beellama."""
    slot_save_path: Folder | None = None
    """Folder of the container for saved slots; it begins empty and holds nothing else."""

    @property
    def context_tokens(self) -> int:
        """Return the configured context in tokens."""
        return self.ctx

    @property
    def build_name(self) -> str:
        """Return the name to look the flag table up by."""
        return build_of(self.build, self.image, self.flavour)

    @classmethod
    def reserved_arguments(cls) -> Mapping[str, str]:
        """Return the flags, all aliases included, that a field or the chart itself sets.

        The values say what to set instead, as a dotted path of the spec where there is one.
        """
        return {flag: field for field, flags in _OWNED.items() for flag in flags.split()}


# Field of the spec -> the flags it owns, with every alias of b9254 and b11434.
_OWNED: Final = {
    "model.files": "-m --model -mm --mmproj -md --model-draft --spec-draft-model --mtp-head",
    "alias": "-a --alias",
    "the chart": "--host",
    "engine.port": "--port",
    "engine.ctx": "-c --ctx-size",
    "engine.kv.k": "-ctk --cache-type-k",
    "engine.kv.v": "-ctv --cache-type-v",
    "engine.batch": "-b --batch-size",
    "engine.ubatch": "-ub --ubatch-size",
    "engine.parallel": "-np --parallel",
    "engine.flash_attn": "-fa --flash-attn",
    "engine.jinja": "--jinja --no-jinja",
    "engine.gpu_layers": "-ngl --gpu-layers --n-gpu-layers",
    "engine.threads": "-t --threads",
    "engine.speculative.method": "--spec-type",
    "engine.speculative.n_max": (
        "--spec-draft-n-max --spec-ngram-mod-n-max --spec-ngram-simple-size-m"
    ),
    "engine.speculative.n_min": "--spec-draft-n-min --spec-ngram-mod-n-min",
    "engine.speculative.kv.k": "-ctkd --cache-type-k-draft --spec-draft-type-k",
    "engine.speculative.kv.v": "-ctvd --cache-type-v-draft --spec-draft-type-v",
    "engine.speculative.gpu_layers": (
        "-ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl"
    ),
    "engine.speculative.ctx": "-cd --ctx-size-draft --spec-draft-ctx-size",
    "engine.speculative.block": "--draft-block-size",
    "engine.speculative.cross_ctx": "--spec-dflash-cross-ctx",
    "engine.chat_template_args": "--chat-template-kwargs",
    "engine.chat_template_file": "--chat-template-file",
    "engine.reasoning": "-rea --reasoning",
    "engine.sampling.temp": "--temp --temperature",
    "engine.sampling.top_k": "--top-k",
    "engine.sampling.top_p": "--top-p",
    "engine.sampling.min_p": "--min-p",
    "engine.sampling.presence_penalty": "--presence-penalty",
    "engine.kv_unified": "-kvu --kv-unified -no-kvu --no-kv-unified",
    "engine.swa_full": "--swa-full",
    "engine.context_shift": "--context-shift --no-context-shift",
    "engine.cache_ram": "-cram --cache-ram",
    "engine.ctx_checkpoints": "-ctxcp --ctx-checkpoints --swa-checkpoints",
    "engine.load_mode": "-lm --load-mode --mmap --no-mmap --mlock",
    "engine.op_offload": "--op-offload --no-op-offload",
    "engine.slot_save_path": "--slot-save-path",
    "engine.mmproj_gpu_swap": "--mmproj-gpu-swap",
    "engine.kv_tail_tokens": "--kv-tail-tokens",
}
# Draft settings that only some builds have.
_OWN_FLAGS: Final = {
    "ctx": "--ctx-size-draft",
    "block": "--draft-block-size",
    "cross_ctx": "--spec-dflash-cross-ctx",
}
_VARIABLES: Final = "LLAMA_ARG_"
_NEEDS_DRAFTER: Final = ("draft", "eagle3", "dflash")


class LlamaCpp(Engine[LlamaCppSettings]):
    """The engine object: registered under the entry point ``llamacpp``."""

    name = "llamacpp"
    settings = LlamaCppSettings

    def launch(self, spec: AppSpec[LlamaCppSettings], files: Sequence[StoredFile]) -> Launch:
        """Return the server's argument list, in an order that never changes by itself.

        Raises RenderError when files and settings do not go together, or when the build has no
        spelling for a setting.
        """
        settings = spec.engine
        target, mmproj, drafter = (_only(files, role) for role in ("target", "mmproj", "drafter"))
        if target is None:
            raise RenderError(
                "llamacpp needs a model file",
                field="model.files",
                hint="add one with role target to model.files",
            )
        self._refuse_variables(spec)
        flavour = flavour_of(settings.build_name, settings.flavour)
        spelling = spelling_of(settings.build_name)
        line = Arguments()
        line.add("--model", target.path)
        line.add("--alias", spec.alias, key="MODEL_ALIAS")
        line.add("--host", "0.0.0.0")  # noqa: S104  the container's own network
        line.add("--port", str(settings.port))
        line.add("--ctx-size", str(settings.ctx), key="CTX_SIZE")
        line.add("--cache-type-k", settings.kv.k)
        line.add("--cache-type-v", settings.kv.v)
        line.add("--batch-size", str(settings.batch))
        line.add("--ubatch-size", str(settings.ubatch))
        line.add("--parallel", str(settings.parallel))
        line.add("--flash-attn", settings.flash_attn)
        line.switch("--jinja", "--no-jinja", settings.jinja)
        line.add("--n-gpu-layers", str(settings.gpu_layers))
        line.add("--threads", str(settings.threads), key="THREADS")
        _speculative(line, settings.speculative, drafter, spelling)
        if settings.chat_template_args:
            text = json.dumps(settings.chat_template_args, ensure_ascii=False, sort_keys=True)
            line.add("--chat-template-kwargs", text)
        if settings.chat_template_file:
            line.file("--chat-template-file", settings.chat_template_file)
        if settings.reasoning:
            line.add("--reasoning", settings.reasoning)
        if mmproj:
            line.add("--mmproj", mmproj.path)
        if settings.mmproj_gpu_swap:
            line.argv.append(spelling.own("engine.mmproj_gpu_swap", "--mmproj-gpu-swap"))
        if settings.kv_tail_tokens is not None:
            flag = spelling.own("engine.kv_tail_tokens", "--kv-tail-tokens")
            line.add(flag, str(settings.kv_tail_tokens))
        for name, number in settings.sampling:
            if number is not None:
                line.add("--" + name.replace("_", "-"), plain_number(number))
        line.switch("--kv-unified", "--no-kv-unified", settings.kv_unified)
        line.switch("--swa-full", None, settings.swa_full)
        line.switch("--context-shift", "--no-context-shift", settings.context_shift)
        if settings.cache_ram is not None:
            line.add("--cache-ram", str(settings.cache_ram))
        if settings.ctx_checkpoints is not None:
            line.add("--ctx-checkpoints", str(settings.ctx_checkpoints))
        if settings.load_mode:
            line.argv.extend(spelling.load_mode(settings.load_mode))
        line.switch("--op-offload", "--no-op-offload", settings.op_offload)
        if settings.slot_save_path:
            line.add("--slot-save-path", settings.slot_save_path)
        line.argv.extend(settings.extra_args)
        return Launch(
            command=[settings.binary or binary_of(flavour, settings.build_name)],
            argv=line.argv,
            probe=ServerProbe("/health", load_seconds([item.about for item in files])),
            config={"MODEL_REPO": target.repo, "MODEL_FILE": target.remote} | line.config,
            refers=line.refers,
            scratch=[settings.slot_save_path] if settings.slot_save_path else [],
            assets=line.assets,
            gpu=settings.gpu_layers > 0,
        )

    def _refuse_variables(self, spec: AppSpec[LlamaCppSettings]) -> None:
        """Raise RenderError for a variable that sets what a field of the spec sets.

        The server takes it where the flag is not given, and the memory model knows fields only.
        """
        settings = spec.engine
        named = [*settings.env, *spec.settings]
        variables = [name for name in named if name.startswith(_VARIABLES)]
        match = self.flag_table(settings) if variables else None
        owned = settings.reserved_arguments()
        for name in variables:
            flag = match.table.by_env(name) if match and match.table else None
            field = next((owned[item] for item in flag.names if item in owned), "") if flag else ""
            setting = spec.settings.get(name)
            if not field or (setting and setting.field == field):
                continue
            place = "settings" if setting else "engine.env"
            hint = f"write field: {field}" if setting else f"set {field}"
            raise RenderError(f"sets what {field} sets", field=f"{place}.{name}", hint=hint)

    def facts(self, spec: AppSpec[LlamaCppSettings]) -> Mapping[str, object]:
        """Return the facts of this engine that texts may name."""
        settings = spec.engine
        kv = settings.kv
        return {
            "kv": kv.k if kv.k == kv.v else f"{kv.k}/{kv.v}",
            "kv_k": kv.k,
            "kv_v": kv.v,
            "parallel": settings.parallel,
            "batch": settings.batch,
            "ubatch": settings.ubatch,
            "threads": settings.threads,
            "build": spelling_of(settings.build_name).build,
            "flavour": flavour_of(settings.build_name, settings.flavour).name,
            "draft_method": settings.speculative.method if settings.speculative else "",
            "draft_n": (settings.speculative.n_max or 0) if settings.speculative else 0,
        }


ENGINE = LlamaCpp()


def _only(files: Sequence[StoredFile], role: str) -> StoredFile | None:
    """Return the one file of a role; of a split file the first part, which is the one to name."""
    found = [item for item in files if item.role == role]
    names = {(item.repo, item.remote) for item in found if item.about != 0}
    if len(names) > 1:
        raise RenderError(
            f"llamacpp takes one model file of role {role}, found {len(names)}",
            field="model.files",
            hint="give further files the role extra",
        )
    return found[0] if found else None


def _speculative(
    line: Arguments, settings: Speculative | None, drafter: StoredFile | None, spelling: Spelling
) -> None:
    if settings is None:
        if drafter:
            raise RenderError(
                f"model.files has the drafter {drafter.remote}, but engine.speculative is not set: "
                "the server would never draft with it",
                hint="set engine.speculative or remove the file",
            )
        return
    method = settings.method
    if method in _NEEDS_DRAFTER and drafter is None:
        raise RenderError(
            f"engine.speculative.method {method} needs a model file of role drafter",
            hint="add it to model.files",
        )
    kind = spelling.method(method)
    if kind:
        line.add("--spec-type", kind)
    if settings.n_max is not None:
        flag = spelling.draft_length(method, "n_max")
        line.add(flag, str(settings.n_max), key="SPEC_DRAFT_N_MAX")
    if settings.n_min is not None:
        line.add(spelling.draft_length(method, "n_min"), str(settings.n_min))
    if drafter:
        line.add(spelling.drafter(method), drafter.path)
    for name, flag in _OWN_FLAGS.items():
        number = getattr(settings, name)
        if number is not None:
            line.add(spelling.own(f"engine.speculative.{name}", flag), str(number))
    if settings.gpu_layers is not None:
        line.add("--n-gpu-layers-draft", str(settings.gpu_layers))
    if settings.kv:
        line.add("--cache-type-k-draft", settings.kv.k)
        line.add("--cache-type-v-draft", settings.kv.v)
