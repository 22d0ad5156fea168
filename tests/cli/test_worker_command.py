"""The worker commands: a folder to deploy from, tokens, a deploy that only goes where it may."""

import gzip
import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from support.worker import FOLDER, environment, require_worker
from support.workspaces import build_workspace, edit, good, olapps

from olares_apps.worker.target import parse_config

ACCOUNT = "0123456789abcdef" * 2


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = build_workspace(tmp_path / "ws")
    good("worker", "init", "--account", ACCOUNT, cwd=root)
    return root


def _config(root: Path) -> dict[str, object]:
    return dict(parse_config((root / "worker/wrangler.jsonc").read_text(), "test"))


class TestInit:
    def test_the_names_come_from_the_workspace_and_are_written_there(self, tmp_path):
        root = build_workspace(tmp_path / "ws")
        before = (root / "olapps.toml").read_text()
        result = good("worker", "init", "cf", "--output", "json", cwd=root).json
        assert result["folder"] == str(root / "cf")
        assert (root / "olapps.toml").read_text().startswith(before.rstrip("\n"))
        config = parse_config((root / "cf/wrangler.jsonc").read_text(), "test")
        assert config["name"] == result["worker"]
        assert config["r2_buckets"] == [{"binding": "MARKET", "bucket_name": result["bucket"]}]
        assert any(step.startswith("npx wrangler r2 bucket create ") for step in result["next"])

    def test_all_but_the_names_is_as_the_tests_of_the_worker_run_it(self, root):
        shipped = dict(parse_config((FOLDER / "wrangler.jsonc").read_text(), "test"))
        mine = _config(root)
        assert mine.pop("account_id") == ACCOUNT
        for config in (shipped, mine):
            del config["name"], config["r2_buckets"]
        assert mine == shipped
        for path in (FOLDER / "src").glob("*.*"):
            assert (root / "worker/src" / path.name).read_bytes() == path.read_bytes()

    def test_again_it_brings_the_sources_and_leaves_the_configuration(self, root):
        edit(
            root / "worker/wrangler.jsonc",
            ('"HEAD_CACHE_SECONDS": "30"', '"HEAD_CACHE_SECONDS": "5"'),
        )
        (root / "worker/src/index.ts").write_text("// old")
        result = good("worker", "init", "--output", "json", cwd=root).json
        assert result["files"] == ["src/index.ts"]
        assert _config(root)["vars"] == {"HEAD_CACHE_SECONDS": "5"}

    def test_a_folder_of_something_else_is_left_alone(self, tmp_path):
        root = build_workspace(tmp_path / "ws", files={"worker/notes.txt": "mine"})
        refused = olapps("worker", "init", cwd=root)
        assert (refused.code, [p.name for p in (root / "worker").iterdir()]) == (2, ["notes.txt"])
        assert "[worker]" not in (root / "olapps.toml").read_text()


class TestToken:
    def test_a_token_is_shown_once_and_only_its_digest_is_kept(self, root):
        made = good("worker", "token", "create", "ci", "--scope", "publish,collect", cwd=root)
        token = made.out.strip()
        assert re.fullmatch(r"olapps_[\w-]{43}", token)
        assert token not in made.err
        secret = (root / "worker/tokens.json").read_text()
        assert token not in secret
        (entry,) = json.loads(secret)
        assert entry["sha256"] == sha256(token.encode()).hexdigest()
        assert entry["scopes"] == ["publish", "collect"]
        assert not [p for p in root.rglob("*") if p.is_file() and token.encode() in p.read_bytes()]

    def test_two_tokens_of_one_name_are_valid_until_one_is_revoked(self, root):
        create = ("worker", "token", "create", "ci", "--apps", "demo", "--output", "json")
        first, second = (good(*create, cwd=root).json["entry"] for _ in range(2))
        listed = good("worker", "token", "list", "--output", "json", cwd=root).json["tokens"]
        assert listed == [{**first, "valid": True}, {**second, "valid": True}]
        refused = olapps("worker", "token", "revoke", "ci", cwd=root)
        assert (refused.code, first["sha256"][:12] in refused.err) == (2, True)
        good("worker", "token", "revoke", first["sha256"][:12], cwd=root)
        assert json.loads((root / "worker/tokens.json").read_text()) == [second]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("ci", "--scope", "pubish"), "did you mean publish?"),
            (("ci", "--apps", ""), "names no prefix"),
            (("ci", "--apps", " , "), "names no prefix"),
            (("ci", "--apps", "Demo"), "begins no app's name"),
            (("ci", "--expires", "90"), "write hours or days"),
            (("a b",), "is no name for a token"),
        ],
    )
    def test_what_the_worker_would_not_take_is_refused(self, root, arguments, said):
        refused = olapps("worker", "token", "create", *arguments, cwd=root)
        assert (refused.code, said in refused.err, refused.out) == (2, True, "")
        assert not (root / "worker/tokens.json").exists()

    def test_more_than_a_secret_can_hold_is_refused(self, root):
        entry = good("worker", "token", "create", "ci", "--output", "json", cwd=root).json["entry"]
        file = root / "worker/tokens.json"
        file.write_text(json.dumps([entry] * 40))
        refused = olapps("worker", "token", "create", "ci", cwd=root)
        assert (refused.code, refused.out) == (2, "")
        assert "limit 5000" in refused.err
        assert len(json.loads(file.read_text())) == 40


