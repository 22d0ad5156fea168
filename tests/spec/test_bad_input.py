"""Bad specs: every message names file, line, field, value and what to do."""

import pytest
from support.specs import MINIMAL, PATH, faults_of, load, spec_text

from olares_apps.errors import Problem

ENGINE_END = "  parallel: 1\n"


def only(*changes: tuple[str, str]) -> Problem:
    (problem,) = faults_of(spec_text(*changes))
    assert problem.file == PATH
    assert problem.line is not None
    return problem


def engine(line: str) -> tuple[str, str]:
    return (ENGINE_END, f"{ENGINE_END}  {line}\n")


def test_the_minimal_spec_is_valid() -> None:
    spec = load(MINIMAL).spec
    assert (spec.app, spec.version, spec.engine.ctx) == ("demoqwenone", "1.0.0", 32768)


@pytest.mark.parametrize(
    ("written", "facts"),
    [
        ("1.10", ["must be a quoted string (YAML read 1.1)", "'1.10'", "MAJOR.MINOR.PATCH"]),
        ("1", ["must be a quoted string (YAML read 1)"]),
        ("v1.0.0", ["'v1.0.0'", "drop the leading v"]),
        ('"1.0"', ["'1.0'", "MAJOR.MINOR.PATCH"]),
        ('"1.0.0.0"', ["MAJOR.MINOR.PATCH"]),
        ('"1.0.2+cuda131"', ["'1.0.2+cuda131'", "build metadata", "not allowed"]),
        ('"1.0.0-rc.1"', ["pre-release", "not allowed"]),
        ('"12345.1234.123456"', ["17 characters, limit 16"]),
        ('"01.0.0"', ["leading zero"]),
        ('"１.0.0"', ["MAJOR.MINOR.PATCH"]),
        ("", ["has no value"]),
        ("[1, 0]", ["must be text, not a list"]),
    ],
)
def test_versions_have_one_form(written: str, facts: list[str]) -> None:
    problem = only(('version: "1.0.0"', f"version: {written}"))
    assert (problem.line, problem.field) == (2, "version")
    assert all(fact in problem.message for fact in facts), problem.message


@pytest.mark.parametrize("page", ["blob/main", "resolve/main", "tree/0123abc", "raw/master"])
def test_the_address_of_a_page_is_no_model_file(page: str) -> None:
    name = "Demo-35B-UD-Q3_K_XL.gguf"
    problem = only((f"file: {name}", f"file: {page}/{name}"))
    assert problem.field == "model.files.0.file"
    assert f"begins like the address of a page ({page}/)" in problem.message
    own = load(spec_text((f"file: {name}", f"file: blob/{name}"))).spec
    assert own.model.files[0].file == f"blob/{name}"


def test_a_version_of_sixteen_characters_is_accepted() -> None:
    assert load(spec_text(('"1.0.0"', '"1234.12345.12345"'))).spec.version == "1234.12345.12345"


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("demo-qwen", ["'demo-qwen'", "a-z and 0-9"]),
        ("Demo", ["'Demo'", "a-z and 0-9"]),
        ("demo_q", ["'demo_q'"]),
        ("9demo", ["'9demo'", "beginning with a letter"]),
        ("gpu", ["'gpu' is reserved"]),
        ("user", ["'user' is reserved"]),
        ("market", ["'market' is reserved"]),
        ("a" * 31, ["has 31 characters, limit 30"]),
    ],
)
def test_app_names_follow_the_platform(name: str, facts: list[str]) -> None:
    problem = only(("demoqwenone", name))
    assert (problem.line, problem.field, problem.value) == (1, "app", name)
    assert all(fact in problem.message for fact in facts), problem.message


def test_an_app_name_of_thirty_characters_is_accepted() -> None:
    assert load(spec_text(("demoqwenone", "a" * 30))).spec.app == "a" * 30


def test_titles_are_counted_in_bytes() -> None:
    problem = only(("Demo Qwen One", "Démo Qwen à 31 octets, voilàà"))
    assert problem.field == "title"
    assert "is 33 bytes (29 characters; an accent takes two), limit 30" in problem.message
    assert load(spec_text(("Demo Qwen One", "é" * 15))).spec.title == "é" * 15
    assert "is 31 bytes" in only(("Demo Qwen One", "é" * 15 + "x")).message


@pytest.mark.parametrize("title", ['""', '" x"', '"a\\nb"'])
def test_titles_are_one_clean_line(title: str) -> None:
    assert only(("Demo Qwen One", title)).field == "title"


