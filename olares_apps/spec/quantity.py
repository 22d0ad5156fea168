"""Kubernetes quantities: memory in bytes and CPU in cores, exact; numbers as plain text."""

import re
from decimal import Decimal
from typing import Final

__all__ = ["format_gib", "parse_cpu", "parse_quantity", "plain_number"]

GIB: Final = 2**30
# Upper bound on any size a spec may name (1 PiB): catches a typo before a device does.
_LARGEST: Final = 2**50
_FACTORS: Final = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:[eE]([-+]?\d{1,2}))?([kKMGTP]i?)?", re.ASCII)
_CPU = re.compile(r"(\d+(?:\.\d+)?)(m)?", re.ASCII)


def parse_quantity(text: str) -> int:
    """Return a memory, disk or GPU-memory quantity in bytes.

    Accepts what the device's linter accepts (contract 5.2): ``512M``, ``1.5Gi``, ``1e9``.
    Raises ValueError for anything else, for zero and for more than 1 PiB.
    """
    if text.startswith("-"):
        raise ValueError("must be greater than zero")
    found = _SIZE.fullmatch(text)
    if not found or (found[3] == "ki"):
        raise ValueError("is not a quantity such as 24Gi, 512Mi or 16G")
    number, exponent, unit = found.groups()
    size = Decimal(number) * 10 ** Decimal(exponent or 0) * _FACTORS[unit or ""]
    if size <= 0:
        raise ValueError("must be greater than zero")
    if size > _LARGEST:
        raise ValueError("is over 1 PiB, which no device has")
    return int(size)


def parse_cpu(text: str) -> Decimal:
    """Return a CPU quantity in cores: ``4``, ``0.5`` or ``500m``.

    Raises ValueError for anything else, for zero and for more than 1024 cores.
    """
    if text.startswith("-"):
        raise ValueError("must be greater than 0 and at most 1024 cores")
    found = _CPU.fullmatch(text)
    if not found:
        raise ValueError('is not a CPU quantity such as "4", "0.5" or "500m"')
    cores = Decimal(found[1]) / (1000 if found[2] else 1)
    if not 0 < cores <= 1024:
        raise ValueError("must be greater than 0 and at most 1024 cores")
    return cores


def format_gib(size: int) -> str:
    """Return ``size`` bytes as whole GiB, rounded up, in Kubernetes notation: ``21Gi``."""
    return f"{-(-size // GIB)}Gi"


def plain_number(value: float) -> str:
    """Return a number without an exponent: not every option parser takes ``1e-05``."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
