"""The server process receives exactly the engine's argument list, whatever it holds.

The rendered container is started the way a container runtime does it: variables expanded by
the kubelet's rule, the list handed over by a real shell's ``exec "$@"``, and a stand-in binary
that prints what it got.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.charts import FULL, NEW, OLD, device_values, make_tree, write_tree
from support.helm_binary import helm_params, helm_template
from support.kubernetes import container_argv, container_environment, expand, only
from support.sample_specs import make_spec

from olares_apps.engines.files import stored_files
from olares_apps.engines.registry import get_engine
from olares_apps.errors import RenderError
from olares_apps.generations import Generation
from olares_apps.helm import HELM
from olares_apps.helm import render_chart as render_helm
from olares_apps.helm.manifests import parse_manifests
from olares_apps.spec.models import AppSpec

HOSTILE = [
    "it's 5 o'clock",
    'say "hi"',
    "two words and\ttab",
    "$HOME $(HOME) $$(HOME) $$ $",
    "$(CTX_SIZE)",
    "`id` ; rm -rf / & | > <",
    "back\\slash \\n \\$",
    "line one\nline two\n",
    "{{ .Values.olaresEnv.HF_TOKEN }} {{- if }}",
    "émoji 🔥 → 3×",
    "# --- : - ? * & ! %",
    "",
    "1e6",
    "off",
]
SHELLS = [
    pytest.param(
        shell,
        marks=pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed"),
    )
    for shell in ("sh", "bash")
]


def expected(spec: AppSpec[Any]) -> list[str]:
    launch = get_engine("llamacpp").launch(spec, stored_files(spec.model.files))
    return [*launch.command, *launch.argv]


def hostile_spec() -> AppSpec[Any]:
    return make_spec(
        {
            **FULL,
            "engine.extra_args": HOSTILE,
            "engine.chat_template_args": {
                "enable_thinking": False,
                **{f"key {number}": text for number, text in enumerate(HOSTILE)},
            },
        }
    )


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    script = tmp_path_factory.mktemp("bin") / "llama-server"
    script.write_text("#!/usr/bin/env python3\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    script.chmod(0o755)
    return script


def received(shell: str, stand_in: Path, argv: list[str]) -> list[str]:
    """Run the arguments through a real shell and return what the process says it got."""
    command = [shell, "-c", 'exec "$@"', shell, str(stand_in), *argv[1:]]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    arguments: list[str] = json.loads(output)
    return [argv[0], *arguments]


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_the_process_receives_the_engines_list(
    helm: Path, shell: str, generation: Generation, stand_in: Path, tmp_path: Path
) -> None:
    spec = hostile_spec()
    folder = write_tree(make_tree(generation, spec=spec), tmp_path)
    objects = helm_template(helm, folder, device_values(spec.app), spec.app)
    (server,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    argv = received(shell, stand_in, container_argv(server, objects))
    assert argv == expected(spec)
    json_text = argv[argv.index("--chat-template-kwargs") + 1]
    assert json.loads(json_text) == spec.engine.chat_template_args


def test_the_flagships_json_arrives_as_one_intact_argument(stand_in: Path) -> None:
    argv = received("sh", stand_in, rendered_argv(make_spec()))
    assert argv == expected(make_spec())
    assert argv[-2:] == ["--chat-template-kwargs", '{"enable_thinking": false}']


def rendered_argv(spec: AppSpec[Any]) -> list[str]:
    """Return the server's command line as the project's own Helm renders it: fast."""
    rendered = render_helm(
        make_tree(NEW, spec=spec).files,
        values=device_values(spec.app),
        release_name=spec.app,
        namespace=f"{spec.app}-alice",
        profile=HELM,
    )
    objects = [item.data for item in parse_manifests(rendered)]
    (server,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return container_argv(server, objects)


ARGUMENTS = st.lists(
    st.lists(st.sampled_from([*HOSTILE, "$", "(", ")", "'", "\\", "{", "}"]), max_size=4).map(
        "".join
    ),
    min_size=1,
    max_size=6,
)


@given(ARGUMENTS)
@settings(max_examples=40, deadline=None)
def test_any_argument_survives_jinja_yaml_helm_and_the_kubelet(arguments: list[str]) -> None:
    spec = make_spec(
        {
            "engine.extra_args": arguments,
            "engine.chat_template_args": {"x": arguments},
        }
    )
    assert rendered_argv(spec) == expected(spec)


def test_variables_of_the_spec_arrive_as_written() -> None:
    tree = make_tree(NEW, FULL)
    rendered = render_helm(
        tree.files,
        values=device_values(tree.app),
        release_name=tree.app,
        namespace="x",
        profile=HELM,
    )
    objects = [item.data for item in parse_manifests(rendered)]
    (server,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    variables = container_environment(server, objects)
    assert variables["COST"] == "$(PRICE) $$5"
    assert variables["CUDA_DEVICE_MEMORY_LIMIT_0"] == "30000m"
    assert variables["EMPTY"] == ""
    assert all(isinstance(item["value"], str) for item in server["env"])


def test_a_variable_may_not_replace_a_value_that_arguments_refer_to() -> None:
    with pytest.raises(RenderError, match=r"engine\.env\.CTX_SIZE would replace"):
        make_tree(NEW, {"engine.env": {"CTX_SIZE": "4096"}})


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "one"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$one"),
        ("$(B)", "$(B)"),
        ("$(A", "$(A"),
        ("$A $", "$A $"),
        ("x$$", "x$"),
    ],
)
def test_the_kubelets_rule_is_played_right(text: str, expanded: str) -> None:
    assert expand(text, {"A": "one"}) == expanded