@pytest.mark.parametrize(
    ("line", "field", "facts", "hint"),
    [
        ("port: 0", "port", ["0", "1 to 65535"], None),
        ("port: 70000", "port", ["70000", "1 to 65535"], None),
        ("port: '8000'", "port", ["must be a number", "'8000'"], "drop the quotes"),
        ("batch: -1", "batch", ["-1", "1 to 65536"], None),
        ("batch: 1.5", "batch", ["whole number", "1.5"], None),
        ("threads: many", "threads", ["whole number", "'many'"], None),
        ("gpu_layers: true", "gpu_layers", ["whole number", "boolean"], None),
        ("flash_attn: false", "flash_attn", ["got boolean false", "on, off, auto"], 'write "off"'),
        ("reasoning: false", "reasoning", ["got boolean false"], 'write "off"'),
        ("flash_attn: onn", "flash_attn", ["'onn'", "on, off, auto"], "did you mean on?"),
        ("jinja: off", "jinja", ["true or false", "'off'"], "write false"),
        ("jinja: 5", "jinja", ["true or false", "5"], "write true or false"),
        ("extra_args: --foo", "extra_args", ["must be a list"], None),
        ("extra_args: [5]", "extra_args.0", ["quoted string (YAML read 5)"], 'write "5"'),
        ("env: [a]", "env", ["must be a mapping, got a list"], None),
        ("kv: q4_0", "kv", ["must be a mapping, got text"], "keys: k, v"),
        ("sampling: {temp: hot}", "sampling.temp", ["must be a number", "'hot'"], None),
        ("sampling: {temp: '0.6'}", "sampling.temp", ["must be a number"], "drop the quotes"),
        ("sampling: {temp: .nan}", "sampling.temp", [".nan", "no finite number"], None),
        (
            "speculative: {method: mpt, n_max: 3}",
            "speculative.method",
            ["'mpt'", "ngram-mod"],
            "did you mean mtp?",
        ),
        (
            "chat_template_args: {a: [{b: 1e999}]}",
            "chat_template_args.a.0.b",
            ["1e999", "no finite number"],
            None,
        ),
        ("speculative: {n_max: 3}", "speculative.method", ["required field is missing"], None),
    ],
)
def test_engine_settings_say_what_is_allowed(
    line: str, field: str, facts: list[str], hint: str | None
) -> None:
    problem = only(engine(line))
    assert problem.field == f"engine.{field}"
    assert problem.line == MINIMAL.count("\n") + 1
    assert all(fact in problem.message for fact in facts), problem.message
    assert hint is None or problem.hint == hint


def test_bare_off_is_the_word() -> None:
    loaded = load(
        spec_text(engine("flash_attn: off"), ("  ctx: 32768\n", "  ctx: 32768\n  reasoning: off\n"))
    )
    assert loaded.spec.engine.flash_attn == "off"
    assert loaded.spec.engine.reasoning == "off"


def test_environment_values_are_text() -> None:
    found = faults_of(spec_text(engine("env: {THREADS: 16, DEBUG: true, EMPTY: null, 1X: a}")))
    assert [(p.field, p.hint) for p in found[:2]] == [
        ("engine.env.THREADS", 'write "16"'),
        ("engine.env.DEBUG", 'write "true"'),
    ]
    assert (found[2].field, found[2].message) == ("engine.env.EMPTY", "has no value")
    assert "'1X'" in found[3].message


def test_an_image_of_digits_is_no_number() -> None:
    problem = only(("registry.example.org/llama-server:b9600", "62189086"))
    assert "must be a quoted string (YAML read 62189086)" in problem.message


@pytest.mark.parametrize(
    ("image", "fact"),
    [
        ("owner/name:tag", "write docker.io/owner/name:tag"),
        ("docker.io/owner/name", "neither a tag nor a digest"),
        ("docker.io/Owner/name:tag", "is not an image reference"),
    ],
)
def test_images_are_pinned_with_their_registry(image: str, fact: str) -> None:
    assert fact in only(("registry.example.org/llama-server:b9600", image)).message


def test_parallel_is_mandatory_and_says_why() -> None:
    problem = only((ENGINE_END, ""))
    assert (problem.field, problem.line) == ("engine.parallel", 20)
    assert problem.message == "required field is missing"
    assert "four slots" in (problem.hint or "")


def test_ctx_beyond_the_native_context_is_refused() -> None:
    problem = only(("ctx: 32768", "ctx: 262145"))
    assert (problem.field, problem.line, problem.value) == ("engine.ctx", 23, "262145")
    assert "262145" in problem.message
    assert "native context of 262144" in problem.message


