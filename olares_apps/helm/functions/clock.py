"""Functions of time and chance.

Both come from the evaluation's environment, so that a chart renders to the same text twice.
Keys, certificates and password hashes are placeholders: a real one is random in every
rendering, and no check can depend on it.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from string import ascii_letters, digits, printable
from typing import Any, Final
from uuid import UUID

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.evaluate import Evaluation
from olares_apps.helm.functions.numbers import to_int64
from olares_apps.helm.govalues import SIZE_LIMIT, Int64, Struct, TooLarge

__all__ = ["CLOCK", "random_text"]

_LAYOUT: dict[str, str] = {
    **{"2006": "%Y", "06": "%y", "January": "%B", "Jan": "%b", "01": "%m", "Monday": "%A"},
    **{"Mon": "%a", "02": "%d", "15": "%H", "03": "%I", "04": "%M", "05": "%S", "PM": "%p"},
    **{"MST": "UTC", "-07:00": "+00:00", "-0700": "+0000", "Z07:00": "Z", "Z0700": "Z"},
}
_LAYOUT_WORD = re.compile(
    "|".join(sorted(map(re.escape, _LAYOUT), key=len, reverse=True)) + "|[2_]?[1-5]"
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")


class _Moment(Struct):
    """A ``time.Time``, always in UTC."""

    __slots__ = ("when",)

    def __init__(self, when: datetime) -> None:
        self.when = when
        super().__init__(
            "time.Time",
            {},
            {
                "Day": fn("", lambda: when.day),
                "Format": fn("string", lambda layout: _format(layout, when)),
                "Hour": fn("", lambda: when.hour),
                "Minute": fn("", lambda: when.minute),
                "Second": fn("", lambda: when.second),
                "String": fn("", lambda: _text(when)),
                "Unix": fn("", lambda: Int64(when.timestamp())),
                "UTC": fn("", lambda: self),
                "Year": fn("", lambda: when.year),
            },
            _text(when),
        )


def _text(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M:%S +0000 UTC")


def _format(layout: str, when: datetime) -> str:
    def replace(match: re.Match[str]) -> str:
        word = match[0]
        if word in _LAYOUT:
            return when.strftime(_LAYOUT[word])
        number = {"1": when.month, "2": when.day, "3": when.hour % 12 or 12}
        number |= {"4": when.minute, "5": when.second}
        return str(number[word[-1]]).rjust(2 if word[0] == "_" else 1)

    return _LAYOUT_WORD.sub(replace, layout)


def _moment(value: Any, evaluation: Evaluation) -> datetime:
    if isinstance(value, _Moment):
        return value.when
    if isinstance(value, int):
        return datetime.fromtimestamp(value, UTC)
    return evaluation.environment.now


def _now(evaluation: Evaluation) -> _Moment:
    return _Moment(evaluation.environment.now)


def _date(evaluation: Evaluation, layout: str, value: Any) -> str:
    return _format(layout, _moment(value, evaluation))


def _date_in_zone(evaluation: Evaluation, layout: str, value: Any, zone: str) -> str:
    if zone not in ("UTC", "", "Local"):
        raise CallFailed("only the zone UTC is known here")
    return _format(layout, _moment(value, evaluation))


def _html_date(evaluation: Evaluation, value: Any) -> str:
    return _format("2006-01-02", _moment(value, evaluation))


def _html_date_in_zone(evaluation: Evaluation, value: Any, zone: str) -> str:
    return _date_in_zone(evaluation, "2006-01-02", value, zone)


def _to_date(layout: str, text: str) -> _Moment:
    pattern = _LAYOUT_WORD.sub(lambda match: _LAYOUT.get(match[0], match[0]), layout)
    try:
        return _Moment(datetime.strptime(text, pattern).replace(tzinfo=UTC))
    except ValueError:
        return _Moment(datetime(1, 1, 1, tzinfo=UTC))


def _seconds(text: str) -> float:
    body = text.lstrip("+-")
    if body != "0" and (not body or _DURATION.sub("", body)):
        raise CallFailed(f"time: invalid duration {text!r}")
    total = sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(body))
    return -total if text.startswith("-") else total


def _date_modify(evaluation: Evaluation, change: str, value: Any) -> _Moment:
    when = _moment(value, evaluation)
    try:
        return _Moment(when + timedelta(seconds=_seconds(change)))
    except CallFailed:
        return _Moment(when)


def _unix_epoch(evaluation: Evaluation, value: Any) -> str:
    return str(int(_moment(value, evaluation).timestamp()))


def _duration(value: Any) -> str:
    rest = int(to_int64(value)) if isinstance(value, str) or type(value) is Int64 else 0
    hours, minutes = divmod(rest // 60, 60)
    text = f"{rest % 60}s"
    if rest >= 60:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _duration_round(value: Any) -> str:
    try:
        seconds = abs(_seconds(value) if isinstance(value, str) else to_int64(value) / 1e9)
    except CallFailed:
        return "0s"
    for unit, size in (("y", 31536000), ("mo", 2592000), ("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def random_text(alphabet: str) -> Callable[[Evaluation, int], str]:
    """Return a function that makes texts of a given length out of ``alphabet``."""

    def run(evaluation: Evaluation, length: int) -> str:
        if length > SIZE_LIMIT:
            raise TooLarge
        return "".join(evaluation.environment.random.choices(alphabet, k=max(length, 0)))

    return run


def _uuid(evaluation: Evaluation) -> str:
    return str(UUID(int=evaluation.environment.random.getrandbits(128), version=4))


def _random_int(evaluation: Evaluation, least: int, most: int) -> int:
    if most <= least:
        raise CallFailed("invalid argument to Intn")
    return evaluation.environment.random.randrange(least, most)


def _pem(kind: str) -> str:
    return f"-----BEGIN {kind}-----\nplaceholder\n-----END {kind}-----\n"


def _certificate(*_: Any) -> Struct:
    key = _pem("RSA PRIVATE KEY")
    return Struct("sprig.certificate", {"Cert": _pem("CERTIFICATE"), "Key": key})


def _password_hash(*_: Any) -> str:
    return "$2a$10$" + "placeholder".ljust(53, ".")


def _htpasswd(user: str, password: str, *_: str) -> str:
    if ":" in user:
        return f"invalid username: {user}"
    return f"{user}:{_password_hash(password)}"


CLOCK: Final[Mapping[str, Function]] = {
    "ago": fn("any", lambda value: "0s"),
    "bcrypt": fn("string", _password_hash),
    "buildCustomCert": fn("string string", _certificate),
    "date": fn("string any", _date, wants_evaluation=True),
    "dateInZone": fn("string any string", _date_in_zone, wants_evaluation=True),
    "dateModify": fn("string any", _date_modify, wants_evaluation=True),
    "date_in_zone": fn("string any string", _date_in_zone, wants_evaluation=True),
    "date_modify": fn("string any", _date_modify, wants_evaluation=True),
    "duration": fn("any", _duration),
    "durationRound": fn("any", _duration_round),
    "genCA": fn("string int", _certificate),
    "genCAWithKey": fn("string int string", _certificate),
    "genPrivateKey": fn("string", lambda kind: _pem(f"{kind.upper()} PRIVATE KEY")),
    "genSelfSignedCert": fn("string any any int", _certificate),
    "genSelfSignedCertWithKey": fn("string any any int string", _certificate),
    "genSignedCert": fn("string any any int any", _certificate),
    "genSignedCertWithKey": fn("string any any int any string", _certificate),
    "htmlDate": fn("any", _html_date, wants_evaluation=True),
    "htmlDateInZone": fn("any string", _html_date_in_zone, wants_evaluation=True),
    "htpasswd": fn("string string string...", _htpasswd),
    "mustDateModify": fn("string any", _date_modify, wants_evaluation=True),
    "mustToDate": fn("string string", _to_date),
    "must_date_modify": fn("string any", _date_modify, wants_evaluation=True),
    "now": fn("", _now, wants_evaluation=True),
    "randAlpha": fn("int", random_text(ascii_letters), wants_evaluation=True),
    "randAlphaNum": fn("int", random_text(ascii_letters + digits), wants_evaluation=True),
    "randAscii": fn("int", random_text(printable[:95]), wants_evaluation=True),
    "randBytes": fn("int", random_text(ascii_letters + digits), wants_evaluation=True),
    "randInt": fn("int int", _random_int, wants_evaluation=True),
    "randNumeric": fn("int", random_text(digits), wants_evaluation=True),
    "toDate": fn("string string", _to_date),
    "unixEpoch": fn("any", _unix_epoch, wants_evaluation=True),
    "uuidv4": fn("", _uuid, wants_evaluation=True),
}
