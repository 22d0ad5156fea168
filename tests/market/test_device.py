"""The device simulator: what a real market gives, and every way a source can break it."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from support.workspaces import DEMO, SECOND, SECOND_SPEC, build_workspace, good, olapps

from olares_apps.generations import OlaresVersion
from olares_apps.market.device.report import AppReport, SourceReport
from olares_apps.market.device.stored import StoreTransport
from olares_apps.market.device.sync import sync
from olares_apps.market.device.transport import HttpTransport, Reply, TransportFault
from olares_apps.market.store import Store, open_store
from olares_apps.spec.types import app_id

OLD, NEW = "olares-1.12.3", "olares-1.12.6"
HASH, INFO = "/api/v1/appstore/hash", "/api/v1/appstore/info"
DETAILS = "/api/v1/applications/info"
CATALOG, TAXONOMY = "/api/v2/catalog", "/api/v2/taxonomy"
LISTING = "/api/v2/applications"
CHART = f"/applications/{DEMO}/chart"
ID = app_id(DEMO)
Mangle = Callable[[Reply], Reply]


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = build_workspace(
        tmp_path_factory.mktemp("device") / "ws", files={"apps/second.yaml": SECOND_SPEC}
    )
    good("publish", cwd=root)
    return root


@pytest.fixture(scope="module")
def store(root) -> Store:
    return open_store(f"dir:{root}/.market")


class Faulty:
    """The answers of a store, but the ones whose path ends in ``path`` are changed."""

    def __init__(self, store: Store, path: str, mangle: Mangle) -> None:
        self.inner, self.path, self.mangle = StoreTransport(store), path, mangle

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Any | None = None
    ) -> Reply:
        reply = self.inner.send(method, path, query, body)
        return self.mangle(reply) if path.endswith(self.path) else reply


def play(
    store: Store, path: str, mangle: Mangle, release: str = "1.12.6", **more: Any
) -> SourceReport:
    """Sync against a source with one fault."""
    transport = Faulty(store, path, mangle)
    version = OlaresVersion.parse(release)
    return sync(transport, "faulty", version, lint=lambda *_: [], reported=release, **more)


def sound(reply: Reply) -> Reply:
    return reply


def app_of(report: SourceReport, name: str) -> AppReport:
    return next(app for app in report.apps if app.name == name or app.id == app_id(name))


def changed(change: Callable[[Any], Any]) -> Mangle:
    """Change the JSON of an answer; ``change`` works in place or returns another value."""

    def mangle(reply: Reply) -> Reply:
        data = json.loads(reply.body)
        result = change(data)
        return replace(reply, body=json.dumps(data if result is None else result).encode())

    return mangle


def put(*path: Any, value: Any) -> Mangle:
    """Set one value of an answer."""

    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return changed(change)


def status(code: int) -> Mangle:
    return lambda reply: replace(reply, status=code)


def headers(**more: str) -> Mangle:
    names = {name.replace("_", "-"): value for name, value in more.items()}
    return lambda reply: replace(reply, headers={**reply.headers, **names})


def body(data: bytes) -> Mangle:
    return lambda reply: replace(reply, body=data)


def refuse(reply: Reply) -> Reply:
    raise TransportFault("connection refused")


@pytest.mark.parametrize(
    ("release", "generation", "version", "v2"),
    [
        ("1.12.3", OLD, "1.0.0", False),
        ("1.12.5", OLD, "1.0.0", False),
        ("1.12.6", NEW, "1.0.1", False),
        ("1.12.6-20260801", NEW, "1.0.1", False),
        ("1.12.7", NEW, "1.0.1", True),
        ("1.12.7-20260901", NEW, "1.0.1", True),
        ("1.13.0", NEW, "1.0.1", True),
    ],
)
def test_every_release_installs_its_generation(store, release, generation, version, v2):
    report = play(store, "", sound, release)
    assert report.ok, report
    assert (report.generation, report.olares) == (generation, release)
    assert [(a.name, a.version, a.appears, a.installs) for a in report.apps] == [
        (DEMO, version, True, True),
        (SECOND, version, True, True),
    ]
    assert not report.notes
    assert ([r for r in report.requests if "/v2/catalog" in r] != []) is v2
    assert f"GET {HASH}?version={release}" in report.requests


def test_the_order_of_requests_is_that_of_a_device(store):
    report = play(store, "", sound, "1.12.7")
    assert [request.split("?")[0] for request in report.requests][:6] == [
        f"GET {CATALOG}",
        f"GET {TAXONOMY}",
        f"GET {LISTING}",
        f"GET {HASH}",
        f"GET {INFO}",
        f"POST {DETAILS}",
    ]
    assert report.requests[6].startswith("GET /api/v2/applications/demo")


SOURCE_FAULTS: dict[str, tuple[str, Mangle, str]] = {
    "hash with 404": (HASH, status(404), "404"),
    "hash with 204": (HASH, status(204), "204"),
    "hash with 304": (HASH, status(304), "304"),
    "hash is no JSON": (HASH, body(b"<html>"), "not JSON"),
    "hash is a number": (HASH, put("hash", value=1), "hash"),
    "hash unreachable": (HASH, refuse, "connection refused"),
    "info with 500": (INFO, status(500), "500"),
    "info as text": (INFO, headers(content_type="text/plain"), "Content-Type text/plain"),
    "info without type": (INFO, headers(content_type=""), "Content-Type none"),
    "info is no JSON": (INFO, body(b""), "not JSON"),
    "info without version": (INFO, put("version", value=None), "version"),
    "info version as number": (INFO, put("version", value=1.12), "version"),
    "info hash empty": (INFO, put("hash", value=""), "hash"),
    "info hash as number": (INFO, put("hash", value=12), "hash"),
    "info time empty": (INFO, put("last_updated", value=""), "last_updated"),
    "info time as epoch": (INFO, put("last_updated", value=1780000000), "last_updated"),
    "info time without zone": (INFO, put("last_updated", value="2026-01-01 00:00:00"), "last_up"),
    "info data as list": (INFO, put("data", value=[]), "data"),
    "info apps as list": (INFO, put("data", "apps", value=[]), "apps"),
    "info recommends as list": (INFO, put("data", "recommends", value=[]), "recommends"),
    "info pages as list": (INFO, put("data", "pages", value=[]), "pages"),
    "info topics as list": (INFO, put("data", "topics", value=[]), "topics"),
    "info topic lists as list": (INFO, put("data", "topic_lists", value=[]), "topic_lists"),
    "info tags as list": (INFO, put("data", "tags", value=[]), "tags"),
    "info tops as map": (INFO, put("data", "tops", value={}), "tops"),
    "info latest as map": (INFO, put("data", "latest", value={}), "latest"),
    "info stats as list": (INFO, put("stats", value=[]), "stats"),
    "info page content as list": (
        INFO,
        put("data", "pages", value={"AI": {"category": "AI", "content": []}}),
        "content",
    ),
    "info sort as text": (INFO, put("data", "tags", value={"a": {"sort": "1"}}), "sort"),
    "info sort as fraction": (INFO, put("data", "tags", value={"a": {"sort": 1.5}}), "sort"),
}


@pytest.mark.parametrize("name", SOURCE_FAULTS)
def test_the_whole_source_is_dropped(store, name):
    path, mangle, word = SOURCE_FAULTS[name]
    report = play(store, path, mangle)
    assert not report.ok
    (problem,) = report.problems
    assert problem.startswith("the whole source is dropped: ")
    assert word in problem
    assert report.apps == []


V2_FAULTS: dict[str, tuple[str, Mangle, str]] = {
    "no catalog": (CATALOG, status(404), CATALOG),
    "no taxonomy": (TAXONOMY, status(404), TAXONOMY),
    "no applications": (LISTING, status(404), LISTING),
    "catalog as text": (CATALOG, headers(content_type="text/html"), "text/html"),
    "digest empty": (CATALOG, put("data", "apps_filter_digest", value=""), "apps_filter_digest"),
    "time as text": (CATALOG, put("data", "apps_last_modify_time", value="now"), "apps_last"),
    "categories as map": (TAXONOMY, put("data", "categories", value={}), "categories"),
    "items as map": (LISTING, put("data", "items", value={}), "items"),
    "ISO time in an item": (
        LISTING,
        put("data", "items", 0, "updated_at", value="2026-01-01T00:00:00Z"),
        "updated_at",
    ),
}


@pytest.mark.parametrize("name", V2_FAULTS)
def test_a_v2_fault_drops_the_source_from_1_12_7_on_and_matters_to_nobody_before(store, name):
    path, mangle, word = V2_FAULTS[name]
    report = play(store, path, mangle, "1.12.7")
    (problem,) = report.problems
    assert problem.startswith("the whole source is dropped: ")
    assert word in problem
    assert play(store, path, mangle, "1.12.6").ok


def test_without_v2_charts_a_new_device_falls_back_to_v1(store):
    def no_v2(reply: Reply) -> Reply:
        return replace(reply, status=404)

    class V1Charts(Faulty):
        def send(self, method, path, query, body=None):
            reply = self.inner.send(method, path, query, body)
            return no_v2(reply) if "/api/v2/applications/" in path else reply

    transport = V1Charts(store, "", sound)
    report = sync(transport, "v1", OlaresVersion(1, 12, 7), lint=lambda *_: [])
    assert report.ok
    assert sum("/v1/applications/demo" in request for request in report.requests) == 2


def test_v2_that_lists_another_version_than_the_detail_is_named(store):
    report = play(store, LISTING, put("data", "items", 0, "version", value="9.9.9"), "1.12.7")
    assert not report.ok
    assert any("9.9.9" in problem for app in report.apps for problem in app.problems)


def test_what_a_device_tolerates_is_a_note_and_no_failure(store):
    report = play(store, HASH, put("hash", value="0" * 64))
    assert report.ok
    assert "one snapshot must serve both" in report.notes[0]
    for path, mangle in (
        (HASH, put("last_updated", value=None)),
        (HASH, headers(content_type="text/plain")),
        (INFO, put("data", "topics", value=None)),
        (INFO, put("data", "unknown", value=[1])),
        (INFO, headers(content_type="application/vnd.x+json; charset=utf-8")),
    ):
        assert play(store, path, mangle).ok


def first_info_entry(**entry: Any) -> Mangle:
    return put("data", "apps", ID, value=entry)


APP_FAULTS: dict[str, tuple[str, Mangle, str]] = {
    "entry with another id": (INFO, first_info_entry(id="other"), "key must equal id"),
    "entry without id": (INFO, first_info_entry(name="x"), "key must equal id"),
    "entry with a number for an id": (INFO, first_info_entry(id=7), "key must equal id"),
    "entry is a text": (INFO, put("data", "apps", ID, value="x"), "skipped"),
    "no detail": (DETAILS, changed(lambda d: d["apps"].pop(ID) and None), "neither in apps"),
    "detail not found": (
        DETAILS,
        changed(lambda d: {"apps": {app_id(SECOND): d["apps"][app_id(SECOND)]}, "not_found": [ID]}),
        "no detail",
    ),
    "detail is a list": (DETAILS, put("apps", ID, value=[]), "no object"),
    "version is a number": (DETAILS, put("apps", ID, "version", value=1.0), "version"),
    "version is empty": (DETAILS, put("apps", ID, "version", value=""), "version"),
    "version is missing": (DETAILS, put("apps", ID, "version", value=None), "version"),
    "label suspend": (DETAILS, put("apps", ID, "appLabels", value=["SUSPEND"]), "SUSPEND"),
    "label remove": (DETAILS, put("apps", ID, "appLabels", value=["remove"]), "remove"),
    "chart with 404": (CHART, status(404), "404"),
    "chart is HTML": (CHART, body(b"<!doctype html><p>Not found"), "<!doctype html>"),
    "chart is empty": (CHART, body(b""), "is empty"),
    "chart is truncated": (CHART, lambda r: replace(r, body=r.body[:-200]), "tgz"),
    "chart is cut to its head": (CHART, lambda r: replace(r, body=r.body[:12]), "tgz"),
    "chart is zipped twice": (CHART, lambda r: replace(r, body=gzip.compress(r.body)), "tgz"),
    "chart with an encoding": (CHART, headers(content_encoding="gzip"), "bare tar"),
    "chart does not answer": (CHART, refuse, "connection refused"),
}


@pytest.mark.parametrize("name", APP_FAULTS)
def test_one_app_is_lost_and_named_and_its_neighbour_installs(store, name):
    path, mangle, word = APP_FAULTS[name]
    report = play(store, path, mangle)
    lost = app_of(report, DEMO)
    assert not lost.appears
    assert not lost.installs
    assert any(word in problem for problem in lost.problems), lost.problems
    assert app_of(report, SECOND).installs
    assert not report.ok


BATCH_FAULTS: dict[str, tuple[Mangle, str]] = {
    "a version of 17 characters": (put("apps", ID, "version", value="1.0.1" + "0" * 12), "17"),
    "a name of 101 characters": (put("apps", ID, "name", value="x" * 101), "101"),
    "a NUL": (put("apps", ID, "title", value="a\0b"), "NUL"),
    "apps as a list": (put("apps", value=[]), "apps is list"),
    "status 404": (status(404), "404"),
    "a redirect that made it a GET": (status(405), "405"),
    "text": (headers(content_type="text/plain"), "Content-Type"),
    "no JSON": (body(b"oops"), "not JSON"),
    "no answer": (refuse, "connection refused"),
}


@pytest.mark.parametrize("name", BATCH_FAULTS)
def test_a_fault_of_the_batch_takes_its_neighbours_and_says_why(store, name):
    mangle, word = BATCH_FAULTS[name]
    report = play(store, DETAILS, mangle)
    assert {app.id for app in report.apps} == {ID, app_id(SECOND)}
    for app in report.apps:
        assert not app.appears
        assert any(word in problem for problem in app.problems), app.problems
    assert not report.ok


def test_a_batch_without_an_app_is_asked_three_times(store):
    report = play(store, DETAILS, put("apps", value={}))
    assert sum(request.startswith("POST") for request in report.requests) == 3


def test_dropped_fields_are_notes(store):
    report = play(store, DETAILS, put("apps", ID, "title", value={"en-US": "x"}))
    app = app_of(report, DEMO)
    assert app.installs
    assert any("title" in note for note in app.notes)


def repacked(change: Callable[[dict[str, bytes]], None], root: str | None = None) -> Mangle:
    """Change the files of a chart archive, by their path below the top folder."""

    def mangle(reply: Reply) -> Reply:
        files: dict[str, bytes] = {}
        top = ""
        with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
            for member in tar.getmembers():
                top, _, path = member.name.partition("/")
                content = tar.extractfile(member)
                if content is not None:
                    files[path] = content.read()
        change(files)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for path, data in files.items():
                member = tarfile.TarInfo(f"{root or top}/{path}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        return replace(reply, body=out.getvalue())

    return mangle


def swap(path: str, old: str, new: str) -> Mangle:
    def change(files: dict[str, bytes]) -> None:
        assert old.encode() in files[path], files[path].decode()
        files[path] = files[path].replace(old.encode(), new.encode())

    return repacked(change)


def add(path: str, text: str) -> Mangle:
    return repacked(lambda files: files.update({path: files.get(path, b"") + text.encode()}))


MANIFEST = "OlaresManifest.yaml"


def without_manifests(files: dict[str, bytes]) -> None:
    for path in [path for path in files if path.endswith(MANIFEST)]:
        del files[path]


OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: "

HYDRATION_FAULTS: dict[str, tuple[Mangle, str]] = {
    "wrong root": (repacked(lambda files: None, root="other"), "unpacks to other/"),
    "no manifest": (
        repacked(without_manifests),
        "OlaresManifest.yaml",
    ),
    "other name": (swap(MANIFEST, f'name: "{DEMO}"\n  appid', 'name: "other"\n  appid'), "'other'"),
    "other version": (swap(MANIFEST, 'version: "1.0.1"', 'version: "1.0.9"'), "1.0.9"),
    "not YAML": (add(MANIFEST, "\n]: ["), "YAML"),
    "duplicate key in the manifest": (add(MANIFEST, "\nspec: {}\n"), "duplicate key 'spec'"),
    "duplicate key in the values": (add("values.yaml", "\nbfl: {}\nbfl: {}\n"), "duplicate key"),
    "a map for a list": (add(MANIFEST, "\nports: {}\n"), "ports is a map"),
    "a text for a map": (add(MANIFEST, "\nmiddleware: redis\n"), "middleware is a text"),
    "a text for a number": (swap(MANIFEST, "port: 8000", 'port: "8000"'), "port is a text"),
    "unknown function": (add("templates/x.yaml", OBJECT + "{{ dict }}\n"), "dict"),
    "files": (add("templates/x.yaml", OBJECT + '{{ .Files.Get "x" }}\n'), "Files"),
    "syntax": (add("templates/x.yaml", OBJECT + "{{ if }}\n"), "x.yaml"),
    "nil access": (add("templates/x.yaml", OBJECT + "{{ .Values.olaresEnvs.A }}\n"), "nil"),
    "braces in a data file": (add("dashboard.json", '{"a": "{{ legend }}"}'), "legend"),
    "fail": (add("templates/x.yaml", OBJECT + '{{ fail "no" }}\n'), "no"),
}


@pytest.mark.parametrize("name", HYDRATION_FAULTS)
def test_a_chart_that_does_not_hydrate_is_not_listed(store, name):
    mangle, word = HYDRATION_FAULTS[name]
    report = play(store, CHART, mangle)
    app = app_of(report, DEMO)
    assert not app.appears
    assert any(word in problem for problem in app.problems), app.problems
    assert app_of(report, SECOND).installs


@pytest.mark.parametrize(
    ("condition", "role"),
    [("if .Values.admin", "administrator"), ("if not .Values.admin", "other user")],
)
def test_a_branch_that_breaks_for_one_role_names_the_role(store, condition, role):
    text = OBJECT + "x\n{{ " + condition + " }}  b: {{ .Values.nothing.here }}\n{{ end }}"
    app = app_of(play(store, CHART, add("templates/x.yaml", text)), DEMO)
    assert not app.appears
    assert [role in problem for problem in app.problems] == [True]


INSTALL_FAULTS: dict[str, tuple[str, Mangle, str]] = {
    "v2 on 1.12.6": ("1.12.6", swap(MANIFEST, 'apiVersion: "v3"', 'apiVersion: "v2"'), "403"),
    "v3 on 1.12.5": ("1.12.5", swap(MANIFEST, 'apiVersion: "v2"', 'apiVersion: "v3"'), "v3"),
    "window below": (
        "1.12.6",
        swap(MANIFEST, ">=1.12.6-0", ">=1.12.3-0,<1.12.6"),
        "the device has 1.12.6",
    ),
    "window without nightlies": (
        "1.12.7-20260901",
        swap(MANIFEST, ">=1.12.6-0", ">=1.12.6"),
        "the device has 1.12.7-20260901",
    ),
    "window that is none": ("1.12.6", swap(MANIFEST, ">=1.12.6-0", "soon"), "soon"),
    "required env": (
        "1.12.6",
        swap(MANIFEST, "envs:\n", "envs:\n  - {envName: TOKEN, type: string, required: true}\n"),
        "422",
    ),
    "not what Kubernetes reads": (
        "1.12.6",
        swap("templates/service.yaml", "kind: ", "kindly: "),
        "kind",
    ),
    "no workload of the app's name": (
        "1.12.6",
        swap("templates/deployment.yaml", f'name: "{DEMO}"\n  namespace', 'name: "x"\n  namespace'),
        f"no Deployment or StatefulSet is named {DEMO}",
    ),
    "no dependency": (
        "1.12.6",
        swap(MANIFEST, 'type: "system"', 'type: "application"'),
        "olares system dependency",
    ),
}


@pytest.mark.parametrize("name", INSTALL_FAULTS)
def test_an_app_that_is_listed_but_does_not_install_says_why(store, name):
    release, mangle, word = INSTALL_FAULTS[name]
    report = play(store, CHART, mangle, release)
    app = app_of(report, DEMO)
    assert app.appears, app.problems
    assert not app.installs
    assert any(word in problem for problem in app.problems), app.problems
    assert not report.ok


def test_lint_findings_stop_an_install(store):
    transport = StoreTransport(store)
    report = sync(
        transport, "s", OlaresVersion(1, 12, 6), lint=lambda app, files, release: [f"{app} is bad"]
    )
    assert [app.problems for app in report.apps] == [[f"{DEMO} is bad"], [f"{SECOND} is bad"]]
    assert not any(app.installs for app in report.apps)


@pytest.mark.parametrize(
    ("installed", "update", "downgrade"),
    [
        ("1.0.0", True, False),
        ("0.9.99", True, False),
        ("v1.0", True, False),
        ("1.0.1", False, False),
        ("1.0.2", False, True),
        ("1.0.10", False, True),
        ("9.0.0", False, True),
    ],
)
def test_only_a_greater_version_is_offered_as_an_update(store, installed, update, downgrade):
    report = play(store, "", sound, installed={DEMO: installed, "gone": "1.0.0"})
    app = app_of(report, DEMO)
    assert app.update_from == (installed if update else None)
    assert app.downgrade_from == (installed if downgrade else None)
    assert any("downgrade" in note for note in app.notes) == downgrade
    assert app.installs
    other = app_of(report, SECOND)
    assert (other.update_from, other.downgrade_from) == (None, None)


def test_the_command_shows_reasons_and_ends_with_one(root, tmp_path):
    from shutil import copytree

    copy = copytree(root, tmp_path / "ws")
    for blob in (copy / ".market/blobs/sha256").iterdir():
        if blob.read_bytes()[:2] == b"\x1f\x8b":
            blob.unlink()
    outcome = olapps("market", "sync", cwd=copy)
    assert outcome.code == 1
    assert f"{DEMO}: {DEMO}-1.0.1.tgz: status 500" in outcome.err
    assert " no " in outcome.out
    report = olapps("market", "sync", "--output", "json", cwd=copy).json
    assert (report["schema"], report["ok"]) == (1, False)
    assert set(report["apps"][0]) == {
        "id", "name", "version", "title", "appears", "installs", "update_from", "downgrade_from",
        "problems", "notes",
    }  # fmt: skip


def test_compressed_json_is_taken_and_a_compressed_archive_arrives_whole(store):
    def zipped(reply: Reply) -> Reply:
        named = {**reply.headers, "content-encoding": "gzip"}
        return replace(reply, body=gzip.compress(reply.body), headers=named)

    for path in (HASH, INFO, DETAILS, CHART):
        assert play(store, path, zipped).ok
    report = play(store, INFO, headers(content_encoding="gzip"))
    assert "Content-Encoding is gzip, the body is not" in report.problems[0]


def test_a_list_that_never_ends_drops_the_source(store):
    report = play(store, LISTING, put("data", "has_more", value=True), "1.12.7")
    assert "has_more" in report.problems[0]


def test_what_a_stranger_wrote_does_not_reach_the_terminal(root, tmp_path, monkeypatch):
    from olares_apps.market.device import stored

    original = stored.StoreTransport.send

    def send(self, method, path, query, body=None):
        reply = original(self, method, path, query, body)
        return (
            put("apps", ID, "name", value="x\x1b]0;owned\x07\u202e")(reply)
            if path == DETAILS
            else reply
        )

    monkeypatch.setattr(stored.StoreTransport, "send", send)
    outcome = olapps("market", "sync", "--requests", cwd=root)
    assert outcome.code == 1
    assert not {"\x1b", "\x07", "\u202e"} & set(outcome.out + outcome.err)
    assert "\\x1b]0;owned" in outcome.out


class Redirecting(BaseHTTPRequestHandler):
    """Sends every request on with a 302, as a market behind another address does."""

    def do_GET(self) -> None:
        if self.path.startswith("/to"):
            self.answer(200, b'{"method": "GET"}')
        else:
            self.answer(302, b"", location="/to" + self.path)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET() if not self.path.startswith("/to") else self.answer(
            200, b'{"method": "POST"}'
        )

    def answer(self, code: int, data: bytes, **more: str) -> None:
        self.send_response(code)
        for name, value in {"content-length": str(len(data)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


def test_a_redirect_turns_the_post_into_a_get_and_odd_names_are_no_traceback():
    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with httpx.Client() as client:
            transport = HttpTransport(client, f"http://127.0.0.1:{server.server_port}/")
            reply = transport.send("POST", DETAILS, {}, {"app_ids": []})
            assert json.loads(reply.body) == {"method": "GET"}
            with pytest.raises(TransportFault):
                transport.send("GET", "/api/v1/applications/a\x00\nb/chart", {})
        server.shutdown()
