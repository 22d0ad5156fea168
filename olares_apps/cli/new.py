"""`olapps new`: a spec and its lock from a model repository."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

if TYPE_CHECKING:
    from olares_apps.errors import FetchError, SpecError
    from olares_apps.fit.mtp import MtpResult
    from olares_apps.fit.sweep import Device
    from olares_apps.lock.gather import Gatherer
    from olares_apps.lock.hub import RepoFacts

__all__ = ["DEFAULT_IMAGE", "DEFAULT_VLLM_IMAGE", "command"]

DEFAULT_IMAGE = "ghcr.io/ggml-org/llama.cpp:server-cuda13-b11434"
"""Image of the newest build whose options and memory are known."""
DEFAULT_VLLM_IMAGE = "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404"
"""Image for checkpoints of safetensors files: one that is known to run on the device."""

_LARGEST = 2**26
_GIB = 2**30
_VLLM_KV = ("auto", "fp8")


@click.command()
@click.argument("name")
@click.option(
    "--from",
    "source",
    envvar="OLAPPS_NEW_FROM",
    required=True,
    metavar="hf:OWNER/REPO[@REVISION]",
    help="Model repository.",
)
@click.option(
    "--hardware", default="olares-one", show_default=True, metavar="PROFILE", help="Device."
)
@click.option(
    "--ctx",
    type=click.IntRange(256, _LARGEST),
    metavar="N",
    help="Wanted context in tokens; by default what the model was trained for.",
)
@click.option(
    "--kv",
    type=click.Choice(["f16", "q8_0", "q5_1", "q4_0", "auto", "fp8"]),
    help="Type of the KV cache; by default q8_0, for vLLM auto.",
)
@click.option("--image", help="Image of the server; by default one of a known build.")
@click.option("--offline", is_flag=True, help="Use the cache only, never the network.")
@root_option
@output_option()
def command(
    name: str,
    source: str,
    hardware: str,
    ctx: int | None,
    kv: str | None,
    image: str | None,
    offline: bool,
    root: Path | None,
    output: str,
) -> int:
    """Write the spec NAME and its lock for a model repository.

    Of GGUF files, picks the largest quantisation that fits the device with the wanted context;
    a repository of safetensors files becomes a vLLM app with the largest context that fits.
    Turns on multi-token prediction when file and build have it.
    """
    from pathlib import PurePath

    from olares_apps.cli.lock import open_gatherer
    from olares_apps.cli.lock_images import added_images
    from olares_apps.cli.stores import workspace_root
    from olares_apps.cli.workbench import all_facts
    from olares_apps.engines.registry import spec_model
    from olares_apps.errors import SpecError, UsageError
    from olares_apps.fit.sweep import Device
    from olares_apps.fit.verdict import MIB, Thresholds
    from olares_apps.hardware import load_profile
    from olares_apps.lock.file import write_lock
    from olares_apps.lock.gather import update_locks
    from olares_apps.lock.image_name import parse_image
    from olares_apps.lock.wanted import wanted_images
    from olares_apps.spec.loader import load_spec
    from olares_apps.spec.workspace import load_config

    repo, revision = _repository(source)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise UsageError(f"'{name}' is no spec name: only a-z, 0-9 and hyphens")
    if image:
        parse_image(image)
    top = workspace_root(root)
    config = load_config(top)
    margins = config.fit
    thresholds = Thresholds(margins.error_below_mib * MIB, margins.warn_below_mib * MIB)
    wish = _Wish(
        name=name,
        revision=revision,
        device=Device(load_profile(hardware), thresholds),
        ctx=ctx,
        kv=kv,
        image=image,
        developer=str(config.publisher.values()["name"]),
    )
    path = PurePath(config.workspace.specs) / f"{name}.yaml"
    if (top / path).exists():
        raise UsageError(f"{path} exists already", hint="choose another name, or edit it")
    with open_gatherer(offline=offline) as gatherer:
        facts = gatherer.hub.repo(repo, revision)
        has_weights = any(
            file.endswith((".safetensors", ".safetensors.index.json")) for file in facts.files
        )
        make = _from_checkpoint if has_weights and not facts.ggufs() else _from_ggufs
        draft = make(wish, facts, gatherer)
        text = _set_apart(draft.text, top)
        try:
            loaded = load_spec(text, path=path, model=spec_model(), facts=all_facts)
        except SpecError as error:
            raise _no_spec(repo, error) from None
        images = wanted_images(loaded.spec, [], added_images(loaded.spec))
        (update,) = update_locks([(loaded.spec, None, images)], gatherer)
    with (top / path).open("x", encoding="utf-8") as file:
        file.write(text)
    write_lock(top / path, update.lock)
    if output == "json":
        faults = [fault.error.message for fault in update.faults]
        app = {"name": name, "app": loaded.spec.app, "file": str(path)}
        out.print_json({**app, **draft.data, "faults": faults})
    else:
        click.echo(f"{path}: {loaded.spec.title} ({loaded.spec.app})")
        for line in draft.lines:
            click.echo(line)
    for fault in update.faults:
        out.note(f"warning: {fault.error.message} ({fault.error.hint})")
    return 0


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the caller asked for; None leaves it to the tool."""

    name: str
    revision: str
    device: "Device"
    ctx: int | None
    kv: str | None
    image: str | None
    developer: str


@dataclass(frozen=True, slots=True)
class _Draft:
    """The text of a spec and its image, the choice as data, and the same in lines of text."""

    text: str
    image: str
    data: dict[str, Any]
    lines: list[str]


