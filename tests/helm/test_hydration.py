"""The device's first rendering pass: its reduced context, its own functions, its files."""

from typing import Any

import pytest
from support.helm_charts import chart_files

from olares_apps.helm import (
    HELM,
    HYDRATION,
    ChartError,
    ExecutionError,
    NilAccess,
    RenderedObject,
    TemplateSyntaxError,
    UnknownFunction,
    YamlError,
    parse_manifests,
    render_chart,
    render_text,
)

PRESENT = """
default empty required coalesce dig base dir lower upper title untitle trim trimAll trimPrefix
trimSuffix quote squote replace split splitList join contains hasPrefix hasSuffix indent nindent
toYaml toJson toPrettyJson toString toInt int float64 add sub mul div mod gt gte lt lte cat repeat
has toBool eq ne and or not ternary list first last initial randAlphaNum randAlpha randNumeric
randAscii trunc nospace compact wordwrap fail hasKey index set regexMatch regexFindAll
regexReplaceAll regexSplit printf kindOf typeOf len keys values b64enc b64dec sha256sum genCA
genSelfSignedCert genSignedCert lookup include tpl
""".split()
OF_GO = "call ge html js le print println slice urlquery toFloat64".split()
ABSENT = """
dict merge append concat semverCompare now date htpasswd uuidv4 fromYaml get pluck ceil floor round
int64 toStrings until without uniq pick omit deepCopy sha1sum regexFind tuple kindIs typeIs max min
""".split()


def hydrate(files: dict[str, bytes], values: dict[str, Any] | None = None) -> dict[str, str]:
    return render_chart(
        files, values=values, release_name="demo", namespace="demo-ann", profile=HYDRATION
    )


def render(text: str, values: Any = None) -> str:
    return render_text(text, {"Values": values or {}}, HYDRATION, file="x.yaml")


def test_the_device_knows_these_functions_and_no_others() -> None:
    assert set(HYDRATION.functions) == {*PRESENT, *OF_GO}


@pytest.mark.parametrize("name", ABSENT)
def test_an_absent_function_is_a_parse_error(name: str) -> None:
    assert name in HELM.functions
    with pytest.raises(UnknownFunction) as caught:
        render(f"{{{{ {name} }}}}")
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ include "x" . }}|{{ tpl "{{ .a }}" . }}', "|{{ .a }}"),
        ('{{ b64enc "a" }}{{ b64dec "a" }}{{ sha256sum "a" }}', "aasha256-a"),
        ('{{ lookup "v1" "Pod" "" "" }}', "map[]"),
        ('{{ split "," "a,b" | len }}{{ index (split "," "a,b") "_1" }}', "2b"),
        ('{{ index (splitList "," "a") 7 }}', "<no value>"),
        ('{{ default "d" false }} {{ default "d" 0 }} {{ default "d" "" }}', "false 0 d"),
        ("{{ eq 1 1.0 }} {{ eq 1 1 }} {{ ne .Values.a nil }}", "false true false"),
        ('{{ ternary true "yes" "no" }}', "yes"),
        ('{{ and 1 "" }} {{ or "" 0 "x" }} {{ not "" }}', "false true true"),
        ('{{ add 1 2 }} {{ add 1.5 2.5 }} {{ add 1 "2" }} {{ div 7 0 }}', "3 4 0 0"),
        ('{{ first "abc" }} {{ last (list 1 2) }} {{ initial "abc" }}', "abc 2 A"),
        ("{{ quote nil }} {{ squote nil }} {{ quote 1 }}", '"" \'\' "1"'),
        ('{{ len nil }} {{ kindOf nil }} {{ toInt "5" }} {{ int "5" }}', "0 nil 0 5"),
        ('{{ gt 2 1 }} {{ gt 2 1.0 }} {{ gte 2 2 }} {{ lt "a" "b" }}', "true false true true"),
        ('{{ cat "a" 1 }} {{ join "," "x" }} {{ wordwrap 2 "abc" }}', "a1 x ab\nc"),
        ('{{ regexReplaceAll "a" "X" "banana" }}', "bXnXnX"),
        ("{{ .Values.a }}", "<no value>"),
        ('{{ set .Values "k" "v" }}{{ .Values.k }}', "vv"),
        ('{{ (genCA "n" 1).Cert | trunc 5 }}', "-----"),
    ],
)
def test_the_device_s_functions_differ_from_helm_s(text: str, expected: str) -> None:
    assert render(text) == expected


def test_and_runs_all_its_arguments() -> None:
    text = "{{ if and .Values.a .Values.a.b }}x{{ end }}"
    with pytest.raises(NilAccess):
        render(text)
    assert render_text(text, {"Values": {}}, HELM) == ""


@pytest.mark.parametrize("name", ["Files", "Template", "Subcharts", "Nothing"])
def test_the_context_has_four_names_only(name: str) -> None:
    files = chart_files({"x.yaml": f"{{{{ .{name} }}}}"})
    with pytest.raises(ExecutionError, match=f"can't evaluate field {name}") as caught:
        hydrate(files)
    assert caught.value.file == "templates/x.yaml"


