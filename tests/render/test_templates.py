"""Templates: found in the package, overridden by a workspace, and loud about mistakes."""

from pathlib import Path

import pytest
import yaml
from support.charts import NEW, OLD, make_tree

from olares_apps.errors import RenderError
from olares_apps.render.templates import Templates, load_templates

DEPLOYMENT = "chart/templates/deployment.yaml"


def override(name: str, text: str) -> Templates:
    return load_templates().override({name: text})


def write(folder: Path, name: str, data: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_a_workspace_replaces_a_single_file_and_keeps_the_rest(tmp_path: Path) -> None:
    write(tmp_path, "text/en-US/upgrade.md", b"See our page.\n")
    tree = make_tree(NEW, templates=load_templates(tmp_path))
    assert tree.manifest["spec"]["upgradeDescription"] == "See our page."
    plain = make_tree(NEW)
    assert tree.files["templates/deployment.yaml"] == plain.files["templates/deployment.yaml"]


def test_a_workspace_without_templates_gets_the_packages_own(tmp_path: Path) -> None:
    assert load_templates(tmp_path / "missing").files == load_templates().files


def test_a_workspace_adds_an_object_and_a_locale(tmp_path: Path) -> None:
    write(tmp_path, "chart/templates/extra.yaml", b"kind: [[ app | scalar ]]\n")
    write(tmp_path, "text/fr-FR/description.md", "Décrit [[ spec.title ]].\n".encode())
    write(tmp_path, "text/fr-FR/full.md", b"Tout.\n")
    write(tmp_path, "text/fr-FR/upgrade.md", b"Rien.\n")
    tree = make_tree(NEW, templates=load_templates(tmp_path))
    assert tree.files["templates/extra.yaml"] == b'kind: "llamacppqwen36a3bone"\n'
    assert tree.manifest["spec"]["locale"] == ["en-US", "fr-FR", "zh-CN"]
    assert tree.i18n["fr-FR"]["metadata"]["description"] == "Décrit Qwen36 35B-A3B MTP One."


def test_a_checkout_with_windows_line_ends_and_a_byte_order_mark_renders_the_same(
    tmp_path: Path,
) -> None:
    for name, text in load_templates().files.items():
        data = ("\ufeff" + text.replace("\n", "\r\n")).encode()
        write(tmp_path, name, data)
    for generation in (OLD, NEW):
        windows = make_tree(generation, templates=load_templates(tmp_path))
        assert windows.files == make_tree(generation).files


def test_hidden_files_and_backups_of_editors_are_no_templates(tmp_path: Path) -> None:
    write(tmp_path, "chart/templates/.deployment.yaml.swp", b"\x00\xff")
    write(tmp_path, "chart/templates/.hidden.yaml", b"\x00\xff")
    write(tmp_path, "chart/templates/deployment.yaml.bak", b"\x00\xff")
    write(tmp_path, "chart/templates/deployment.yaml~", b"\x00\xff")
    write(tmp_path, "README.md", b"\x00\xff")
    assert load_templates(tmp_path).files == load_templates().files


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    write(tmp_path, "chart/templates/x.yaml", b"\xff\xfe\x00")
    with pytest.raises(RenderError, match=r"x\.yaml cannot be read"):
        load_templates(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\n[[ mmproj ]]\n", r"template chart/templates/deployment\.yaml:3: 'mmproj' is undef"),
        ("a\n[% if %]\n", r"deployment\.yaml:2: "),
        ("[[ app | nosuch ]]", r"deployment\.yaml:1: .*nosuch"),
        ("a: [[ gpu == 'x' ]]\n", r"deployment\.yaml:1: a template prints False"),
        ("\na: [[ none ]]\n", r"deployment\.yaml:2: a template prints None"),
        ("a: [[ app.missing.deep ]]\n", r"deployment\.yaml:1: .*missing"),
        ("a: [[ 1 / 0 ]]\n", r"deployment\.yaml:1: division by zero"),
        ('a: [[ "\\0" | scalar ]]\n', r"deployment\.yaml:1: text holds U\+0000"),
    ],
)
def test_a_mistake_in_a_template_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        make_tree(NEW, templates=override(DEPLOYMENT, text))


def test_an_unknown_template_is_an_error() -> None:
    with pytest.raises(RenderError, match="template scripts/none does not exist"):
        load_templates().text("scripts/none")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("{{ .Values.image.tag }}", r"reads \.Values\.image\.tag, which no device sets"),
        ("{{ .Values.userspaces.appData }}", r"userspaces\.appData"),
        ("{{ .Values.userspace.userData }}", r"userspace\.userData, which charts of this gen"),
        ("{{ .Values.olaresEnv.OTHER }}", r"olaresEnv\.OTHER, which is not declared"),
        ("{{ .Values }}", r"reads \.Values\."),
    ],
)
def test_a_value_that_no_device_sets_is_refused(reference: str, reason: str) -> None:
    with pytest.raises(RenderError, match=reason):
        make_tree(NEW, templates=override("chart/templates/extra.yaml", f"a: {reference}\n"))


def test_a_reference_gives_its_permission_and_its_default_value() -> None:
    text = "a: {{ .Values.userspace.appCache }}\nb: {{ (.Values.cluster).arch | quote }}\n"
    tree = make_tree(OLD, templates=override("chart/templates/extra.yaml", text))
    assert tree.manifest["permission"] == {"appCache": True, "appData": True}
    values = yaml.safe_load(tree.files["values.yaml"])
    assert values["userspace"] == {"appCache": "", "appData": ""}
    assert values["cluster"] == {"arch": ""}


def test_the_common_folder_can_be_asked_for_on_the_newer_generation_only() -> None:
    common = override("chart/templates/x.yaml", "a: {{ .Values.userspace.appCommon }}\n")
    assert make_tree(NEW, templates=common).manifest["permission"]["appCommon"] is True
    with pytest.raises(RenderError, match="appCommon"):
        make_tree(OLD, templates=common)


def test_an_app_without_model_files_declares_no_variables() -> None:
    text = "apiVersion: v1\nkind: X\n"
    tree = make_tree(NEW, templates=override(DEPLOYMENT, text))
    assert "envs" not in tree.manifest
    assert "permission" not in tree.manifest
