"""Templates: they must render on every pass of a device, with the values it has there."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.places import line_of_open_action
from olares_apps.checks.platform import PLATFORM_KEYS, hydration_values, install_values
from olares_apps.checks.rendering import Failure, Rendering, Template, Variant, render
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.rules.template_subset import STUBS
from olares_apps.checks.shape import as_map, as_text, dig, shown
from olares_apps.findings import Severity
from olares_apps.helm import HYDRATION, NilAccess, UnknownFunction, YamlError
from olares_apps.helm.errors import ChartError, ExecutionError
from olares_apps.helm.uses import ValueUse

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)

_DATABASES: Final = frozenset(
    "postgres redis mongodb mysql mariadb rabbitmq elasticsearch nats minio clickhouse".split()
)
_HYPHEN: Final = re.compile(r"\.Values((?:\.\w+)+)-(\w[\w-]*)")
_HYDRATED_ENDINGS: Final = (".yaml", ".yml", ".json", ".toml", ".conf", ".config", ".properties")


@rules.error(
    "chart-renders",
    "A chart that does not render for one role, mode or replica count never appears or installs.",
    "OAC chart.go; oachecker rule.go; chart-repo",
    blocks=True,
)
def _renders(context: ChartContext) -> Iterator[Found]:
    """Each pass is tried: install for every variant, bare values, and the device's first pass."""
    seen: set[tuple[str, int | None, str]] = set()
    for failure, where in _failures(context):
        key = (failure.file, failure.line, failure.message)
        if key not in seen and not _told_elsewhere(context, failure):
            seen.add(key)
            yield Found(
                f"{failure.message} ({where})", failure.file, failure.line, _advice(failure)
            )


def _failures(context: ChartContext) -> Iterator[tuple[Failure, str]]:
    broken = False
    for template in context.templates.values():
        if template.failure:
            broken = True
            yield _unclosed(template, template.failure), "the template does not parse"
    if broken:
        return
    for rendering in context.renderings:
        if rendering.failure:
            yield rendering.failure, f"install, {rendering.variant}"
    passes = [("with values.yaml alone", context.bare)] if not context.base.failure else []
    passes += [(f"first pass, {item.variant}", item) for item in context.hydrations]
    for where, item in passes:
        if item.failure and not (
            item in context.hydrations and _leaves_subset(context, item.failure)
        ):
            yield item.failure, where


def _unclosed(template: Template, failure: Failure) -> Failure:
    """Return the failure of a template, named as an author sees it where braces stay open.

    Helm reads on until something further down makes no sense, and complains about that.
    """
    line = line_of_open_action(template.text)
    if line is None or (failure.line is not None and line > failure.line):
        return failure
    return replace(failure, message="{{ is not closed: }} is missing", line=line)


def _leaves_subset(context: ChartContext, failure: Failure) -> bool:
    """Say whether the file uses functions that another rule warns of: the pass may know them."""
    template = context.templates.get(failure.file)
    names = template.uses.function_names if template else frozenset()
    return any(name in STUBS or name not in HYDRATION.functions for name in names)


def _told_elsewhere(context: ChartContext, failure: Failure) -> bool:
    """Say whether a rule with a better message reports the same fault."""
    error = failure.error
    if failure.file == context.manifest_file:
        return True
    if isinstance(error, UnknownFunction) or re.search(
        r"field (?:Files|Template|Subch)", str(error)
    ):
        return True
    if isinstance(error, ExecutionError) and not context.manifests[False].is_readable:
        return True  # entrances and envs of the manifest may be what it lacks
    if isinstance(error, NilAccess) and (
        not context.values.is_readable or any(True for _ in _missing_parents(context))
    ):
        return True
    if isinstance(error, ChartError) and failure.message.startswith(tuple(context.undecodable)):
        return True
    if isinstance(error, (YamlError, ChartError)):
        files = ("Chart.yaml", "values.yaml", context.manifest_file)
        return (
            failure.file in files
            or failure.message.startswith(files)
            or any(path not in context.files for path in files[:2])
        )
    text = context.text(failure.file)
    lines = text.splitlines()
    at = failure.line or 0
    return 0 < at <= len(lines) and bool(_HYPHEN.search(lines[at - 1]))


