"""A range of whole numbers as a regular expression: the only form of it that a device checks."""

__all__ = ["number_pattern"]


def number_pattern(low: int, high: int | None) -> str:
    """Return an anchored pattern of the decimal numbers from ``low`` (0 or more) to ``high``.

    Without ``high`` there is no upper end. Leading zeros and signs do not match.
    """
    parts: list[str] = []
    if high is None:
        digits = len(str(low))
        parts.append(f"[1-9][0-9]{{{digits},}}")
        high = 10**digits - 1
    for length in range(len(str(low)), len(str(high)) + 1):
        least = 10 ** (length - 1) if length > 1 else 0
        first, last = max(low, least), min(high, 10**length - 1)
        if first <= last:
            parts += _same_length(str(first), str(last))
    return f"^(?:{'|'.join(parts)})$"


def _same_length(low: str, high: str) -> list[str]:
    """Return patterns of the numbers between two of the same number of digits."""
    if not low:
        return [""]
    rest = len(low) - 1
    if low[0] == high[0]:
        return [low[0] + tail for tail in _same_length(low[1:], high[1:])]
    if set(low[1:]) <= {"0"} and set(high[1:]) <= {"9"}:
        return [_digits(low[0], high[0]) + _any(rest)]
    parts = [low[0] + tail for tail in _same_length(low[1:], "9" * rest)]
    if int(high[0]) - int(low[0]) > 1:
        parts.append(_digits(str(int(low[0]) + 1), str(int(high[0]) - 1)) + _any(rest))
    return parts + [high[0] + tail for tail in _same_length("0" * rest, high[1:])]


def _digits(low: str, high: str) -> str:
    return low if low == high else f"[{low}-{high}]"


def _any(count: int) -> str:
    return "" if count == 0 else "[0-9]" if count == 1 else f"[0-9]{{{count}}}"