class TestDeploy:
    @pytest.fixture
    def ready(self, root):
        require_worker()
        (root / "worker/node_modules").symlink_to(FOLDER / "node_modules")
        return root

    @staticmethod
    def deploy(root, *arguments, **env):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in ({"PATH": environment()["PATH"]} | env).items():
                patch.setenv(name, value)
            return olapps("worker", "deploy", *arguments, cwd=root)

    def test_a_dry_run_builds_with_the_pinned_wrangler_and_shows_no_secret(self, ready):
        secrets = {"CLOUDFLARE_API_TOKEN": "cf-secret-1234", "OLAPPS_MARKET_TOKEN": "olapps_secret"}
        done = self.deploy(ready, "--dry-run", "--output", "json", **secrets)
        assert done.code == 0, done.err
        assert done.json["dry_run"] is True
        built = (ready / "worker/dist/index.js").read_bytes()
        assert done.json["bytes"] == len(built) > 50_000
        # Far below the 3 MiB of the free plan, and no archive is ever part of it.
        assert len(gzip.compress(built)) < 60_000
        assert done.json["bytes"] == self._built_after_a_publish(ready)
        assert "wrangler.js deploy --config wrangler.jsonc --keep-vars --dry-run" in done.err
        assert f"env.MARKET ({done.json['bucket']})" in done.err
        for secret in secrets.values():
            assert secret not in done.out + done.err

    def _built_after_a_publish(self, root):
        good("publish", cwd=root)
        return self.deploy(root, "--dry-run", "--output", "json").json["bytes"]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (('"bucket_name": "', '"bucket_name": "x-'), "the bucket is 'x-"),
            (('"name": "', '"name": "x-'), "the Worker's name is 'x-"),
            ((ACCOUNT, "f" * 32), f"account_id is '{'f' * 32}', olapps.toml says '{ACCOUNT}'"),
            (('"keep_vars": true', '"keep_vars": false'), "would take away variables"),
            *[
                (('"vars": {', f'"vars": {{ "{name}": "[]", '), f"{name} is a secret")
                for name in (
                    "TOKENS",
                    "OIDC",
                    "CLOUDFLARE_API_TOKEN",
                    "olapps_market_token",
                    "R2_KEY",
                )
            ],
            (('"workers_dev"', '"env": {"x": {}}, "workers_dev"'), "environments"),
        ],
    )
    def test_another_target_or_lost_variables_are_refused(self, root, change, said):
        config = root / "worker/wrangler.jsonc"
        config.write_text(config.read_text().replace(*change, 1))
        for arguments in ((), ("--dry-run",)):
            refused = self.deploy(root, *arguments)
            assert (refused.code, refused.out) == (1, "")
            assert said in refused.err
            assert "nothing was deployed" in refused.err

    def test_an_account_of_the_environment_that_is_not_the_recorded_one_is_refused(self, root):
        refused = self.deploy(root, CLOUDFLARE_ACCOUNT_ID="f" * 32)
        assert (refused.code, "CLOUDFLARE_ACCOUNT_ID is 'ffff" in refused.err) == (1, True)

    def test_without_a_recorded_account_nothing_is_deployed(self, root):
        edit(root / "olapps.toml", (f'account = "{ACCOUNT}"\n', ""))
        config = root / "worker/wrangler.jsonc"
        config.write_text(config.read_text().replace(f'"account_id": "{ACCOUNT}",', ""))
        refused = self.deploy(root)
        assert (refused.code, "names no Cloudflare account" in refused.err) == (2, True)

    def test_what_is_missing_is_said_with_the_command(self, root, tmp_path):
        tools = tmp_path / "bin"
        tools.mkdir()
        (tools / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
        refused = self.deploy(root, "--dry-run", PATH=str(tools))
        assert refused.code == 1
        assert "Node is not on PATH" in refused.err
        assert "npm ci --ignore-scripts" in refused.err
        assert "wrangler.js deploy --config wrangler.jsonc --keep-vars" in refused.err

    def test_icons_on_a_host_that_is_no_market_are_pointed_out(self, root):
        assert "no market of olapps.toml is there" in self.deploy(root, "--dry-run").err
