"""Values that llama.cpp's server takes and that end it, or that nobody can want."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from olares_apps.engines.flags.llamacpp_rules import DEFAULT_BATCH
from olares_apps.engines.flags.rules import Clash, FlagRule, Launch
from olares_apps.findings import Severity

__all__ = ["LLAMACPP_VALUES"]

# Option -> (whether it is refused, what becomes of it, a value that is not). As b9254 and b11434
# behave when they are started so.
_REFUSED: Final[Mapping[str, tuple[Callable[[int], bool], str, int]]] = {
    "--parallel": (lambda number: number == 0, "the server does not start without a slot", 1),
    "--ctx-size": (lambda number: number < 0, "the server aborts; 0 is the model's own context", 0),
    "--batch-size": (lambda number: number < 1, "the server aborts", DEFAULT_BATCH),
}


def _refused(launch: Launch) -> Iterator[Clash]:
    for name, (is_refused, what, good) in _REFUSED.items():
        number = launch.parsed.number(name)
        if number is None or not is_refused(number):
            continue
        setting = launch.parsed.last(name)
        yield Clash(f"{name} {number}: {what}", setting, suggestion=f"{name} {good}")


def _reversed_depth(launch: Launch) -> Iterator[Clash]:
    least = launch.parsed.number("--spec-draft-n-min", "--draft-min")
    most = launch.parsed.number("--spec-draft-n-max", "--draft-max")
    if least is None or most is None or least <= most:
        return
    setting = launch.parsed.last("--spec-draft-n-min", "--draft-min")
    yield Clash(
        f"drafts have {most} tokens at most and are dropped below {least}: nothing is ever drafted",
        setting,
        suggestion=f"{setting.written if setting else '--spec-draft-n-min'} {most}",
    )


# What gives a server its model, or the folder of the models between which it chooses.
_SOURCES: Final = ("--hf-repo", "--model-url", "--docker-repo", "--models-dir", "--models-preset")


def _no_model(launch: Launch) -> Iterator[Clash]:
    model = launch.parsed.last("--model")
    if model is None or model.missing or (model.value or "").strip():
        return
    if not any(launch.parsed.last(source) for source in _SOURCES):
        yield Clash(
            f"{model.written} is empty: the server starts as a router that has no model",
            model,
            suggestion=f"{model.written} with the path of a file",
        )


def _special(launch: Launch) -> Iterator[Clash]:
    if launch.parsed.is_on("--special"):
        yield Clash(
            "--special writes control tokens such as <|im_end|> into the answers",
            launch.parsed.last("--special"),
        )


LLAMACPP_VALUES: tuple[FlagRule, ...] = (
    FlagRule(
        "number-refused",
        "llamacpp",
        Severity.ERROR,
        "the server ends at its start",
        "llama-server b9254 and b11434, started so",
        _refused,
    ),
    FlagRule(
        "draft-depth-reversed",
        "llamacpp",
        Severity.WARNING,
        "drafts shorter than the least are ignored",
        "common/speculative.cpp",
        _reversed_depth,
    ),
    FlagRule(
        "model-empty",
        "llamacpp",
        Severity.ERROR,
        "no request is ever answered, though the server is healthy",
        "llama-server b9254 and b11434, started so",
        _no_model,
    ),
    FlagRule(
        "control-tokens-shown",
        "llamacpp",
        Severity.WARNING,
        "clients show tokens that are meant for the template",
        "public charts, which removed it again",
        _special,
    ),
)
