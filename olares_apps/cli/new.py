"""`olapps new`: a spec and its lock from a model repository."""

import re
from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

__all__ = ["DEFAULT_IMAGE", "command"]

DEFAULT_IMAGE = "ghcr.io/ggml-org/llama.cpp:server-cuda13-b11434"
"""Image of the newest build whose options and memory are known."""

_LARGEST = 2**26


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
    type=click.Choice(["f16", "q8_0", "q5_1", "q4_0"]),
    default="q8_0",
    show_default=True,
    help="Type of the KV cache.",
)
@click.option("--image", default=DEFAULT_IMAGE, show_default=True, help="Image of the server.")
@click.option("--offline", is_flag=True, help="Use the cache only, never the network.")
@root_option
@output_option()
def command(
    name: str,
    source: str,
    hardware: str,
    ctx: int | None,
    kv: str,
    image: str,
    offline: bool,
    root: Path | None,
    output: str,
) -> int:
    """Write the spec NAME and its lock for a model repository.

    Picks the largest quantisation that fits the device with the wanted context, and turns on
    multi-token prediction when file and build have it.
    """
    from pathlib import PurePath

    from olares_apps.cli.lock import open_gatherer
    from olares_apps.cli.stores import workspace_root
    from olares_apps.cli.workbench import all_facts
    from olares_apps.engines.registry import spec_model
    from olares_apps.errors import UsageError
    from olares_apps.fit.memory_request import MemoryRequest
    from olares_apps.fit.sweep import Device
    from olares_apps.hardware import load_profile
    from olares_apps.lock.choose import choose_file
    from olares_apps.lock.draft import draft_spec
    from olares_apps.lock.file import write_lock
    from olares_apps.lock.gather import update_locks
    from olares_apps.lock.image_name import parse_image
    from olares_apps.lock.need import behaviour_named
    from olares_apps.render.assemble import DOWNLOAD_IMAGE
    from olares_apps.spec.loader import load_spec
    from olares_apps.spec.workspace import load_config

    repo, revision = _repository(source)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise UsageError(f"'{name}' is no spec name: only a-z, 0-9 and hyphens")
    parse_image(image)
    device = Device(load_profile(hardware))
    top = workspace_root(root)
    config = load_config(top)
    path = PurePath(config.workspace.specs) / f"{name}.yaml"
    if (top / path).exists():
        raise UsageError(f"{path} exists already", hint="choose another name, or edit it")
    request = MemoryRequest(ctx=ctx or 0, kv_k=kv, kv_v=kv, parallel=1)
    with open_gatherer(offline=offline) as gatherer:
        facts = gatherer.hub.repo(repo, revision)
        choice = choose_file(
            facts.ggufs(),
            lambda file: gatherer.hub.gguf(facts, file),
            request,
            behaviour_named(image),
            device,
        )
        developer = str(config.publisher.values()["name"])
        text = draft_spec(
            name,
            facts,
            choice,
            revision=revision,
            image=image,
            hardware=hardware,
            developer=developer,
        )
        loaded = load_spec(text, path=path, model=spec_model(), facts=all_facts)
        (update,) = update_locks([(loaded.spec, None, [image, DOWNLOAD_IMAGE])], gatherer)
    with (top / path).open("x", encoding="utf-8") as file:
        file.write(text)
    write_lock(top / path, update.lock)
    ranked = [row.name for row in choice.rows]
    skipped = ranked[: ranked.index(choice.file)]
    if output == "json":
        out.print_json(
            {
                "name": name,
                "app": loaded.spec.app,
                "file": str(path),
                "model_file": choice.file,
                "verdict": choice.verdict.message,
                "mtp": choice.mtp.state.value,
                "too_large": skipped,
                "faults": [fault.error.message for fault in update.faults],
            }
        )
    else:
        click.echo(f"{path}: {loaded.spec.title} ({loaded.spec.app})")
        click.echo(f"file     {choice.file}: the largest that fits")
        click.echo(f"memory   {choice.verdict.message}")
        for row in choice.rows:
            click.echo(f"  {row.size / 10**9:7.1f} GB  {row.verdict.state:<13}  {row.name}")
        why = "; ".join(choice.mtp.reasons)
        click.echo(f"MTP      {'on' if choice.mtp.is_usable else f'off: {why}'}")
    for fault in update.faults:
        out.note(f"warning: {fault.error.message} ({fault.error.hint})")
    return 0


def _repository(source: str) -> tuple[str, str]:
    from olares_apps.errors import UsageError

    found = re.fullmatch(
        r"(?:hf:|https://huggingface\.co/)?([\w.-]+/[\w.-]+?)/?(?:@([\w./-]+))?", source
    )
    if not found:
        raise UsageError(f"--from {source} is no model repository", hint="write hf:OWNER/REPO")
    return found[1], found[2] or "main"
