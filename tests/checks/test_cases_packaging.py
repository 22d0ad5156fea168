"""Public reports of YAML, templates, versions and packages that went wrong."""

import pytest
from support.cases import Case, matching
from support.check_charts import APP, DEPLOYMENT, MANIFEST, flagship, legacy_flagship, plain_chart
from support.mutation import IMAGE, add, drop, everywhere, listing, swap, swaps

from olares_apps.checks import Published
from olares_apps.checks.listing import Entry, EntryKind, Fault, FaultKind
from olares_apps.findings import Severity

CONFIG = "templates/config.yaml"
VERSION = 'version: "1.0.3"'
OLD_AND_NEW = "aa" * 32, "bb" * 32

CASES = {
    "C030 a million with an exponent": Case(
        flagship,
        swaps(
            (CONFIG, 'CTX_SIZE: "262144"', "CTX_SIZE: {{ .Values.ctx | quote }}"),
            ("values.yaml", 'admin: ""', 'admin: ""\nctx: 1048576'),
        ),
        "number-exponent",
        ("1.048576e+06", "int64"),
        file=CONFIG,
    ),
    "C030 less than a million": Case(
        flagship,
        swaps(
            (CONFIG, 'THREADS: "16"', "THREADS: {{ int64 .Values.ctx | quote }}"),
            ("values.yaml", 'admin: ""', 'admin: ""\nctx: 1048576'),
        ),
        "image-literal",
        (".Values.ctx",),
        Severity.WARNING,
    ),
    "C031 JSON that lost its quotes": Case(
        flagship,
        swap(DEPLOYMENT, r'"{\"enable_thinking\": false}"', "'{enable_thinking: false}'"),
        "flag-not-json",
        ("--chat-template-kwargs",),
        file=DEPLOYMENT,
    ),
    "C033 a tag of digits that became a number": Case(
        flagship,
        swaps(
            (DEPLOYMENT, f'image: "{IMAGE}"', 'image: "docker.io/a/b:{{ .Values.tag }}"'),
            ("values.yaml", 'admin: ""', 'admin: ""\ntag: 62189086'),
        ),
        "image-public-fixed",
        ("6.2189086e+07", "is not a valid reference"),
    ),
    "C033 a tag of digits as text": Case(
        flagship, everywhere(IMAGE, "docker.io/aamsellem/llama-cpp-mtp:62189086-ad27757")
    ),
    "C035 a boolean where a word is due": Case(
        flagship,
        swap(DEPLOYMENT, '            - "on"\n', "            - off\n"),
        "env-value-type",
        ("argument", "must be string", "boolean"),
        file=DEPLOYMENT,
    ),
    "C036 a number as variable": Case(
        flagship,
        swap(
            DEPLOYMENT,
            "            - name: MODEL_DIR",
            "            - name: THREADS\n              value: 16\n            - name: MODEL_DIR",
        ),
        "env-value-type",
        ("env THREADS: value must be string", "16"),
        file=DEPLOYMENT,
    ),
    "C036 a boolean in a ConfigMap": Case(
        flagship,
        swap(CONFIG, "\ndata:\n", "\ndata:\n  DEBUG: true\n"),
        "env-value-type",
        ("DEBUG must be string", "boolean"),
        file=CONFIG,
    ),
    "C039 entities of an HTML engine": Case(
        flagship,
        swap(MANIFEST, '"First release."', '"R&amp;D &lt;fast&gt;"'),
        "template-residue",
        ("upgradeDescription", "&amp;"),
        Severity.WARNING,
        MANIFEST,
    ),
    "C040 the word None": Case(
        flagship,
        swap(
            DEPLOYMENT,
            "            - name: MODEL_DIR",
            "            - {name: MMPROJ, value: None}\n            - name: MODEL_DIR",
        ),
        "template-residue",
        ("MMPROJ", "None"),
        Severity.WARNING,
    ),
    "C041 an image without quotes": Case(
        flagship,
        swap(DEPLOYMENT, f'image: "{IMAGE}"', "image: {{ .Values.repo }}"),
        "image-public-fixed",
        ("image of container server", "must be a string"),
    ),
    "C041 an image as a mapping": Case(
        flagship,
        swap(DEPLOYMENT, f'image: "{IMAGE}"', "image: {repo: b9600}"),
        "image-public-fixed",
        ("is a mapping", "one quoted string"),
    ),
    "C042 a block that ends too early": Case(
        plain_chart,
        swap(
            DEPLOYMENT,
            "          ports: [{containerPort: 8080}]\n",
            "          args:\n            - |\n              --a 1\n          --b 2\n",
        ),
        "yaml-documents",
        ("not YAML",),
        file=DEPLOYMENT,
    ),
    "C045 a second key in the notes": Case(
        flagship,
        swap(
            MANIFEST,
            '  upgradeDescription: "First release."',
            "  upgradeDescription: |\n  upgradeDescription: |\n    x",
        ),
        "manifest-parse",
        ("duplicate key 'upgradeDescription'", "lines "),
        file=MANIFEST,
    ),
    "C046 a variable twice": Case(
        flagship,
        swap(CONFIG, 'THREADS: "16"', 'THREADS: "16"\n  THREADS: "8"'),
        "yaml-documents",
        ("duplicate key 'THREADS'",),
        file=CONFIG,
    ),
    "C046 a key twice in values": Case(
        flagship,
        swap("values.yaml", 'admin: ""', 'admin: ""\nadmin: x'),
        "manifest-parse",
        ("duplicate key 'admin' (lines 1 and 2)",),
        file="values.yaml",
    ),
    "C047 line ends of another system": Case(
        flagship,
        lambda chart: chart.with_file(CONFIG, chart[CONFIG].replace(b"\n", b"\r\n")),
        "line-endings",
        ("CR line ends", "LF"),
        Severity.WARNING,
        CONFIG,
    ),
    "C049 emoji and accents": Case(
        flagship, swap(MANIFEST, '"First release."', '"D\u00e9mo \U0001f525 \u2192 3\u00d7"')
    ),
    "C050 build metadata": Case(
        flagship,
        everywhere('"1.0.3"', '"1.0.2+cuda131"'),
        "version-plain-release",
        ("'1.0.2+cuda131'", "build metadata", "not allowed"),
    ),
    "C051 a leading v": Case(
        flagship,
        everywhere('"1.0.3"', '"v1.0.0"'),
        "version-semver",
        ("'v1.0.0'", "drop the leading v"),
    ),
    "C053 a version that YAML reads as a number": Case(
        flagship,
        swap(MANIFEST, VERSION, "version: 1.10"),
        "quoted-scalars",
        ("metadata.version must be a quoted string", "YAML read 1.1"),
        file=MANIFEST,
    ),
    "C054 a version that goes back": Case(
        flagship,
        rule="version-monotonic",
        facts=("1.0.3 is lower than the published 1.4.5", "1.4.6"),
        context={"published": Published({"1.4.5": "", "1.4.4": ""})},
    ),
    "C053 ten comes after nine": Case(
        lambda: flagship({"version": "1.9.9"}),
        rule="version-monotonic",
        facts=("1.9.10 is lower than the published 1.10.0",),
        context={"published": Published({"1.9.0": "", "1.10.0": ""})},
    ),
    "C056 other bytes under a published version": Case(
        flagship,
        rule="version-immutable",
        facts=("1.0.3 is already published", OLD_AND_NEW[0][:12], OLD_AND_NEW[1][:12], "1.0.4"),
        context={
            **listing(sha256=OLD_AND_NEW[1]),
            "published": Published({"1.0.3": OLD_AND_NEW[0]}),
        },
    ),
    "C056 the same bytes again": Case(
        flagship,
        context={
            **listing(sha256=OLD_AND_NEW[0]),
            "published": Published({"1.0.3": OLD_AND_NEW[0]}),
        },
    ),
    "C058 AppleDouble entries": Case(
        flagship,
        add("._icon.png", b"\0\x05\x16\x07"),
        "apple-double",
        ("AppleDouble entry ._icon.png",),
    ),
    "C058 a Finder file": Case(
        flagship, add(".DS_Store", b"\0"), "stray-file", (".DS_Store",), Severity.WARNING
    ),
    "C059 an old package in the chart": Case(
        flagship,
        add(f"{APP}-1.0.0.tgz", b"\x1f\x8b"),
        "nested-archive",
        (f"contains {APP}-1.0.0.tgz", "no declared sub-chart"),
        Severity.WARNING,
    ),
    "C059 a backup": Case(
        flagship, add("values.yaml.bak", b"x"), "stray-file", ("values.yaml.bak",), Severity.WARNING
    ),
    "C059 a package over a megabyte": Case(
        flagship,
        rule="archive-size",
        facts=("1300000 bytes > 1048576 bytes",),
        context=listing(size=1300000),
    ),
    "C061 a renamed archive": Case(
        flagship,
        rule="version-consistency",
        facts=(f"{APP}-1.7.6.tgz contains version 1.0.3",),
        context=listing(name=f"{APP}-1.7.6.tgz"),
    ),
    "C062 a link that leaves the chart": Case(
        flagship,
        rule="archive-links",
        facts=("templates/_h.tpl -> /home/x", "link leaves chart, refused"),
        context=listing(
            Entry("templates/_h.tpl", EntryKind.LINK, target="/home/x", leaves=True),
            is_archive=False,
        ),
    ),
    "C067 values that only a device has": Case(
        flagship,
        drop("values.yaml", "workloads:", "replicaCount"),
        "values-parent-default",
        (".Values.workloads", "values.yaml does not have", "workloads: {}"),
        file=DEPLOYMENT,
    ),
    "C067 guarded reads": Case(flagship, drop("values.yaml", "olaresEnv:", "  HF_")),
    "C069 gzip inside gzip": Case(
        flagship,
        rule="archive-single-gzip",
        facts=("not a tar", "gzip inside gzip"),
        context=listing(faults=(Fault(FaultKind.PACKING, "is not a tar: gzip inside gzip"),)),
    ),
    "C070 a chart version like the app's": Case(legacy_flagship),
}


@pytest.mark.parametrize("name", CASES)
def test_a_public_case_of_packaging(name: str) -> None:
    case = CASES[name]
    found = matching(case)
    if case.rule:
        assert found, [f"{f.rule} {f.severity}: {f.message} | {f.hint}" for f in case.findings()]
    else:
        assert not found, [f"{f.rule}: {f.message}" for f in found]
