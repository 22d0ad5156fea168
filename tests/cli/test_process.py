"""The installed command as a process: start, completion, pipes, signals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.workspaces import OLAPPS, SECOND_SPEC, build_workspace, good, process, untouched

HEAVY = {"pydantic", "jinja2", "httpx", "rich", "huggingface_hub", "ruamel", "yaml", "starlette"}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("process") / "ws"
    build_workspace(root, files={"apps/second.yaml": SECOND_SPEC})
    good("publish", cwd=root)
    return root


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["market", "--help"], ["publish", "--help"]]
)
def test_version_and_help_import_nothing_heavy(tmp_path, arguments):
    script = (
        "import sys, json\n"
        "from olares_apps.cli.app import run\n"
        f"code = run({arguments!r})\n"
        "print(json.dumps([code, sorted({m.split('.')[0] for m in sys.modules})]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    code, modules = json.loads(done.stderr)
    assert code == 0
    assert done.stdout
    assert HEAVY.isdisjoint(modules)


def test_version_is_the_package_version(tmp_path):
    from olares_apps import __version__

    assert process("--version", cwd=tmp_path).stdout == f"olapps, version {__version__}\n"


def test_the_package_runs_as_a_module_like_the_command(root, tmp_path):
    for words, where in ((["--version"], root), (["list"], root), (["show", "none"], tmp_path)):
        ours = subprocess.run(
            [sys.executable, "-m", "olares_apps", *words],
            capture_output=True,
            text=True,
            cwd=where,
            check=False,
        )
        command = process(*words, cwd=where)
        assert (ours.returncode, ours.stdout, ours.stderr) == (
            command.returncode,
            command.stdout,
            command.stderr,
        )


def test_help_lists_every_command(tmp_path):
    text = process("--help", cwd=tmp_path).stdout
    for command in ("init", "list", "show", "schema", "render", "pack", "publish", "market"):
        assert f"  {command} " in text


def test_exit_codes(root, tmp_path):
    assert process("list", cwd=root).returncode == 0
    assert process("render", "--check", cwd=root).returncode in (0, 1)
    assert process("show", "nonsense", cwd=root).returncode == 2
    assert process("list", cwd=tmp_path).returncode == 2
    failed = process("publish", "--market", "dir:/proc/self", cwd=root)
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr


def test_data_goes_to_stdout_and_errors_to_stderr(root):
    done = process("show", "nonsense", "--output", "json", cwd=root)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error(root, unbuffered):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [OLAPPS, "show", "demo", "--output", "json"],
        cwd=root,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_output_is_an_error(root):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [OLAPPS, "list"], cwd=root, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("olapps show ", {"demo", "second"}),
        ("olapps render de", {"demo"}),
        ("olapps publish se", {"second"}),
        ("olapps mark", {"market"}),
        ("olapps market ro", {"rollback"}),
    ],
)
def test_the_shell_completes_commands_and_spec_names(root, words, expected):
    parts = words.split(" ")
    done = process(
        cwd=root,
        env={
            "_OLAPPS_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(parts) - 1),
        },
    )
    assert {line.split(",", 1)[1] for line in done.stdout.splitlines()} == expected
    assert done.stderr == ""


def test_completion_outside_a_workspace_is_silent(tmp_path):
    done = process(
        cwd=tmp_path,
        env={"_OLAPPS_COMPLETE": "bash_complete", "COMP_WORDS": "olapps show ", "COMP_CWORD": "2"},
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_the_completion_script_can_be_had(tmp_path):
    done = process(cwd=tmp_path, env={"_OLAPPS_COMPLETE": "zsh_source"})
    assert "compdef" in done.stdout


def test_no_colour_in_a_pipe_nor_with_no_color(root):
    for env in ({}, {"NO_COLOR": "1"}):
        done = process("list", cwd=root, env=env)
        assert "\x1b" not in done.stdout + process("show", "x", cwd=root, env=env).stderr


def test_colour_on_a_terminal_unless_no_color_is_set(root):
    import pty

    def on_terminal(**env: str) -> bytes:
        main, child = pty.openpty()
        clean = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        with subprocess.Popen(
            [OLAPPS, "list"], cwd=root, stdout=child, stderr=child, env={**clean, **env}
        ) as running:
            os.close(child)
            seen = b""
            try:
                while block := os.read(main, 65536):
                    seen += block
            except OSError:
                pass
            assert running.wait(30) == 0
        os.close(main)
        return seen

    assert b"\x1b[1m" in on_terminal()
    assert b"\x1b" not in on_terminal(NO_COLOR="1")


def test_destructive_commands_without_a_terminal_need_yes(root):
    for command in (["rollback"], ["remove", "demoqwenone"]):
        with untouched(root):
            done = process("market", *command, cwd=root)
        assert done.returncode == 2
        assert "--yes" in done.stderr


def test_an_interrupted_server_ends_with_130(root):
    running = subprocess.Popen(
        [OLAPPS, "market", "serve", "--port", "1", "--host", "127.0.0.1"],
        cwd=root,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Port 1 may be refused to who is not root; both ends are clean.
    assert running.stderr is not None
    line = running.stderr.readline()
    time.sleep(1)
    if running.poll() is None:
        running.send_signal(signal.SIGINT)
        rest = running.communicate(timeout=20)[1]
        assert running.returncode == 130
    else:
        rest = running.communicate(timeout=20)[1]
        assert running.returncode == 2
    assert "Traceback" not in line + rest
