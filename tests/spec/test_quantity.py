"""Quantities are exact, and what a device would misread is refused."""

from decimal import Decimal

import pytest

from olares_apps.spec.quantity import format_gib, parse_cpu, parse_quantity


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1.5Gi", 1610612736),
        ("1G", 1000000000),
        ("512M", 512000000),
        ("1e9", 1000000000),
        ("16", 16),
        ("24Gi", 25769803776),
        ("100k", 100000),
        ("1Ki", 1024),
    ],
)
def test_sizes_are_bytes(text: str, size: int) -> None:
    assert parse_quantity(text) == size


@pytest.mark.parametrize("text", ["12GB", "24 Gi", "-1Gi", "0", "1e30", "", "Gi", "1.Gi", "1ki"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|zero|PiB"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "cores"), [("1200m", "1.2"), ("15360m", "15.36"), ("0.5", "0.5"), ("4", "4")]
)
def test_cpu_is_cores(text: str, cores: str) -> None:
    assert parse_cpu(text) == Decimal(cores)


@pytest.mark.parametrize("text", ["", "-1", "0", "4 cores", "2000", "1.5Gi"])
def test_other_cpu_amounts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"CPU quantity|cores"):
        parse_cpu(text)


def test_gib_are_rounded_up() -> None:
    assert [format_gib(n) for n in (1, 2**30, 2**30 + 1)] == ["1Gi", "1Gi", "2Gi"]
