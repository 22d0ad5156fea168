"""Model Console as the one who downloads: its objects on a device, its script in real shells."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.charts import NEW, OLD, device_values, make_tree, write_tree
from support.flaky_hub import FlakyHub
from support.helm_binary import helm_params, helm_template, run_helm
from support.kubernetes import (
    Object,
    by_kind,
    container_argv,
    container_environment,
    schema_errors,
)
from support.sample_specs import make_spec

from olares_apps.checks import run_rules
from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Group
from olares_apps.findings import Severity
from olares_apps.hardware import load_profile
from olares_apps.helm import HELM
from olares_apps.helm import render_chart as render_helm
from olares_apps.helm.manifests import parse_manifests
from olares_apps.market.device.hydrate import hydrate
from olares_apps.market.device.install import install_problems
from olares_apps.render.chart import ChartTree

SHELLS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox-ash": ("busybox", "sh")}
TARGET = b"GGUF" + bytes(range(256)) * 40
PROJECTOR = b"GGUF" + b"projector"
ON: Mapping[str, Any] = {"model.console": True}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FILES: Sequence[Mapping[str, Any]] = (
    {"repo": "o/Demo", "file": "sub/it's, é.gguf", "stored_as": "it's é.gguf"}
    | {"size": len(TARGET), "sha256": digest(TARGET)},
    {"repo": "o/Demo", "file": "mmproj.gguf", "role": "mmproj", "size": len(PROJECTOR)},
)
CONTENT = {"sub/it's, é.gguf": TARGET, "mmproj.gguf": PROJECTOR}


# ---- the chart -----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tree() -> ChartTree:
    return make_tree(NEW, ON)


@pytest.fixture(scope="module")
def folder(tree: ChartTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tree, tmp_path_factory.mktemp("console"))


@pytest.mark.parametrize("helm", helm_params())
def test_helm_and_the_schemas_take_the_chart(helm: Path, folder: Path, tree: ChartTree) -> None:
    assert "0 chart(s) failed" in run_helm(helm, "lint", "--strict", str(folder))
    bare = helm_template(helm, folder)
    device = helm_template(helm, folder, device_values(tree.app), tree.app)
    assert [error for item in (*bare, *device) for error in schema_errors(item)] == []


def test_the_checks_have_nothing_against_it_and_a_device_installs_it(tree: ChartTree) -> None:
    context = ChartContext.of_tree(tree, profile=load_profile("olares-one"))
    groups = [group for group in Group if group not in (Group.FLEET, Group.TOOL)]
    found = run_rules(context, groups=groups)
    assert [item for item in found if item.severity is not Severity.INFO] == []
    hydrated, problems = hydrate(tree.app, tree.version, tree.files)
    assert problems == []
    assert install_problems(tree.app, hydrated, NEW.first, str(NEW.first)) == []


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('memory: "512Mi"', 'memory: "64Gi"', "resource-sum"),
        (
            "    - name: http\n      port: 8090",
            "    - name: http\n      port: 8091",
            "entrance-host-service",
        ),
        (
            '  name: "console"\n  namespace',
            '  name: "other"\n  namespace',
            "workload-replicas-match",
        ),
        ("llm-init:v1.7.23", "llm-init:latest", "image-public-fixed"),
    ],
)
def test_the_checks_see_what_would_not_work(old: str, new: str, rule: str, tree: ChartTree) -> None:
    path = "templates/console.yaml"
    text = tree.files[path].decode()
    assert text.count(old) == 1
    broken = replace(tree, files={**tree.files, path: text.replace(old, new).encode()})
    context = ChartContext.of_tree(broken, profile=load_profile("olares-one"))
    assert rule in {item.rule for item in run_rules(context, groups=[Group.OBJECTS, Group.DATA])}


@pytest.mark.parametrize("helm", helm_params()[:1])
def test_its_entrance_leads_to_a_pod_that_does_not_wait_for_the_model(
    helm: Path, folder: Path, tree: ChartTree
) -> None:
    objects = helm_template(helm, folder, device_values(tree.app), tree.app)
    main, entrance = tree.manifest["entrances"]
    assert main["name"] == tree.app
    assert entrance["authLevel"] == "private"
    (service,) = (
        item for item in by_kind(objects, "Service") if item["metadata"]["name"] == entrance["host"]
    )
    assert service["spec"]["ports"][0]["port"] == entrance["port"]
    assert service["spec"]["publishNotReadyAddresses"] is True
    console, server = (workload(objects, name) for name in ("console", tree.app))
    labels = console["spec"]["template"]["metadata"]["labels"]
    assert labels == service["spec"]["selector"]
    assert labels != server["spec"]["template"]["metadata"]["labels"]
    (container,) = console["spec"]["template"]["spec"]["containers"]
    assert container["ports"][0]["containerPort"] == entrance["port"]
    steps = [item["name"] for item in server["spec"]["template"]["spec"]["initContainers"]]
    assert steps == ["wait", "download"]
    # Only the server's workload gets the GPU.
    assert "annotations" not in console["metadata"]
    replicas = {item["metadata"]["name"] for item in by_kind(objects, "Deployment")}
    assert replicas == tree.manifest["workloadReplicas"].keys() == {tree.app, "console"}


def test_the_app_asks_for_what_both_containers_need(tree: ChartTree) -> None:
    plain, both = (item.manifest["spec"]["accelerator"][0] for item in (make_tree(NEW), tree))
    assert float(both["requiredCpu"]) == pytest.approx(float(plain["requiredCpu"]) + 0.1)
    assert float(both["limitedCpu"]) == float(plain["limitedCpu"]) + 1
    assert plain["requiredMemory"] != both["requiredMemory"]


def test_an_older_release_gets_the_chart_without_it() -> None:
    plain, chart = make_tree(OLD), make_tree(OLD, ON)
    changed = {path for path in plain.files if plain.files[path] != chart.files[path]}
    assert plain.files.keys() == chart.files.keys()
    assert {path for path in changed if path.startswith("templates/")} == set()
    assert plain.manifest["entrances"] == chart.manifest["entrances"]


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_page_says_where_the_progress_is(locale: str, tree: ChartTree) -> None:
    page = tree.i18n[locale]["spec"]
    assert isinstance(page, dict)
    assert "Model Console" in str(page["fullDescription"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.files": [], "engine.speculative": None}, "no files to download"),
        ({"services": [{"name": "console", "port": 9000}]}, "own parts"),
        ({"entrance.title": "Model Console"}, "Model Console's own entrance"),
        (
            {"entrances": [{"name": f"e{n}", "title": f"E {n}"} for n in range(9)]},
            "one more than 10",
        ),
        ({"model.files": [{"repo": "o/n", "file": "a,b.gguf"}]}, "with a comma"),
        (
            {"settings": {"HF_TOKEN": {"description": "gated", "required": True}}},
            "public models only",
        ),
    ],
)
def test_what_it_does_not_go_with_is_told(changes: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_spec({**ON, **changes})


# ---- its script, for real ------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Device:
    """A rendered chart whose steps run on ``root`` instead of a container's file system."""

    objects: Sequence[Object]
    root: Path
    app: str
    shell: tuple[str, ...]

    def step(self, deployment: str, name: str) -> Object:
        pod = workload(self.objects, deployment)["spec"]["template"]["spec"]
        found: Object = next(
            item for item in (*pod["initContainers"], *pod["containers"]) if item["name"] == name
        )
        return found

    def start(self, deployment: str, name: str, **variables: str) -> subprocess.Popen[str]:
        container = self.step(deployment, name)
        _, script, *words = container_argv(container, self.objects)
        env = container_environment(container, self.objects)
        env |= {key: f"{self.root}{env[key]}" for key in ("MODEL_DIR", "CONSOLE_DIR") if key in env}
        return subprocess.Popen(
            [*self.shell, f"{self.root}{script}", *words],
            env={"PATH": os.environ["PATH"], "DOWNLOAD_HOLD_SECONDS": "0"} | env | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, deployment: str, name: str, **variables: str) -> str:
        process = self.start(deployment, name, **variables)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        return output

    def prepare(self) -> str:
        return self.run("console", "prepare")

    def wait(self, **variables: str) -> str:
        quick = {"CONSOLE_POLL_SECONDS": "1", "CONSOLE_SILENT_SECONDS": "1"}
        return self.run(self.app, "wait", **quick, **variables)

    def sources(self) -> list[tuple[str, Path]]:
        """Return what the console's variables tell it to fetch: address and place."""
        env = container_environment(self.step("console", "console"), self.objects)
        addresses = env["MODEL_SOURCE"].split(",")
        places = env["MODEL_SOURCE_LOCAL"].split(",")
        return [
            (address.partition("#")[0], self.root / place.lstrip("/"))
            for address, place in zip(addresses, places, strict=True)
        ]

    def console_fetches(self) -> None:
        """Do what the console does with a source: into ``.part``, then renamed."""
        for address, place in self.sources():
            part = Path(f"{place}.part")
            subprocess.run(["curl", "-sSf", "-o", part, address], check=True, timeout=30)
            part.rename(place)

    @property
    def models(self) -> list[Path]:
        """Return the files that the server is told to load, in spec order."""
        argv = container_argv(self.step(self.app, "server"), self.objects)
        return [
            self.root / argv[argv.index(flag) + 1].lstrip("/") for flag in ("--model", "--mmproj")
        ]


