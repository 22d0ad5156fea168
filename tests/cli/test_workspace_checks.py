"""`check` and the gate of `publish`, as a curator meets them in a workspace."""

from pathlib import Path

import pytest
from support.mutation import png
from support.specs import spec_text
from support.workspaces import DEMO, SECOND, SECOND_SPEC, build_workspace, good, olapps

SPEC = "apps/demo.yaml"


def findings(root: Path, rule: str, *arguments: str) -> list[dict[str, object]]:
    outcome = olapps("check", *arguments, "--no-tools", "--output", "json", cwd=root)
    return [f for f in outcome.json["findings"] if f["rule"] == rule]


def line(root: Path, number: object) -> str:
    assert isinstance(number, int)
    return (root / SPEC).read_text().splitlines()[number - 1].strip()


def workspace(root: Path, icons: str, market: str = "dir:.market") -> Path:
    config = (
        f'schema = 1\n[publisher]\nname = "x"\nwebsite = "https://example.org"\nicons = "{icons}"\n'
        f'[market]\ndefault = "{market}"\n'
    )
    return build_workspace(root, files={"olapps.toml": config, "apps/second.yaml": SECOND_SPEC})


@pytest.mark.parametrize(
    ("icons", "market"),
    [
        ("http://127.0.0.1:8765/icons", "dir:.market"),
        ("http://localhost:8765/icons/", "dir:.market"),
        ("https://market.example.org/icons", "https://market.example.org"),
    ],
)
def test_an_icon_that_the_own_market_lacks_is_a_warning(
    tmp_path: Path, icons: str, market: str
) -> None:
    root = workspace(tmp_path, icons, market)
    assert findings(root, "icon-missing") == []
    path = root / SPEC
    path.write_text(f"icon: {icons.rstrip('/')}/demo-one.png\n" + path.read_text())
    found = findings(root, "icon-missing")
    assert [(f["app"], f["severity"], f["file"]) for f in found] == [(DEMO, "warning", SPEC)]
    assert "demo-one.png will answer 404" in str(found[0]["message"])
    assert f"icons/{DEMO}.png" in str(found[0]["hint"])
    assert [f["app"] for f in findings(root, "icon-missing", "demo")] == [DEMO]


def test_icons_that_somebody_else_serves_cannot_be_told_offline(tmp_path: Path) -> None:
    root = workspace(tmp_path, "https://icons.example.org", "https://market.example.org")
    path = root / SPEC
    path.write_text("icon: https://icons.example.org/demo-one.png\n" + path.read_text())
    assert findings(root, "icon-missing") == []


def test_an_icon_with_an_address_of_its_own_needs_no_file(tmp_path: Path) -> None:
    root = workspace(tmp_path, "http://127.0.0.1:8765/icons")
    path = root / SPEC
    path.write_text("icon: https://cdn.example.org/demo.png\n" + path.read_text())
    assert findings(root, "icon-missing") == []


def test_the_chart_of_a_deleted_spec_is_told_when_all_are_checked(tmp_path: Path) -> None:
    root = workspace(tmp_path, "https://icons.example.org")
    good("render", "--all", cwd=root)
    assert findings(root, "chart-without-spec") == []
    (root / "apps/second.yaml").unlink()
    assert findings(root, "chart-without-spec", "demo") == []
    found = findings(root, "chart-without-spec", "--all")
    assert {f["severity"] for f in found} == {"info"}
    for item in found:
        assert item["app"] == SECOND
        assert (root / str(item["file"])).is_file()
        assert f"olapps market remove {SECOND}" in str(item["hint"])
    assert len(found) == 2
    assert olapps("check", "--all", "--no-tools", cwd=root).code == 0


def test_publish_names_the_line_of_the_spec_that_stops_it(tmp_path: Path) -> None:
    root = build_workspace(tmp_path)
    path = root / SPEC
    text = path.read_text()
    start = text.index("engine:\n") + len("engine:\n")
    path.write_text(
        f"{text[:start]}  extra_args:\n    - --no-warmup\n    - --fused-gdn\n{text[start:]}"
    )
    outcome = olapps("publish", cwd=root)
    number = path.read_text()[: path.read_text().index("--fused-gdn")].count("\n") + 1
    assert outcome.code == 1
    assert f"{SPEC}:{number}: --fused-gdn is not a flag of" in outcome.err
    found = findings(root, "flag-unknown")
    assert [(f["file"], line(root, f["line"])) for f in found] == [(SPEC, "- --fused-gdn")]


def test_a_value_of_a_spec_is_annotated_at_its_line_in_github(tmp_path: Path) -> None:
    root = build_workspace(tmp_path, ("ctx: 32768", "ctx: 32768\n  ubatch: 4096"))
    outcome = olapps("check", "--no-tools", "--output", "github", cwd=root)
    lines = (root / SPEC).read_text().splitlines()
    number = lines.index("  ubatch: 4096") + 1
    assert f"file={SPEC},line={number}" in outcome.out


@pytest.mark.parametrize("name", ["demo", DEMO])
@pytest.mark.parametrize("level", ["warning", "info", "off"])
def test_a_rule_is_lowered_for_one_app_with_the_reason(
    tmp_path: Path, name: str, level: str
) -> None:
    wrong = ("  summary: A demo on your own device.", "  summary: The API listens on port 9999.")
    second = SECOND_SPEC.replace(*wrong)
    assert second != SECOND_SPEC
    root = build_workspace(tmp_path, wrong, files={"apps/second.yaml": second})
    assert olapps("publish", "demo", cwd=root).code == 1
    config = root / "olapps.toml"
    change = f'{{level = "{level}", apps = ["{name}"], reason = "a demo"}}'
    config.write_text(f"{config.read_text()}[checks.severity]\ntext-port = {change}\n")
    found = {(item["app"], item["severity"]) for item in findings(root, "text-port")}
    assert found == {(SECOND, "error"), *([] if level == "off" else [(DEMO, level)])}
    outcome = olapps("check", "--no-tools", cwd=root)
    assert "a demo" in outcome.out + outcome.err
    assert olapps("publish", "second", cwd=root).code == 1
    assert good("publish", "demo", cwd=root)


