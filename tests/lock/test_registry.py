"""Image registries: the real one behind tokens, a stand-in with faults, and names."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.flaky_hub import Answer, drop, html_page, redirect, refuse
from support.registry import (
    FakeRegistry,
    ImageBlobs,
    RealRegistry,
    digest_of,
    real_registry,
    real_registry_missing,
    write_docker_config,
)

from olares_apps.errors import UsageError
from olares_apps.lock.cache import Cache
from olares_apps.lock.credentials import Credentials, docker_config, stored_credentials
from olares_apps.lock.errors import (
    ImageDenied,
    ImageMissing,
    Offline,
    RegistryFailed,
    TooManyRequests,
)
from olares_apps.lock.image_name import parse_image
from olares_apps.lock.network import Network
from olares_apps.lock.registry import Registry, declared_cuda

NAME, TAG = "owner/llama-server", "b9600"
TWO = ImageBlobs({"amd64": ["CUDA_VERSION=13.0.1"], "arm64": []})


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with FakeRegistry(private=["owner/private"]) as registry:
        registry.add_image(NAME, TAG, TWO)
        yield registry


@pytest.fixture
def ask(waits: list[float], tmp_path: Path) -> Iterator[Registry]:
    network = Network(attempts=3, timeout=10, sleep=waits.append)
    yield Registry(cache=Cache(tmp_path / "cache"), network=network)
    network.close()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    if missing := real_registry_missing():
        pytest.skip(f"{missing}: the real registry is not tested")
    with real_registry(tmp_path_factory.mktemp("registry")) as registry:
        registry.push(NAME, TAG, TWO)
        registry.push("owner/single", "v1", ImageBlobs({"amd64": []}, as_index=False))
        yield registry


class TestReal:
    def test_every_architecture_has_digest_size_and_cuda(self, real, ask):
        facts = ask.image(f"{real.host}/{NAME}:{TAG}")
        assert facts.digest == TWO.digest
        assert [(p.architecture, p.cuda) for p in facts.platforms] == [
            ("amd64", "13.0.1"),
            ("arm64", None),
        ]
        assert {p.digest for p in facts.platforms} < set(TWO.manifests)
        assert facts.platforms[1].size == TWO.size
        assert f"repository:{NAME}:pull" in real.tokens.scopes

    def test_an_image_for_one_architecture_has_no_index(self, real, ask):
        facts = ask.image(f"{real.host}/owner/single:v1")
        assert [p.digest for p in facts.platforms] == [facts.digest]

    def test_a_digest_can_be_asked_for(self, real, ask):
        assert ask.image(f"{real.host}/{NAME}@{TWO.digest}").digest == TWO.digest

    @pytest.mark.parametrize(
        ("image", "tag"),
        [(f"{NAME}:b9601", TAG), ("owner/single:1", "v1"), ("owner/nothing:v1", None)],
    )
    def test_a_missing_tag_and_a_missing_image_are_told(self, real, ask, image, tag):
        with pytest.raises(ImageMissing, match="does not exist") as caught:
            ask.image(f"{real.host}/{image}")
        assert caught.value.tag == tag
        assert (f"the tag {tag} exists" if tag else "check registry") in str(caught.value.hint)


class TestFaults:
    def test_limits_are_waited_for(self, fake, ask, waits):
        path = f"/v2/{NAME}/manifests/{TAG}"
        fake.script(path, Answer(), refuse(429, retry_after="2"), refuse(502))
        assert ask.image(f"{fake.host}/{NAME}:{TAG}").digest == TWO.digest
        assert waits == [2.0, 1.0]

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            (refuse(429, retry_after="600"), TooManyRequests),
            (refuse(429), TooManyRequests),
            (refuse(500), RegistryFailed),
            (refuse(418), RegistryFailed),
            (html_page(), RegistryFailed),
            (drop(after=20), RegistryFailed),
            (Answer(headers={"Docker-Content-Digest": "sha256:" + "0" * 64}), RegistryFailed),
            (
                Answer(body=b'{"mediaType": "application/vnd.oci.image.index.v1+json"}'),
                RegistryFailed,
            ),
            (Answer(body=b'{"mediaType": "application/x"}'), RegistryFailed),
            (Answer(body=b"[]"), RegistryFailed),
            (refuse(403), ImageDenied),
        ],
    )
    def test_a_registry_that_stays_broken_is_given_up(self, fake, ask, waits, answer, error):
        fake.script(f"/v2/{NAME}/manifests/{TAG}", Answer(), then=answer)
        with pytest.raises(error):
            ask.image(f"{fake.host}/{NAME}:{TAG}")
        assert len(waits) <= 2

    def test_a_changed_configuration_is_refused(self, fake, ask):
        config = next(d for d, data in TWO.blobs.items() if b"CUDA_VERSION" in data)
        fake.script(f"/v2/{NAME}/blobs/{config}", then=Answer(body=b"{}"))
        with pytest.raises(RegistryFailed, match="another digest"):
            ask.image(f"{fake.host}/{NAME}:{TAG}")

    def test_the_token_stays_with_the_registry(self, fake, ask):
        config = next(d for d, data in TWO.blobs.items() if b"CUDA_VERSION" in data)
        with FakeRegistry() as store:
            store._answer_to = lambda request: (  # type: ignore[method-assign]
                store.requests.append(request) or Answer(),
                TWO.blobs[config],
            )
            fake.script(f"/v2/{NAME}/blobs/{config}", then=redirect(f"{store.url}/blob"))
            assert ask.image(f"{fake.host}/{NAME}:{TAG}").platforms[0].cuda == "13.0.1"
            assert store.requests
            assert not any("authorization" in item.headers for item in store.requests)

    @pytest.mark.parametrize("body", [b"{}", b"[]", b"<html>", b'{"token": 1}'])
    def test_a_token_server_that_gives_no_token_is_told(self, fake, ask, body):
        fake.script("/token", Answer(body=body))
        with pytest.raises(RegistryFailed, match="no token"):
            ask.image(f"{fake.host}/{NAME}:{TAG}")

    def test_attestations_are_no_architecture(self, fake, ask):
        kind, top = TWO.top
        index = json.loads(top)
        index["manifests"].append(
            {
                "digest": "sha256:" + "0" * 64,
                "platform": {"architecture": "unknown", "os": "unknown"},
            }
        )
        data = json.dumps(index).encode()
        image = ImageBlobs({"amd64": [], "arm64": []})
        image.blobs, image.manifests = TWO.blobs, {**TWO.manifests, digest_of(data): (kind, data)}
        image.digest = digest_of(data)
        fake.add_image(NAME, "attested", image)
        facts = ask.image(f"{fake.host}/{NAME}:attested")
        assert [p.architecture for p in facts.platforms] == ["amd64", "arm64"]


class TestCredentials:
    def test_a_private_image_opens_with_dockers_credentials(self, fake, ask, tmp_path):
        fake.add_image("owner/private", "v1", TWO)
        image = f"{fake.host}/owner/private:v1"
        with pytest.raises(ImageDenied, match="missing or private"):
            ask.image(image)
        config = write_docker_config(tmp_path / "docker", fake.host)
        known = Registry(
            cache=Cache(None), credentials=lambda name: stored_credentials(config, name)
        )
        assert known.image(image).digest == TWO.digest
        known._network.close()

    def test_credentials_that_are_refused_are_not_repeated(self, fake, tmp_path):
        config = write_docker_config(tmp_path, fake.host, password="old-secret")
        asked = Registry(
            cache=Cache(None), credentials=lambda name: stored_credentials(config, name)
        )
        with pytest.raises(ImageDenied, match="refuses the stored credentials") as caught:
            asked.image(f"{fake.host}/{NAME}:{TAG}")
        asked._network.close()
        assert "old-secret" not in f"{caught.value} {caught.value.hint}"

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", '{"auths": []}', '{"auths": {"ghcr.io": {"auth": "%%%"}}}', "{}"]
    )
    def test_a_config_file_that_says_nothing_gives_no_credentials(self, tmp_path, text):
        path = tmp_path / "config.json"
        path.write_text(text)
        assert stored_credentials(path, parse_image("ghcr.io/a/b:c")) is None
        assert stored_credentials(tmp_path / "gone", parse_image("ghcr.io/a/b:c")) is None

    def test_the_public_registry_has_its_own_key(self, tmp_path):
        path = write_docker_config(tmp_path, "https://index.docker.io/v1/")
        assert stored_credentials(path, parse_image("docker.io/a/b:c")) == ("me", "secret")
        assert stored_credentials(path, parse_image("ghcr.io/a/b:c")) is None

    @pytest.fixture
    def helper(self, tmp_path, monkeypatch):
        """A program as Docker's helpers are: it knows one registry and keeps a list of calls."""
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "docker-credential-safe"
        program.write_text(
            "#!/bin/sh\n"
            f'read -r server; echo "$1 $server" >> "{tmp_path}/calls"\n'
            'case "$server" in\n'
            '  127.0.0.1:*) echo \'{"ServerURL": "x", "Username": "me", "Secret": "secret"}\';;\n'
            '  token.example) echo \'{"Username": "<token>", "Secret": "t"}\';;\n'
            '  odd.example) echo "[]";;\n'
            '  *) echo "credentials not found in native keychain"; exit 1;;\n'
            "esac\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return tmp_path / "calls"

    @pytest.mark.parametrize("by_host", [True, False])
    def test_a_helper_program_opens_a_private_image_and_is_asked_once(
        self, fake, waits, tmp_path, helper, by_host
    ):
        for name in ("owner/private", "owner/other"):
            fake.add_image(name, "v1", TWO)
        named = {"credHelpers": {fake.host: "safe"}} if by_host else {"credsStore": "safe"}
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"auths": {fake.host: {}}, **named}))
        network = Network(attempts=2, timeout=10, sleep=waits.append)
        registry = Registry(cache=Cache(None), credentials=Credentials(config), network=network)
        for name in ("owner/private", "owner/other"):
            assert registry.image(f"{fake.host}/{name}:v1").digest == TWO.digest
        network.close()
        assert helper.read_text().splitlines() == [f"get {fake.host}"]

    def test_a_helper_comes_before_the_file_and_one_that_knows_nothing_after(
        self, tmp_path, helper
    ):
        config = write_docker_config(tmp_path, "ghcr.io", user="in-file")
        document = json.loads(config.read_text())
        config.write_text(json.dumps({**document, "credsStore": "safe"}))
        assert stored_credentials(config, parse_image("ghcr.io/a/b:c")) == ("in-file", "secret")
        document["auths"]["127.0.0.1:5"] = document["auths"]["ghcr.io"]
        config.write_text(json.dumps({**document, "credsStore": "safe"}))
        assert stored_credentials(config, parse_image("127.0.0.1:5/a:c")) == ("me", "secret")

    @pytest.mark.parametrize(
        ("program", "host"),
        [
            ("safe", "ghcr.io"),
            ("safe", "token.example"),
            ("safe", "odd.example"),
            ("not-there", "ghcr.io"),
            ("../safe", "127.0.0.1:5"),
            (7, "ghcr.io"),
        ],
    )
    def test_a_helper_without_an_answer_counts_as_no_credentials(
        self, tmp_path, helper, program, host
    ):
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"credsStore": program}))
        assert stored_credentials(config, parse_image(f"{host}/a/b:c")) is None

    def test_the_folder_of_the_config_file_can_be_set(self, tmp_path):
        assert docker_config({"DOCKER_CONFIG": "/x"}, tmp_path) == Path("/x/config.json")
        assert docker_config({}, tmp_path) == tmp_path / ".docker/config.json"


