"""Rendering Helm charts in Python, as Helm does and as the device's first pass does."""

from olares_apps.helm.calls import CallFailed
from olares_apps.helm.errors import (
    AuthorError,
    ChartError,
    ExecutionError,
    LimitExceeded,
    ManifestError,
    NilAccess,
    TemplateError,
    TemplateSyntaxError,
    UnknownFunction,
    YamlError,
)
from olares_apps.helm.limits import Limits
from olares_apps.helm.manifests import RenderedObject, parse_manifests, read_manifests
from olares_apps.helm.profiles import HELM, HYDRATION, Profile
from olares_apps.helm.render import KUBE_VERSION, render_chart, render_text
from olares_apps.helm.semver_range import parse_version, version_matches
from olares_apps.helm.uses import (
    ContextUse,
    FunctionUse,
    NamedTemplateUse,
    TemplateUses,
    ValueUse,
    template_uses,
)

__all__ = [
    "HELM",
    "HYDRATION",
    "KUBE_VERSION",
    "AuthorError",
    "CallFailed",
    "ChartError",
    "ContextUse",
    "ExecutionError",
    "FunctionUse",
    "LimitExceeded",
    "Limits",
    "ManifestError",
    "NamedTemplateUse",
    "NilAccess",
    "Profile",
    "RenderedObject",
    "TemplateError",
    "TemplateSyntaxError",
    "TemplateUses",
    "UnknownFunction",
    "ValueUse",
    "YamlError",
    "parse_manifests",
    "parse_version",
    "read_manifests",
    "render_chart",
    "render_text",
    "template_uses",
    "version_matches",
]
