"""Rendering of a chart or of one text, by the rules of Helm or of the device's first pass."""

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import translate
from re import compile as compile_pattern
from typing import Any

from olares_apps.helm.calls import CallFailed, fn
from olares_apps.helm.chart import Chart, decode_text, load_chart
from olares_apps.helm.errors import ChartError, LimitExceeded
from olares_apps.helm.evaluate import NO_VALUE, Environment, Evaluation
from olares_apps.helm.govalues import Files, Methods, StringList, StringMap, Struct, Values
from olares_apps.helm.limits import Budget, Limits
from olares_apps.helm.profiles import HYDRATION, Profile
from olares_apps.helm.semver_range import parse_version, version_matches
from olares_apps.helm.syntax import Definition, Parsed
from olares_apps.helm.values import coalesce_values, drop_removed, merge_values, to_go
from olares_apps.helm.yamlio import read_yaml, to_yaml

__all__ = ["KUBE_VERSION", "render_chart", "render_text"]

KUBE_VERSION = "1.33.0"
"""The Kubernetes version that charts see unless another one is given."""

_API_VERSIONS = tuple(
    (
        "v1 admissionregistration.k8s.io/v1 apiextensions.k8s.io/v1 apps/v1 "
        "authentication.k8s.io/v1 authorization.k8s.io/v1 autoscaling/v1 autoscaling/v2 batch/v1 "
        "certificates.k8s.io/v1 coordination.k8s.io/v1 discovery.k8s.io/v1 events.k8s.io/v1 "
        "flowcontrol.apiserver.k8s.io/v1 networking.k8s.io/v1 node.k8s.io/v1 policy/v1 "
        "rbac.authorization.k8s.io/v1 scheduling.k8s.io/v1 storage.k8s.io/v1"
    ).split()
)
_RENDERED_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".conf", ".config", ".properties")
_SKIPPED_ENDINGS = tuple(".tar .gz .zip .tgz .png .jpg .jpeg .gif .svg .exe .bin .so .dll".split())
_METADATA_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("APIVersion", "AppVersion", "Condition", "Description", "Home", "Icon"), ""),
    **dict.fromkeys(("KubeVersion", "Name", "Tags", "Type", "Version"), ""),
    "Deprecated": False,
}
_METADATA_LISTS = ("Dependencies", "Keywords", "Maintainers", "Sources")


@dataclass(frozen=True, slots=True)
class _Release:
    """What a template can know about the release and the cluster."""

    name: str
    namespace: str
    is_upgrade: bool
    kube_version: str

    def as_map(self) -> dict[str, Any]:
        return {
            "IsInstall": not self.is_upgrade,
            "IsUpgrade": self.is_upgrade,
            "Name": self.name,
            "Namespace": self.namespace,
            "Revision": 1,
            "Service": "Helm",
        }

    def capabilities(self, *, has_all: bool) -> Struct:
        version = parse_version(self.kube_version)
        text = f"v{version}"
        fields = {
            "GitVersion": text,
            "Major": str(version.major),
            "Minor": str(version.minor),
            "Version": text,
        }
        has = fn("string", lambda api: has_all or api in _API_VERSIONS)
        return Struct(
            "*chartutil.Capabilities",
            {
                "APIVersions": Struct(
                    "chartutil.VersionSet", {}, {"Has": has}, f"[{' '.join(_API_VERSIONS)}]"
                ),
                "HelmVersion": Struct("version.BuildInfo", {"Version": "v3.19.0"}),
                "KubeVersion": Struct(
                    "chartutil.KubeVersion", fields, {"String": fn("", lambda: text)}, text
                ),
            },
        )


@dataclass(slots=True)
class _Run:
    """One rendering in progress: its engine, and what all its files share."""

    profile: Profile
    budget: Budget
    environment: Environment
    templates: dict[str, Definition] = field(default_factory=dict)

    def add(self, definitions: Mapping[str, Definition]) -> None:
        """Make named templates known; a blank one does not replace another."""
        for name, definition in definitions.items():
            if name not in self.templates or not definition.is_empty:
                self.templates[name] = definition

    def text(self, parsed: Parsed, dot: Any, local: Mapping[str, Definition]) -> str:
        evaluation = Evaluation(
            {**self.templates, **local} if local else self.templates,
            self.profile.functions,
            self.budget,
            self.environment,
        )
        text = evaluation.run(parsed.root, dot)
        if self.budget.written > self.budget.limits.output_bytes:
            limit = self.budget.limits.output_bytes
            raise LimitExceeded("output_bytes", limit, file=parsed.root.source.name, line=1)
        return text if self.profile.shows_no_value else text.replace(NO_VALUE, "")


