"""`olapps lock`, as a user runs it against a hub and a registry on loopback."""

import contextlib
import io
import json
import os
import pty
import re
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.fake_hub import COMMIT, FakeHub, digest, hub_of_the_environment, sparse_model
from support.flaky_hub import file_url_path, refuse
from support.gguf_files import QWEN36_27B, QWEN36_35B, TINY_MOE
from support.registry import FakeRegistry, ImageBlobs
from support.workspaces import build_workspace, good, olapps, untouched

from olares_apps.cli.app import run
from olares_apps.lock.file import load_lock, write_lock
from olares_apps.render import assemble

REPO, FILE = "example-org/Demo-35B-GGUF", "Demo-35B-UD-Q3_K_XL.gguf"
SIZE = 17_200_000_000
DOWNLOADER = "alpine/curl"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_of_the_environment(monkeypatch, tmp_path) as fake:
        fake.add_repo(
            REPO,
            {
                FILE: sparse_model(QWEN36_35B, size=SIZE),
                "Demo-35B-UD-Q4_K_XL.gguf": sparse_model(TINY_MOE),
            },
        )
        yield fake


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    with FakeRegistry() as fake:
        fake.add_image("llama-server", "b9600", ImageBlobs({"amd64": ["CUDA_VERSION=13.0.1"]}))
        fake.add_image(DOWNLOADER, "8.12.1", ImageBlobs({"amd64": [], "arm64": []}))
        monkeypatch.setattr(assemble, "DOWNLOAD_IMAGE", f"{fake.host}/{DOWNLOADER}:8.12.1")
        yield fake


@pytest.fixture
def root(tmp_path: Path, hub: FakeHub, registry: FakeRegistry) -> Path:
    image = ("registry.example.org/llama-server:b9600", f"{registry.host}/llama-server:b9600")
    return build_workspace(tmp_path / "ws", image)


def test_one_run_pins_files_headers_and_images(root, hub, registry):
    (row,) = good("lock", "--output", "json", cwd=root).json["specs"]
    assert row["written"]
    assert row["fetched"] == [
        f"{REPO}/{FILE}",
        f"{registry.host}/llama-server:b9600",
        f"{registry.host}/{DOWNLOADER}:8.12.1",
    ]
    lock = load_lock(root / "apps/demo.yaml")
    assert lock is not None
    (file,) = lock.files
    assert (file.commit, file.size, file.licence) == (COMMIT, SIZE, "apache-2.0")
    assert file.parts[0].sha256 == digest(sparse_model(QWEN36_35B, size=SIZE))
    assert file.facts is not None
    assert (file.facts.nextn, file.facts.file_size) == (1, SIZE)
    assert list(file.others) == ["Demo-35B-UD-Q4_K_XL.gguf"]
    assert [image.platforms[0].cuda for image in lock.images] == ["13.0.1", None]
    assert all(item.origin.state == "verified" for item in (*lock.files, *lock.images))


def test_a_second_run_asks_nobody_and_changes_nothing(root, hub, registry):
    good("lock", cwd=root)
    asked = len(hub.requests), len(registry.requests)
    with untouched(root):
        outcome = good("lock", cwd=root)
    assert "unchanged (0 facts asked for, 3 kept" in outcome.out
    assert (len(hub.requests), len(registry.requests)) == asked


def test_upgrade_asks_again_and_writes_only_what_is_new(root, hub):
    good("lock", cwd=root)
    with untouched(root):
        good("lock", "--upgrade", cwd=root)
    moved = "d" * 40
    hub.add_repo(REPO, {FILE: sparse_model(QWEN36_35B, size=SIZE)}, commit=moved)
    with untouched(root):
        good("lock", cwd=root)
    good("lock", "--upgrade", cwd=root)
    assert moved in (root / "apps/demo.lock.yaml").read_text()