@pytest.mark.parametrize(
    ("argument", "owner"),
    [
        ("--ctx-size", "engine.ctx"),
        ("--ctx_size", "engine.ctx"),
        ("-c", "engine.ctx"),
        ("--threads=4", "engine.threads"),
        ("'--temp 0.6'", "engine.sampling.temp"),
        ("-ngl", "engine.gpu_layers"),
        ("--n-gpu-layers", "engine.gpu_layers"),
        ("--mlock", "engine.load_mode"),
        ("--port", "engine.port"),
        ("--alias", "alias"),
        ("-m", "model.files"),
        ("--host", "the chart"),
    ],
)
def test_extra_args_must_not_repeat_a_typed_flag(argument: str, owner: str) -> None:
    problem = only(engine(f"extra_args: [--verbose, {argument}]"))
    assert problem.field == "engine.extra_args.1"
    assert f"repeats what {owner}" in problem.message
    assert f"remove {argument.strip(chr(39)).split('=')[0].split()[0]} here" in (problem.hint or "")


def test_extra_args_hold_one_argument_per_item() -> None:
    problem = only(engine("extra_args: ['--foo bar']"))
    assert "'--foo bar' is one argument with a space" in problem.message


def test_extra_args_may_hold_values_with_spaces_and_negative_numbers() -> None:
    arguments = ["--grammar", "root ::= [a-z ]+", "--seed", "-1", "-"]
    loaded = load(spec_text(engine(f"extra_args: {arguments!r}")))
    assert loaded.spec.engine.extra_args == arguments


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("memory: 24GB", "'24GB' is not a quantity"),
        ("memory: -4Gi", "greater than zero"),
        ("memory: 0Gi", "greater than zero"),
        ("memory: 9999Ti", "over 1 PiB"),
        ("memory: 24", "quoted string"),
        ("cpu: 4", "quoted string"),
        ('cpu: "0"', "greater than 0"),
        ('cpu: "-1"', "greater than 0"),
        ('cpu: "4000"', "1024 cores"),
        ("gpu_memory_parts: [{part: x, gb: 0}]", "more than 0 and at most 2000"),
    ],
)
def test_quantities_are_sane(line: str, fact: str) -> None:
    problem = only(("engine:\n", f"resources:\n  {line}\nengine:\n"))
    assert problem.line == 21
    assert fact in problem.message


@pytest.mark.parametrize(
    ("change", "field", "hint"),
    [
        (("developer:", "develper:"), "develper", "did you mean developer?"),
        (("  ctx: 32768", "  contxt: 32768"), "engine.contxt", "did you mean ctx?"),
        (("  ctx: 32768", "  ctx_size: 32768"), "engine.ctx_size", "did you mean ctx?"),
        (("  ctx: 32768", "  ctx-size: 32768"), "engine.ctx-size", "did you mean ctx?"),
        (engine("cache_type_k: q4_0"), "engine.cache_type_k", "did you mean kv.k?"),
        (("      quant:", "      qunt:"), "model.files.0.qunt", "did you mean quant?"),
    ],
)
def test_unknown_keys_get_the_nearest_valid_key(
    change: tuple[str, str], field: str, hint: str
) -> None:
    problem = only(change)
    assert (problem.field, problem.hint) == (field, hint)
    assert "unknown key" in problem.message


def test_an_unknown_key_without_a_neighbour_lists_what_is_allowed() -> None:
    problem = only(("developer:", "zzzz: 1\ndeveloper:"))
    assert "app, version, title" in (problem.hint or "")


@pytest.mark.parametrize(
    ("locale", "fact"),
    [
        ("en", "did you mean en-US?"),
        ("zh_CN", "did you mean zh-CN?"),
        ("klingon", "write it as en-US or zh-CN"),
        ("en-US", "stands in the field text"),
    ],
)
def test_locales_are_full_tags(locale: str, fact: str) -> None:
    problem = only(("developer:", f"locales:\n  {locale}:\n    summary: x\ndeveloper:"))
    assert (problem.line, problem.field) == (8, f"locales.{locale}")
    assert fact in problem.message


def test_text_with_control_characters_is_refused() -> None:
    problem = only(("A demo on your own device.", '"one\\ntwo\\0"'))
    assert problem.field == "text.summary"
    assert "U+0000 in its line 2" in problem.message