def workload(objects: Sequence[Object], name: str) -> Object:
    found = (item for item in by_kind(objects, "Deployment") if item["metadata"]["name"] == name)
    return next(found)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen = SHELLS[request.param]
    if not shutil.which(chosen[0]) or not shutil.which("curl"):
        pytest.skip(f"{chosen[0]} or curl is not installed")
    return chosen


def device(hub: FlakyHub, root: Path, shell: tuple[str, ...]) -> Device:
    for path, content in CONTENT.items():
        hub.serve_file("o/Demo", path, content)
    tree = make_tree(NEW, {**ON, "model.files": [dict(item) for item in FILES]})
    rendered = render_helm(
        tree.files,
        values={"olaresEnv": {"HF_ENDPOINT": f"{hub.url}/"}},
        release_name=tree.app,
        namespace=f"{tree.app}-alice",
        profile=HELM,
    )
    objects = [item.data for item in parse_manifests(rendered)]
    (root / "scripts").mkdir()
    scripts = next(i for i in objects if i["metadata"]["name"].endswith("-scripts"))
    for name, text in scripts["data"].items():
        (root / "scripts" / name).write_text(text)
    return Device(objects, root, tree.app, shell)


def test_what_the_console_fetched_is_verified_and_not_fetched_again(
    tmp_path: Path, shell: tuple[str, ...]
) -> None:
    with FlakyHub() as hub:
        here = device(hub, tmp_path, shell)
        here.prepare()
        places = {place.parent for _, place in here.sources()}
        assert all(place.stat().st_mode & stat.S_IWOTH for place in places)
        here.console_fetches()
        fetched = len(hub.gets())
        assert "all files are there" in here.wait()
        first, second = here.models
        assert first.read_bytes() == TARGET
        assert first.stat().st_ino == here.sources()[0][1].stat().st_ino
        assert second.read_bytes() == PROJECTOR
        here.run(here.app, "download")
        # The projector has no digest in the spec: without proof it is fetched by the script.
        assert [item.path for item in hub.gets()[fetched:]] == ["/o/Demo/resolve/main/mmproj.gguf"]
        assert here.prepare().count("already there") == len(FILES)