def _no_spec(repo: str, error: "SpecError") -> "FetchError":
    """Return why a repository gives no spec: the draft with its lines was never written."""
    from olares_apps.errors import FetchError

    said = "; ".join(
        f"{item.field}: {item.message}" if item.field else item.message for item in error.problems
    )
    return FetchError(
        f"what {repo} states makes no spec: {said}",
        hint="name another repository, or write the spec by hand: olapps schema has the fields",
    )


def _set_apart(text: str, top: Path) -> str:
    """Return a drafted spec under names that no other spec of the workspace has."""
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.errors import WorkspaceError
    from olares_apps.lock.draft import set_apart

    try:
        specs = open_workbench(top).workspace.specs.values()
    except WorkspaceError:  # the first spec of a workspace
        return text
    return set_apart(text, [item.spec.title for item in specs], [item.spec.alias for item in specs])


def _from_ggufs(wish: _Wish, facts: "RepoFacts", gatherer: "Gatherer") -> _Draft:
    from olares_apps.errors import UsageError
    from olares_apps.fit.memory_request import MemoryRequest
    from olares_apps.lock.choose import choose_file
    from olares_apps.lock.draft import draft_spec
    from olares_apps.lock.need import behaviour_named

    if wish.kv in _VLLM_KV:
        raise UsageError(f"--kv {wish.kv} is for vLLM", hint="write f16, q8_0, q5_1 or q4_0")
    kv, image = wish.kv or "q8_0", wish.image or DEFAULT_IMAGE
    choice = choose_file(
        facts.ggufs(),
        lambda file: gatherer.hub.gguf(facts, file),
        MemoryRequest(ctx=wish.ctx or 0, kv_k=kv, kv_v=kv, parallel=1),
        behaviour_named(image),
        wish.device,
    )
    text = draft_spec(
        wish.name,
        facts,
        choice,
        revision=wish.revision,
        image=image,
        hardware=wish.device.profile.name,
        developer=wish.developer,
    )
    ranked = [row.name for row in choice.rows]
    data = {
        "engine": "llamacpp",
        "model_file": choice.file,
        "verdict": choice.verdict.message,
        "mtp": choice.mtp.state.value,
        "too_large": ranked[: ranked.index(choice.file)],
    }
    lines = [
        f"file     {choice.file}: the largest that fits",
        f"memory   {choice.verdict.message}",
        *(f"  {row.size / 10**9:7.1f} GB  {row.state:<13}  {row.name}" for row in choice.rows),
        _about_head(choice.mtp),
    ]
    return _Draft(text, image, data, lines)


def _from_checkpoint(wish: _Wish, facts: "RepoFacts", gatherer: "Gatherer") -> _Draft:
    from olares_apps.errors import UsageError
    from olares_apps.lock.checkpoint import checkpoint_of
    from olares_apps.lock.choose import NothingFits
    from olares_apps.lock.choose_vllm import choose_vllm
    from olares_apps.lock.draft import draft_vllm_spec
    from olares_apps.lock.errors import HubFailed
    from olares_apps.lock.gather import plausible

    kv, image = wish.kv or "auto", wish.image or DEFAULT_VLLM_IMAGE
    if kv not in _VLLM_KV:
        raise UsageError(f"--kv {kv} is for llama.cpp", hint="write auto or fp8")
    with plausible(HubFailed, f"{gatherer.hub.endpoint} states about {facts.repo}"):
        checkpoint = checkpoint_of(gatherer.hub, facts)
    if checkpoint is None:
        raise NothingFits(
            "the repository has no model in its top folder",
            hint="name a repository of GGUF or safetensors files",
        )
    choice = choose_vllm(checkpoint, ctx=wish.ctx, kv_dtype=kv, device=wish.device)
    text = draft_vllm_spec(
        wish.name,
        facts,
        choice,
        revision=wish.revision,
        image=image,
        hardware=wish.device.profile.name,
        developer=wish.developer,
    )
    request, verdict = choice.request, choice.verdict
    memory = (
        f"weights {checkpoint.weight_bytes / _GIB:.1f} GiB, KV of one request "
        f"{verdict.kv_needed / _GIB:.1f} of at least {verdict.kv_available[0] / _GIB:.1f} GiB, "
        f"{request.gpu_memory_utilization:g} of the card"
    )
    data = {
        "engine": "vllm",
        "model_repo": facts.repo,
        "max_model_len": request.max_model_len,
        "quantization": checkpoint.quant_method,
        "verdict": memory,
        "mtp": choice.mtp.state.value,
    }
    trained = checkpoint.facts.trained_context if checkpoint.facts else 0
    which = "all it was trained for" if request.max_model_len == trained else "what surely fits"
    lines = [
        f"engine   vLLM: the repository has safetensors files ({checkpoint.quant_method or 'no'} "
        "quantisation)",
        f"context  {request.max_model_len}: {'as asked for' if wish.ctx else which}",
        f"memory   {memory}",
        *(f"         {warning}" for warning in verdict.warnings),
        _about_head(choice.mtp),
    ]
    return _Draft(text, image, data, lines)


def _about_head(mtp: "MtpResult") -> str:
    return f"MTP      {'on' if mtp.is_usable else 'off: ' + '; '.join(mtp.reasons)}"


def _repository(source: str) -> tuple[str, str]:
    from olares_apps.errors import UsageError

    found = re.fullmatch(
        r"(?:hf:|https://huggingface\.co/)?([\w.-]+/[\w.-]+?)/?(?:@([\w./-]+))?", source
    )
    if not found:
        shown = source.rpartition("@")[2]
        raise UsageError(f"--from {shown} is no model repository", hint="write hf:OWNER/REPO")
    return found[1], found[2] or "main"
