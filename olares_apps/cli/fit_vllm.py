"""The text of `olapps fit` for vLLM, whose budget is a bound."""

from typing import TYPE_CHECKING

import click

from olares_apps.cli import output as out

if TYPE_CHECKING:
    from olares_apps.lock.vllm_report import VllmReport

__all__ = ["print_report"]

_GIB = 2**30


def print_report(report: "VllmReport") -> None:
    """Print the budget, the sweep and the largest contexts; warnings go to stderr."""
    from olares_apps.fit.vllm_budget import ACTIVATION

    verdict, request, profile = report.verdict, report.case.request, report.device.profile
    click.echo(f"{report.title} on {profile.title}, vLLM: a bound, not an estimate")
    click.echo(f"{report.state}: {report.message}")
    if report.measured:
        measured = report.measured
        click.echo(f"measured {measured.gpu_bytes / 2**20:.0f} MiB ({measured.provenance})")
    for reason in report.unused:
        click.echo(f"not used: {reason}")
    click.echo()
    share = f"{request.gpu_memory_utilization:g} x {profile.reported_bytes / _GIB:.2f} GiB"
    least, most = ACTIVATION
    rows = [
        ["requested", _gib(verdict.requested), share if request.kv_pool is None else "fixed cache"],
        ["usable", _gib(profile.usable_bytes), "what the device leaves to a program"],
        ["weights", _gib(report.case.facts.weight_bytes), "safetensors files"],
        ["draft model", _gib(request.drafter_bytes), "safetensors files"],
        ["on the host", _gib(request.offload_bytes), "cpu_offload_gb"],
        ["activation", f"{_gib(least)} to {_gib(most)}", "least and most that was seen"],
        ["KV available", _range(verdict.kv_available), "what is left"],
        ["KV needed", _gib(verdict.kv_needed), f"one request of {request.max_model_len} tokens"],
    ]
    out.table(["PART", "GIB", "WHERE FROM"], [row for row in rows if row[1] != "0.00"])
    click.echo(f"\nquantisation: {report.case.checkpoint.quant_method or 'none'}")
    click.echo(f"MTP head: {report.mtp.state}")
    for reason in report.mtp.reasons:
        click.echo(f"  {reason}")
    click.echo(f"largest context: {verdict.largest[0]} to {verdict.largest[1]}\n")
    out.table(
        ["CONTEXT", "KV GIB", "VERDICT"],
        [[str(ctx), _gib(found.kv_needed), found.state.value] for ctx, found in report.contexts],
    )
    click.echo()
    out.table(
        ["KV TYPE", "LARGEST CONTEXT"],
        [[kind, f"{low} to {high}"] for kind, (low, high) in report.kv_types.items()],
    )
    for warning in (*verdict.warnings, *report.case.notes):
        out.note(f"warning: {warning}")


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f}"


def _range(sizes: tuple[int, int]) -> str:
    return f"{_gib(max(sizes[0], 0))} to {_gib(max(sizes[1], 0))}"