class TestCacheAndOffline:
    def test_offline_reads_what_was_asked_before(self, fake, ask, tmp_path):
        image = f"{fake.host}/{NAME}:{TAG}"
        facts = ask.image(image)
        asked = len(fake.requests)
        offline = Registry(cache=Cache(tmp_path / "cache"), offline=True)
        assert offline.image(image) == facts
        with pytest.raises(Offline):
            offline.image(f"{fake.host}/{NAME}:other")
        assert len(fake.requests) == asked

    def test_a_tag_is_asked_again_and_a_digest_is_not(self, fake, ask):
        ask.image(f"{fake.host}/{NAME}:{TAG}")
        asked = len(fake.requests)
        ask.image(f"{fake.host}/{NAME}:{TAG}")
        assert len(fake.requests) > asked
        ask.image(f"{fake.host}/{NAME}@{TWO.digest}")
        asked = len(fake.requests)
        ask.image(f"{fake.host}/{NAME}@{TWO.digest}")
        assert len(fake.requests) == asked


@pytest.mark.parametrize(
    ("image", "base", "path", "reference"),
    [
        ("docker.io/alpine:3", "https://registry-1.docker.io", "library/alpine", "3"),
        ("docker.io/a/b:c", "https://registry-1.docker.io", "a/b", "c"),
        ("ghcr.io/a/b/c:d", "https://ghcr.io", "a/b/c", "d"),
        ("quay.io/a/b", "https://quay.io", "a/b", "latest"),
        ("localhost:5000/a:b", "http://localhost:5000", "a", "b"),
        ("reg.example.org:5000/a/b:c@sha256:0", "https://reg.example.org:5000", "a/b", "sha256:0"),
    ],
)
def test_a_reference_names_host_path_and_tag(image, base, path, reference):
    name = parse_image(image)
    assert (name.base, name.path, name.reference) == (base, path, reference)


def test_a_reference_without_a_registry_is_refused():
    with pytest.raises(UsageError, match="no registry"):
        parse_image("alpine:3")


@pytest.mark.parametrize(
    ("environment", "cuda"),
    [
        (["PATH=/bin", "CUDA_VERSION=13.0.1"], "13.0.1"),
        (["NVIDIA_REQUIRE_CUDA=cuda>=12.9 brand=unknown,driver>=535"], "12.9"),
        (["CUDA_VERSION=new"], None),
        (["broken", 3], None),
        (None, None),
        ({}, None),
    ],
)
def test_the_declared_cuda_version_comes_from_the_environment(environment, cuda):
    assert declared_cuda(environment) == cuda
