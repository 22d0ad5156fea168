"""Charts of every structure that specs and launches can ask for, in Helm and on a device."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.charts import NEW, OLD, device_values, make_tree, write_tree
from support.helm_binary import helm_params, helm_template, run_helm
from support.kubernetes import (
    Object,
    by_kind,
    container_argv,
    container_environment,
    load_objects,
    only,
    schema_errors,
)
from support.sample_specs import PUBLISHER, make_spec
from support.vllm_specs import VISION, vllm_spec

from olares_apps.checks import run_rules
from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Group
from olares_apps.engines.base import EngineFetch, Launch, ServerProbe, StoredFile
from olares_apps.engines.llamacpp import LlamaCpp, LlamaCppSettings
from olares_apps.errors import RenderError, SpecError
from olares_apps.findings import Severity
from olares_apps.generations import Generation
from olares_apps.hardware import load_profile
from olares_apps.market.device.hydrate import hydrate
from olares_apps.market.device.install import install_problems
from olares_apps.render import render_chart
from olares_apps.render.chart import ChartTree
from olares_apps.render.ranges import number_pattern
from olares_apps.render.templates import load_templates
from olares_apps.spec.models import AppSpec

GB = 10**9
ODD = "a: {{ x }}\r\n{% if y %}'\"\\ $(HOME) $$\t{# c #}\n\n  no end"
ASSETS = {"config/app.yml": ODD, "config/other.yml": "plain\n", "chat/template.jinja": "{{ m }}"}
TARGET = {"repo": "o/target", "file": "M.gguf", "size_gb": 12.5}


class Changed(LlamaCpp):
    """The real engine with single parts of its launch replaced."""

    def __init__(self, **parts: Any) -> None:
        self._parts = parts

    def launch(self, spec: AppSpec[LlamaCppSettings], files: Sequence[StoredFile]) -> Launch:
        """Return the launch with the parts replaced; without files a bare one."""
        if not files:
            bare = Launch(command=[], argv=["serve"], probe=ServerProbe("/health", 300))
            return replace(bare, **self._parts)
        return replace(super().launch(spec, files), **self._parts)


FETCH = EngineFetch(20 * GB, {"HF_HOME": "/models/hub"})
NO_FILES: Mapping[str, Any] = {"model.files": [], "engine.speculative": None}
SETTINGS: Mapping[str, Any] = {
    "CTX_SIZE": {"field": "engine.ctx", "description": "Context", "min": 4096, "max": 262144},
    "DRAFT": {"field": "engine.speculative.n_max", "description": "Draft", "choices": [1, 2, 3]},
    "LOG_LEVEL": {"description": "How much the server logs", "choices": ["info", "debug"]},
    "TEAM": {"description": "A variable of the user", "source": "OLARES_USER_TEAM"},
}
PARTS: Mapping[str, tuple[Mapping[str, Any], Changed]] = {
    "several repositories, roles and names": (
        {
            "model.files": [
                TARGET,
                {"repo": "o/other", "file": "p/mmproj-F16.gguf", "role": "mmproj", "size_gb": 0.9},
                {
                    "repo": "o/draft",
                    "file": "d.gguf",
                    "role": "drafter",
                    "stored_as": "drafter-v2.gguf",
                    "size": 1750000000,
                    "sha256": "ab" * 32,
                },
            ],
            "engine.speculative": {"method": "draft", "n_max": 8},
            "engine.chat_template_file": "chat/template.jinja",
        },
        Changed(),
    ),
    "services, entrances, folders and files": (
        {
            "services": [{"name": "studio", "port": 7860}, {"name": "api", "port": 8001}],
            "entrance": {"service": "studio", "auth_level": "private"},
            "entrances": [
                {"name": "api", "title": "API", "service": "api"},
                {"name": "main", "title": "Main", "invisible": True},
            ],
            "volumes": [
                {"source": "user-data", "folder": "AI/out", "mounts": ["/outputs", "/app/outputs"]},
                {"source": "app-cache", "folder": "c", "mounts": ["/c"]},
                {"source": "app-data", "folder": "d", "mounts": ["/d"]},
            ],
            "config_files": {"/app/config.yml": "config/app.yml", "/app_c/x": "config/other.yml"},
            "init": [
                {
                    "name": "prepare",
                    "image": "docker.io/beclab/aboveos-busybox:1.37.0",
                    "command": ["/bin/sh", "-c", "echo '{{ x }}' $HOME"],
                }
            ],
            "model.folder": "shared",
        },
        Changed(),
    ),
    "settings of the owner": ({"settings": SETTINGS}, Changed()),
    "other machines": (
        {
            "support": {
                "arch": ["amd64", "arm64"],
                "accelerators": ["nvidia", "amd-gpu", "nvidia-gb10", "apple-m", "cpu"],
            }
        },
        Changed(),
    ),
    "a server that is not root": (
        {
            "run_as_user": 10001,
            "volumes": [{"source": "app-data", "folder": "d", "mounts": ["/d"]}],
        },
        Changed(),
    ),
    "a server that fetches, not root": (
        {**NO_FILES, "run_as_user": 10001},
        Changed(fetch=FETCH, shm_mib=8192, gpu_share=0.9),
    ),
    "a server that fetches an unknown amount": (NO_FILES, Changed(fetch=EngineFetch(None))),
    "neither files nor GPU": (
        {**NO_FILES, "resources.gpu_memory_parts": []},
        Changed(gpu=False, probe=ServerProbe("", 60), argv=[]),
    ),
    "files of the engine": (
        {},
        Changed(
            mounts={"/etc/engine.yml": "config/app.yml", "/etc_engine.yml": "config/other.yml"}
        ),
    ),
}
CASES = [(name, generation) for name in PARTS for generation in (OLD, NEW)]
IDS = [f"{name}, {generation.name}" for name, generation in CASES]


def make(name: str, generation: Generation, **changes: Any) -> ChartTree:
    given_changes, engine = PARTS[name]
    return chart({**given_changes, **changes}, generation, engine)


def chart(
    changes: Mapping[str, Any], generation: Generation, engine: Changed | None = None
) -> ChartTree:
    return render_chart(
        make_spec({"app": "demopartsone", **changes}),
        generation,
        version="1.0.2",
        publisher=PUBLISHER,
        templates=load_templates(),
        engine=engine or Changed(),
        assets=ASSETS,
    )


@pytest.fixture(scope="module")
def trees() -> dict[tuple[str, Generation], ChartTree]:
    return {key: make(*key) for key in CASES}


@pytest.fixture(scope="module")
def folders(
    trees: dict[tuple[str, Generation], ChartTree], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, Generation], Path]:
    root = tmp_path_factory.mktemp("charts")
    return {
        key: write_tree(tree, root / f"{number}")
        for number, (key, tree) in enumerate(trees.items())
    }


def values(tree: ChartTree, **env: str) -> dict[str, Any]:
    """Return what a device sets at install, all folders that the manifest asks for included."""
    result = device_values(tree.app)
    folders = {"appCache": "/cache", "appCommon": "/common", "userData": "/home"}
    asked = tree.manifest.get("permission", {})
    result["userspace"] |= {key: path for key, path in folders.items() if key in asked}
    result["olaresEnv"] |= env
    return result


def pod(objects: Sequence[Object]) -> Object:
    spec: Object = only(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def server(objects: Sequence[Object]) -> Object:
    found: Object = pod(objects)["containers"][0]
    return found


@pytest.mark.parametrize("helm", helm_params())
def test_lint_accepts_every_structure(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    output = run_helm(helm, "lint", "--strict", *map(str, folders.values()))
    assert f"{len(folders)} chart(s) linted, 0 chart(s) failed" in output


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("key", CASES, ids=IDS)
def test_every_object_fits_the_schemas_on_a_device(
    helm: Path,
    key: tuple[str, Generation],
    folders: dict[tuple[str, Generation], Path],
    trees: dict[tuple[str, Generation], ChartTree],
) -> None:
    device = helm_template(helm, folders[key], values(trees[key]), trees[key].app)
    assert [error for item in device for error in schema_errors(item)] == []
    volumes = pod(device).get("volumes", [])
    paths = [item["hostPath"]["path"] for item in volumes if "hostPath" in item]
    assert [path for path in paths if path.count("/") < 2] == []


@pytest.mark.parametrize("key", CASES, ids=IDS)
def test_a_device_lists_and_installs_every_structure(
    key: tuple[str, Generation], trees: dict[tuple[str, Generation], ChartTree]
) -> None:
    tree = trees[key]
    hydrated, problems = hydrate(tree.app, tree.version, tree.files)
    assert problems == []
    release = key[1].first
    assert install_problems(tree.app, hydrated, release, str(release)) == []


def test_a_device_would_refuse_what_its_author_calls_not_installable() -> None:
    reason = "its image replaces a library of the whole node: {{ no }}"
    tree = chart({"not_installable": reason}, NEW)
    hydrated, problems = hydrate(tree.app, tree.version, tree.files)
    assert problems == []
    found = install_problems(tree.app, hydrated, NEW.first, str(NEW.first))
    assert found == [f"is not installable: {reason}"]
    assert hydrated.manifest["spec"]["fullDescription"].startswith(
        f"**Cannot be installed**: {reason}\n\n"
    )


@pytest.mark.parametrize("key", CASES, ids=IDS)
def test_the_checks_have_nothing_against_any_structure(
    key: tuple[str, Generation], trees: dict[tuple[str, Generation], ChartTree]
) -> None:
    context = ChartContext.of_tree(trees[key], profile=load_profile("olares-one"))
    left_out = (Group.FLEET, Group.TOOL)
    found = run_rules(context, groups=[group for group in Group if group not in left_out])
    assert [item for item in found if item.severity is not Severity.INFO] == []


@pytest.mark.parametrize("helm", helm_params()[1:])
@pytest.mark.parametrize("key", CASES[1::2], ids=IDS[1::2])
def test_every_object_fits_the_schemas_with_bare_values(
    helm: Path, key: tuple[str, Generation], folders: dict[tuple[str, Generation], Path]
) -> None:
    assert [e for item in helm_template(helm, folders[key]) for e in schema_errors(item)] == []


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_a_chart_without_its_former_folders_never_mounts_the_root_of_the_host(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    folder = folders["services, entrances, folders and files", NEW]
    before = device_values("demopartsone")
    objects = helm_template(helm, folder, before, "demopartsone")
    paths = [v["hostPath"]["path"] for v in pod(objects)["volumes"] if "hostPath" in v]
    own = before["userspace"]["appData"]
    assert paths == [f"{own}/models", f"{own}/AI/out", f"{own}/c", f"{own}/d"]


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_entrances_lead_to_the_services_they_name(
    helm: Path,
    folders: dict[tuple[str, Generation], Path],
    trees: dict[tuple[str, Generation], ChartTree],
) -> None:
    key = ("services, entrances, folders and files", NEW)
    objects = helm_template(helm, folders[key])
    ports = {
        item["metadata"]["name"]: item["spec"]["ports"][0]["port"]
        for item in by_kind(objects, "Service")
    }
    assert ports == {"demopartsone": 8000, "demopartsone-studio": 7860, "demopartsone-api": 8001}
    entrances = trees[key].manifest["entrances"]
    assert [(e["name"], e["host"], e["port"], e.get("invisible")) for e in entrances] == [
        ("demopartsone", "demopartsone-studio", 7860, None),
        ("api", "demopartsone-api", 8001, None),
        ("main", "demopartsone", 8000, True),
    ]
    listening = {item["containerPort"] for item in server(objects)["ports"]}
    assert listening == set(ports.values())


@pytest.mark.parametrize("helm", helm_params()[:1])
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_models_are_shared_only_where_devices_have_a_shared_folder(
    helm: Path, generation: Generation, folders: dict[tuple[str, Generation], Path]
) -> None:
    key = ("services, entrances, folders and files", generation)
    tree = make(*key)
    objects = helm_template(helm, folders[key], values(tree), tree.app)
    path = pod(objects)["volumes"][0]["hostPath"]["path"]
    assert path == ("/common/models" if generation is NEW else f"{_own(tree)}/models")
    assert ("appCommon" in tree.manifest["permission"]) == (generation is NEW)


def _own(tree: ChartTree) -> str:
    return f"/olares/rootfs/userspace/alice/Data/{tree.app}"


@pytest.mark.parametrize("helm", helm_params()[:1])
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("services, entrances, folders and files", "/app/config.yml"),
        ("files of the engine", "/etc/engine.yml"),
    ],
)
def test_a_mounted_file_is_the_same_bytes(
    helm: Path, name: str, path: str, folders: dict[tuple[str, Generation], Path]
) -> None:
    objects = helm_template(helm, folders[name, NEW])
    mounts = [item for item in server(objects)["volumeMounts"] if item["name"] == "mounts"]
    keys = {item["mountPath"]: item["subPath"] for item in mounts}
    data = next(
        item["data"]
        for item in by_kind(objects, "ConfigMap")
        if item["metadata"]["name"] == "demopartsone-mounts"
    )
    assert data[keys[path]] == ODD
    assert len(set(keys.values())) == len(keys) == 2
    assert all(item["readOnly"] for item in mounts)


@settings(max_examples=40, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_any_text_survives_as_a_mounted_file(text: str) -> None:
    tree = render_chart(
        make_spec({"config_files": {"/app/f": "f"}}),
        NEW,
        version="1.0.0",
        publisher=PUBLISHER,
        templates=load_templates(),
        assets={"f": text},
    )
    written = tree.files["templates/mounts.yaml"].decode()
    assert "{{" not in written.replace("{{ .Release.Namespace }}", "")
    (item,) = load_objects(written.replace("{{ .Release.Namespace }}", "n"))
    assert list(item["data"].values()) == [text]


def test_a_folder_where_the_server_has_something_else_is_refused() -> None:
    volume = {"source": "app-data", "folder": "a", "mounts": ["/a", "/cache"]}
    with pytest.raises(SpecError, match="something else at /cache") as caught:
        chart({"volumes": [volume], "engine.slot_save_path": "/cache"}, NEW)
    assert caught.value.problems[0].field == "volumes.0.mounts.1"


STOCK_IMAGE = "ghcr.io/ggml-org/llama.cpp:server-cuda13-b8740"
ANY_COMMAND = {
    "type": "container",
    "image": STOCK_IMAGE,
    "command": [],
    "args": ["--model", "{{ target }}", "--port", "8000"],
}


@pytest.mark.parametrize("folder", ["/app", "/app/llama-server"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"engine": ANY_COMMAND, "text.summary": "A demo."}],
    ids=["a command", "the entry point of a known image"],
)
def test_a_volume_over_the_server_is_refused(changes: Mapping[str, Any], folder: str) -> None:
    volume = {"source": "app-data", "folder": "a", "mounts": ["/data", folder]}
    with pytest.raises(SpecError, match="would hide the server, /app/llama-server") as caught:
        make_tree(NEW, {**changes, "volumes": [volume]})
    assert caught.value.problems[0].field == "volumes.0.mounts.1"
    make_tree(NEW, {**changes, "volumes": [{**volume, "mounts": ["/app/data", "/apps"]}]})


def test_a_file_in_the_place_of_the_server_is_refused() -> None:
    path = "/app/llama-server"
    with pytest.raises(SpecError, match="is the server itself") as caught:
        chart({"config_files": {path: "config/app.yml"}}, NEW)
    assert caught.value.problems[0].field == f"config_files.{path}"


def test_files_that_no_config_map_can_carry_are_refused() -> None:
    spec = make_spec({"config_files": {"/app/f": "f"}})
    with pytest.raises(RenderError, match="workspace files f have 1048577 bytes together, limit"):
        render_chart(
            spec,
            NEW,
            version="1.0.0",
            publisher=PUBLISHER,
            templates=load_templates(),
            assets={"f": "x" * (2**20 + 1)},
        )


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_a_server_that_fetches_gets_token_mirror_cache_and_time(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    key = ("a server that fetches, not root", NEW)
    tree = make(*key)
    objects = helm_template(helm, folders[key], values(tree), tree.app)
    names = [item["name"] for item in pod(objects)["initContainers"]]
    assert names == ["permissions"]
    assert pod(objects)["initContainers"][0]["command"] == ["/bin/chmod", "a+rwx", "/models"]
    variables = container_environment(server(objects), objects)
    assert variables == {
        "HF_TOKEN": "hf_abcdef",
        "HF_ENDPOINT": "https://mirror.example.org",
        "HF_HOME": "/models/hub",
    }
    unset = server(helm_template(helm, folders[key]))["env"]
    assert [item["name"] for item in unset] == ["HF_HOME"]
    # 20 GB at 20 Mbit/s, and 300 s to load.
    probe = server(objects)["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 8000 + 300
    assert only(objects, "Deployment")["spec"]["progressDeadlineSeconds"] == 8300
    (mode,) = tree.manifest["spec"]["accelerator"]
    assert mode["requiredDisk"] == "21Gi"
    # 0.9 of the 24463 MiB that the driver states.
    assert mode["requiredGPUMemory"] == "22017Mi"
    assert "command" not in server(objects)
    assert server(objects)["securityContext"] == {"runAsUser": 10001}


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_shared_memory_counts_in_every_sum(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    key = ("a server that fetches, not root", NEW)
    objects = helm_template(helm, folders[key])
    volume = next(item for item in pod(objects)["volumes"] if item["name"] == "shm")
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "8192Mi"}
    assert server(objects)["resources"]["limits"]["memory"] == "48Gi"
    (mode,) = make(*key).manifest["spec"]["accelerator"]
    assert mode["limitedMemory"] == "48Gi"
    assert mode["requiredMemory"] == "24Gi"


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_a_server_with_neither_files_nor_gpu_is_a_plain_container(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    key = ("neither files nor GPU", NEW)
    tree = make(*key)
    objects = helm_template(helm, folders[key])
    assert sorted(item["kind"] for item in objects) == ["Deployment", "Service"]
    assert not {"volumes", "initContainers"} & pod(objects).keys()
    assert not {"args", "command", "env", "envFrom", "volumeMounts"} & server(objects).keys()
    assert server(objects)["startupProbe"]["tcpSocket"] == {"port": 8000}
    assert "annotations" not in only(objects, "Deployment")["metadata"]
    assert not {"permission", "envs"} & tree.manifest.keys()


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_a_setting_changes_the_arguments_and_its_absence_the_spec_decides(
    helm: Path, generation: Generation, folders: dict[tuple[str, Generation], Path]
) -> None:
    folder = folders["settings of the owner", generation]
    tree = make("settings of the owner", generation)

    def argument(flag: str, given: dict[str, Any] | None) -> str:
        objects = helm_template(helm, folder, given, tree.app)
        argv = container_argv(server(objects), objects)
        return argv[argv.index(flag) + 1]

    changed = values(tree, CTX_SIZE="65536", DRAFT="1")
    assert argument("--ctx-size", changed) == "65536"
    assert argument("--spec-draft-n-max", changed) == "1"
    # An upgrade from a version without settings brings no olaresEnv at all, or empty texts.
    for kept in (values(tree, CTX_SIZE="", DRAFT=""), values(tree)):
        assert argument("--ctx-size", kept) == "262144"
        assert argument("--spec-draft-n-max", kept) == "3"
    del kept["olaresEnv"]
    assert argument("--ctx-size", kept) == "262144"


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_a_setting_restarts_the_pod_and_is_absent_while_it_is_empty(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    folder = folders["settings of the owner", NEW]
    tree = make("settings of the owner", NEW)
    before = helm_template(helm, folder, values(tree), tree.app)
    after = helm_template(helm, folder, values(tree, LOG_LEVEL="debug", TEAM="a"), tree.app)
    names = {item["name"] for item in server(before)["env"]}
    assert names == {"CTX_SIZE", "DRAFT"}
    assert container_environment(server(after), after)["LOG_LEVEL"] == "debug"
    assert pod(before) != pod(after)


def test_what_owners_may_set_is_declared_as_far_as_a_release_knows_it() -> None:
    new = {item["envName"]: item for item in make("settings of the owner", NEW).manifest["envs"]}
    assert new["CTX_SIZE"]["type"] == "int"
    assert new["CTX_SIZE"]["regex"] == f"^$|{number_pattern(4096, 262144)}"
    assert [item["value"] for item in new["DRAFT"]["options"]] == ["1", "2", "3"]
    assert new["TEAM"]["valueFrom"] == {"envName": "OLARES_USER_TEAM"}
    assert new["CTX_SIZE"]["description"] == "Context (empty: 262144)"
    assert not any("default" in item for item in new.values())
    old = {item["envName"]: item for item in make("settings of the owner", OLD).manifest["envs"]}
    assert old.keys() == new.keys()
    assert not any({"regex", "options"} & item.keys() for item in old.values())


def test_a_setting_reaches_a_value_inside_a_json_argument() -> None:
    engine = {
        "type": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404",
        "max_model_len": 32768,
        "gpu_memory_utilization": 0.9,
        "speculative": {"method": "mtp", "num_speculative_tokens": 3},
    }
    field = "engine.speculative.num_speculative_tokens"
    spec = make_spec(
        {
            "model.files": [],
            "model.repos": [{"repo": "o/m", "size_gb": 18.5}],
            "engine": engine,
            "settings": {"DRAFT": {"field": field, "description": "Draft", "min": 1, "max": 4}},
        }
    )
    tree = render_chart(spec, NEW, version="1.0.0", publisher=PUBLISHER, templates=load_templates())
    text = tree.files["templates/deployment.yaml"].decode()
    assert r'"{\"method\":\"mtp\",\"num_speculative_tokens\":$(DRAFT)}"' in text
    assert '(.Values.olaresEnv).DRAFT | default "3" | quote' in text


def test_machines_with_one_memory_state_no_gpu_memory_and_all_of_it() -> None:
    tree = make("other machines", NEW)
    modes = {item["mode"]: item for item in tree.manifest["spec"]["accelerator"]}
    assert tree.manifest["spec"]["supportArch"] == ["amd64", "arm64"]
    for mode in ("nvidia", "amd-gpu"):
        assert (modes[mode]["requiredMemory"], modes[mode]["requiredGPUMemory"]) == ("24Gi", "21Gi")
    for mode in ("nvidia-gb10", "apple-m"):
        assert (modes[mode]["requiredMemory"], modes[mode]["limitedMemory"]) == ("45Gi", "61Gi")
        assert "requiredGPUMemory" not in modes[mode]
    assert modes["cpu"]["requiredMemory"] == "24Gi"
    old = make("other machines", OLD).manifest["spec"]
    assert (old["requiredGpu"], old["supportArch"]) == ("21Gi", ["amd64", "arm64"])


@pytest.mark.parametrize(
    ("modes", "old_has_gpu", "new_has_gpu"),
    [(["nvidia"], True, True), (["amd-gpu"], False, True), (["cpu"], False, False)],
)
def test_the_gpu_is_injected_where_a_mode_of_the_release_has_one(
    modes: list[str], old_has_gpu: bool, new_has_gpu: bool
) -> None:
    for generation, has_gpu in ((OLD, old_has_gpu), (NEW, new_has_gpu)):
        tree = chart({"support": {"accelerators": modes}}, generation)
        assert (b"gpu-inject" in tree.files["templates/deployment.yaml"]) == has_gpu
    assert ("requiredGpu" in chart({"support": {"accelerators": modes}}, OLD).manifest["spec"]) == (
        old_has_gpu
    )


def test_a_mandatory_token_is_required() -> None:
    changes = {"settings": {"HF_TOKEN": {"description": "Gated model", "required": True}}}
    tree = chart(changes, NEW)
    token = next(item for item in tree.manifest["envs"] if item["envName"] == "HF_TOKEN")
    assert token["required"] is True
    assert token["type"] == "password"
    assert token["valueFrom"] == {"envName": "OLARES_USER_HUGGINGFACE_TOKEN"}


@pytest.mark.parametrize(
    ("setting", "changes", "reason"),
    [
        (
            {"field": "engine.reasoning", "choices": ["on", "off"]},
            {"engine.reasoning": "on", "engine.extra_args": ["--note", "on"]},
            None,
        ),
        ({"field": "engine.flash_attn"}, {}, "allows only the value of the spec: name choices"),
        (
            {"field": "engine.speculative.method", "choices": ["mtp", "ngram-mod"]},
            {},
            "changes more than the value of an argument|in another way",
        ),
        (
            {"field": "engine.load_mode", "choices": ["mlock", "mmap", "no-mmap-mlock"]},
            {"engine.load_mode": "mlock"},
            "changes more than the value of an argument",
        ),
        (
            {"field": "engine.slot_save_path", "choices": ["/cache", "/a"]},
            {"engine.slot_save_path": "/cache"},
            "changes more than the value of an argument",
        ),
    ],
)
def test_only_a_field_whose_value_an_argument_shows_can_be_a_setting(
    setting: Mapping[str, Any], changes: Mapping[str, Any], reason: str | None
) -> None:
    wanted = {**changes, "settings": {"X": {"description": "d", **setting}}}
    if reason is None:
        text = chart(wanted, NEW).files["templates/deployment.yaml"].decode()
        assert '- "--reasoning"\n            - "$(X)"' in text
        return
    with pytest.raises(SpecError, match=reason) as caught:
        chart(wanted, NEW)
    assert caught.value.problems[0].field == "settings.X"


@pytest.mark.parametrize(
    ("name", "setting", "hint"),
    [
        ("THREADS", {}, "write field: engine.threads"),
        ("CTX_SIZE", {}, "write field: engine.ctx"),
        ("MODEL_ALIAS", {}, "choose another name"),
        ("MODEL_FILE", {}, "choose another name"),
        ("CTX_SIZE", {"field": "engine.ubatch"}, "write field: engine.ctx"),
        ("HF_TOKEN", {"field": "engine.ubatch"}, "choose another name"),
        ("LLAMA_ARG_SWA_FULL", {}, "write field: engine.swa_full"),
    ],
)
def test_a_setting_cannot_take_the_name_of_a_variable_of_the_chart(
    name: str, setting: Mapping[str, Any], hint: str
) -> None:
    described = {name: {"description": "d", **setting}}
    with pytest.raises((SpecError, RenderError)) as caught:
        chart({"settings": described}, NEW)
    error = caught.value
    problem = error.problems[0] if isinstance(error, SpecError) else error
    assert (problem.field, problem.hint) == (f"settings.{name}", hint)


@pytest.mark.parametrize("name", ["VLLM_NO_USAGE_STATS", "HF_HOME", "MAX_MODEL_LEN"])
def test_a_setting_cannot_take_the_name_of_a_variable_of_vllm(name: str) -> None:
    spec = vllm_spec(VISION, {"settings": {name: {"description": "d"}}})
    with pytest.raises(SpecError, match="is a variable of the chart itself"):
        render_chart(spec, NEW, version="1.0.0", publisher=PUBLISHER, templates=load_templates())


@pytest.mark.parametrize("name", ["CTX_SIZE", "CONTEXT", "LLAMA_ARG_CTX_SIZE"])
def test_a_setting_of_a_field_may_have_the_name_of_its_variable(name: str) -> None:
    described = {name: {"description": "d", "field": "engine.ctx", "min": 4096, "max": 262144}}
    text = chart({"settings": described}, NEW).files["templates/deployment.yaml"].decode()
    assert f'- "--ctx-size"\n            - "$({name})"' in text


@settings(max_examples=25, deadline=None)
@given(
    ctx=st.integers(256, 262144),
    n_max=st.integers(1, 64),
    threads=st.integers(1, 1024),
    batch=st.integers(1, 65536),
)
def test_settings_at_their_defaults_give_the_arguments_of_the_spec(
    ctx: int, n_max: int, threads: int, batch: int
) -> None:
    changes: dict[str, Any] = {
        "engine.ctx": ctx,
        "engine.threads": threads,
        "engine.batch": batch,
        "engine.speculative": {"method": "mtp", "n_max": n_max},
    }
    fields = ("ctx", "threads", "batch", "speculative.n_max")
    described = {
        f"SET_{number}": {"field": f"engine.{field}", "description": "d"}
        for number, field in enumerate(fields)
    }
    plain, edited = chart(changes, NEW), chart({**changes, "settings": described}, NEW)
    defaults = {"0": str(ctx), "1": str(threads), "2": str(batch), "3": str(n_max)}
    text = edited.files["templates/deployment.yaml"].decode()
    for number, value in defaults.items():
        assert f'(.Values.olaresEnv).SET_{number} | default "{value}" | quote' in text
        text = text.replace(f'"$(SET_{number})"', f'"{value}"')
    args = text.split("args:\n")[1].split("envFrom:")[0]
    expected = plain.files["templates/deployment.yaml"].decode()
    wanted = expected.split("args:\n")[1].split("envFrom:")[0]
    wanted = wanted.replace("$(CTX_SIZE)", str(ctx)).replace("$(THREADS)", str(threads))
    assert args == wanted.replace("$(SPEC_DRAFT_N_MAX)", str(n_max))


@given(low=st.integers(0, 10**7), span=st.integers(0, 10**7), probe=st.integers(0, 10**8))
def test_a_pattern_matches_exactly_the_numbers_of_its_range(
    low: int, span: int, probe: int
) -> None:
    high = low + span
    closed, opened = re.compile(number_pattern(low, high)), re.compile(number_pattern(low, None))
    for number in {low, high, max(low - 1, 0), high + 1, probe}:
        assert bool(closed.search(str(number))) == (low <= number <= high)
        assert bool(opened.search(str(number))) == (low <= number)
    assert not closed.search(f"0{high}")
    assert not closed.search("")


def test_the_manifest_names_the_folders_of_the_users_home_as_public_apps_do(
    trees: dict[tuple[str, Generation], ChartTree],
) -> None:
    named = {
        name: tree.manifest["permission"]["userData"]
        for (name, _), tree in trees.items()
        if "userData" in tree.manifest.get("permission", {})
    }
    assert named
    for folders in named.values():
        assert folders == [folder for folder in folders if folder.startswith("Home/")]