def test_offline_after_a_run_gives_the_same_lock(root, hub, registry):
    good("lock", cwd=root)
    text = (root / "apps/demo.lock.yaml").read_text()
    (root / "apps/demo.lock.yaml").unlink()
    asked, images = len(hub.requests), len(registry.requests)
    good("lock", "--offline", cwd=root)
    assert (len(hub.requests), len(registry.requests)) == (asked, images)
    dates = re.compile(r"at: .*")
    assert dates.sub("", (root / "apps/demo.lock.yaml").read_text()) == dates.sub("", text)


def test_offline_without_a_cache_says_what_is_missing(root):
    with untouched(root / "apps"):
        outcome = olapps("lock", "--offline", cwd=root)
    assert outcome.code == 1
    assert "is not in the cache" in outcome.err
    assert "once without --offline" in outcome.err


def test_offline_a_commit_and_size_stated_by_hand_are_marked_as_such(root):
    good("lock", cwd=root)
    spec = root / "apps/demo.yaml"
    stated = f"size: {SIZE}\n      revision: {COMMIT}"
    spec.write_text(spec.read_text().replace("size_gb: 17.2", stated).replace(REPO, "other/Demo"))
    good("lock", "--offline", cwd=root)
    lock = load_lock(spec)
    assert lock is not None
    assert (lock.files[0].origin.state, lock.files[0].commit) == ("stated", COMMIT)
    assert lock.files[0].gguf is None


def test_a_contradiction_names_field_and_line_and_leaves_the_lock(root):
    spec = root / "apps/demo.yaml"
    spec.write_text(spec.read_text().replace("size_gb: 17.2", "size_gb: 16.0"))
    with untouched(root / "apps"):
        outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert re.search(
        r"demo\.yaml:\d+: model\.files\.0\.size_gb: .*16\.0 GB.*17\.20 GB", outcome.err
    )


def test_a_wrong_file_name_suggests_the_right_one_and_other_specs_are_locked(root):
    text = (root / "apps/demo.yaml").read_text()
    other = text.replace("demoqwenone", "demosecond").replace("Demo Qwen One", "Demo Second")
    other = other.replace("alias: demo-qwen", "alias: demo-second").replace(FILE, FILE.lower())
    (root / "apps/second.yaml").write_text(other)
    outcome = olapps("lock", "--output", "json", cwd=root)
    assert outcome.code == 1
    assert f"did you mean {FILE}?" in outcome.err
    assert [row["written"] for row in outcome.json["specs"]] == [True, False]
    assert outcome.json["specs"][1]["faults"][0]["kind"] == "ModelFileMissing"


def test_a_hub_and_a_registry_that_fail_are_both_told(root, hub, registry):
    hub.script(file_url_path(REPO, FILE, COMMIT), then=refuse(429, retry_after="900"))
    registry.script("/v2/llama-server/manifests/b9600", then=refuse(404))
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert "asks to wait 900 s" in outcome.err
    assert "llama-server:b9600 does not exist" in outcome.err
    assert not (root / "apps/demo.lock.yaml").exists()


def test_an_image_that_the_chart_adds_stops_nothing_and_is_fetched_later(root, registry):
    path = f"/v2/{DOWNLOADER}/manifests/8.12.1"
    registry.script(path, then=refuse(404))
    outcome = good("lock", cwd=root)
    image = f"{registry.host}/{DOWNLOADER}:8.12.1"
    assert f"{image}, which the chart adds, is not pinned" in outcome.err
    lock = load_lock(root / "apps/demo.yaml")
    assert lock is not None
    assert lock.image(image) is None
    assert (len(lock.files), len(lock.images)) == (1, 1)
    registry.script(path)
    (row,) = good("lock", "--output", "json", cwd=root).json["specs"]
    assert row["fetched"] == [image]
    after = load_lock(root / "apps/demo.yaml")
    assert after is not None
    assert after.image(image) is not None


