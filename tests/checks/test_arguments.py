"""Variables and files that arguments name: found when they are missing, and only then."""

import pytest
from support.check_charts import APP, DEPLOYMENT, Chart, find, flagship, plain_chart, vllm_chart
from support.foreign_charts import catalogue_chart, legacy_market_chart
from support.mutation import arguments, bash, init_container, swap, swaps

from olares_apps.checks.downloads import script_targets

FOLDER = "/models/unsloth--Qwen3.6-35B-A3B-MTP-GGUF/main"
ARGS = "          ports: [{containerPort: 8080}]\n"


def said(chart: Chart, rule: str) -> list[str]:
    return [f.message for f in chart.check() if f.rule == rule]


def plain(command: str = "", args: str = "", env: str = "", image: str = "") -> Chart:
    """Return the hand-written chart whose server has a command, arguments and variables."""
    lines = "".join(
        f"          {key}: {value}\n"
        for key, value in (("command", command), ("args", args), ("env", env))
        if value
    )
    chart = swap(DEPLOYMENT, ARGS, lines + ARGS)(plain_chart())
    return swap(DEPLOYMENT, "docker.io/example/server:1.4.2", image)(chart) if image else chart


# Variables

UNDEFINED = {
    "an argument": (plain('["/bin/server"]', '["--size", "$(SIZE)"]'), "SIZE"),
    "a command": (plain('["/bin/server", "--size=$(SIZE)"]'), "SIZE"),
    "an argument of the image's own command": (plain("", '["--size", "$(SIZE)"]'), "SIZE"),
    "a word beside a script": (plain('["sh", "-c", "exec $0", "$(SIZE)"]'), "SIZE"),
    "an init container": (
        init_container(
            '        - name: early\n          image: "docker.io/library/busybox:1.37.0"\n'
            '          command: ["chmod", "755", "$(PLACE)"]\n'
        )(flagship()),
        "PLACE",
    ),
    "the short form of the context": (
        arguments("--chat-template", "$(NO_SUCH)")(flagship()),
        "NO_SUCH",
    ),
    "a variable that is set later": (
        plain(env='[{name: A, value: "$(B)/x"}, {name: B, value: y}]'),
        "B",
    ),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_a_variable_that_the_container_does_not_have_is_found(name: str) -> None:
    chart, variable = UNDEFINED[name]
    messages = said(chart, "variable-undefined")
    assert len(messages) == 1, messages
    assert all(f"$({variable})" in message for message in messages)


DEFINED = {
    "one that env sets": plain('["/s"]', '["$(SIZE)"]', '[{name: SIZE, value: "1"}]'),
    "one from a secret": plain(
        '["/s"]', '["$(KEY)"]', "[{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
    ),
    "one of a map of the chart": flagship(),
    "an escaped one": plain('["/s"]', '["$$(SIZE)"]'),
    "an escaped one after a dollar": plain('["/s"]', '["$$$$(SIZE)"]'),
    "a command in a script": plain('["/bin/sh", "-c", "exec /s --on $(hostname)"]'),
    "a command in a script behind options": plain(
        '["/bin/bash", "-euo", "pipefail", "-c"]', '["exec /s --on $(hostname)"]'
    ),
    "a script for the image's own shell": plain("", '["-c", "exec /s --on $(hostname)"]'),
    "a command with words": plain('["/s"]', '["$(cat /etc/hostname)"]'),
    "the address of the cluster": plain('["/s"]', '["$(KUBERNETES_SERVICE_HOST)"]'),
    "the port of a Service of the chart": plain('["/s"]', '["$(EXAMPLEAPP_SVC_PORT)"]'),
    "the address of another Service": plain('["/s"]', '["$(REDIS_SERVICE_HOST)"]'),
    "an unknown source": plain('["/s"]', '["$(SIZE)"]').replaced(
        DEPLOYMENT, ARGS, f"          envFrom: [{{secretRef: {{name: outside}}}}]\n{ARGS}"
    ),
    "a pattern of a program": plain(env='[{name: LOG_FORMAT, value: "$(asctime) x"}]'),
    "a variable that is set before": plain(env='[{name: B, value: y}, {name: A, value: "$(B)/x"}]'),
    "the catalogue's chart": catalogue_chart(),
    "a market's chart": legacy_market_chart(),
    "a chart of vLLM": vllm_chart(),
}


@pytest.mark.parametrize("name", DEFINED)
def test_a_variable_that_is_there_or_no_variable_is_left_alone(name: str) -> None:
    assert said(DEFINED[name], "variable-undefined") == []


def test_an_undefined_variable_is_named_with_its_container_line_and_the_nearest_one() -> None:
    chart = swap(DEPLOYMENT, "$(THREADS)", "$(THREAD)")(flagship())
    found = find(chart.check(), "variable-undefined")
    assert "container server" in found.message
    assert "$(THREADS)" in found.hint
    assert chart[DEPLOYMENT].decode().splitlines()[(found.line or 0) - 1].strip() == '- "$(THREAD)"'


# Files

LOAD = "exec /app/llama-server --model {model} --port 8000 --ctx-size 4096 --parallel 1"


def market(script: str, model: str = "/shared/a.gguf") -> Chart:
    """Return the market's chart with another start script."""
    chart = legacy_market_chart()
    text = chart[DEPLOYMENT].decode()
    start = text.index("              set -e\n")
    end = text.index("          envFrom:", start)
    lines = f"{script}\n{LOAD.format(model=model)}".splitlines()
    body = "".join(f"              {line}\n" for line in lines)
    return chart.with_file(DEPLOYMENT, text[:start] + body + text[end:])


URL = "https://huggingface.co/o/r/resolve/main"
MISSING = {
    "another name than the row's": swap(
        DEPLOYMENT,
        'UD-Q3_K_XL.gguf"\n            - "--alias"',
        'UD-Q3_K_M.gguf"\n            - "--alias"',
    )(flagship()),
    "a projector": arguments("--mmproj", f"{FOLDER}/mmproj.gguf")(flagship()),
    "a projector by its alias": arguments("-mm", f"{FOLDER}/mmproj.gguf")(flagship()),
    "a drafter": arguments("--model-draft", f"{FOLDER}/d.gguf")(flagship()),
    "a drafter by its alias": arguments("-md", f"{FOLDER}/d.gguf")(flagship()),
    "a drafter through a variable": arguments("-md", f"{FOLDER}/$(MODEL_ALIAS).gguf")(flagship()),
    "an adapter": arguments("--lora", f"{FOLDER}/l.gguf")(flagship()),
    "curl to another name": market(f"curl -fL {URL}/b.gguf -o /shared/b.gguf"),
    "curl with joined options": market(f"curl -fsSLo /shared/b.gguf {URL}/b.gguf"),
    "wget to another name": market(f"wget -q -O /shared/b.gguf {URL}/b.gguf"),
    "a rename to another name": market(
        f"[ -f /shared/b.gguf ] || curl -fL {URL}/b -o /shared/b.part\n"
        "mv /shared/b.part /shared/b.gguf"
    ),
    "through a variable of the script": market(
        f'F=b.gguf\ncurl -fL "{URL}/$F" -o "/shared/$F"', "/shared/a.gguf"
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_file_that_nothing_downloads_is_found(name: str) -> None:
    messages = said(MISSING[name], "model-file-not-downloaded")
    assert len(messages) == 1, messages
    assert "downloaded: " in messages[0]


THERE = {
    "the flagship": flagship(),
    "a projector that is downloaded": flagship(
        {
            "model.files": [
                {"repo": "o/r", "file": "a-UD-Q3_K_XL.gguf", "size_gb": 17.2},
                {"role": "mmproj", "repo": "o/r", "file": "mmproj.gguf", "size_gb": 0.9},
            ]
        }
    ),
    "a file of the image": arguments("--mmproj", "/opt/mmproj.gguf")(flagship()),
    "a model of the hub": vllm_chart(),
    "the catalogue's chart": catalogue_chart(),
    "a market's chart": legacy_market_chart(),
    "the same name": market(f"curl -fL {URL}/a.gguf -o /shared/a.gguf"),
    "a rename": market(f"curl -fL {URL}/a -o /shared/a.part && mv /shared/a.part /shared/a.gguf"),
    "a move into the folder": market(
        f"curl -fL {URL}/a.gguf -o /tmp/a.gguf\nmv /tmp/a.gguf /shared"
    ),
    "a loop over names": market(
        f"for F in a.gguf b.gguf; do\ncurl -fL {URL}/$F -o /shared/$F\ndone"
    ),
    "a function": market(f"get() {{ curl -fL {URL}/$1 -o /shared/$1; }}\nget a.gguf"),
    "the hub's own tool": market("hf download o/r a.gguf --local-dir /shared"),
    "a name of the server's": market(f"cd /shared && curl -fLO {URL}/a.gguf"),
    "a folder for wget": market(f"wget -P /shared {URL}/a.gguf"),
    "a command inside": market(f"F=$(basename {URL}/a.gguf)\ncurl -fL {URL} -o /shared/$F"),
    "a name that is set in two ways": market(
        f'F=b.gguf\nif [ -n "$BIG" ]; then F=a.gguf; fi\ncurl -fL {URL}/$F -o /shared/$F'
    ),
    "nothing is downloaded at all": market("echo loading"),
    "a program that is not known": market(
        f"curl -fL {URL}/b.gguf -o /shared/b.gguf\n/usr/local/bin/fetch-models"
    ),
    "a text over several lines": market(
        f"curl -fL {URL}/b.gguf -o /shared/b.gguf\necho 'one\ntwo'"
    ),
    "another container that can write there": market(
        f"curl -fL {URL}/b.gguf -o /shared/b.gguf"
    ).replaced(
        DEPLOYMENT,
        "      volumes:\n",
        '        - name: filler\n          image: "docker.io/example/filler:1.0.0"\n'
        "          volumeMounts: [{name: shared, mountPath: /data}]\n      volumes:\n",
    ),
}


@pytest.mark.parametrize("name", THERE)
def test_a_file_that_is_there_or_may_be_there_is_left_alone(name: str) -> None:
    assert said(THERE[name], "model-file-not-downloaded") == []


def test_a_start_script_of_the_project_downloads_what_its_rows_say() -> None:
    chart = bash(LOAD.format(model=f"{FOLDER}/other.gguf"))(flagship())
    assert len(said(chart, "model-file-not-downloaded")) == 1
    good = bash(LOAD.format(model=f"{FOLDER}/Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"))(flagship())
    assert said(good, "model-file-not-downloaded") == []


def test_a_missing_file_names_flag_path_downloads_and_line() -> None:
    chart = arguments("--mmproj", f"{FOLDER}/mmproj.gguf")(flagship())
    found = find(chart.check(), "model-file-not-downloaded")
    assert f"--mmproj {FOLDER}/mmproj.gguf" in found.message
    assert "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf" in found.message
    assert "--mmproj" in chart[DEPLOYMENT].decode().splitlines()[(found.line or 0) - 1]


def test_a_volume_of_another_name_in_another_workload_counts() -> None:
    """Charts of the newer generation download in a Deployment of their own."""
    chart = market(f"curl -fL {URL}/b.gguf -o /shared/b.gguf")
    other = (
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: loader}\nspec:\n"
        "  template:\n    spec:\n      containers:\n        - name: loader\n"
        "          image: docker.io/curlimages/curl:8.12.1\n"
        f'          command: ["sh", "-c", "curl -fL {URL}/a.gguf -o /out/a.gguf"]\n'
        "          volumeMounts: [{name: out, mountPath: /out}]\n      volumes:\n"
        "        - {name: out, hostPath: {path: /olares/share/ai/model}}\n"
    )
    assert len(said(chart, "model-file-not-downloaded")) == 1
    assert said(chart.with_file("templates/loader.yaml", other), "model-file-not-downloaded") == []


@pytest.mark.parametrize(
    ("script", "targets"),
    [
        ("", set()),
        ("curl -s https://x/health 2>&1 | grep ok > /dev/null", {"/dev/null"}),
        ("until curl -fL https://x/a -o /m/a; do sleep 5; done", {"/m/a"}),
        ("export F=a && curl -fL https://x/a --output=/m/$F", {"/m/a"}),
        ("cp /m/a /m/b", {"/m/b", "/m/b/a"}),
        ("cp /m/a b", None),
        ("cp -r /m/a /m/b /m/c", None),
        ("curl https://x/a -o $UNKNOWN", None),
        ("curl https://x/a -o a", None),
        ("tar xf /m/a.tar -C /m", None),
        ("echo 'open", None),
        ("x" * 70_000, None),
    ],
)
def test_what_a_script_writes(script: str, targets: set[str] | None) -> None:
    assert script_targets(script, {}) == targets


def test_the_release_name_is_no_part_of_the_answer() -> None:
    """A chart whose folder is made of values is judged as it renders."""
    chart = swaps((DEPLOYMENT, '/models"\n            type', f'/{APP}"\n            type'))(
        flagship()
    )
    assert said(chart, "model-file-not-downloaded") == []