def test_release_and_chart_have_fewer_fields_than_in_helm() -> None:
    text = (
        "{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Service }} {{ .Chart.Name }} "
        "{{ .Chart.Version }} {{ .Release.IsUpgrade }} {{ .Chart.AppVersion }} "
        '{{ .Capabilities.APIVersions.Has "nonsense/v9" }}'
    )
    rendered = hydrate(chart_files({"x.yaml": text}))["templates/x.yaml"]
    assert rendered == "demo demo-ann Helm demo 1.2.3 <no value> <no value> true"


def test_values_are_laid_over_the_defaults_and_a_null_stays() -> None:
    files = chart_files(
        {"x.yaml": "{{ .Values.a.x }} {{ .Values.a.y }} {{ .Values.b }} {{ .Values.on }}"},
        "a: {x: 1, y: 2}\nb: 3\non: on\n",
    )
    rendered = hydrate(files, {"a": {"y": "new"}, "b": None})["templates/x.yaml"]
    assert rendered == "1 new <no value> on"


def test_files_outside_templates_are_rendered_too() -> None:
    files = chart_files(
        {"x.yaml": "{{ .Values.a }}", "_h.tpl": '{{ define "h" }}{{ end }}'},
        "a: 1\n",
        others={
            "OlaresManifest.yaml": "name: {{ .Release.Name }}\n",
            "conf/app.toml": "n = {{ .Values.a }}\n",
            "README.md": "{{ not touched }}",
            "i18n/de-DE/OlaresManifest.yaml": "t: x\n",
        },
    )
    files["icon.png"] = b"\x89PNG\xff"
    assert hydrate(files) == {
        "Chart.yaml": files["Chart.yaml"].decode(),
        "OlaresManifest.yaml": "name: demo\n",
        "conf/app.toml": "n = 1\n",
        "i18n/de-DE/OlaresManifest.yaml": "t: x\n",
        "templates/x.yaml": "1",
        "values.yaml": "a: 1\n",
    }


def test_braces_in_a_data_file_break_the_rendering() -> None:
    files = chart_files(
        {"x.yaml": "a: 1"}, others={"dashboards/gpu.json": '{"t": "{{ messages[0] }}"}'}
    )
    with pytest.raises(TemplateSyntaxError) as caught:
        hydrate(files)
    assert caught.value.file == "dashboards/gpu.json"
    assert render_chart(files, values=None, release_name="r", namespace="n", profile=HELM)


def test_named_templates_work_where_they_are_called_with_template() -> None:
    files = chart_files(
        {
            "x.yaml": 'a: {{ template "h" . }}',
            "_h.tpl": '{{ define "h" }}{{ .Release.Name }}{{ end }}',
        }
    )
    assert hydrate(files)["templates/x.yaml"] == "a: demo"


def test_a_duplicate_key_in_values_is_an_error_with_both_lines() -> None:
    with pytest.raises(YamlError, match=r"values\.yaml:3.*duplicate key 'a' \(lines 1 and 3\)"):
        hydrate(chart_files({"x.yaml": "a: 1"}, "a: 1\nb: 2\na: 3\n"))


@pytest.mark.parametrize("values", ["- a", "text"])
def test_values_that_are_no_mapping_are_refused(values: str) -> None:
    with pytest.raises(ChartError, match=r"values\.yaml: not a mapping"):
        hydrate(chart_files({"x.yaml": "a: 1"}, values))


@pytest.mark.parametrize("is_admin", [True, False])
def test_an_old_manifest_renders_for_both_roles(is_admin: bool) -> None:
    text = "{{ if eq .Values.admin .Values.bfl.username }}admin{{ else }}user{{ end }}"
    values = {"admin": "ann", "bfl": {"username": "ann" if is_admin else "bob"}}
    for profile in (HELM, HYDRATION):
        rendered = render_text(text, {"Values": {**values, "isAdmin": is_admin}}, profile)
        assert rendered == ("admin" if is_admin else "user")


def test_release_notes_that_quote_a_template_stop_an_old_manifest() -> None:
    notes = "upgradeDescription: HF_ENDPOINT came from {{ .Values.olaresEnv.HF }}"
    with pytest.raises(NilAccess) as caught:
        render_text(notes, {"Values": {"admin": "a"}}, HELM, file="OlaresManifest.yaml")
    assert caught.value.expression == ".Values.olaresEnv.HF"


def test_a_hydrated_chart_gives_the_objects_that_helm_gives() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: demo\n  namespace: "
        '{{ .Release.Namespace }}\ndata:\n  path: "{{ .Values.userspace.appData }}/models"\n'
        '  token: {{ .Values.olaresEnv.HF_TOKEN | default "" | quote }}\n'
        '{{- if eq .Values.GPU.Type "nvidia" }}\n  gpu: nvidia\n{{- end }}\n'
    )
    files = chart_files(
        {"x.yaml": text},
        'userspace: {appData: "/d"}\nolaresEnv: {}\nGPU: {Type: ""}\n',
        others={"OlaresManifest.yaml": "metadata: {name: demo}\n"},
    )

    def objects(profile: Any) -> list[RenderedObject]:
        return parse_manifests(
            render_chart(
                files,
                values={"GPU": {"Type": "nvidia"}},
                release_name="demo",
                namespace="demo-ann",
                profile=profile,
            )
        )

    assert objects(HYDRATION) == objects(HELM)
    assert objects(HELM)[0].data["data"] == {"path": "/d/models", "token": "", "gpu": "nvidia"}
