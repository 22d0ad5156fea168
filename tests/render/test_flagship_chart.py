"""What the rendered flagship holds, as literals, for both generations."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.charts import NEW, OLD, device_values, make_tree, write_tree
from support.helm_binary import HELM_BINARIES, helm_template
from support.kubernetes import Object, by_kind, container_argv, only

from olares_apps.generations import Generation
from olares_apps.render.chart import ChartTree

APP = "llamacppqwen36a3bone"
pytestmark = pytest.mark.skipif(
    not HELM_BINARIES, reason="no helm here: run python scripts/fetch_helm.py"
)


@pytest.fixture(scope="module", params=[OLD, NEW], ids=lambda generation: generation.name)
def generation(request: pytest.FixtureRequest) -> Generation:
    found: Generation = request.param
    return found


@pytest.fixture(scope="module")
def tree(generation: Generation) -> ChartTree:
    return make_tree(generation)


@pytest.fixture(scope="module")
def objects(tree: ChartTree, tmp_path_factory: pytest.TempPathFactory) -> list[Object]:
    folder = write_tree(tree, tmp_path_factory.mktemp("flagship"))
    helm = next(iter(HELM_BINARIES.values()))
    return helm_template(helm, folder, device_values(APP), APP, f"{APP}-alice")


@pytest.fixture
def manifest(tree: ChartTree) -> dict[str, Any]:
    data: dict[str, Any] = yaml.load(tree.files["OlaresManifest.yaml"], Loader=yaml.CSafeLoader)
    return data


def server(objects: list[Object]) -> Object:
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    found: Object = container
    return found


def test_the_server_runs_the_stated_image_with_the_stated_arguments(objects: list[Object]) -> None:
    container = server(objects)
    assert container["image"] == "docker.io/aamsellem/llama-cpp-mtp:master-ad27757"
    binary, *argv = container_argv(container, objects)
    assert binary == "/app/llama-server"
    line = "\x1f".join(argv)
    assert (
        "\x1f".join(
            [
                *("--ctx-size", "262144", "--cache-type-k", "q4_0", "--cache-type-v", "q4_0"),
                *("--batch-size", "512", "--ubatch-size", "512", "--parallel", "1"),
                *("--flash-attn", "on", "--jinja", "--n-gpu-layers", "99", "--threads", "16"),
                *("--spec-type", "draft-mtp", "--spec-draft-n-max", "3"),
                *("--chat-template-kwargs", '{"enable_thinking": false}'),
            ]
        )
        in line
    )
    assert argv[argv.index("--port") + 1] == "8000"


def test_the_context_is_visible_in_the_configuration_and_equal_to_the_flag(
    objects: list[Object],
) -> None:
    config = {item["metadata"]["name"]: item["data"] for item in by_kind(objects, "ConfigMap")}
    assert config[f"{APP}-config"]["CTX_SIZE"] == "262144"
    assert config[f"{APP}-config"]["MODEL_REPO"] == "unsloth/Qwen3.6-35B-A3B-MTP-GGUF"
    assert config[f"{APP}-config"]["MODEL_FILE"] == "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"
    args = server(objects)["args"]
    assert args[args.index("--ctx-size") + 1] == "$(CTX_SIZE)"


def test_there_is_one_port_everywhere(objects: list[Object], manifest: dict[str, Any]) -> None:
    container = server(objects)
    (service_port,) = only(objects, "Service")["spec"]["ports"]
    (entrance,) = manifest["entrances"]
    assert {
        container["ports"][0]["containerPort"],
        container["startupProbe"]["httpGet"]["port"],
        container["livenessProbe"]["httpGet"]["port"],
        service_port["port"],
        service_port["targetPort"],
        entrance["port"],
    } == {8000}
    assert container["ports"][0]["name"] == service_port["name"] == "http"


def test_names_agree_from_the_entrance_to_the_pod(
    objects: list[Object], manifest: dict[str, Any]
) -> None:
    deployment, service = only(objects, "Deployment"), only(objects, "Service")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["metadata"]["name"] == service["metadata"]["name"] == APP
    assert manifest["entrances"][0]["host"] == service["metadata"]["name"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    # Hand-written charts of these apps select by this label, and a selector cannot change.
    assert labels == {"io.kompose.service": APP}


def test_the_pod_has_the_stated_resources_and_lets_nothing_run_twice(
    objects: list[Object],
) -> None:
    deployment = only(objects, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert deployment["spec"]["replicas"] == 1
    assert server(objects)["resources"] == {
        "requests": {"cpu": "4", "memory": "24Gi"},
        "limits": {"cpu": "16", "memory": "40Gi"},
    }
    assert pod["enableServiceLinks"] is False
    assert pod["terminationGracePeriodSeconds"] == 30
    (download,) = pod["initContainers"]
    assert download["image"].startswith("docker.io/")
    assert "securityContext" not in download
    assert "resources" not in download


def test_the_gpu_is_injected_the_way_the_generation_wants(
    objects: list[Object], generation: Generation
) -> None:
    annotations = only(objects, "Deployment")["metadata"]["annotations"]
    expected = {"olares-1.12.3": "true", "olares-1.12.6": "server"}[generation.name]
    assert annotations == {"applications.app.bytetrade.io/gpu-inject": expected}
    assert server(objects)["name"] == "server"


def test_loading_has_its_own_budget_and_liveness_waits_for_it(objects: list[Object]) -> None:
    container = server(objects)
    start = container["startupProbe"]
    # 300 s and 17.2 GB at 50 MB/s; the download is no part of it.
    assert start["periodSeconds"] * start["failureThreshold"] >= 300 + 344
    assert start["httpGet"]["path"] == "/health"
    assert "initialDelaySeconds" not in container["livenessProbe"]
    # 17.2 GB at 20 Mbit/s, then the load.
    assert only(objects, "Deployment")["spec"]["progressDeadlineSeconds"] == 6880 + 644


def test_the_download_is_told_what_to_fetch_and_where_to(objects: list[Object]) -> None:
    (download,) = only(objects, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    variables = {item["name"]: item["value"] for item in download["env"]}
    assert variables["MODEL_DIR"] == "/models"
    assert variables["MODEL_FILES"] == (
        "unsloth/Qwen3.6-35B-A3B-MTP-GGUF|main|Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf|"
        "unsloth--Qwen3.6-35B-A3B-MTP-GGUF/main/Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf|-|-"
    )
    script = Path(__file__).parents[2] / "templates" / "scripts" / "download.sh"
    (scripts,) = [
        item
        for item in by_kind(objects, "ConfigMap")
        if item["metadata"]["name"].endswith("scripts")
    ]
    assert scripts["data"] == {"download.sh": script.read_text()}
    assert download["command"] == ["/bin/sh", "/scripts/download.sh"]


COMMON_RESOURCES = {
    "requiredCpu": "4",
    "limitedCpu": "16",
    "requiredMemory": "24Gi",
    "limitedMemory": "40Gi",
    "requiredDisk": "18Gi",
    "limitedDisk": "36Gi",
}


def test_the_older_manifest_states_its_needs_in_flat_fields() -> None:
    manifest = make_tree(OLD).manifest
    assert manifest["olaresManifest.version"] == "0.10.0"
    assert manifest["apiVersion"] == "v2"
    assert manifest["metadata"]["version"] == manifest["spec"]["versionName"] == "1.0.2"
    assert "workloadReplicas" not in manifest
    assert "accelerator" not in manifest["spec"]
    flat = {key: manifest["spec"][key] for key in COMMON_RESOURCES}
    assert flat == COMMON_RESOURCES
    # 21.9 GB of stated parts are 20.4 GiB; 23.42 GiB of the card are usable.
    assert (manifest["spec"]["requiredGpu"], manifest["spec"]["limitedGpu"]) == ("21Gi", "23Gi")
    assert manifest["options"]["dependencies"] == [
        {"name": "olares", "type": "system", "version": ">=1.12.3-0,<1.12.6"}
    ]


def test_the_newer_manifest_states_its_needs_per_accelerator() -> None:
    manifest = make_tree(NEW).manifest
    assert manifest["olaresManifest.version"] == "0.12.0"
    assert manifest["apiVersion"] == "v3"
    assert manifest["metadata"]["version"] == manifest["spec"]["versionName"] == "1.0.3"
    assert manifest["workloadReplicas"] == {APP: 1}
    assert manifest["spec"]["accelerator"] == [
        {
            "mode": "nvidia",
            **COMMON_RESOURCES,
            "requiredGPUMemory": "21Gi",
            "limitedGPUMemory": "23Gi",
        }
    ]
    assert not {"requiredCpu", "requiredGpu", "requiredMemory"} & manifest["spec"].keys()
    assert manifest["options"]["dependencies"] == [
        {"name": "olares", "type": "system", "version": ">=1.12.6-0"}
    ]


def test_both_manifests_agree_in_everything_else(tree: ChartTree, manifest: dict[str, Any]) -> None:
    assert manifest == tree.manifest
    assert manifest["metadata"]["name"] == manifest["metadata"]["appid"] == APP
    assert manifest["metadata"]["icon"] == f"https://market.example.org/i/{APP}.png"
    assert manifest["permission"] == {"appData": True}
    assert manifest["options"]["apiTimeout"] == 0
    assert manifest["spec"]["supportArch"] == ["amd64"]
    assert [env["valueFrom"] for env in manifest["envs"]] == [
        {"envName": "OLARES_USER_HUGGINGFACE_TOKEN"},
        {"envName": "OLARES_USER_HUGGINGFACE_SERVICE"},
    ]
    assert [env["envName"] for env in manifest["envs"]] == ["HF_TOKEN", "HF_ENDPOINT"]
    assert not any(env["required"] for env in manifest["envs"])


def test_chart_and_manifest_carry_one_name_and_version(tree: ChartTree) -> None:
    chart = yaml.load(tree.files["Chart.yaml"], Loader=yaml.CSafeLoader)
    assert (chart["apiVersion"], chart["name"], chart["type"]) == ("v2", APP, "application")
    assert chart["version"] == chart["appVersion"] == tree.version
    assert tree.manifest["metadata"]["version"] == tree.version


def test_values_hold_platform_keys_only(tree: ChartTree, generation: Generation) -> None:
    values = yaml.load(tree.files["values.yaml"], Loader=yaml.CSafeLoader)
    scaled = {"workloads": {APP: {"replicaCount": 1}}} if generation is NEW else {}
    assert values == {
        "admin": "",
        "bfl": {"username": ""},
        "user": {"zone": ""},
        "domain": {APP: ""},
        "userspace": {"appData": ""},
        "olaresEnv": {"HF_ENDPOINT": "", "HF_TOKEN": ""},
        "GPU": {"Type": "", "Cuda": ""},
        **scaled,
    }


def test_every_locale_that_is_listed_has_its_texts(tree: ChartTree) -> None:
    locales = tree.manifest["spec"]["locale"]
    assert locales == ["en-US", "zh-CN"]
    for locale in locales:
        text = tree.files[f"i18n/{locale}/OlaresManifest.yaml"]
        data = yaml.load(text, Loader=yaml.CSafeLoader)
        assert data == tree.i18n[locale]
        assert data["metadata"].keys() == {"title", "description"}
        assert data["spec"].keys() == {"fullDescription", "upgradeDescription"}
    assert tree.i18n["en-US"]["spec"]["fullDescription"] == tree.manifest["spec"]["fullDescription"]
