"""Whatever a spec may say survives the way into a YAML file and back."""

from io import StringIO
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from support.specs import PATH

from olares_apps.engines.registry import spec_model
from olares_apps.spec.loader import load_spec

# Text that YAML readers of several ages take for something else.
TRAPS = st.sampled_from(
    "on off yes no y null ~ true 1.10 1e3 0o17 0x1F 12:30:45 2026-01-01 1_000 = << *a &a !x".split()
    + "--- ... %x @x `x` | > {{ctx}} [ ] { } ? : -".split()
    + ["- x", "a: b", "x #y", "\ttab", " space ", "one\n\n  two\n", "crlf\r\nline", "🔥é\\\"'", ""]
)
TEXT = TRAPS | st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t"), max_size=60
)
LINES = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=40).filter(
    lambda text: text.isprintable() and text.strip()
)
TITLES = LINES.filter(lambda text: text == text.strip() and len(text.encode()) <= 30)
NAMES = st.from_regex(r"[a-z][a-z0-9]{2,29}", fullmatch=True).map(lambda name: f"x{name[1:]}")
NUMBER = st.integers(0, 9999)
VERSIONS = st.builds("{}.{}.{}".format, NUMBER, NUMBER, NUMBER)
PAGES = st.fixed_dictionaries(
    {"summary": TEXT.filter(str.strip)},
    optional={"about": TEXT, "limits": st.lists(TEXT, max_size=3)},
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINES, inner, max_size=3),
    max_leaves=6,
)
ENGINES = st.fixed_dictionaries(
    {
        "type": st.just("llamacpp"),
        "image": st.just("docker.io/owner/name:tag"),
        "ctx": st.integers(256, 262144),
        "parallel": st.integers(1, 8),
    },
    optional={
        "port": st.integers(1, 65535),
        "flash_attn": st.sampled_from(["on", "off", "auto"]),
        "jinja": st.booleans(),
        "sampling": st.fixed_dictionaries({"temp": st.floats(0, 5)}),
        "chat_template_args": st.dictionaries(LINES, JSON, max_size=3),
        "env": st.dictionaries(st.from_regex(r"[A-Z_]{1,9}", fullmatch=True), TEXT, max_size=3),
    },
)
RELEASES = st.fixed_dictionaries({"version": VERSIONS, "notes": TEXT})
SPECS = st.fixed_dictionaries(
    {
        "app": NAMES,
        "version": VERSIONS,
        "title": TITLES,
        "alias": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
        "text": PAGES,
        "developer": LINES,
        "licenses": st.just(
            {
                "model": {"text": "MIT", "url": "https://example.org"},
                "engine": {"text": "MIT", "url": "https://example.org"},
            }
        ),
        "model": st.fixed_dictionaries(
            {"name": LINES, "kind": LINES, "native_ctx": st.just(262144)}
        ),
        "engine": ENGINES,
    },
    optional={
        "locales": st.dictionaries(st.sampled_from(["zh-CN", "fr-FR"]), PAGES),
        "releases": st.lists(RELEASES, max_size=1),
    },
)


@settings(max_examples=60, deadline=None)
@given(SPECS)
def test_spec_to_yaml_and_back(data: dict[str, Any]) -> None:
    model = spec_model()
    wanted = model.model_validate(data)
    # ruamel.yaml stands for any writer of YAML 1.2. Block style: libyaml wants quotes around
    # text such as ":0" between braces, which YAML 1.2 does not.
    writer, stream = YAML(typ="safe", pure=True), StringIO()
    writer.default_flow_style = False
    writer.dump(data, stream)
    loaded = load_spec(stream.getvalue(), path=PATH, model=model)
    assert loaded.spec == wanted
    assert loaded.spec.model_dump() == wanted.model_dump()


@settings(max_examples=30, deadline=None)
@given(SPECS)
def test_the_data_of_a_spec_makes_the_same_spec(data: dict[str, Any]) -> None:
    model = spec_model()
    wanted = model.model_validate(data)
    assert model.model_validate(wanted.model_dump(exclude_none=True)) == wanted