def render_chart(
    files: Mapping[str, bytes],
    *,
    values: Mapping[str, Any] | None,
    release_name: str,
    namespace: str,
    profile: Profile,
    kube_version: str = KUBE_VERSION,
    is_upgrade: bool = False,
    limits: Limits | None = None,
    now: datetime | None = None,
    seed: int = 0,
) -> dict[str, str]:
    """Render a chart; return path to text, paths as in ``files``, in the order of the paths.

    ``files`` maps paths inside the chart to contents. ``values`` lie over the chart's
    values.yaml, a null in them removes a default. Partials (``_*.tpl``) are used and not
    returned; NOTES.txt is returned under its path. With the profile ``HYDRATION`` every file
    that the device would render is rendered and returned, OlaresManifest.yaml and values.yaml
    included.

    ``now`` (default: the first day of 2000) and ``seed`` fix what time and random functions
    give. Raises :class:`TemplateError`, :class:`ChartError`, :class:`YamlError` or
    :class:`LimitExceeded`.
    """
    moment = now or datetime(2000, 1, 1, tzinfo=UTC)
    run = _Run(
        profile,
        Budget(limits or Limits()),
        Environment(moment, random.Random(seed)),  # noqa: S311 - repeatable by design
    )
    release = _Release(release_name, namespace, is_upgrade, kube_version)
    given = to_go(values or {})
    try:
        if profile.renders_other_files:
            rendered = _hydrate(run, files, given, release)
        else:
            rendered = _render_helm(run, load_chart(files), given, release)
    except RecursionError:
        raise LimitExceeded("depth", run.budget.limits.depth) from None
    return dict(sorted(rendered.items()))


def render_text(
    text: str,
    context: Mapping[str, Any],
    profile: Profile,
    *,
    file: str = "text",
    limits: Limits | None = None,
) -> str:
    """Render one text with ``context`` as its current value, such as ``{"Values": {...}}``.

    This is how a manifest older than 0.12.0 is read, with the values ``admin``,
    ``bfl.username`` and ``isAdmin``. With the profile ``HYDRATION`` a name that the context
    does not have is an error, as on the device. Raises :class:`TemplateError` or
    :class:`LimitExceeded`.
    """
    run = _Run(profile, Budget(limits or Limits()), Environment())
    dot: Any = to_go(context, "context")
    if profile is HYDRATION:
        dot = Struct("*hydrationfn.TemplateData", dot)
    try:
        parsed = profile.parse(file, text)
        return run.text(parsed, dot, parsed.definitions)
    except RecursionError:
        raise LimitExceeded("depth", run.budget.limits.depth, file=file, line=1) from None


# Helm


def _render_helm(
    run: _Run, chart: Chart, given: dict[str, Any], release: _Release
) -> dict[str, str]:
    _check_kube_version(chart, release.kube_version)
    scopes: list[tuple[str, Chart, str, dict[str, Any]]] = []
    shared = {"Release": release.as_map(), "Capabilities": release.capabilities(has_all=False)}
    _collect(chart, chart.name, given, shared, scopes)
    sources = {
        f"{prefix}/{name}": (chart, name, text, context)
        for prefix, chart, _, context in scopes
        for name, text in chart.templates.items()
        if not chart.is_library or name.rpartition("/")[2].startswith("_")
    }
    order = sorted(sources, key=lambda name: (name.count("/"), name), reverse=True)
    parsed: dict[str, Parsed] = {}
    for name in order:
        chart, path, text, _ = sources[name]
        parsed[name] = run.profile.parse(chart.path + path, text)
        run.add({name: parsed[name].root, **parsed[name].definitions})
    rendered = {}
    for name in order:
        chart, path, _, context = sources[name]
        if path.rpartition("/")[2].startswith("_"):
            continue
        base = name.removesuffix(path) + "templates"
        context["Template"] = Values({"BasePath": base, "Name": name})
        rendered[chart.path + path] = run.text(parsed[name], context, {})
    return rendered


def _check_kube_version(chart: Chart, kube_version: str) -> None:
    wanted = chart.metadata.get("kubeVersion")
    try:
        if not wanted or version_matches(str(wanted), kube_version):
            return
    except CallFailed as error:
        raise ChartError(f"{chart.path}Chart.yaml: kubeVersion: {error}") from None
    raise ChartError(
        f"chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {kube_version}"
    )


