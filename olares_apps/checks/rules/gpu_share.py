"""What a server claims of the card as a whole: its share of the memory, and how many cards."""

import math
import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.findings import Severity

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

_GIB: Final = 2**30
_SHARE: Final = "--gpu-memory-utilization"
_NUMBER: Final = re.compile(r"\d{0,4}\.?\d{1,6}")
# Each multiplies the number of GPUs that vLLM wants.
_PARALLEL: Final = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")


def _of_vllm(context: ChartContext) -> Iterator[Server]:
    if context.profile is not None:
        yield from (server for server in context.servers if server.engine == "vllm")


@rules.error(
    "gpu-share-exceeds-card",
    "A server that claims more of the card than is free stops at its start.",
    "vllm-project/vllm#20305",
)
def _share(context: ChartContext) -> Iterator[Found]:
    """The share is one of what the driver states for the card; a program gets less than that."""
    for server in _of_vllm(context):
        value = server.value(_SHARE)
        if context.profile is None or value is None or not _NUMBER.fullmatch(value):
            continue
        total, usable = context.profile.reported_bytes, context.profile.usable_bytes
        if float(value) * total <= usable:
            continue
        most = math.floor(usable / total * 100) / 100
        yield context.in_object(
            server.workload.item,
            f"{_SHARE} {value}: {value} x {total / _GIB:.2f} = {float(value) * total / _GIB:.2f} "
            f"GiB > usable {usable / _GIB:.2f} GiB of {context.profile.name}",
            _SHARE,
            hint=f"write {most:g} at most; other programs on the card take their part of it",
            field=context.field_of_flag(server, _SHARE, value=value),
        )


@rules.error(
    "gpu-count",
    "A server that waits for more GPUs than the device has never starts.",
    "hardware profiles",
)
def _count(context: ChartContext) -> Iterator[Found]:
    """Profiles are of devices with one GPU. Of charts without a spec it is a warning."""
    for server in _of_vllm(context):
        counts = {flag: server.number(flag) or 1 for flag in _PARALLEL}
        wanted = math.prod(counts.values())
        if wanted < 2 or context.profile is None:
            continue
        flag = next(name for name, number in counts.items() if number > 1)
        yield context.in_object(
            server.workload.item,
            f"{flag} {counts[flag]} needs {wanted} GPUs, {context.profile.name} has one",
            flag,
            hint="remove it, or name a device that has them",
            field=context.field_of_flag(server, flag, value=str(counts[flag])),
            severity=None if context.spec else Severity.WARNING,
        )
