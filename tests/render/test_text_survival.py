"""Text of a spec arrives on the device byte for byte, through every engine on the way.

Three ways are played: the market's first pass (which renders every YAML file of a chart), the
device's own pass over manifests below 0.12.0, and Helm with the YAML reader that devices use.
"""

import base64
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.charts import FULL, NEW, OLD, device_values, make_tree, write_tree
from support.helm_binary import helm_params, helm_template, run_helm
from support.sample_specs import make_spec

from olares_apps.errors import SpecError
from olares_apps.generations import Generation
from olares_apps.helm import HELM, HYDRATION
from olares_apps.helm import render_chart as render_helm
from olares_apps.render.scalars import scalar
from olares_apps.spec.placeholders import escape

NOTES = {
    "C001 helm action": "HF_ENDPOINT came from {{ .Values.olaresEnv.HF }}",
    "C037 chat template": "{{ messages[0]['content'] }} {% for x in y %}{# c #}{% endfor %}",
    "C039 html": 'R&D <fast> "best" it\'s &amp; &lt;',
    "C045 markdown": "| a | b |\n|---|---|\n---\nupgradeDescription: |\n- x\n# h\n> q\n...\n",
    "C049 unicode": "Démo 🔥 → 3× 中文 \u200d e\u0301 \u2028 \x85",
    "trimmed action": "before {{- end -}} after",
    "three braces": "{{{ }}} {{{{ }}}}",
    "quoted action": '{{ "{{" }} {{ `x` }}',
    "scalars": "2026-05-21",
    "numbers": "1.10",
    "booleans": "off",
    "backslashes": "C:\\new\\table \\u0041 \\{ \\",
    "tabs": "a\tb\n\tc\n",
    "spaces": "  leading\ntrailing  \n\n\nend",
    "quotes": "'single' \"double\" '' \"\"",
    "comment": "# not a comment: really",
    "anchors": "&a *b !c %d @e `f",
    "kubelet": "$(HOME) $$ ${X}",
    "worker": "`tick` ${x} </script> \\",
}


def literal(text: str) -> str:
    """Return text as a spec author writes it: braces that look like a placeholder escaped."""
    return escape(text)


def survives(data: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    spec = data["spec"]
    for text in texts.values():
        assert text.strip("\n") in spec["fullDescription"]
    assert not any(entity in json.dumps(data) for entity in ("&#39;", "&#34;", "&#x27;"))


def hostile(texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "text": {"summary": "One sentence.", "limits": [literal(t) for t in texts.values()]},
        "releases": [{"version": "1.0.2", "notes": literal("\n\n".join(texts.values()))}],
    }


def read(text: str | bytes) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_hostile_notes_survive_the_markets_first_pass(generation: Generation) -> None:
    tree = make_tree(generation, hostile(NOTES))
    passed = render_helm(
        tree.files,
        values=None,
        release_name=tree.app,
        namespace=f"{tree.app}-alice",
        profile=HYDRATION,
    )
    for path in ("OlaresManifest.yaml", "i18n/en-US/OlaresManifest.yaml", "values.yaml"):
        assert passed[path] == tree.files[path].decode(), f"{path} was changed by the pass"
    manifest = read(passed["OlaresManifest.yaml"])
    survives(manifest, NOTES)
    assert manifest == tree.manifest
    assert manifest["spec"]["upgradeDescription"] == "\n\n".join(NOTES.values()).strip("\n")


PIECES = [*NOTES.values(), "{{", "}}", "\n", "---", "\\", '"', "\t", "  ", "#", "{", "}"]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text("{}\\\"'\n |#-:é🔥", max_size=5), max_size=6)


@given(TEXTS.map("".join))
@settings(max_examples=60, deadline=None)
def test_any_note_survives_every_pass_over_the_manifest(text: str) -> None:
    tree = make_tree(OLD, hostile({"note": text}))
    for profile in (HYDRATION, HELM):
        files = tree.files if profile is HYDRATION else as_template(tree.files)
        passed = render_helm(files, values=None, release_name="x", namespace="y", profile=profile)
        name = next(path for path in passed if path.endswith("OlaresManifest.yaml"))
        assert read(passed[name])["spec"]["upgradeDescription"] == text.strip("\n") or not text
        assert len(list(yaml.load_all(passed[name], Loader=yaml.CSafeLoader))) == 1


