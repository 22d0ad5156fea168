"""Kinds of objects: misspelled, of another group, served no more, or of somebody else."""

import json
from pathlib import Path

import kubernetes_validate
import pytest
from support.check_charts import find, flagship
from support.mutation import add

from olares_apps.checks.kinds import kind_fault, served_kinds

SCHEMAS = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"


@pytest.mark.parametrize(
    ("api", "kind", "message", "hint"),
    [
        ("apps/v1", "Deploymnt", "apps/v1 Deploymnt is no kind of Kubernetes 1.33", "Deployment?"),
        ("v1", "Secert", "v1 Secert is no kind", "did you mean Secret?"),
        ("v1", "configmap", "v1 configmap is no kind", "did you mean ConfigMap?"),
        ("v1", "Zzz", "v1 Zzz is no kind", ""),
        ("v1", "Deployment", "Deployment is no kind of v1", "write apiVersion: apps/v1"),
        ("v1", "Job", "Job is no kind of v1", "write apiVersion: batch/v1"),
        ("apps/v1", "Service", "Service is no kind of apps/v1", "write apiVersion: v1"),
        ("app/v1", "Deployment", "Deployment is no kind of app/v1", "write apiVersion: apps/v1"),
        ("apps/v2", "Deployment", "Deployment is no kind of apps/v2", "write apiVersion: apps/v1"),
        ("apps/v1beta1", "Deployment", "no more since Kubernetes 1.16", "apiVersion: apps/v1"),
        ("extensions/v1beta1", "Ingress", "since Kubernetes 1.22", "networking.k8s.io/v1"),
        ("extensions/v1beta1", "Deployment", "since Kubernetes 1.16", "apiVersion: apps/v1"),
        ("batch/v1beta1", "CronJob", "since Kubernetes 1.25", "apiVersion: batch/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", "since Kubernetes 1.25", "no successor"),
        ("rbac.authorization.k8s.io/v1", "RoleBindng", "is no kind", "RoleBinding?"),
    ],
)
def test_a_kind_that_is_not_served_is_an_error_with_what_is_meant(
    api: str, kind: str, message: str, hint: str
) -> None:
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: more\n"
    found = find(add("templates/more.yaml", text)(flagship()).check(), "object-kind")
    assert found.severity.value == "error"
    assert message in found.message
    assert hint in found.hint
    assert (found.file, found.line) == ("templates/more.yaml", 2)


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("sys.bytetrade.io/v1alpha1", "ApplicationPermission"),
        ("argoproj.io/v1alpha1", "Workflow"),
        ("cert-manager.io/v1", "Certificate"),
        ("v1", "List"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ],
)
def test_a_custom_or_served_kind_is_left_alone(api: str, kind: str) -> None:
    assert kind_fault(api, kind) is None


def test_the_table_is_that_of_the_schemas() -> None:
    found: dict[str, set[str]] = {"v1": {"List"}}
    for path in (SCHEMAS / "v1.33.0-local-strict").glob("*.json"):
        schema = json.loads(path.read_text())
        for item in schema.get("x-kubernetes-group-version-kind", ()):
            kind = item["kind"]
            is_object = "metadata" in schema["properties"] and not kind.endswith("List")
            if is_object and kind != "DeleteOptions":
                found.setdefault(f"{item['group']}/{item['version']}".lstrip("/"), set()).add(kind)
    assert {api: set(kinds) for api, kinds in served_kinds().items()} == found
