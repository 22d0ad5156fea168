"""Pages as prepared answers: who makes them, what is in them, how they are served."""

import gzip
import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser

import pytest
from support.market import NEW, OLD, Clock, MemoryStore, build_candidate, hands
from support.pages import CONDITIONS, build_facts, build_page_candidate, build_row
from support.workspaces import DEMO, PNG, build_workspace, good

from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answer, Answers
from olares_apps.market.catalogue import ANY, view
from olares_apps.market.commit import read_state
from olares_apps.market.pages.site import page_answers
from olares_apps.market.publish import publish
from olares_apps.market.retreat import remove, republish, rollback
from olares_apps.market.store import open_store

VOID = {"meta", "link", "img", "input", "br", "hr", "rect"}
HOSTILE = "<script>alert(1)</script>\"'&"


class Checker(HTMLParser):
    """Reads a page strictly: what a browser would have to mend is a fault."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.faults: list[str] = []
        self.inline: dict[str, list[str]] = {"style": [], "script": []}
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        fields = dict(attrs)
        self.text.append(" ")
        if len(names) != len(set(names)):
            self.faults.append(f"<{tag}> has an attribute twice")
        self.faults += [f"<{tag}> has {n}" for n in names if n.startswith("on") or n == "style"]
        if fields.get("id") in self.ids:
            self.faults.append(f"id {fields['id']} stands twice")
        self.ids |= {fields["id"]} if "id" in fields else set()
        if tag == "img" and "alt" not in fields:
            self.faults.append("an image has no alt")
        if tag in ("ul", "ol", "table", "dl", "div", "section", "h2", "p") and "p" in self.open:
            self.faults.append(f"<{tag}> inside <p>")
        if tag == "a" and not re.match(r"(https?://|#|\.{1,2}/|apps/)", fields["href"] or ""):
            self.faults.append(f"a link goes to {fields['href']}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.faults.append(f"<{tag}/> is not closed in HTML")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")
        self.text.append(" ")

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inline:
            self.inline[self.open[-1]].append(data)
        else:
            self.text.append(data)
            self.faults += [f"a bare {char} in '{data[:40]}'" for char in "<>&" if char in data]

    def handle_entityref(self, name):
        self.text.append(unescape(f"&{name};"))

    def handle_charref(self, name):
        self.text.append(unescape(f"&#{name};"))


def checked(page: Answer) -> Checker:
    """Return the reader of a page that has passed."""
    checker = Checker()
    checker.feed(page.body.decode())
    checker.close()
    assert checker.faults == []
    assert checker.open == []
    return checker


def text_of(page: Answer) -> str:
    return " ".join("".join(checked(page).text).split())


def get(store, path: str) -> Answer:
    return Answers(store).respond("GET", path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock) -> MemoryStore:
    store = MemoryStore()
    candidates = [build_page_candidate("demoalpha"), build_page_candidate("demobravo")]
    publish(store, candidates, publisher="first", hands=hands(clock))
    return store


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/apps/demoalpha"])
def test_a_page_is_valid_and_its_policy_allows_just_what_it_brings(store, path):
    answer = get(store, path)
    assert (answer.status, answer.content_type) == (200, "text/html; charset=utf-8")
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    for kind, (inline,) in checked(answer).inline.items():
        digest = b64encode(sha256(inline.encode()).digest()).decode()
        assert policy[f"{kind}-src"] == f"'sha256-{digest}'"
    assert answer.headers["cache-control"] == "no-cache"
    known = Answers(store).respond("GET", path, if_none_match=answer.headers["etag"])
    assert (known.status, known.body) == (304, b"")
    assert "content-security-policy" not in known.headers
    assert Answers(store).respond("POST", path).status == 405


def test_the_page_of_an_app_says_what_its_reader_needs(store):
    page, entry = text_of(get(store, "/apps/demoalpha")), read_state(store).revision
    archives = entry.apps["demoalpha"].current
    for said in (
        "Demoalpha A small model for tests.",
        "Speed at 32K context 100.5 tokens/s",
        "GPU memory 22.0 GiB",
        "https://market.example Copy",
        "Prompt a game as one page Tokens per run 2,000",
        "Needs 21.0 GiB of the 24.0 GiB that Olares One leaves to an app, at a context of 32,768",
        "weights 17.0 GiB kv cache 4.0 GiB free 3.0 GiB",
        "262,144 30.0 GiB no",
        "1.0.0 First release.",
        f"Commit {'ef' * 20}",
        f"sha256 {'cd' * 32}",
        f"Digest sha256:{'ab' * 32}",
        "Licence of the model MIT",
        archives[OLD].sha256,
        archives[NEW].sha256,
    ):
        assert said in page


def test_hostile_text_is_text_everywhere(clock):
    store = MemoryStore()
    fields = "title summary alias model kind engine image hardware gpu developer about".split()
    row = build_row(title=HOSTILE, source=HOSTILE, model_file=HOSTILE, image=HOSTILE)
    facts = build_facts(
        **dict.fromkeys(fields, HOSTILE),
        limits=(HOSTILE, "<img src=x onerror=y> [z](javascript:alert(1))"),
        bench=(row.to_json(),),
    )
    publish(store, [build_page_candidate(facts=facts)], publisher="p", hands=hands(clock))
    for path in ("/", "/leaderboard", "/apps/demoalpha"):
        assert HOSTILE in text_of(get(store, path))


def test_what_is_unknown_of_a_speed_is_said_and_what_differs_too(clock):
    store = MemoryStore()
    unknown = replace(CONDITIONS, warmup=None)
    first = build_row(tps="90", conditions=unknown, settings={"drafted-tokens": "8"})
    bare = {"ctx": None, "image": None, "model_file": None, "runs": None}
    second = build_row(tps="80", conditions=unknown, settings={"drafted-tokens": HOSTILE}, **bare)
    for name, rows in {"demoalpha": (second,), "demobravo": (first, second)}.items():
        facts = build_facts(name, bench=tuple(row.to_json() for row in rows), ctx=None)
        candidate = build_page_candidate(name, facts=facts)
        publish(store, [candidate], publisher="p", hands=hands(clock))
    board, page = (text_of(get(store, path)) for path in ("/leaderboard", "/apps/demobravo"))
    assert "Warm-up: not recorded." in board
    assert f"drafted tokens: {HOSTILE}" in board
    for name in ("configured context", "image", "file", "runs"):
        assert f"{name}: not recorded" in board
    assert "drafted tokens: 8" in page
    assert "Speed at" not in text_of(get(store, "/apps/demoalpha"))
    assert "tokens/s at" not in text_of(get(store, "/"))


def test_a_speed_stored_before_settings_were_known_is_read(clock):
    old = {key: value for key, value in build_row().to_json().items() if key != "settings"}
    store = MemoryStore()
    facts = build_facts(bench=(old,))
    publish(store, [build_page_candidate(facts=facts)], publisher="p", hands=hands(clock))
    assert "100.5" in text_of(get(store, "/leaderboard"))


def test_a_later_publisher_needs_nothing_of_the_apps_of_others(store, clock):
    before, picture = get(store, "/apps/demoalpha"), get(store, "/share/demoalpha.png")
    store.reads.clear()
    publish(store, [build_page_candidate("democharlie")], publisher="second", hands=hands(clock))
    stored = read_state(store).revision.apps["demoalpha"].page
    assert objects.blob_key(stored.facts) not in store.reads
    assert get(store, "/apps/demoalpha").body == before.body
    assert get(store, "/share/demoalpha.png").body == picture.body
    assert picture.content_type == "image/png"
    assert "3 apps for Olares devices" in text_of(get(store, "/"))
    assert "Democharlie" in text_of(get(store, "/leaderboard"))


def test_a_publisher_without_pages_leaves_them_and_brings_new_archives_into_them(store, clock):
    candidates = [build_candidate("demoalpha", "1.1.0"), build_candidate("demodelta")]
    publish(store, candidates, publisher="old tool", hands=hands(clock))
    archives = read_state(store).revision.apps["demoalpha"].current
    assert archives[NEW].sha256 in text_of(get(store, "/apps/demoalpha"))
    assert "demodelta" in text_of(get(store, "/"))
    assert get(store, "/apps/demodelta").status == 404


def test_the_page_of_a_removed_app_goes_and_comes_back_with_a_rollback(store, clock):
    before = get(store, "/apps/demoalpha")
    remove(store, ["demoalpha"], publisher="p", hands=hands(clock))
    assert get(store, "/apps/demoalpha").status == 404
    assert get(store, "/share/demoalpha.png").status == 404
    assert "1 app for Olares devices" in text_of(get(store, "/"))
    rollback(store, publisher="p", hands=hands(clock))
    assert get(store, "/apps/demoalpha").body == before.body


def test_old_content_that_is_republished_has_its_old_page_with_the_new_versions(store, clock):
    facts = build_facts("demoalpha", summary="Another summary.")
    publish(
        store,
        [build_page_candidate("demoalpha", "1.1.0", facts=facts, description="Other.")],
        publisher="p",
        hands=hands(clock),
    )
    assert "Another summary." in text_of(get(store, "/apps/demoalpha"))
    republish(store, publisher="p", hands=hands(clock))
    page = text_of(get(store, "/apps/demoalpha"))
    versions = {
        entry.version for entry in read_state(store).revision.apps["demoalpha"].current.values()
    }
    assert "A small model for tests." in page
    assert versions == {"1.1.2", "1.1.3"}
    assert all(version in page for version in versions)


def test_facts_alone_are_published_under_the_version_that_is_there(store, clock):
    facts = build_facts("demoalpha", bench=())
    candidate = build_page_candidate("demoalpha", facts=facts)
    report = publish(store, [candidate], publisher="p", hands=hands(clock))
    assert [step.action for step in report.plan.steps] == ["page"]
    assert "Tokens/s" not in text_of(get(store, "/apps/demoalpha"))
    again = publish(store, [candidate], publisher="p", hands=hands(clock))
    assert not again.changed


def test_three_hundred_apps_make_a_small_catalogue(store):
    revision = read_state(store).revision
    entry = revision.apps["demoalpha"]
    apps = {}
    for number in range(300):
        title = f"Model {canonical.digest(str(number).encode())[:12]}"
        brief = dict(entry.page.brief) | {"summary": f"{title} with a text of usual length. " * 3}
        page = replace(entry.page, brief=brief)
        apps[f"demo{number}"] = replace(entry, title=title, page=page)
    pages, routes = page_answers(view(replace(revision, apps=apps), ANY))
    assert len(routes) == 2 + 2 * 300
    assert len(gzip.compress(pages["pages/index.html"], 6)) < 150_000


def test_a_market_of_an_older_tool_has_no_field_and_no_answer_for_pages(clock):
    store = MemoryStore()
    publish(store, [build_candidate("demoalpha")], publisher="p", hands=hands(clock))
    state = read_state(store)
    assert "page" not in state.revision.apps["demoalpha"].to_json()
    assert "pages.json" not in state.head.answers


class TestWorkspace:
    def test_an_app_without_an_icon_gets_a_drawn_one(self, tmp_path):
        root = build_workspace(tmp_path)
        good("publish", cwd=root)
        icon = get(open_store("dir:.market", base=root), f"/icons/{DEMO}.png")
        assert (icon.status, icon.content_type) == (200, "image/png")
        again = good("publish", "--output", "json", cwd=root)
        assert again.json["changed"] is False

    def test_the_icon_of_the_curator_wins_and_stays(self, tmp_path):
        root = build_workspace(tmp_path, files={f"icons/{DEMO}.png": PNG})
        good("publish", cwd=root)
        (root / f"icons/{DEMO}.png").unlink()
        good("publish", cwd=root)
        assert get(open_store("dir:.market", base=root), f"/icons/{DEMO}.png").body == PNG

    def test_the_routes_name_every_page_and_picture(self, tmp_path):
        root = build_workspace(tmp_path)
        good("publish", cwd=root)
        store = open_store("dir:.market", base=root)
        head = read_state(store).head
        data = objects.read_answer(store, head.revision, "pages.json", head.answers["pages.json"])
        routes = json.loads(data)["routes"]
        assert sorted(routes) == ["/", f"/apps/{DEMO}", "/leaderboard", f"/share/{DEMO}.png"]
        for path in routes:
            assert get(store, path).status == 200
            assert get(store, path).content_type == routes[path]["type"]
