"""Faults: what a device does not take of a source's answers, as data."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Fault", "Loss"]


class Loss(StrEnum):
    """What a device loses by a fault: all of the source, one batch of details, an app, a field."""

    SOURCE = "source"
    BATCH = "batch"
    APP = "app"
    FIELD = "field"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a device does not take; ``app`` is the app's id where there is one."""

    where: str
    message: str
    loss: Loss
    app: str = ""

    def __str__(self) -> str:
        return f"{self.where} {self.message}"
