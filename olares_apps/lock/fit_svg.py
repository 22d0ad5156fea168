"""The memory of one configuration as a picture: one bar per part against the card."""

from typing import Final
from xml.sax.saxutils import escape

from olares_apps.fit.verdict import FitState
from olares_apps.lock.fit_report import FitReport

__all__ = ["svg"]

_GIB: Final = 2**30
_WIDTH, _LEFT, _BAR, _ROW, _TOP = 760, 170, 440, 26, 64
_COLOURS: Final = {
    FitState.FITS: "#2e7d32",
    FitState.TIGHT: "#ef6c00",
    FitState.DOES_NOT_FIT: "#c62828",
}


def svg(report: FitReport) -> str:
    """Return an SVG document, the same for the same report; sizes in it are GiB."""
    parts = [part for part in report.estimate.parts if part.where == "gpu"]
    usable = report.verdict.usable
    scale = _BAR / max(usable, report.verdict.need, 1)
    height = _TOP + _ROW * (len(parts) + 1) + 40
    colour = _COLOURS[report.verdict.state]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">',
        f"<title>{_text(report.title)} on {_text(report.device.profile.title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="16">{_text(report.title)}</text>',
        f'<text x="16" y="46" fill="{colour}">{_text(report.verdict.message)}</text>',
    ]
    begin = 0
    for index, part in enumerate(parts):
        y = _TOP + index * _ROW
        lines += _row(y, part.name, begin, part.bytes, scale, "#5c6bc0")
        begin += part.bytes
    y = _TOP + len(parts) * _ROW
    lines += _row(y, "total", 0, report.verdict.need, scale, colour)
    edge = _LEFT + usable * scale
    lines += [
        f'<line x1="{edge:.1f}" y1="{_TOP - 4}" x2="{edge:.1f}" y2="{y + _ROW}" '
        'stroke="#212121" stroke-dasharray="4 3"/>',
        f'<text x="{edge:.1f}" y="{y + _ROW + 18}" text-anchor="middle">'
        f"usable {usable / _GIB:.2f} GiB</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _row(y: int, name: str, begin: int, size: int, scale: float, colour: str) -> list[str]:
    x, width = _LEFT + begin * scale, max(size * scale, 1.0)
    return [
        f'<text x="16" y="{y + 16}">{_text(name)}</text>',
        f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 8}" fill="{colour}"/>',
        f'<text x="{_WIDTH - 16}" y="{y + 16}" text-anchor="end">{size / _GIB:.2f} GiB</text>',
    ]


def _text(text: str) -> str:
    return escape("".join(letter for letter in text if letter.isprintable()))
