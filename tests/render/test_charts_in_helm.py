"""Every chart of both generations in the real Helm 3 and 4, and against Kubernetes schemas."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.charts import FULL, NEW, OLD, device_values, make_tree, write_tree
from support.helm_binary import helm_lint, helm_params, helm_template, run_helm
from support.kubernetes import Object, by_kind, container_argv, only, schema_errors

from olares_apps.generations import Generation
from olares_apps.render.archive import pack
from olares_apps.render.chart import ChartTree

SPECS: Mapping[str, Mapping[str, Any]] = {
    "flagship": {},
    "full": FULL,
    "cpu": {"engine.gpu_layers": 0},
}
CASES = [(name, generation) for name in SPECS for generation in (OLD, NEW)]
IDS = [f"{name}-{generation.name}" for name, generation in CASES]
IMAGES = {"download": "docker.io/alpine/curl:8.12.1"}


@pytest.fixture(scope="module")
def trees() -> dict[tuple[str, Generation], ChartTree]:
    return {(name, generation): make_tree(generation, SPECS[name]) for name, generation in CASES}


@pytest.fixture(scope="module")
def folders(
    trees: dict[tuple[str, Generation], ChartTree], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, Generation], Path]:
    root = tmp_path_factory.mktemp("charts")
    return {key: write_tree(tree, root / f"{key[0]}-{key[1].name}") for key, tree in trees.items()}


def pod(objects: list[Object]) -> Object:
    spec: Object = only(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def images(objects: list[Object]) -> list[str]:
    spec = pod(objects)
    return [item["image"] for item in [*spec.get("initContainers", []), *spec["containers"]]]


@pytest.mark.parametrize("helm", helm_params())
def test_lint_accepts_every_chart_with_its_bare_values(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    output = run_helm(helm, "lint", "--strict", *map(str, folders.values()))
    assert f"{len(folders)} chart(s) linted, 0 chart(s) failed" in output


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize(("name", "generation"), CASES, ids=IDS)
def test_every_object_is_valid_with_bare_and_with_device_values(
    helm: Path,
    name: str,
    generation: Generation,
    folders: dict[tuple[str, Generation], Path],
    trees: dict[tuple[str, Generation], ChartTree],
) -> None:
    app = trees[name, generation].app
    bare = helm_template(helm, folders[name, generation], namespace="demo-alice")
    device = helm_template(
        helm, folders[name, generation], device_values(app), app, namespace="demo-alice"
    )
    for objects in (bare, device):
        assert [error for item in objects for error in schema_errors(item)] == []
        assert {item["metadata"]["namespace"] for item in objects} == {"demo-alice"}
        names = [(item["kind"], item["metadata"]["name"]) for item in objects]
        assert len(set(names)) == len(names)
    mount = pod(device)["volumes"][0]["hostPath"]
    assert mount == {
        "path": f"/olares/rootfs/userspace/alice/Data/{app}/models",
        "type": "DirectoryOrCreate",
    }


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_a_user_without_token_and_mirror_gets_no_such_variables(
    helm: Path, generation: Generation, folders: dict[tuple[str, Generation], Path]
) -> None:
    folder = folders["flagship", generation]
    unset = pod(helm_template(helm, folder))["initContainers"][0]["env"]
    assert [item["name"] for item in unset] == ["MODEL_DIR", "MODEL_FILES"]
    given = pod(helm_template(helm, folder, device_values("llamacppqwen36a3bone")))
    variables = {item["name"]: item["value"] for item in given["initContainers"][0]["env"]}
    assert variables["HF_TOKEN"] == "hf_abcdef"
    assert variables["HF_ENDPOINT"] == "https://mirror.example.org"


@pytest.mark.parametrize("helm", helm_params())
def test_a_stopped_app_has_no_replicas_where_the_platform_scales_it(
    helm: Path, folders: dict[tuple[str, Generation], Path]
) -> None:
    app = "llamacppqwen36a3bone"
    stopped = device_values(app, replicas=0)
    new = helm_template(helm, folders["flagship", NEW], stopped)
    old = helm_template(helm, folders["flagship", OLD], stopped)
    assert only(new, "Deployment")["spec"]["replicas"] == 0
    assert only(old, "Deployment")["spec"]["replicas"] == 1


OLD_VALUES: Mapping[str, str] = {
    "a chart of the same make": "",
    "a hand-written chart": 'admin: ""\nbfl: {username: ""}\nuserspace: {appData: ""}\n',
    "a chart without values": "{}\n",
}


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
@pytest.mark.parametrize("old_values", OLD_VALUES.values(), ids=OLD_VALUES.keys())
def test_an_upgrade_that_keeps_the_old_values_renders_with_the_new_content(
    helm: Path, generation: Generation, old_values: str, tmp_path: Path
) -> None:
    # A device upgrades with the values of the first install plus the platform's keys; the new
    # chart's own values.yaml is not read.
    before = make_tree(generation)
    after = make_tree(
        generation,
        {
            "version": "1.0.4",
            "engine.image": "ghcr.io/ggml-org/llama.cpp:server-cuda-b11434",
            "engine.ctx": 131072,
            "resources.memory_limit": "48Gi",
        },
    )
    folder = write_tree(after, tmp_path)
    kept = old_values or before.files["values.yaml"].decode()
    (folder / "values.yaml").write_text(kept)
    platform = device_values(after.app)
    del platform["olaresEnv"]  # set only where variables were declared
    objects = helm_template(helm, folder, platform, after.app)
    assert images(objects) == [IMAGES["download"], "ghcr.io/ggml-org/llama.cpp:server-cuda-b11434"]
    server = pod(objects)["containers"][0]
    assert server["resources"]["limits"]["memory"] == "48Gi"
    config = next(
        i for i in by_kind(objects, "ConfigMap") if i["metadata"]["name"].endswith("-config")
    )
    assert config["data"]["CTX_SIZE"] == "131072"


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_the_packed_archive_renders_like_the_folder(
    helm: Path,
    generation: Generation,
    folders: dict[tuple[str, Generation], Path],
    trees: dict[tuple[str, Generation], ChartTree],
    tmp_path: Path,
) -> None:
    archive = pack(trees["full", generation])
    (tmp_path / archive.name).write_bytes(archive.data)
    from_folder = helm_template(helm, folders["full", generation])
    assert helm_template(helm, tmp_path / archive.name) == from_folder
    assert "0 chart(s) failed" in helm_lint(helm, tmp_path / archive.name)


@pytest.mark.parametrize("helm", helm_params())
def test_an_image_is_one_string_whatever_its_tag_looks_like(helm: Path, tmp_path: Path) -> None:
    references = [
        "docker.io/o/n:62189086",
        "registry.example:5000/llama/server:1e6",
        "docker.io/o/n:b9600@sha256:" + "0" * 64,
    ]
    for number, reference in enumerate(references):
        tree = make_tree(NEW, {"engine.image": reference})
        folder = write_tree(tree, tmp_path / str(number))
        assert images(helm_template(helm, folder)) == [IMAGES["download"], reference]


@pytest.mark.parametrize("helm", helm_params())
def test_a_million_tokens_stay_a_plain_number(helm: Path, tmp_path: Path) -> None:
    changes = {"engine.ctx": 1048576, "model.native_ctx": 1048576, "engine.port": 65535}
    objects = helm_template(helm, write_tree(make_tree(NEW, changes), tmp_path))
    (server,) = pod(objects)["containers"]
    argv = container_argv(server, objects)
    assert argv[argv.index("--ctx-size") + 1] == "1048576"
    assert only(objects, "Service")["spec"]["ports"][0]["port"] == 65535


def test_a_changed_configuration_changes_the_pod(
    trees: dict[tuple[str, Generation], ChartTree],
) -> None:
    def checksum(tree: ChartTree) -> str:
        text = tree.files["templates/deployment.yaml"].decode()
        return next(line.split()[-1] for line in text.splitlines() if "checksum/config" in line)

    same = make_tree(NEW, {"version": "9.0.0", "text.summary": "Other."})
    other = make_tree(NEW, {"engine.threads": 8})
    assert checksum(same) == checksum(trees["flagship", NEW])
    assert checksum(other) != checksum(trees["flagship", NEW])


def test_no_template_is_executed_by_surprise(
    trees: dict[tuple[str, Generation], ChartTree],
) -> None:
    for tree in trees.values():
        for path, data in tree.files.items():
            if not path.startswith("templates/"):
                assert b"{{" not in data, path
                assert b"}}" not in data, path
                assert yaml.load(data, Loader=yaml.CSafeLoader)
            assert b"OLARES_USER" not in data or path == "OlaresManifest.yaml"