def test_a_console_that_brings_nothing_does_not_keep_the_model_away(
    tmp_path: Path, shell: tuple[str, ...]
) -> None:
    with FlakyHub() as hub:
        here = device(hub, tmp_path, shell)
        here.prepare()
        run_dir = here.sources()[0][1].parents[2] / ".run"
        (run_dir / "model-spec.json").write_text("{}")
        assert "going on without it" in here.wait()
        here.run(here.app, "download")
        assert [item.read_bytes() for item in here.models] == [TARGET, PROJECTOR]
        here.prepare()
        assert not (run_dir / "model-spec.json").exists()


def test_wrong_bytes_of_the_right_size_never_reach_the_server(
    tmp_path: Path, shell: tuple[str, ...]
) -> None:
    with FlakyHub() as hub:
        here = device(hub, tmp_path, shell)
        here.prepare()
        here.console_fetches()
        here.sources()[0][1].write_bytes(TARGET[:-1] + b"?")
        here.wait()
        assert "removing a file that is not the model" in here.run(here.app, "download")
        assert here.models[0].read_bytes() == TARGET


def test_files_of_a_former_model_go_and_unfinished_ones_stay(
    tmp_path: Path, shell: tuple[str, ...]
) -> None:
    with FlakyHub() as hub:
        here = device(hub, tmp_path, shell)
        here.prepare()
        place = here.sources()[0][1]
        old = place.with_name("old model.gguf")
        part, record = Path(f"{place}.part"), Path(f"{place}.llm-init.json")
        for item in (old, Path(f"{old}.llm-init.json"), part, record):
            item.write_bytes(b"x")
        here.prepare()
        assert sorted(place.parent.iterdir()) == sorted([part, record])


def test_a_wait_ends_when_the_pod_does(tmp_path: Path, shell: tuple[str, ...]) -> None:
    with FlakyHub() as hub:
        here = device(hub, tmp_path, shell)
        here.prepare()
        process = here.start(here.app, "wait", CONSOLE_POLL_SECONDS="600")
        assert process.stdout is not None
        assert "missing" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 143
        process.stdout.close()