def test_an_image_of_several_specs_is_asked_for_once(root, registry):
    text = (root / "apps/demo.yaml").read_text()
    for index in range(5):
        other = text.replace("demoqwenone", f"demo{index}one").replace("demo-qwen", f"demo-{index}")
        other = other.replace("title: Demo Qwen One", f"title: Demo {index} One")
        (root / f"apps/demo{index}.yaml").write_text(other)
    good("lock", cwd=root)
    asked = [request.path for request in registry.requests if "/manifests/" in request.path]
    # Once without the token that the registry asks for, once with it.
    assert asked.count(f"/v2/{DOWNLOADER}/manifests/8.12.1") == 2
    assert asked.count("/v2/llama-server/manifests/b9600") == 2


def test_an_image_of_a_variant_that_is_missing_is_told_at_the_variant(root, registry):
    path = root / "apps/demo.yaml"
    image = f"{registry.host}/llama-server:gone"
    path.write_text(
        path.read_text() + f"variants:\n  rtx-3090:\n    set: {{engine.image: '{image}'}}\n"
    )
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    number = path.read_text().splitlines().index("  rtx-3090:") + 1
    assert f"apps/demo.yaml:{number}: variants.rtx-3090: " in outcome.err
    assert "llama-server:gone does not exist" in outcome.err


@pytest.mark.parametrize("token", ["hf_\u00e4", "hf_\u200b"])
def test_a_token_that_cannot_be_sent_is_told_and_not_shown(root, monkeypatch, token):
    monkeypatch.setenv("HF_TOKEN", token)
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 2
    assert "HF_TOKEN holds characters that no token has" in outcome.err
    assert token not in outcome.err


def test_names_and_all_exclude_each_other(root):
    assert olapps("lock", "--all", "demo", cwd=root).code == 2


def test_a_damaged_lock_is_told_and_not_replaced(root):
    (root / "apps/demo.lock.yaml").write_text("schema: 7\n")
    with untouched(root / "apps"):
        outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert "apps/demo.lock.yaml:1: schema: is 7, this version reads 1" in outcome.err
    assert "olapps lock --upgrade makes it anew" in outcome.err


@pytest.mark.parametrize("text", ["", "schema: 7\n", "<<<<<<< HEAD\nschema: 1\n=======\n", "\0"])
def test_upgrade_makes_a_damaged_lock_anew_and_says_so(root, text):
    good("lock", cwd=root)
    before = load_lock(root / "apps/demo.yaml")
    (root / "apps/demo.lock.yaml").write_text(text)
    outcome = good("lock", "--upgrade", cwd=root)
    assert "apps/demo.lock.yaml cannot be used and is made anew" in outcome.err
    after = load_lock(root / "apps/demo.yaml")
    assert before is not None
    assert after is not None
    assert after.files[0].parts == before.files[0].parts


def test_a_hub_that_states_the_impossible_is_told(root, hub):
    huge = sparse_model(TINY_MOE, size=2**51)
    hub.add_repo(REPO, {FILE: huge})
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert "what cannot be: size 2251799813685248" in outcome.err
    assert not (root / "apps/demo.lock.yaml").exists()


