"""Functions that Helm itself adds: templates inside templates, required values, versions."""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from olares_apps.helm.calls import AuthorStopped, CallFailed, Function, fn
from olares_apps.helm.evaluate import NO_VALUE, Evaluation
from olares_apps.helm.govalues import Int64, Struct
from olares_apps.helm.parser import first_unknown, parse
from olares_apps.helm.semver_range import parse_version, version_matches

__all__ = ["TEMPLATING", "fail"]


def _include(evaluation: Evaluation, name: str, value: Any) -> str:
    definition = evaluation.templates.get(name)
    if definition is None:
        raise CallFailed(f'no template "{name}" associated with template "gotpl"')
    return evaluation.run(definition, value)


def _tpl(evaluation: Evaluation, text: str, value: Any) -> str:
    if "{{" not in text:
        return text.replace(NO_VALUE, "")
    parsed = parse(evaluation.current.definition.source.name, text)
    unknown = first_unknown(parsed, evaluation.functions)
    if unknown is not None:
        raise CallFailed(f'parse error: function "{unknown.name}" not defined')
    outer = evaluation.templates
    evaluation.templates = ChainMap(dict(parsed.definitions), dict(outer))
    try:
        return evaluation.run(parsed.root, value).replace(NO_VALUE, "")
    finally:
        evaluation.templates = outer


def _required(message: str, value: Any) -> Any:
    if value is None or value == "":
        raise AuthorStopped(message)
    return value


def fail(message: str) -> NoReturn:
    """Stop the rendering with the chart's own message."""
    raise AuthorStopped(message)


def _semver(text: str) -> Struct:
    version = parse_version(text)

    def compare(other: Any) -> int:
        return version.compare(parse_version(other.text))

    return Struct(
        "*semver.Version",
        {},
        {
            "Compare": fn("any", compare),
            "Major": fn("", lambda: Int64(version.major)),
            "Metadata": fn("", lambda: version.build or ""),
            "Minor": fn("", lambda: Int64(version.minor)),
            "Original": fn("", lambda: text),
            "Patch": fn("", lambda: Int64(version.patch)),
            "Prerelease": fn("", lambda: version.prerelease or ""),
            "String": fn("", lambda: str(version)),
        },
        str(version),
    )


def _not_here(name: str) -> Function:
    def call(*_: Any) -> NoReturn:
        raise CallFailed(f"{name} is not available in the built-in renderer; render with helm")

    return fn("any...", call)


TEMPLATING: Final[Mapping[str, Function]] = {
    "fail": fn("string", fail),
    "getHostByName": fn("string", lambda name: ""),
    "include": fn("string any", _include, wants_evaluation=True),
    "lookup": fn("string string string string", lambda *_: {}),
    "required": fn("string any", _required),
    "semver": fn("string", _semver),
    "semverCompare": fn("string string", version_matches),
    "tpl": fn("string any", _tpl, wants_evaluation=True),
    **{
        name: _not_here(name)
        for name in ("decryptAES derivePassword encryptAES fromToml shuffle toToml").split()
    },
}
