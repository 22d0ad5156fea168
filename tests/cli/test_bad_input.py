"""Bad input at the command line: the place, the fix, the status, and nothing written."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from support.specs import MINIMAL, build_file_tree, spec_text
from support.workspaces import (
    DEMO,
    SECOND_SPEC,
    build_workspace,
    edit,
    good,
    olapps,
    untouched,
)

VERSION, TITLE, CTX = 'version: "1.0.0"', "title: Demo Qwen One", "  ctx: 32768"
SUMMARY = "summary: A demo on your own device."
RESOURCES = "engine:\n  type: llamacpp"


class TestEngine:
    def test_what_an_engine_refuses_has_a_line_and_hides_no_other_spec(self, tmp_path):
        # The draft method stands in the settings, but the image's build has no word for it.
        text = spec_text((RESOURCES, f"{RESOURCES}\n  speculative: {{method: eagle3, n_max: 3}}"))
        build = text.replace("app: demoqwenone", "app: demoother")
        root = build_workspace(tmp_path)
        changed = build.replace("title: Demo Qwen One", "title: Demo Other")
        changed = changed.replace("alias: demo-qwen", "alias: demo-other")
        image = next(line for line in changed.splitlines() if line.startswith("  image:"))
        changed = changed.replace(image, "  image: ghcr.io/ggml-org/llama.cpp:server-cuda-b8740")
        (root / "apps/other.yaml").write_text(changed)
        outcome = olapps("check", "--no-tools", "--output", "json", cwd=root)
        assert outcome.code == 1
        number = 1 + next(
            n for n, line in enumerate(changed.splitlines()) if "speculative:" in line
        )
        (refused,) = [f for f in outcome.json["findings"] if f["rule"] == "spec-invalid"]
        assert (refused["app"], refused["file"]) == ("demoother", "apps/other.yaml")
        assert refused["line"] == number
        assert refused["message"].startswith("engine.speculative")
        assert "demoother" not in good("show", "demo", cwd=root).out


class TestWorkspace:
    @pytest.mark.parametrize("command", [["list"], ["render"], ["publish"], ["market", "status"]])
    def test_a_missing_workspace_is_said_with_the_way_to_one(self, tmp_path, command):
        with untouched(tmp_path):
            outcome = olapps(*command, cwd=tmp_path)
        assert outcome.code == 2
        assert "olapps.toml" in outcome.err
        assert "hint:" in outcome.err

    def test_a_workspace_that_is_no_folder_is_refused(self, tmp_path):
        for place in (tmp_path / "none", Path(__file__)):
            assert olapps("list", "--workspace", place, cwd=tmp_path).code == 2

    def test_an_environment_that_names_no_workspace_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OLAPPS_WORKSPACE", str(tmp_path / "none"))
        for command in (["list"], ["market", "status"]):
            assert olapps(*command, cwd=tmp_path).code == 2

    def test_a_workspace_without_a_spec_names_the_folder(self, tmp_path):
        root = build_workspace(tmp_path)
        (root / "apps/demo.yaml").unlink()
        for command in (["render"], ["publish"]):
            outcome = olapps(*command, cwd=root)
            assert outcome.code == 2
            assert "apps" in outcome.err

    def test_an_unknown_spec_is_answered_with_the_nearest(self, tmp_path):
        root = build_workspace(tmp_path)
        for command in ("show", "render", "pack", "publish"):
            with untouched(root):
                outcome = olapps(command, "demmo", cwd=root)
            assert outcome.code == 2
            assert "unknown spec 'demmo'" in outcome.err
            assert "did you mean demo?" in outcome.err

    def test_an_unknown_market_is_answered_with_the_nearest(self, tmp_path):
        root = build_workspace(tmp_path)
        config = (root / "olapps.toml").read_text()
        (root / "olapps.toml").write_text(
            config + '[market]\ndefault = "local"\n[market.stores]\nlocal = "dir:.market"\n'
        )
        for command in (["publish", "--market", "lokal"], ["market", "sync", "lokal"]):
            outcome = olapps(*command, cwd=root)
            assert outcome.code == 2
            assert "did you mean local?" in outcome.err

    def test_two_specs_with_one_app_name_are_both_named(self, tmp_path):
        root = build_workspace(tmp_path, files={"apps/twin.yaml": MINIMAL})
        with untouched(root):
            outcome = olapps("publish", cwd=root)
        assert outcome.code == 1
        assert "apps/demo.yaml" in outcome.err
        assert "apps/twin.yaml" in outcome.err
        assert DEMO in outcome.err

    def test_a_broken_olapps_toml_names_the_line(self, tmp_path):
        root = build_workspace(tmp_path, files={"olapps.toml": "schema = 1\npublisher = \n"})
        outcome = olapps("list", cwd=root)
        assert outcome.code == 2
        assert "olapps.toml:2" in outcome.err


def with_resources(line: str) -> tuple[str, str]:
    return RESOURCES, f"resources:\n  {line}\n{RESOURCES}"


BAD_SPECS = {
    "a number for a version": ((VERSION, "version: 1.10"), "version", "quote"),
    "a v before the version": ((VERSION, 'version: "v1.0.0"'), "version", "v1.0.0"),
    "two numbers": ((VERSION, 'version: "1.0"'), "version", "1.0"),
    "a leading zero": ((VERSION, 'version: "1.00.0"'), "version", "1.00.0"),
    "seventeen characters": ((VERSION, 'version: "1000000.100000.10"'), "version", "16"),
    "a title of 31 bytes": ((TITLE, "title: Modèle générative améliorée"), "title", "30"),
    "port 0": ((CTX, f"{CTX}\n  port: 0"), "port", "65535"),
    "port 70000": ((CTX, f"{CTX}\n  port: 70000"), "port", "65535"),
    "negative memory": (with_resources("memory: -1Gi"), "memory", "-1Gi"),
    "absurd memory": (with_resources("memory: 99999999Ti"), "memory", "99999999Ti"),
    "no quantity": (with_resources("memory: lots"), "memory", "lots"),
    "no processor": (with_resources('cpu: "0"'), "cpu", "0"),
    "too long a context": ((CTX, "  ctx: 262145"), "ctx", "262144"),
    "a typed flag again": (
        (CTX, f"{CTX}\n  extra_args: [--ctx-size, '1']"),
        "extra_args",
        "--ctx-size",
    ),
    "an unclosed placeholder": ((SUMMARY, "summary: 'with {{ ctx'"), "text.summary", "}}"),
    "an unknown placeholder": ((SUMMARY, "summary: 'with {{ cttx }}'"), "text.summary", "ctx"),
    "an unknown key": ((CTX, f"{CTX}\n  contxt: 1"), "contxt", "ctx"),
    "a tab for indentation": ((CTX, "\tctx: 32768"), "tab", "space"),
    "a NUL": ((SUMMARY, "summary: A\0B"), "apps/demo.yaml:6", "U+0000"),
    "a NUL as escape": ((SUMMARY, 'summary: "A\\0B"'), "text.summary", "apps/demo.yaml:6"),
}


class TestSpecs:
    @pytest.mark.parametrize("name", BAD_SPECS)
    def test_file_line_field_and_fix_are_named(self, tmp_path, name):
        change, *words = BAD_SPECS[name]
        root = build_workspace(tmp_path, change)
        for command in ("render", "publish"):
            with untouched(root):
                outcome = olapps(command, cwd=root)
            assert outcome.code == 1
            assert "apps/demo.yaml:" in outcome.err
            for word in words:
                assert word in outcome.err
            assert outcome.out == ""

    def test_a_spec_of_more_than_a_mebibyte_is_refused(self, tmp_path):
        note = "x" * 1_100_000
        root = build_workspace(
            tmp_path, (SUMMARY, f"{SUMMARY}\nreleases: [{{version: '1.0.0', notes: {note}}}]")
        )
        outcome = olapps("publish", cwd=root)
        assert outcome.code == 1
        assert "1048576" in outcome.err

    def test_all_problems_come_at_once(self, tmp_path):
        root = build_workspace(tmp_path, (VERSION, "version: 1.10"), (CTX, "  ctx: 0"))
        outcome = olapps("render", cwd=root)
        assert outcome.err.count("error:") >= 2

    @pytest.mark.parametrize(
        "text",
        [
            "{{ .Values.x }}",
            "{{- if",
            "{{",
            "}}",
            "tab\there",
            "é 模型 🦙",
            "# no comment",
            "---",
            "1.10",
            'a "quoted" \\ text',
            "$(CTX_SIZE) ${HOME} `id`",
        ],
    )
    def test_odd_text_is_no_error_and_the_app_still_installs(self, tmp_path, text):
        quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'
        root = build_workspace(
            tmp_path, (SUMMARY, f"summary: {quoted}\n  about: {quoted}\n  limits: [{quoted}]")
        )
        good("publish", "--note", text, cwd=root)
        for release in ("1.12.5", "1.12.7"):
            good("market", "sync", "--olares", release, cwd=root)
        with untouched(root):
            good("publish", cwd=root)

    def test_crlf_survives_the_edit_of_a_publish(self, tmp_path):
        root = build_workspace(tmp_path, files={"apps/demo.yaml": MINIMAL.replace("\n", "\r\n")})
        good("publish", cwd=root)
        edit_text = (root / "apps/demo.yaml").read_bytes()
        assert edit_text.startswith(MINIMAL.replace("\n", "\r\n").encode())
        assert edit_text.count(b"\n") == edit_text.count(b"\r\n")


class TestNotes:
    @pytest.mark.parametrize(
        ("note", "word"),
        [
            ("x" * 1_048_577, "--note"),
            ("a\0b", "--note"),
            ("with {{ nonsense }}", "nonsense"),
            ("with {{ ctx", "}}"),
            ("", "--note"),
            ("  \n ", "--note"),
            ("bad \udcff byte", "--note"),
        ],
    )
    def test_a_note_that_cannot_be_kept_is_refused(self, tmp_path, note, word):
        root = build_workspace(tmp_path)
        with untouched(root):
            outcome = olapps("publish", "--note", note, cwd=root)
        assert outcome.code in (1, 2)
        assert word in outcome.err
        assert len(outcome.err) < 2000

    @pytest.mark.parametrize(
        "note", ["tab\there", "two\nlines", "# no comment", "\\{{ x }} stays", "{{ ctx }} tokens"]
    )
    def test_an_odd_note_is_kept_as_given(self, tmp_path, note):
        root = build_workspace(tmp_path)
        good("publish", "--note", note, cwd=root)
        status = good("market", "history", "--output", "json", cwd=root).json
        assert status["revisions"][0]["note"] == note
        with untouched(root):
            good("publish", cwd=root)


class TestOutputFolder:
    @pytest.fixture
    def read_only(self, tmp_path):
        if os.geteuid() != 0:
            pytest.skip("a read-only mount needs root")
        folder = tmp_path / "locked"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("this machine allows no mounts")
        yield folder
        subprocess.run(["umount", folder], check=True)

    @pytest.mark.parametrize("command", ["render", "pack"])
    def test_a_read_only_folder_is_named(self, tmp_path, read_only, command):
        root = build_workspace(tmp_path / "ws")
        with untouched(root):
            outcome = olapps(command, "--out", read_only / "out", cwd=root)
        assert outcome.code == 1
        assert str(read_only) in outcome.err
        assert "hint:" in outcome.err

    def test_a_read_only_workspace_stops_a_publish_before_the_market_moves(
        self, tmp_path, read_only
    ):
        root = build_workspace(tmp_path / "ws")
        market = tmp_path / "market"
        mounts = [["mount", "--bind", root, root], ["mount", "-o", "remount,bind,ro", root]]
        try:
            if any(subprocess.run(mount, capture_output=True).returncode for mount in mounts):
                pytest.skip("this machine allows no bind mounts")
            outcome = olapps("publish", "--market", f"dir:{market}", cwd=root)
        finally:
            subprocess.run(["umount", root], capture_output=True)
        assert outcome.code == 1
        assert "apps/demo.yaml: cannot be written" in outcome.err
        assert not market.exists()

    def test_a_read_only_market_is_named(self, tmp_path, read_only):
        root = build_workspace(tmp_path / "ws")
        with untouched(root):
            outcome = olapps("publish", "--market", f"dir:{read_only}/m", cwd=root)
        assert outcome.code == 1
        assert f"dir:{read_only}/m" in outcome.err


class TestFullDisk:
    @pytest.fixture
    def small_disk(self, tmp_path):
        if os.geteuid() != 0:
            pytest.skip("a small disk needs root")
        folder = tmp_path / "disk"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("this machine allows no mounts")
        yield folder
        subprocess.run(["umount", folder], check=True)

    def test_a_full_disk_leaves_market_and_specs_and_the_rerun_completes(
        self, tmp_path, small_disk
    ):
        root = build_workspace(tmp_path / "ws")
        market = f"dir:{small_disk}/market"
        good("publish", "--market", market, cwd=root)
        live = good("market", "status", "--market", market, "--output", "json", cwd=root).json
        edit(root / "apps/demo.yaml", ("ctx: 32768", "ctx: 16384"))
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        with untouched(root):
            outcome = olapps("publish", "--bump", "patch", "--market", market, cwd=root)
        assert outcome.code == 1
        assert "free some space" in outcome.err
        still = good("market", "status", "--market", market, "--output", "json", cwd=root).json
        assert still == live
        filler.unlink()
        good("publish", "--bump", "patch", "--market", market, cwd=root)
        good("market", "verify", "--market", market, cwd=root)


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    root = build_workspace(tmp_path_factory.mktemp("bad") / "ws")
    good("publish", cwd=root)
    return root


@pytest.fixture
def market(published, tmp_path) -> Path:
    return shutil.copytree(published, tmp_path / "ws")


class TestStores:
    def test_a_version_below_the_published_one_is_refused(self, market):
        edit(
            market / "apps/demo.yaml",
            (f"app: {DEMO}\n{VERSION}", f'app: {DEMO}\nversion: "0.9.0"'),
            (CTX, "  ctx: 1024"),
        )
        with untouched(market):
            outcome = olapps("publish", cwd=market)
        assert outcome.code == 1
        for word in (DEMO, "0.9.0", "1.0.1", "next allowed 1.0.2", "--bump"):
            assert word in outcome.err

    def test_a_folder_of_another_tool_is_left_alone(self, tmp_path):
        root = build_workspace(tmp_path / "ws")
        other = build_file_tree(tmp_path / "other", {"index.yaml": "apiVersion: v1\n"})
        for command in (["publish"], ["market", "status"], ["market", "history"]):
            with untouched(root, other):
                outcome = olapps(*command, "--market", f"dir:{other}", cwd=root)
            assert outcome.code == 1
            assert "index.yaml" in outcome.err
            assert "hint:" in outcome.err

    @pytest.mark.parametrize("address", ["dir:", "ftp://example.org", "http://market.example"])
    def test_an_address_that_cannot_be_published_to_is_refused(self, market, address):
        with untouched(market):
            outcome = olapps("publish", "--market", address, cwd=market)
        assert outcome.code == 2
        assert address.split(":")[0] in outcome.err

    @pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 40, b'{"schema": 99}'])
    def test_a_damaged_head_is_named_and_not_repaired(self, market, damage):
        (market / ".market/head.json").write_bytes(damage)
        edit(market / "apps/demo.yaml", (CTX, "  ctx: 1024"))
        for command in (["publish", "--bump", "patch"], ["market", "status"], ["market", "sync"]):
            with untouched(market):
                outcome = olapps(*command, cwd=market)
            assert outcome.code == 1
            assert "head.json" in outcome.err

    def test_a_damaged_revision_is_named_and_not_repaired(self, market):
        (file,) = (market / ".market/revisions").iterdir()
        file.write_bytes(file.read_bytes().replace(b"1.0.0", b"1.0.9"))
        edit(market / "apps/demo.yaml", (CTX, "  ctx: 1024"))
        for command in (
            ["publish", "--bump", "patch"],
            ["market", "status"],
            ["market", "history"],
            ["market", "verify"],
            ["market", "rollback", "--yes"],
            ["market", "remove", DEMO, "--yes"],
        ):
            with untouched(market):
                outcome = olapps(*command, cwd=market)
            assert outcome.code == 1
            assert file.name in outcome.err + outcome.out

    @pytest.mark.parametrize("gone", [False, True])
    def test_a_damaged_archive_is_named_and_not_repaired(self, market, gone):
        file = next(
            file
            for file in (market / ".market/blobs/sha256").iterdir()
            if file.read_bytes()[:2] == b"\x1f\x8b" and b"1.0.1" in self._manifest(file)
        )
        file.unlink() if gone else file.write_bytes(file.read_bytes()[:-100])
        with untouched(market):
            synced = olapps("market", "sync", "--olares", "1.12.6", cwd=market)
            verified = olapps("market", "verify", cwd=market)
        assert (synced.code, verified.code) == (1, 1)
        assert file.name in verified.err
        good("market", "sync", "--olares", "1.12.5", cwd=market)

    def test_a_damaged_answer_is_named(self, market):
        file = next((market / ".market/responses").rglob("info.json"))
        file.write_bytes(b"{}")
        with untouched(market):
            outcome = olapps("market", "verify", cwd=market)
        assert outcome.code == 1
        assert "info.json" in outcome.err

    @staticmethod
    def _manifest(file: Path) -> bytes:
        with tarfile.open(file) as tar:
            name = next(n for n in tar.getnames() if n.count("/") == 1 and "Olares" in n)
            return tar.extractfile(name).read()


class TestDevice:
    @pytest.mark.parametrize("release", ["abc", "1.12", "", "1.12.6.1", "１.12.6"])
    def test_a_release_that_is_none_is_refused(self, market, release):
        outcome = olapps("market", "sync", "--olares", release, cwd=market)
        assert outcome.code == 2
        assert "is not an Olares version" in outcome.err
        assert "1.12.6" in outcome.err

    @pytest.mark.parametrize("have", ["demo", "=1.0.0", "demo="])
    def test_installed_takes_app_and_version(self, market, have):
        outcome = olapps("market", "sync", "--installed", have, cwd=market)
        assert outcome.code == 2
        assert "APP=VERSION" in outcome.err

    def test_a_source_that_does_not_answer_is_dropped(self, tmp_path):
        outcome = olapps("market", "sync", "http://127.0.0.1:9", cwd=tmp_path)
        assert outcome.code == 1
        assert "the whole source is dropped" in outcome.err

    @pytest.mark.parametrize("url", ["http://", "http://[", "https://exa mple", "http://a:99999"])
    def test_an_address_that_is_none_is_no_traceback(self, tmp_path, url):
        outcome = olapps("market", "sync", url, cwd=tmp_path)
        assert outcome.code in (1, 2)
        assert outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["market", "nonsense"],
        ["publish", "--bump", "huge"],
        ["render", "--output", "xml"],
        ["list", "--nonsense"],
        ["market", "remove"],
        ["market", "history", "--limit", "0"],
        ["market", "serve", "--port", "70000"],
        ["market", "rollback", "--steps", "0", "--yes"],
        ["market", "rollback", "--app", "x", "--yes"],
        ["market"],
        [],
    ],
)
def test_wrong_usage_ends_with_two(tmp_path, arguments):
    root = build_workspace(tmp_path, files={"apps/second.yaml": SECOND_SPEC})
    with untouched(root):
        outcome = olapps(*arguments, cwd=root)
    assert outcome.code == 2
    assert outcome.err
    assert spec_text()


def test_what_cannot_be_rendered_names_the_spec_and_the_fix(tmp_path):
    root = build_workspace(tmp_path / "ws")
    edit(root / "apps/demo.yaml", (CTX, f"{CTX}\n  speculative: {{method: draft, n_max: 3}}"))
    with untouched(root):
        outcome = olapps("render", cwd=root)
    assert outcome.code == 1
    assert "apps/demo.yaml" in outcome.err
    assert "drafter" in outcome.err
    assert "Traceback" not in outcome.err