def as_template(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a chart whose only template is the manifest: a device renders it so below 0.12."""
    manifest = files["OlaresManifest.yaml"]
    return {"Chart.yaml": files["Chart.yaml"], "templates/OlaresManifest.yaml": manifest}


@pytest.mark.parametrize("helm", helm_params())
def test_hostile_text_reads_back_equal_in_the_real_helm(helm: Path, tmp_path: Path) -> None:
    # One chart with hundreds of texts: as its own templates, and as data files that Helm's YAML
    # reader (the one of devices) reads and prints as JSON.
    maker = random.Random(20260521)
    texts = list(NOTES.values())
    texts += ["".join(maker.choices(PIECES, k=maker.randint(1, 8))) for _ in range(300)]
    body = "".join(f"  k{number}: {scalar(text, 4)}\n" for number, text in enumerate(texts))
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n" + body
    reader = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: reader\ndata:\n"
        '  json: {{ .Files.Get "data.yaml" | fromYaml | toJson | b64enc }}\n'
    )
    chart = tmp_path / "demo"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 1.0.0\n")
    (chart / "templates" / "config.yaml").write_text(config)
    (chart / "templates" / "reader.yaml").write_text(reader)
    (chart / "data.yaml").write_text("data:\n" + body)
    rendered = {item["metadata"]["name"]: item["data"] for item in helm_template(helm, chart)}
    assert list(rendered["x"].values()) == texts
    as_json = json.loads(base64.b64decode(rendered["reader"]["json"]))
    assert [as_json["data"][f"k{number}"] for number in range(len(texts))] == texts


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_the_devices_yaml_reader_sees_the_manifest_that_was_meant(
    helm: Path, generation: Generation, tmp_path: Path
) -> None:
    tree = make_tree(generation, hostile(NOTES))
    chart = write_tree(tree, tmp_path)
    paths = [path for path in tree.files if path.endswith("OlaresManifest.yaml")]
    action = '{{ .Files.Get "PATH" | fromYaml | toJson | b64enc }}'
    reader = "".join(
        f"---\nkind: C\napiVersion: v1\ndata: {action.replace('PATH', path)}\n" for path in paths
    )
    for template in (chart / "templates").iterdir():
        template.unlink()
    (chart / "templates" / "reader.yaml").write_text(reader)
    output = run_helm(helm, "template", "x", str(chart))
    documents = [item for item in yaml.load_all(output, Loader=yaml.CSafeLoader) if item]
    read_back = [json.loads(base64.b64decode(item["data"])) for item in documents]
    meant = [tree.manifest if "/" not in p else tree.i18n[p.split("/")[1]] for p in paths]
    assert read_back == meant


def test_a_chat_template_arrives_verbatim() -> None:
    tree = make_tree(NEW, FULL)
    rendered = render_helm(
        tree.files,
        values=device_values(tree.app),
        release_name=tree.app,
        namespace="x",
        profile=HYDRATION,
    )
    files = read(rendered["templates/files.yaml"])
    expected = "{{ messages[0]['content'] }}\n{% for m in x %}{# c #}\n"
    assert files["data"] == {"template.jinja": expected}


def test_titles_with_accents_reach_every_place_unchanged() -> None:
    tree = make_tree(NEW, {"title": "Démo Qwen é 🔥"})
    assert tree.manifest["metadata"]["title"] == "Démo Qwen é 🔥"
    assert tree.i18n["zh-CN"]["metadata"]["title"] == "Démo Qwen é 🔥"
    assert "Démo Qwen é 🔥".encode() in tree.files["OlaresManifest.yaml"]
    assert tree.manifest["entrances"][0]["title"] == "Dmo Qwen"


def test_an_unclosed_placeholder_is_refused_with_its_place() -> None:
    with pytest.raises(SpecError, match=r"text\.about"):
        make_tree(NEW, {"text.about": "ctx is {{ ctx"})


def test_placeholders_are_filled_and_helm_actions_are_text() -> None:
    spec = make_spec({"text.about": "{{ ctx }} tokens of {{ quant }}; {{ .Values.x }} stays"})
    tree = make_tree(NEW, spec=spec)
    assert "262144 tokens of UD-Q3_K_XL; {{ .Values.x }} stays" in str(
        tree.manifest["spec"]["fullDescription"]
    )
