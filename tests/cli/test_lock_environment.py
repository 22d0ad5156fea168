"""Networks, proxies and endpoints that are not as they should be, and who presses Ctrl-C."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fake_hub import COMMIT, FakeHub, hub_of_the_environment, sparse_model
from support.flaky_hub import Answer, file_url_path, redirect, refuse
from support.gguf_files import QWEN36_35B
from support.workspaces import OLAPPS, build_workspace, edit, olapps, untouched

REPO, FILE = "example-org/Demo-35B-GGUF", "Demo-35B-UD-Q3_K_XL.gguf"
PATH = file_url_path(REPO, FILE, COMMIT)
SECRET = "pw3x"
PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_of_the_environment(monkeypatch, tmp_path) as fake:
        fake.add_repo(REPO, {FILE: sparse_model(QWEN36_35B)})
        yield fake


@pytest.fixture
def root(tmp_path: Path, hub: FakeHub) -> Path:
    return build_workspace(tmp_path / "ws")


def test_an_interrupt_does_not_wait_for_a_host_that_stalls(root: Path, hub: FakeHub) -> None:
    hub.script(PATH, then=Answer(stall_after=1000))
    before = sorted(root.rglob("*"))
    running = subprocess.Popen(
        [OLAPPS, "lock"], cwd=root, env=os.environ, stderr=subprocess.PIPE, text=True
    )
    try:
        while not any(request.path == PATH for request in hub.requests):
            assert running.poll() is None, running.stderr
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        # A third of the time after which a request that stalls is given up.
        _, said = running.communicate(timeout=10)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 130
    assert said.strip().endswith("interrupted")
    assert "Traceback" not in said
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("name", [*PROXIES, "all_proxy"])
@pytest.mark.parametrize("scheme", ["socks5", "foo"])
def test_a_proxy_that_cannot_be_used_is_named_once(
    root: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch, name: str, scheme: str
) -> None:
    for other in (*PROXIES, *map(str.lower, PROXIES), "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, f"{scheme}://somebody:{SECRET}@proxy.example.org:1080")
    with untouched(root):
        for command in (("lock",), ("market", "status", "--market", "https://market.example.org")):
            outcome = olapps(*command, cwd=root)
            assert outcome.code == 2, outcome
            assert outcome.err.count("the proxy that") == 1
            assert f"the proxy that {name} names cannot be used" in outcome.err
            assert SECRET not in outcome.out + outcome.err
    assert not hub.requests


@pytest.mark.parametrize("content", [None, "no certificates"])
def test_certificates_that_cannot_be_read_are_told(
    root: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    file = root / "certificates.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 2
    assert "certificates that SSL_CERT_FILE names cannot be read" in outcome.err


@pytest.mark.parametrize("rest", [f"?token={SECRET}", f"/?a=b&token={SECRET}", f"#{SECRET}"])
def test_an_endpoint_with_more_than_an_address_is_neither_shown_nor_written(
    root: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}{rest}")
    with untouched(root):
        outcome = olapps("lock", cwd=root)
    assert outcome.code == 2
    assert "HF_ENDPOINT holds more than an address" in outcome.err
    assert SECRET not in outcome.out + outcome.err


@pytest.mark.parametrize("repo", ["../..", "o/a--b", "o/x.git", "o//r", "/r", "o/", "o/r/s", "."])
def test_a_name_that_no_repository_has_is_not_asked_for(
    root: Path, hub: FakeHub, repo: str
) -> None:
    with untouched(root):
        outcome = olapps("new", "other", "--from", repo, cwd=root)
    assert outcome.code in (1, 2)
    assert "OWNER/" in outcome.err
    assert not hub.requests


@pytest.mark.parametrize("repo", ["o/a--b", "o/x.git"])
def test_such_a_name_in_a_spec_is_told_with_its_line(root: Path, hub: FakeHub, repo: str) -> None:
    edit(root / "apps/demo.yaml", (REPO, repo))
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert f"'{repo}' is no name of a model repository" in outcome.err
    assert "apps/demo.yaml:" in outcome.err
    assert not hub.requests


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refuse(404), "and does not have it"),
        (refuse(403), f"shows {REPO} and refuses {FILE} (403)"),
        (redirect("http://127.0.0.1:1/gone"), "cannot be reached"),
    ],
)
def test_a_file_that_is_listed_and_not_delivered_gets_no_other_name(
    root: Path, hub: FakeHub, answer: Answer, says: str
) -> None:
    hub.script(PATH, then=answer)
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert says in outcome.err
    assert "did you mean" not in outcome.err


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_host_behind_the_hub_that_refuses_is_told_as_itself(
    root: Path, hub: FakeHub, status: int
) -> None:
    with FakeHub() as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        other.script("/signed", then=refuse(status))
        hub.script(PATH, then=redirect(f"{elsewhere}/signed"))
        outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert f"localhost, where {hub.url} sends for {FILE} of {REPO}, answers {status}" in outcome.err
    assert "private" not in outcome.err
