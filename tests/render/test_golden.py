"""The committed charts are those of the shipped specs; ``make golden`` renders them again."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import pytest
import yaml
from support.charts import device_values
from support.helm_binary import helm_params, helm_template, run_helm
from support.kubernetes import container_argv, only, schema_errors
from support.sample_specs import FLAGSHIP

from olares_apps.engines.files import stored_files
from olares_apps.engines.registry import get_engine, spec_model
from olares_apps.generations import GENERATIONS, Generation
from olares_apps.render import Renderable
from olares_apps.render.archive import pack
from olares_apps.render.chart import ChartTree, Publisher
from olares_apps.render.folder import compare, unified_diff
from olares_apps.render.templates import load_templates
from olares_apps.render.versions import archive_version
from olares_apps.spec.loader import load_spec
from olares_apps.spec.models import AppSpec
from olares_apps.spec.workspace import load_workspace

REPOSITORY = Path(__file__).parents[2]
CHARTS = REPOSITORY / "charts"


@pytest.fixture(scope="module")
def trees() -> Mapping[Path, ChartTree]:
    workspace = load_workspace(REPOSITORY, model=spec_model())
    publisher = Publisher(**workspace.config.publisher.values())
    return {
        CHARTS / generation.name / loaded.spec.app: render(loaded.spec, publisher, generation)
        for loaded in workspace.select()
        for generation in GENERATIONS
    }


@pytest.fixture(scope="module")
def commands() -> Mapping[str, list[str]]:
    """What each app's engine says that the server runs, by app name."""
    specs = [loaded.spec for loaded in load_workspace(REPOSITORY, model=spec_model()).select()]
    launches = {
        spec.app: get_engine(spec.engine.type).launch(spec, stored_files(spec.model.files))
        for spec in specs
    }
    return {app: [*launch.command, *launch.argv] for app, launch in launches.items()}


def render(spec: AppSpec[Any], publisher: Publisher, generation: Generation) -> ChartTree:
    app = Renderable(spec, publisher=publisher, templates=load_templates())
    return app.chart(generation, archive_version(spec.version, GENERATIONS.index(generation)))


def test_the_committed_charts_are_fresh(trees: Mapping[Path, ChartTree]) -> None:
    stale = [
        unified_diff(str(folder.relative_to(REPOSITORY)), change)
        for folder, tree in trees.items()
        for change in compare(folder, tree)
    ]
    assert not stale, "run make golden and look at the diff:\n" + "\n".join(stale)


def test_no_chart_is_left_that_no_spec_describes(trees: Mapping[Path, ChartTree]) -> None:
    assert {path.parent for path in CHARTS.rglob("Chart.yaml")} == set(trees)


def test_every_app_ships_for_both_generations(trees: Mapping[Path, ChartTree]) -> None:
    shipped = {(tree.app, tree.generation): tree.version for tree in trees.values()}
    assert len(shipped) == 26
    assert shipped["llamacppqwen36a3bone", "olares-1.12.3"] == "1.0.2"
    assert shipped["llamacppqwen36a3bone", "olares-1.12.6"] == "1.0.3"


@pytest.mark.parametrize("helm", helm_params())
def test_committed_charts_install_in_both_helms(
    helm: Path, trees: Mapping[Path, ChartTree], commands: Mapping[str, list[str]]
) -> None:
    output = run_helm(helm, "lint", "--strict", *map(str, trees))
    assert f"{len(trees)} chart(s) linted, 0 chart(s) failed" in output
    for folder, tree in trees.items():
        for values in (None, device_values(tree.app)):
            objects = helm_template(helm, folder, values, tree.app, f"{tree.app}-alice")
            assert [error for item in objects for error in schema_errors(item)] == []
            (server,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
            assert container_argv(server, objects) == commands[tree.app]


def test_the_sample_flagship_of_the_tests_is_the_shipped_one(
    trees: Mapping[Path, ChartTree],
) -> None:
    # Its literals stand in the tests; this keeps them about the app that is shipped.
    app = FLAGSHIP["app"]
    shipped = REPOSITORY / "olares_apps" / "apps" / "qwen36-35b-a3b-mtp.yaml"
    spec = load_spec(shipped.read_bytes(), path=PurePath(shipped.name), model=spec_model()).spec
    sample = spec_model().model_validate(dict(FLAGSHIP))
    assert (spec.app, spec.version, spec.title, spec.alias) == (
        sample.app,
        sample.version,
        sample.title,
        sample.alias,
    )
    # The sample stands without a workspace, so it has no recipe to name.
    assert spec.engine.model_copy(update={"recipe": None}) == sample.engine
    assert spec.resources.model_dump(exclude={"gpu_memory_parts"}) == sample.resources.model_dump(
        exclude={"gpu_memory_parts"}
    )
    assert spec.model.files == sample.model.files
    manifest = trees[CHARTS / "olares-1.12.6" / app].manifest
    (accelerator,) = manifest["spec"]["accelerator"]
    assert accelerator["requiredGPUMemory"] == "21Gi"


def texts(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        for value in data.values():
            yield from texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts(value)
    elif isinstance(data, str):
        yield data


def test_a_spec_saved_with_windows_line_ends_gives_the_same_archive() -> None:
    file = REPOSITORY / "olares_apps" / "apps" / "qwen36-35b-a3b-mtp.yaml"
    unix = file.read_bytes()
    windows = unix.replace(b"\n", b"\r\n")
    publisher = Publisher("x", "https://x.example", "https://x.example/i")
    packed = [
        pack(
            render(load_spec(data, path=PurePath(file.name), model=spec_model()).spec, publisher, g)
        )
        for data in (unix, windows)
        for g in GENERATIONS
    ]
    assert packed[:2] == packed[2:]


def test_no_text_of_a_shipped_chart_is_left_unfilled(trees: Mapping[Path, ChartTree]) -> None:
    for folder in trees:
        for path in folder.rglob("OlaresManifest.yaml"):
            for text in texts(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)):
                assert "{{" not in text
                assert "None" not in text