def picture(root: Path, name: str, width: int, height: int) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(width, height))


def test_c018_a_screenshot_of_another_size_is_an_error_at_its_line(tmp_path: Path) -> None:
    shots = "".join(f"  - https://cdn.example.org/shots/shot{n}.png\n" for n in (1, 2, 3))
    root = build_workspace(tmp_path, ("developer: somebody", f"screenshots:\n{shots}developer: x"))
    picture(root, "screenshots/shot1.png", 1440, 900)
    picture(root, "screenshots/shot2.png", 1440, 898)
    (found,) = findings(root, "promo-image-size")
    assert found["message"] == "promoteImage[1] is 1440x898, expected 1440x900"
    assert (found["severity"], found["file"]) == ("error", SPEC)
    assert line(root, found["line"]) == "- https://cdn.example.org/shots/shot2.png"
    good("render", cwd=root)
    for manifest in root.glob("charts/*/*/OlaresManifest.yaml"):
        assert "https://cdn.example.org/shots/shot3.png" in manifest.read_text()


@pytest.mark.parametrize(
    ("ending", "size", "message"),
    [
        ("png", (256, 256), ""),
        ("png", (512, 512), "the icon is 512x512, expected 256x256"),
        ("webp", (512, 512), "the icon is 512x512, expected 256x256"),
    ],
)
def test_the_curators_icon_is_measured(
    tmp_path: Path, ending: str, size: tuple[int, int], message: str
) -> None:
    root = build_workspace(tmp_path)
    picture(root, f"icons/{DEMO}.{ending}", *size)
    found = findings(root, "icon-image")
    assert [item["message"] for item in found] == ([message] if message else [])
    assert {item["severity"] for item in found} <= {"warning"}


@pytest.mark.parametrize("command", ["check", "render", "show", "publish"])
def test_the_path_of_a_spec_means_the_spec(tmp_path: Path, command: str) -> None:
    root = build_workspace(tmp_path)
    good(command, SPEC, cwd=root)
    good(command, root / SPEC, cwd=root)
    good(command, "./demo.yaml", cwd=root / "apps")


@pytest.mark.parametrize("name", ["olapps.toml.yaml", "apps/other.yaml", "../demo.yaml"])
def test_a_yaml_file_that_is_no_spec_is_an_unknown_spec(tmp_path: Path, name: str) -> None:
    root = build_workspace(tmp_path, files={"olapps.toml.yaml": "a: 1\n"})
    outcome = olapps("check", name, cwd=root)
    assert outcome.code == 2
    assert f"unknown spec '{name}'" in outcome.err


FULL = "  summary: A demo on your own device.\n  about: More.\n  limits: [One., Two.]\n"


@pytest.mark.parametrize(
    ("page", "messages"),
    [
        ("{summary: 好。, about: 更多。, limits: [一。, 二。]}", []),
        ("{summary: 好。}", ["has 0 limits, the default language has 2", "has no about"]),
        ("{summary: 好。, about: 更多。, limits: [一。]}", ["has 1 limits"]),
        ("{summary: 好。, about: 更多。, limits: [一。, 二。, 三。]}", ["has 3 limits"]),
    ],
)
def test_a_locale_that_says_less_or_more_is_a_warning(
    tmp_path: Path, page: str, messages: list[str]
) -> None:
    change = ("  summary: A demo on your own device.\n", f"{FULL}locales:\n  zh-CN: {page}\n")
    root = build_workspace(tmp_path, change)
    found = findings(root, "locale-out-of-step")
    assert len(found) == len(messages)
    for item, message in zip(found, messages, strict=True):
        assert message in str(item["message"])
        assert (item["severity"], item["file"]) == ("warning", SPEC)
        assert line(root, item["line"]).startswith("zh-CN:")


SHARED = {
    "alias": (("alias: demo-second", "alias: demo-qwen"), "fleet-alias"),
    "title": (("title: Demo Second", "title: DEMO QWEN ONE"), "fleet-title"),
    "app": ((f"app: {SECOND}", f"app: {DEMO}"), "fleet-app-name"),
    "entrance title": (
        ("alias: demo-second", "alias: demo-second\nentrance: {title: Demo Qwen One}"),
        "fleet-entrance-title",
    ),
}


@pytest.mark.parametrize("what", SHARED)
def test_what_two_specs_share_is_told_once_and_hides_nothing_else(
    what: str, tmp_path: Path
) -> None:
    change, rule = SHARED[what]
    second = spec_text(
        change, ("ctx: 32768", "ctx: 32768\n  extra_args: [--no-such-flag]"), base=SECOND_SPEC
    )
    root = build_workspace(tmp_path / "ws", files={"apps/second.yaml": second})
    found = olapps("check", "--all", "--no-tools", "--output", "json", cwd=root)
    assert found.code == 1
    rules = [item["rule"] for item in found.json["findings"] if item["severity"] == "error"]
    assert sorted(rules) == sorted([rule, "flag-unknown"])
    (told,) = [item for item in found.json["findings"] if item["rule"] == rule]
    assert told["file"] == "apps/second.yaml"
    for command in (("render", "--all"), ("publish",)):
        refused = olapps(*command, cwd=root)
        assert refused.code == 1
        assert "is also that of apps/demo.yaml" in refused.err