def _advice(failure: Failure) -> str:
    if failure.is_limit:
        return "a template that loops or includes itself never ends"
    return failure.error.hint or "render it with helm template to see the line"


def _missing_parents(context: ChartContext) -> Iterator[tuple[str, int, str, bool]]:
    """Yield file, line and path of parents that values.yaml lacks, and whether a device fails."""
    if not context.values.is_readable:
        return
    names = [as_text(as_map(item).get("name")) for item in context.list_at("entrances")]
    supplied = hydration_values(names, admin=False)
    seen = set()
    for path, template in context.templates.items():
        for use in template.uses.values:
            parent = _missing_parent(use, context.values.data)
            if parent and parent not in seen:
                seen.add(parent)
                yield path, use.line, ".".join(parent), not isinstance(dig(supplied, *parent), dict)


def _missing_parent(use: ValueUse, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    needs = use.needs[: use.needs.index("*")] if "*" in use.needs else use.needs
    for end in range(1, len(needs) + 1):
        if not isinstance(dig(values, *needs[:end]), dict):
            return needs[:end]
    return None


@rules.error(
    "values-parent-default",
    "Reading through a map that values.yaml lacks is a nil pointer: the app never appears.",
    "OAC chart.go; chart-repo oamvalues",
    blocks=True,
)
def _parents(context: ChartContext) -> Iterator[Found]:
    """Maps that a device supplies on its first pass are a warning: only plain Helm stops."""
    for file, line, parent, fails in _missing_parents(context):
        yield Found(
            f"reads through .Values.{parent}, which values.yaml does not have",
            file,
            line,
            f"add {parent.split('.')[0]}: {{}} with its keys to values.yaml, or write "
            f"(.Values.{parent})",
            severity=None if fails else Severity.WARNING,
        )


@rules.error(
    "literal-braces",
    "Devices run every YAML, JSON and config file of a chart through the template engine.",
    "chart-repo chart_template.go",
    blocks=True,
)
def _braces(context: ChartContext) -> Iterator[Found]:
    for path in sorted(context.files):
        if "templates" in path.split("/")[:-1] or path == context.manifest_file:
            continue
        lowered = path.lower()
        if not lowered.endswith(_HYDRATED_ENDINGS) and "manifest" not in lowered:
            continue
        text = context.text(path)
        if "{{" in text:
            yield Found(
                "holds {{, which a device executes as a template",
                path,
                text.count("\n", 0, text.index("{{")) + 1,
                'write the braces as "{\\u007b" in a double-quoted text, or rename the file',
            )


@rules.error(
    "yaml-documents",
    "Every document is a Kubernetes object with kind and apiVersion, each key once.",
    "oachecker rule.go; chart-repo",
    blocks=True,
)
def _documents(context: ChartContext) -> Iterator[Found]:
    seen = set()
    for rendering in context.renderings:
        for problem in rendering.problems:
            file, key = str(problem.file or ""), (problem.file, problem.message)
            if key in seen:
                continue
            seen.add(key)
            is_exact = "{{" not in context.text(file)
            yield Found(
                problem.message,
                file,
                problem.line if is_exact else _source_line(context, rendering, file, problem.line),
                problem.hint or "look at the rendered text around it",
            )


def _source_line(
    context: ChartContext, rendering: Rendering, file: str, line: int | None
) -> int | None:
    """Return the template's line that a rendered line was written by, if it is the same text."""
    rendered = rendering.texts.get(file, "").splitlines()
    if line is None or not 0 < line <= len(rendered):
        return None
    lines = context.text(file).splitlines()
    same = [n for n, text in enumerate(lines, start=1) if text == rendered[line - 1]]
    return min(same, key=lambda n: abs(n - line), default=None)


@rules.error(
    "image-literal",
    "An upgrade keeps the values of the first install: what values.yaml says never changes.",
    "app-service helm.go (ReuseValues)",
)
def _literals(context: ChartContext) -> Iterator[Found]:
    """Images are errors; other settings of the author's own are warnings."""
    for path, template in context.templates.items():
        if all(use.path[0] in PLATFORM_KEYS for use in template.uses.values):
            continue
        lines = template.text.splitlines()
        told: set[tuple[str, bool]] = set()
        for use in template.uses.values:
            top = use.path[0]
            line = lines[use.line - 1] if use.line <= len(lines) else ""
            is_image = bool(re.match(r"\s*-?\s*image\s*:", line))
            if (
                path.endswith(".tpl")
                or top in PLATFORM_KEYS
                or top == "*"
                or (top, is_image) in told
            ):
                continue
            told.add((top, is_image))
            yield Found(
                f"{'the image is' if is_image else 'a setting is'} read from "
                f".Values.{use.dotted}, which "
                "an upgrade does not change",
                path,
                use.line,
                "write it into the template; values.yaml is for keys that the platform sets",
                None if is_image else Severity.WARNING,
            )


@rules.error(
    "values-new-key-guard",
    "After an upgrade the old values.yaml counts, so a new key is not there.",
    "app-service helm.go (ReuseValues)",
)
def _new_keys(context: ChartContext) -> Iterator[Found]:
    before = context.published.values if context.published else None
    if before is None or context.base.failure:
        return
    from olares_apps.helm.yamlio import to_yaml

    files = {**context.files, "values.yaml": to_yaml(before).encode()}
    values = install_values(context.manifest, admin=False, mode=context.modes[0], replicas=None)
    upgraded = render(files, context.release, values, Variant(mode=context.modes[0]))
    if upgraded.failure:
        yield Found(
            f"{upgraded.failure.message}: fails after an upgrade, which keeps the old values.yaml",
            upgraded.failure.file,
            upgraded.failure.line,
            'guard the new key: (.Values.new).field | default "x"',
        )
        return
    for path, template in context.templates.items():
        for use in template.uses.values:
            known = dig(before, *use.path) is not None
            is_new = dig(context.values.data, *use.path) is not None and not known
            if use.path[0] not in PLATFORM_KEYS and is_new and not use.guarded:
                yield Found(
                    f".Values.{use.dotted} is new and empty after an upgrade",
                    path,
                    use.line,
                    'guard it: (.Values.new).field | default "x"',
                )


@rules.error(
    "hyphen-index",
    "A dot path ends at a hyphen: .Values.a-b is a subtraction that does not parse.",
    "OAC chart.go; chart-repo",
    blocks=True,
)
def _hyphens(context: ChartContext) -> Iterator[Found]:
    for path, template in context.templates.items():
        if not _HYPHEN.search(template.text):
            continue
        for number, line in enumerate(template.text.splitlines(), start=1):
            for action in re.findall(r"\{\{(.*?)\}\}", line):
                found = _HYPHEN.search(action)
                if found:
                    parent, _, key = found[1].rpartition(".")
                    yield Found(
                        f"{found[0]} holds a hyphen, which a dot path cannot",
                        path,
                        number,
                        f'write (index .Values{parent} "{key}-{found[2]}")',
                    )


@rules.error(
    "helm-hook-middleware",
    "A hook runs before the namespace may reach the database, and times out.",
    "experience of operators",
)
def _hooks(context: ChartContext) -> Iterator[Found]:
    for item in context.objects:
        annotations = as_map(dig(item.data, "metadata", "annotations"))
        hook = as_text(annotations.get("helm.sh/hook"))
        template = context.templates.get(item.file)
        if not hook or template is None:
            continue
        used = {use.path[0] for use in template.uses.values} & _DATABASES
        if used:
            yield context.in_object(
                item,
                f"{item.kind} {item.name} is a {hook} hook and needs {', '.join(sorted(used))}",
                "helm.sh/hook",
                hint="use an init container that retries",
            )


@rules.error(
    "olares-user-text",
    "The linter refuses the text OLARES_USER in templates and values, comments included.",
    "OAC appdata.go",
    applies=Applies.V3,
    blocks=True,
)
def _user_text(context: ChartContext) -> Iterator[Found]:
    for path in ("values.yaml", *context.templates):
        text = context.text(path)
        if "OLARES_USER" not in text:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = re.search(r"\bOLARES_USER\w*", line)
            if found:
                yield Found(
                    f"holds the text {shown(found[0])}",
                    path,
                    number,
                    "map it in the manifest: envs with valueFrom.envName",
                )
