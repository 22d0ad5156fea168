"""`olapps fit`: how much GPU memory a spec takes, whether it fits, and what would."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import complete_names, output_option, root_option

if TYPE_CHECKING:
    from olares_apps.fit.gguf_facts import GgufFacts
    from olares_apps.fit.sweep import Device, LargestContext
    from olares_apps.lock.fit_report import FitReport
    from olares_apps.lock.model import Lock
    from olares_apps.spec.loader import LoadedSpec

__all__ = ["command"]

_GIB = 2**30
_MIB = 2**20
_BAR = 30
_LARGEST = 2**26


@click.command()
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--hardware", metavar="PROFILE", help="Hardware profile; by default that of the spec."
)
@click.option(
    "--ctx",
    "contexts",
    envvar="OLAPPS_FIT_CTX",
    metavar="N,N,...|auto",
    default="auto",
    show_default=True,
    help="Contexts of the sweep, in tokens.",
)
@click.option(
    "--gguf",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the header of this local file instead of the lock.",
)
@click.option(
    "--error-below",
    type=click.IntRange(min=0),
    metavar="MIB",
    help="Free GPU memory below which it does not fit; by default fit.error_below_mib.",
)
@click.option(
    "--warn-below",
    type=click.IntRange(min=0),
    metavar="MIB",
    help="Free GPU memory below which it is tight; by default fit.warn_below_mib.",
)
@click.option(
    "--svg",
    "picture",
    envvar="OLAPPS_FIT_SVG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the parts as a picture.",
)
@root_option
@output_option()
def command(
    name: str,
    hardware: str | None,
    contexts: str,
    gguf: Path | None,
    error_below: int | None,
    warn_below: int | None,
    picture: Path | None,
    root: Path | None,
    output: str,
) -> int:
    """Estimate the GPU memory of the spec NAME and judge it on a device.

    Exits with 1 when it does not fit, or when the server would not start.
    """
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.errors import OlappsError, Problem, SpecError, UsageError
    from olares_apps.fit.sweep import Device
    from olares_apps.fit.verdict import Thresholds
    from olares_apps.hardware import load_profile
    from olares_apps.lock.apply import contradictions
    from olares_apps.lock.file import lock_path
    from olares_apps.lock.fit_report import fit_report, report_dict
    from olares_apps.lock.fit_svg import svg
    from olares_apps.lock.measured_memory import matching_figure, mismatches
    from olares_apps.lock.model import Lock
    from olares_apps.lock.need import fit_case

    wanted = _contexts(contexts)
    bench = open_workbench(root)
    margins = bench.workspace.config.fit
    thresholds = Thresholds(
        (margins.error_below_mib if error_below is None else error_below) * _MIB,
        (margins.warn_below_mib if warn_below is None else warn_below) * _MIB,
    )
    loaded = bench.select([name], hardware=hardware)[0]
    spec, lock = loaded.spec, bench.lock(loaded)
    device = Device(load_profile(hardware or spec.hardware), thresholds)
    if spec.engine.type not in ("llamacpp", "vllm"):
        raise UsageError(f"{loaded.name} runs on {spec.engine.type}; fit knows llamacpp and vllm")
    if denied := list(contradictions(spec, lock or Lock())):
        problems = [Problem(item.message, field=item.field, hint=item.hint) for item in denied]
        raise loaded.located(SpecError(problems))
    if spec.engine.type == "vllm":
        if gguf or picture:
            raise UsageError("--gguf and --svg are for llama.cpp: vLLM's budget is a bound")
        return _vllm(loaded, lock, device, wanted, output)
    case = fit_case(spec, lock, facts=_read(gguf) if gguf else None)
    if case is None:
        raise OlappsError(
            f"the header of {loaded.name}'s model is not known: "
            f"{lock_path(bench.workspace.root / loaded.path).name} has no facts about it",
            hint=f"run olapps lock {loaded.name}, or give a local file with --gguf FILE",
        )
    target = spec.target
    locked = lock.file(target.repo, target.file) if lock and target else None
    title = gguf.name if gguf else target.file if target else loaded.name
    report = fit_report(
        title,
        case,
        device,
        contexts=wanted,
        others=locked.others if locked else None,
        # A figure of the spec's own file says nothing about another one.
        measured=None if gguf else matching_figure(spec, device.profile),
        unused=() if gguf else mismatches(spec, device.profile),
    )
    if picture:
        picture.write_text(svg(report), encoding="utf-8")
    if output == "json":
        out.print_json({"name": loaded.name, "app": spec.app, **report_dict(report)})
    else:
        _print(report)
    return 1 if report.verdict.has_problem else 0


def _vllm(
    loaded: "LoadedSpec",
    lock: "Lock | None",
    device: "Device",
    contexts: list[int] | None,
    output: str,
) -> int:
    from olares_apps.cli.fit_vllm import print_report
    from olares_apps.errors import OlappsError
    from olares_apps.fit.verdict import FitState
    from olares_apps.lock.measured_memory import matching_figure, mismatches
    from olares_apps.lock.vllm_need import vllm_case
    from olares_apps.lock.vllm_report import vllm_report, vllm_report_dict

    spec = loaded.spec
    case = vllm_case(spec, lock)
    if case is None:
        raise OlappsError(
            f"the shape of {loaded.name}'s model is not known: its lock has no checkpoint whose "
            "config.json states layers, heads and head size",
            hint=f"run olapps lock {loaded.name}",
        )
    report = vllm_report(
        spec.model.name,
        case,
        device,
        contexts=contexts,
        measured=matching_figure(spec, device.profile),
        unused=mismatches(spec, device.profile),
    )
    if output == "json":
        out.print_json({"name": loaded.name, "app": spec.app, **vllm_report_dict(report)})
    else:
        print_report(report)
    return 1 if report.state is FitState.DOES_NOT_FIT else 0


def _contexts(text: str) -> list[int] | None:
    from olares_apps.errors import UsageError

    if text == "auto":
        return None
    pieces = [piece.strip().replace("_", "") for piece in text.split(",")]
    if not all(piece.isdecimal() and 256 <= int(piece) <= _LARGEST for piece in pieces):
        raise UsageError(
            f"--ctx {text} is no list of contexts",
            hint=f"give tokens from 256 to {_LARGEST}, for example --ctx 32768,65536, or auto",
        )
    return sorted({int(piece) for piece in pieces})


def _read(path: Path) -> "GgufFacts":
    """Read the header of a local model, all parts of a split one that lie beside it."""
    from olares_apps.fit.byte_source import FileSource
    from olares_apps.fit.gguf_facts import FactsError, facts_of
    from olares_apps.fit.gguf_header import read_header
    from olares_apps.fit.gguf_shards import merge_shards, shard_names
    from olares_apps.fit.model_check import require_model

    headers = []
    for name in shard_names(path.name):
        part = path.with_name(name)
        if part.is_file():
            with FileSource(part) as source:
                headers.append(read_header(source))
    try:
        facts = facts_of(merge_shards(headers))
        require_model(facts)
    except FactsError as error:
        raise FactsError(f"{path.name}: {error.message}", hint=error.hint) from None
    return facts


def _print(report: "FitReport") -> None:
    verdict, profile = report.verdict, report.device.profile
    click.echo(f"{report.title} on {profile.title}, build {report.case.behaviour.build}")
    click.echo(f"{verdict.state}: {verdict.message}")
    if verdict.measured:
        apart = verdict.estimated - verdict.need
        click.echo(
            f"measured {verdict.need / _MIB:.0f} MiB ({verdict.measured.provenance}); estimated "
            f"{verdict.estimated / _MIB:.0f} MiB, {abs(apart) / verdict.need:.1%} "
            f"{'above' if apart >= 0 else 'below'}"
        )
    for reason in filter(None, (verdict.impossible, *report.unused)):
        click.echo(f"not used: {reason}")
    for problem in verdict.problems:
        click.echo(f"does not start: {problem}")
    click.echo()
    largest = max(verdict.usable, 1)
    rows = [
        [
            part.name,
            f"{part.bytes / _MIB:.2f}",
            "#" * max(1, round(part.bytes / largest * _BAR)) if part.where == "gpu" else "",
            "exact" if part.is_exact else "estimate",
            "; ".join(text for text in (part.note, part.source) if text),
        ]
        for part in sorted(report.estimate.parts, key=lambda part: part.where != "gpu")
    ]
    on_gpu = sum(part.where == "gpu" for part in report.estimate.parts)
    total = [
        "total on the GPU",
        f"{report.estimate.total_gpu / _MIB:.2f}",
        "#" * round(report.estimate.total_gpu / largest * _BAR),
        "",
        f"of {verdict.usable / _MIB:.0f} usable; manifest asks for "
        f"{report.manifest_bytes / _GIB:.2f} GiB",
    ]
    headers = ["PART", "MIB", f"{'SHARE OF THE CARD':<{_BAR}}", "", "WHERE FROM"]
    out.table(headers, [*rows[:on_gpu], total])
    if rows[on_gpu:]:
        click.echo("\nhost memory")
        out.table(["PART", "MIB", "", "", "WHERE FROM"], rows[on_gpu:])
    click.echo(f"\nMTP head: {report.mtp.state}")
    for reason in report.mtp.reasons:
        click.echo(f"  {reason}")
    click.echo(f"largest context: {_tokens(report.largest)}\n")
    out.table(
        ["CONTEXT", "NEED GIB", "FREE GIB", "VERDICT"],
        [
            [
                str(row.ctx),
                f"{row.verdict.need / _GIB:.2f}",
                f"{row.verdict.free / _GIB:.2f}",
                row.verdict.state.value,
            ]
            for row in report.contexts
        ],
    )
    click.echo()
    out.table(
        ["KV TYPE", "LARGEST CONTEXT"],
        [[name, _tokens(found)] for name, found in report.kv_types.items()],
    )
    click.echo()
    out.table(
        ["SETTING", "VALUE", "SAVES MIB", "VERDICT", "LARGEST CONTEXT"],
        [
            [
                row.setting,
                row.value,
                f"{row.saved / _MIB:.0f}",
                row.verdict.state.value,
                _tokens(row.largest),
            ]
            for row in report.levers
        ],
    )
    if report.files:
        click.echo()
        out.table(
            ["OTHER FILE", "GB", "VERDICT", "LARGEST CONTEXT"],
            [
                [
                    row.name,
                    f"{row.size / 10**9:.1f}",
                    row.state,
                    _tokens(row.largest) if row.largest else _missing(row.missing),
                ]
                for row in report.files
            ],
        )
    for warning in verdict.warnings:
        out.note(f"warning: {warning}")


def _missing(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    return f"the repository lacks {', '.join(parts[:3])}{more}"


def _tokens(found: "LargestContext") -> str:
    """Say the largest comfortable context, and the largest at all where that is more."""
    if found.at_all is None:
        return "none"
    if found.fits is None:
        return f"{found.at_all} (tight)"
    if found.is_capped:
        return f"{found.fits} (all it was trained for)"
    more = f", {found.at_all} tight" if found.at_all > found.fits else ""
    return f"{found.fits}{more}"