@pytest.mark.parametrize(
    "endpoint", ["hub.example.org", "http://", "ftp://x", "http://[", "http://x:a"]
)
def test_an_endpoint_that_is_no_address_is_wrong_usage(root, monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 2
    assert "HF_ENDPOINT" in outcome.err


def test_alternatives_are_looked_at_and_never_downloaded(root, hub):
    other = "example-org/Demo-35B-MTP-GGUF"
    hub.add_repo(other, {"mtp.gguf": sparse_model(QWEN36_35B, size=SIZE + 1)})
    spec = root / "apps/demo.yaml"
    listed = f"  alternatives:\n    - {{repo: {other}, file: mtp.gguf}}\nengine:\n"
    spec.write_text(spec.read_text().replace("engine:\n  type", f"{listed}  type"))
    good("lock", cwd=root)
    lock = load_lock(spec)
    assert lock is not None
    (found,) = lock.alternatives
    assert found.facts is not None
    assert (found.repo, found.size, found.facts.nextn) == (other, SIZE + 1, 1)
    with untouched(root):
        assert "0 facts asked for, 4 kept" in good("lock", cwd=root).out
    good("render", cwd=root)
    written = [path.read_text() for path in (root / "charts").rglob("*.yaml")]
    assert not any("mtp.gguf" in text for text in written)
    spec.write_text(spec.read_text().replace("file: mtp.gguf", "file: MTP.gguf"))
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert re.search(
        r"demo\.yaml:\d+: model\.alternatives\.0: .*did you mean mtp\.gguf", outcome.err, re.S
    )


def test_a_run_says_how_much_of_each_file_it_read(root, hub):
    (row,) = good("lock", "--output", "json", cwd=root).json["specs"]
    (size,) = row["bytes_read"].values()
    assert list(row["bytes_read"]) == [f"{REPO}/{FILE}"]
    sent = [item.range for item in hub.gets(file_url_path(REPO, FILE, COMMIT))]
    ends = [tuple(map(int, text.removeprefix("bytes=").split("-"))) for text in sent]
    assert size == sum(end - start + 1 for start, end in ends)
    assert size < SIZE // 1000
    (root / "apps/demo.lock.yaml").unlink()
    assert good("lock", "--output", "json", cwd=root).json["specs"][0]["bytes_read"] == {}
    (root / "apps/demo.lock.yaml").unlink()
    shutil.rmtree(root.parent / "cache")
    assert f"MB read of {REPO}/{FILE}" in good("lock", cwd=root).out


def test_several_repositories_are_asked_at_the_same_time(root, hub, monkeypatch):
    """Each page waits until the other one was asked for: one after the other never ends well."""
    other = "example-org/Other-GGUF"
    hub.add_repo(other, {"other.gguf": sparse_model(TINY_MOE)})
    text = (root / "apps/demo.yaml").read_text().replace("demoqwenone", "demosecond")
    text = text.replace("Demo Qwen One", "Demo Second").replace("demo-qwen", "demo-second")
    text = text.replace(REPO, other).replace(FILE, "other.gguf").replace("size_gb: 17.2", "")
    (root / "apps/second.yaml").write_text(text.replace("      \n", ""))
    together = threading.Barrier(2, timeout=20)
    answer = hub._answer_to

    def waiting(request):
        if request.path.startswith("/api/models/"):
            together.wait()
        return answer(request)

    monkeypatch.setattr(hub, "_answer_to", waiting)
    assert good("lock", cwd=root).out.count("written") == 2
    assert not together.broken


def test_a_bar_is_shown_on_a_terminal_and_only_there(root, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert good("lock", cwd=root).err == ""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal, contextlib.redirect_stderr(terminal):
        with contextlib.chdir(root), contextlib.redirect_stdout(io.StringIO()) as out:
            assert run(["lock", "--upgrade"]) == 0
        terminal.flush()
        shown = os.read(master, 2**16).decode()
    os.close(master)
    assert "3/3" in shown
    assert "\x1b" not in out.getvalue()


def test_files_and_images_of_variants_are_locked_too(root, hub, registry):
    registry.add_image("llama-server", "b9700", ImageBlobs({"amd64": []}))
    spec = root / "apps/demo.yaml"
    other = "Demo-35B-UD-Q4_K_XL.gguf"
    spec.write_text(
        f"{spec.read_text()}variants:\n  rtx-5090:\n    set:\n"
        f"      model.files.0.file: {other}\n"
        f"      engine.image: {registry.host}/llama-server:b9700\n"
        "      engine.ctx: 65536\n"
    )
    good("lock", cwd=root)
    lock = load_lock(spec)
    assert lock is not None
    assert [file.file for file in lock.files] == [FILE, other]
    assert [item.image.rpartition(":")[2] for item in lock.images] == ["b9600", "b9700", "8.12.1"]
    with untouched(root):
        assert "0 facts asked for, 5 kept" in good("lock", cwd=root).out
    here = good("fit", "demo", "--output", "json", cwd=root).json
    there = olapps("fit", "demo", "--hardware", "rtx-5090", "--output", "json", cwd=root).json
    assert (here["title"], here["build"]) == (FILE, "b9600")
    assert (there["title"], there["build"], there["hardware"]) == (other, "b9700", "rtx-5090")
    for more in ([], ["--hardware", "rtx-5090"]):
        found = olapps("check", "--output", "json", *more, cwd=root).json["findings"]
        assert [item for item in found if item["rule"] == "lock-stale"] == []


def test_a_header_of_one_hub_is_never_taken_for_that_of_another(root, hub, monkeypatch):
    good("lock", cwd=root)
    first = load_lock(root / "apps/demo.yaml")
    with FakeHub() as other:
        other.add_repo(REPO, {FILE: sparse_model(QWEN36_27B, size=SIZE, rest="Q4_K")})
        monkeypatch.setenv("HF_ENDPOINT", other.url)
        good("lock", "--upgrade", cwd=root)
    second = load_lock(root / "apps/demo.yaml")
    assert first is not None
    assert second is not None
    assert first.files[0].commit == second.files[0].commit == COMMIT
    assert first.files[0].facts != second.files[0].facts


@pytest.mark.parametrize(
    "address",
    ["user:pw@host", "ftp://user:pw@host", "https://user:pw@[bad", "//user:pw@host", "user:pw@"],
)
def test_a_password_in_an_address_that_is_none_is_not_repeated(root, monkeypatch, address):
    monkeypatch.setenv("HF_ENDPOINT", address)
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 2
    assert "HF_ENDPOINT holds a user name or password" in outcome.err
    assert "pw" not in outcome.err.replace("password", "")


def test_a_hub_address_with_a_password_is_refused_and_not_repeated(root, monkeypatch, hub):
    monkeypatch.setenv("HF_ENDPOINT", hub.url.replace("http://", "http://user:s3cretpw@"))
    with untouched(root):
        outcome = olapps("lock", cwd=root)
    assert (outcome.code, "HF_TOKEN" in outcome.err) == (2, True)
    assert "s3cretpw" not in outcome.out + outcome.err


def test_two_writers_of_a_lock_never_leave_half_of_one(root, hub):
    good("lock", cwd=root)
    spec = root / "apps/demo.yaml"
    first = load_lock(spec)
    assert first is not None
    second = first.model_copy(update={"images": type(first.images)()})
    with ThreadPoolExecutor(8) as pool:
        for job in [pool.submit(write_lock, spec, (first, second)[n % 2]) for n in range(200)]:
            job.result()
    assert load_lock(spec) in (first, second)
    assert sorted(path.name for path in spec.parent.iterdir()) == ["demo.lock.yaml", "demo.yaml"]


@pytest.mark.parametrize(("fact", "value"), [("file_size", SIZE + 1), ("nextn", 50)])
def test_header_facts_that_something_changed_in_the_cache_are_read_again(root, hub, fact, value):
    good("lock", cwd=root)
    text = (root / "apps/demo.lock.yaml").read_text()
    for path in (root.parent / "cache").rglob("gguf/*/*.json"):
        whole = json.loads(path.read_text())
        path.write_text(json.dumps({**whole, "value": {**whole["value"], fact: value}}))
    good("lock", "--upgrade", cwd=root)
    assert (root / "apps/demo.lock.yaml").read_text() == text


@pytest.mark.parametrize("value", ["[1]", '"x"', '{"a": 1}', "null", "7"])
@pytest.mark.parametrize("offline", [True, False])
def test_a_cache_that_something_damaged_counts_as_empty(root, value, offline):
    good("lock", cwd=root)
    kept = [path for path in (root.parent / "cache").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        text = path.read_text()
        whole = json.loads(text)
        changed = {**whole, "value": json.loads(value)} if "value" in whole else json.loads(value)
        path.write_text(json.dumps(changed))
    arguments = ("--upgrade", "--offline") if offline else ("--upgrade",)
    outcome = olapps("lock", *arguments, cwd=root)
    assert "Traceback" not in outcome.err
    if offline:
        assert outcome.code == 1
        assert "is not in the cache" in outcome.err
    else:
        assert outcome.code == 0, outcome