def _collect(
    chart: Chart,
    prefix: str,
    given: dict[str, Any],
    shared: Mapping[str, Any],
    scopes: list[tuple[str, Chart, str, dict[str, Any]]],
) -> dict[str, Any]:
    """Append the chart and its sub-charts with their contexts; return the chart's context."""
    values = coalesce_values(given, to_go(chart.values))
    context: dict[str, Any] = {
        **shared,
        "Chart": _chart_struct(chart.metadata, is_root=not chart.path),
        "Files": _files(chart.files),
        "Subcharts": {},
        "Values": Values({}),
    }
    for subchart in chart.enabled_subcharts(values):
        inner = values.get(subchart.name)
        if isinstance(inner, (str, bool, float, list)):
            raise ChartError(f"values.{subchart.name}: not a mapping, but a sub-chart's values")
        inner = values[subchart.name] = inner if isinstance(inner, dict) else {}
        shared_values = values.get("global")
        if isinstance(shared_values, dict):
            inner["global"] = merge_values(inner.get("global") or {}, to_go(shared_values))
        context["Subcharts"][subchart.name] = _collect(
            subchart, f"{prefix}/charts/{subchart.name}", inner, shared, scopes
        )
    drop_removed(values)
    context["Values"].update(values)
    scopes.append((prefix, chart, chart.path, context))
    return context


def _chart_struct(metadata: Mapping[str, Any], *, is_root: bool) -> Struct:
    known = {key[:1].upper() + key[1:]: value for key, value in metadata.items()}
    known["APIVersion"] = known.pop("ApiVersion", "")
    fields: dict[str, Any] = {
        name: known.get(name) or default for name, default in _METADATA_DEFAULTS.items()
    }
    for name in _METADATA_LISTS:
        value = known.get(name)
        fields[name] = list(value) if isinstance(value, list) else []
    annotations = known.get("Annotations")
    fields["Annotations"] = StringMap(annotations if isinstance(annotations, dict) else {})
    fields["IsRoot"] = is_root
    for name, default in _METADATA_DEFAULTS.items():
        if not isinstance(fields[name], type(default)):
            fields[name] = str(fields[name])
    return Struct("struct { chart.Metadata; IsRoot bool }", fields)


def _files(content: Mapping[str, bytes]) -> Files:
    def text(path: str) -> str:
        return content.get(path, b"").decode(errors="replace")

    def lines(path: str) -> StringList:
        return StringList(text(path).removesuffix("\n").split("\n") if path in content else [])

    def glob(pattern: str) -> Files:
        matches = compile_pattern(translate(pattern.replace("**", "\0"))).match
        return _files({path: data for path, data in content.items() if matches(path)})

    def as_config() -> str:
        names = {path.rpartition("/")[2]: text(path) for path in content}
        return to_yaml(names) if names else ""

    methods: Methods = {
        "AsConfig": fn("", as_config),
        "Get": fn("string", text),
        "GetBytes": fn("string", lambda path: content.get(path, b"")),
        "Glob": fn("string", glob),
        "Lines": fn("string", lines),
    }
    return Files(content, methods)


# The device's first rendering pass


def _hydrate(
    run: _Run, files: Mapping[str, bytes], given: dict[str, Any], release: _Release
) -> dict[str, str]:
    defaults = _hydration_values(files)
    metadata = read_yaml(decode_text("Chart.yaml", files.get("Chart.yaml", b"")), file="Chart.yaml")
    known = metadata if isinstance(metadata, dict) else {}
    facts = release.as_map()
    context = Struct(
        "*hydrationfn.TemplateData",
        {
            "Capabilities": release.capabilities(has_all=True),
            "Chart": {"Name": known.get("name"), "Version": known.get("version")},
            "Release": {key: facts[key] for key in ("Name", "Namespace", "Service")},
            "Values": merge_values(defaults, given),
        },
    )
    texts = {
        path: decode_text(path, content)
        for path, content in sorted(files.items())
        if _is_hydrated(path)
    }
    parsed = {path: run.profile.parse(path, text) for path, text in texts.items() if "{{" in text}
    partials = {path for path in texts if path.lower().endswith(".tpl")}
    for path, template in parsed.items():
        if path in partials:
            run.add(template.definitions)
    return {
        path: run.text(parsed[path], context, parsed[path].definitions) if path in parsed else text
        for path, text in texts.items()
        if path not in partials
    }


def _hydration_values(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the values of the shallowest values.yaml; the reader is go-yaml v3."""
    candidates: Sequence[str] = sorted(
        (path for path in files if path.rpartition("/")[2] == "values.yaml"),
        key=lambda path: (path.count("/"), path),
    )
    if not candidates:
        return {}
    path = candidates[0]
    values = read_yaml(decode_text(path, files[path]), file=path, yes_is_bool=False)
    if values is not None and not isinstance(values, dict):
        raise ChartError(f"{path}: not a mapping")
    return deepcopy(values) or {}


def _is_hydrated(path: str) -> bool:
    lowered = path.lower()
    if lowered.endswith(_RENDERED_ENDINGS):
        return True
    if lowered.endswith(_SKIPPED_ENDINGS):
        return False
    return "templates/" in path or "manifest" in lowered