def test_text_of_a_megabyte_is_refused_by_field_or_by_file() -> None:
    problem = only(("  summary:", f"  about: {'x' * 1_000_000}\n  summary:"))
    assert (problem.field, problem.line) == ("text.about", 6)
    assert "1000000 bytes" in problem.message
    assert "limit 65536" in problem.message
    assert len(problem.message) < 200
    (whole,) = faults_of(spec_text(("  summary:", f"  about: {'x' * 2**20}\n  summary:")).encode())
    assert "1048576" in whole.message


def test_releases_are_newest_first_and_named_once() -> None:
    entries = ", ".join(f"{{version: '{v}', notes: x}}" for v in ("1.9.0", "1.10.0", "1.9.0"))
    found = faults_of(spec_text(("engine:\n", f"releases: [{entries}]\nengine:\n")))
    assert [(p.field, p.message) for p in found] == [
        ("releases.1.version", "version 1.10.0 stands below 1.9.0"),
        ("releases.2.version", "version 1.9.0 is listed twice"),
    ]


BENCH = """\
bench:
  - &record
    id: one
    ctx: 32768
    tps: 100.0
    runs: 2
    acceptance: 50
    details: [{tps: 99, drafted: 10, accepted: 5}, {tps: 101, drafted: 10, accepted: 5}]
    protocol: {prompt: a page, tokens: 100}
    image: docker.io/owner/name:tag
    model_file: a.gguf
    source: somewhere
"""


def test_bench_records_agree_with_their_runs() -> None:
    good = spec_text(("engine:\n", BENCH + "engine:\n"))
    assert load(good).spec.bench[0].tps == 100
    bad = spec_text(
        ("tps: 100.0", "tps: 102.0"),
        ("runs: 2", "runs: 3"),
        ("acceptance: 50", "acceptance: 86.6"),
        ("101, drafted: 10, accepted: 5", "101, drafted: 10, accepted: 11"),
        ("    source: somewhere\n", "    source: somewhere\n  - <<: *record\n"),
        base=good,
    )
    fields = {problem.field for problem in faults_of(bad)}
    assert fields >= {
        "bench.0.tps",
        "bench.0.runs",
        "bench.0.acceptance",
        "bench.0.details.1.accepted",
        "bench.1.id",
    }


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    found = faults_of(
        spec_text(
            ('"1.0.0"', "v1"),
            ("Demo Qwen One", "x" * 31),
            ("ctx: 32768", "ctx: 300000"),
            engine("extra_args: [-c]\n  flsh: 1"),
            ("developer: somebody\n", ""),
        )
    )
    assert [(p.line, p.field) for p in found] == [
        (1, "developer"),
        (2, "version"),
        (3, "title"),
        (22, "engine.ctx"),
        (24, "engine.extra_args.0"),
        (25, "engine.flsh"),
    ]


def test_unknown_engines_get_the_nearest_one() -> None:
    problem = only(("type: llamacpp", "type: llamacp"))
    assert (problem.field, problem.hint) == ("engine.type", "did you mean llamacpp?")


def test_crlf_files_give_the_same_spec() -> None:
    text = spec_text(("  summary: A demo on your own device.", "  summary: |\n    one\n    two\n"))
    assert load(text.replace("\n", "\r\n").encode()).spec == load(text).spec


def test_urls_are_absolute() -> None:
    for url in ("example.org/model", "ftp://example.org", "https://", "http://[::1"):
        problem = only(("https://example.org/model", url))
        assert "must be an absolute http or https URL" in problem.message


@pytest.mark.parametrize("path", ["../x.gguf", "/x.gguf", "a\\\\b.gguf", "https://x/y.gguf", ""])
def test_model_files_are_relative_paths(path: str) -> None:
    problem = only(("Demo-35B-UD-Q3_K_XL.gguf", f'"{path}"'))
    assert problem.field == "model.files.0.file"


@pytest.mark.parametrize("folder", ["cache", "/a:b", "/a/../b", '"/a\\n/b"', "/", "/-x", '""'])
def test_a_folder_of_the_container_is_absolute_and_plain(folder: str) -> None:
    problem = only(engine(f"slot_save_path: {folder}"))
    assert problem.field == "engine.slot_save_path"
    assert "must be an absolute folder" in problem.message


@pytest.mark.parametrize(
    ("name", "request_", "limit"), [("memory", "41Gi", "40Gi"), ("cpu", '"17"', '"16"')]
)
def test_a_request_above_its_limit_is_refused(name: str, request_: str, limit: str) -> None:
    problem = only((ENGINE_END, f"{ENGINE_END}resources:\n  {name}: {request_}\n"))
    assert problem.field == f"resources.{name}"
    request_, limit = request_.strip('"'), limit.strip('"')
    assert f"the request {request_} is above the limit {limit}" in problem.message
