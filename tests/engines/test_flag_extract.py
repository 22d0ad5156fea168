"""Flag tables are read from help output and source without running either."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from olares_apps.engines.flag_extract import (
    flags_from_arg_cpp,
    flags_from_help,
    flags_from_vllm,
    names_from_listing,
    refine,
)
from olares_apps.engines.flags import load_build
from olares_apps.engines.flags.files import load_table
from olares_apps.engines.flags.model import Flag, ValueForm

SOURCES = Path(__file__).parent / "flag_sources"
ROOT = Path(__file__).parents[2]
SPECULATIVE = """
const std::map<std::string, kind> common_speculative_type_from_name_map = {
    {"none", A},
    {"draft-mtp", B}
};
"""

ARG_UTILS = """
QuantizationMethods = Literal["awq", "fp8"]

@config
class ModelConfig:
    quantization: QuantizationMethods | str | None = None
    max_model_len: int | None = None
    dtype: Literal["auto", "half"] = "auto"
    served_model_name: str | list[str] | None = None
    trust_remote_code: bool = False
    hf_token: bool | str | None = None
    ratio: Optional[float] = None
    overrides: dict[str, Any] = field(default_factory=dict)

@config
class GraphConfig:
    mode: GraphMode = None
    sizes: list[int] | None = None
    inner: "InnerConfig" = None
    hidden: int = field(init=False, default=0)

@config
class InnerConfig:
    on: bool = True

class GraphMode(enum.Enum):
    NONE = 0
    FULL = 2
    BOTH = (FULL, NONE)

@dataclass
class EngineArgs:
    graph_config: GraphConfig = None
    speculative_config: dict[str, Any] | None = None

    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="ModelConfig")
        group.add_argument("--quantization", "-q", **model_kwargs["quantization"])
        group.add_argument("--max-model-len", **model_kwargs["max_model_len"])
        group.add_argument("--dtype", **{**model_kwargs["dtype"], "default": None})
        group.add_argument("--served-model-name", **model_kwargs["served_model_name"])
        group.add_argument("--trust-remote-code", **model_kwargs["trust_remote_code"])
        group.add_argument("--hf-token", **model_kwargs["hf_token"])
        group.add_argument("--ratio", **model_kwargs["ratio"])
        group.add_argument("--overrides", **model_kwargs["overrides"])
        vllm_kwargs = get_kwargs(EngineArgs)
        group.add_argument("--graph-config", "-gc", **vllm_kwargs["graph_config"])
        vllm_kwargs["speculative_config"]["type"] = optional_type(json.loads)
        group.add_argument("--speculative-config", **vllm_kwargs["speculative_config"])
        group.add_argument("--enable-old", action="store_true", help="[DEPRECATED] gone " "soon")
        for arg, type in [("--old-backend", str), ("--old-count", int)]:
            group.add_argument(arg, type=type, deprecated=True)
        return parser
"""
SPECULATIVE_PY = """
MTPModelTypes = Literal["deepseek_mtp", "mtp"]
SpeculativeMethod = Literal["ngram", MTPModelTypes]

@config
class SpeculativeConfig:
    method: SpeculativeMethod | None = None
    num_speculative_tokens: int = None
"""
CLI_ARGS = """
@dataclass
class BaseFrontendArgs:
    tool_call_parser: str | None = None
    tool_parser_plugin: str = ""
    middleware: list[str] = field(default_factory=list)

    @classmethod
    def _customize_cli_kwargs(cls, frontend_kwargs):
        frontend_kwargs["middleware"]["action"] = "append"
        return frontend_kwargs

@dataclass
class FrontendArgs(BaseFrontendArgs):
    port: int = 8000
    log_level: Literal["info", "debug"] = "info"

def make_arg_parser(parser):
    parser.add_argument("model_tag", type=str, nargs="?")
    parser.add_argument("--headless", action="store_true", default=False)
    parser.add_argument("--api-server-count", "-asc", type=int, default=None)
    parser = FrontendArgs.add_cli_args(parser)
    return parser
"""
PARSERS = '_TOOL_PARSERS_TO_REGISTER = {"hermes": ("a", "B"), "gemma4": ("c", "D")}\n'
VLLM_FILES = {
    "vllm/engine/arg_utils.py": ARG_UTILS,
    "vllm/config/speculative.py": SPECULATIVE_PY,
    "vllm/entrypoints/openai/cli_args.py": CLI_ARGS,
    "vllm/tool_parsers/__init__.py": PARSERS,
}


def by_name(flags):
    return {flag.name: flag for flag in flags}


@pytest.fixture(scope="module")
def help_flags():
    return by_name(flags_from_help((SOURCES / "server_help.txt").read_text()))


@pytest.fixture(scope="module")
def source_flags():
    text = (SOURCES / "arg.cpp.txt").read_text()
    return by_name(flags_from_arg_cpp(text, SPECULATIVE))


@pytest.fixture(scope="module")
def vllm_flags():
    flags, shapes = flags_from_vllm(list(VLLM_FILES), VLLM_FILES.__getitem__)
    return by_name(flags), shapes


def test_help_gives_names_forms_values_and_environment(help_flags):
    assert help_flags["--ctx-size"] == Flag(
        names=("-c", "--ctx-size"),
        form=ValueForm.INT,
        env=("LLAMA_ARG_CTX_SIZE",),
        default="0",
    )
    assert help_flags["--flash-attn"].values == ("on", "off", "auto")
    assert help_flags["--cache-type-k"].values == ("f32", "f16", "q8_0")
    assert help_flags["--load-mode"].values == ("auto", "none", "mmap+mlock")
    assert help_flags["--gpu-layers"].values == ("auto", "all")
    assert help_flags["--gpu-layers"].form is ValueForm.INT
    assert help_flags["--temp"].form is ValueForm.FLOAT
    assert help_flags["--model"].form is ValueForm.PATH
    assert help_flags["--control-vector-layer-range"].form is ValueForm.PAIR


def test_help_tells_names_that_turn_off(help_flags):
    assert help_flags["--kv-offload"].names == ("-kvo", "--kv-offload")
    assert help_flags["--kv-offload"].negated == ("-nkvo", "--no-kv-offload")
    assert help_flags["--no-host"].negated == ()


def test_help_tells_removed_and_deprecated_options(help_flags):
    assert help_flags["--draft"].removed == "--spec-draft-n-max or --spec-ngram-mod-n-max"
    assert help_flags["--webui-config"].deprecated == "--ui-config"
    assert help_flags["--ctx-size"].removed is None


def test_help_tells_lists_that_add_up_and_json_objects(help_flags):
    assert help_flags["--spec-type"].form is ValueForm.LIST
    assert help_flags["--spec-type"].repeatable
    assert help_flags["--chat-template-kwargs"].shape == "object"


def test_source_gives_value_types_that_help_does_not(source_flags):
    assert source_flags["--ctx-size"].form is ValueForm.INT
    assert source_flags["--rope-scale"].form is ValueForm.FLOAT
    assert source_flags["--gpu-layers"].form is ValueForm.INT
    assert source_flags["--gpu-layers"].values == ("auto",)
    assert source_flags["--flash-attn"].values == ("on", "off", "auto")
    assert source_flags["--pooling"].values == ("none", "mean")
    assert source_flags["--cache-type-k"].values == ("f32", "q8_0", "turbo3")
    assert source_flags["--spec-type"].values == ("none", "draft-mtp")


def test_source_gives_negations_removals_and_deprecations(source_flags):
    assert source_flags["--mmap"].negated == ("--no-mmap",)
    assert source_flags["--mmap"].deprecated == "--load-mode"
    assert source_flags["--draft"].removed == "--spec-draft-n-max"
    assert source_flags["--draft"].env == ("LLAMA_ARG_DRAFT_MAX",)


def test_source_leaves_out_options_of_other_programs_and_texts(source_flags):
    names = {"--only-for-cli", "--not-for-server", "--not-an-option"}
    assert not names & source_flags.keys()


def test_help_decides_names_and_source_refines_types(help_flags, source_flags):
    refined = by_name(refine(help_flags.values(), source_flags.values()))
    assert refined.keys() == help_flags.keys()
    assert refined["--ctx-size"].default == "0"
    assert refined["--gpu-layers"].values == ("auto", "all")


def test_python_source_gives_options_of_configuration_fields(vllm_flags):
    flags, _ = vllm_flags
    assert flags["--quantization"].names == ("--quantization", "-q")
    assert flags["--quantization"].form is ValueForm.ENUM
    assert flags["--quantization"].values == ("awq", "fp8")
    assert flags["--max-model-len"].form is ValueForm.SIZE
    assert flags["--dtype"].values == ("auto", "half")
    assert flags["--served-model-name"].many
    assert flags["--trust-remote-code"].negated == ("--no-trust-remote-code",)
    assert flags["--hf-token"].optional_value
    assert flags["--ratio"].form is ValueForm.FLOAT
    assert flags["--overrides"].shape == "object"


def test_python_source_gives_explicit_and_frontend_options(vllm_flags):
    flags, _ = vllm_flags
    assert flags["--api-server-count"].form is ValueForm.INT
    assert flags["--headless"].form is ValueForm.NONE
    assert flags["--headless"].negated == ()
    assert flags["--port"].form is ValueForm.INT
    assert flags["--middleware"].repeatable
    assert flags["--log-level"].values == ("info", "debug")
    assert flags["--tool-call-parser"].values == ("gemma4", "hermes")
    assert flags["--tool-call-parser"].opened_by == "--tool-parser-plugin"


def test_python_source_gives_deprecated_options(vllm_flags):
    flags, _ = vllm_flags
    assert flags["--enable-old"].deprecated == ""
    assert flags["--old-backend"].deprecated == ""
    assert flags["--old-count"].form is ValueForm.INT
    assert flags["--ratio"].deprecated is None


def test_python_source_gives_the_shapes_of_json_options(vllm_flags):
    flags, shapes = vllm_flags
    graph = shapes["GraphConfig"]
    assert flags["--graph-config"].shape == "GraphConfig"
    assert set(graph.keys) == {"mode", "sizes", "inner"}
    assert graph.keys["mode"].values == ("NONE", "FULL", "BOTH")
    assert graph.keys["mode"].numbers == {"0": "NONE", "2": "FULL"}
    assert graph.keys["inner"].shape == "InnerConfig"
    assert shapes["InnerConfig"].keys["on"].form == "bool"
    method = shapes["SpeculativeConfig"].keys["method"]
    assert method.values == ("ngram", "mtp")
    assert method.deprecated == {"deepseek_mtp": "mtp"}


def test_a_listing_gives_names_and_types():
    text = "# note\n--a, --no-a\tbool\n--b\n"
    assert names_from_listing(text) == {("--a", "--no-a"): "bool", ("--b",): ""}


def run_script(*args, **kwargs):
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "extract_flags.py"), *args],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        **kwargs,
    )


def test_script_makes_a_table_from_help_on_standard_input():
    text = (SOURCES / "server_help.txt").read_text()
    done = run_script("help", "-", "--build", "b9999", input=text)
    assert done.returncode == 0, done.stderr
    table = load_table(done.stdout, {}.__getitem__)
    assert (table.engine, table.build) == ("llamacpp", "b9999")
    assert table.extracted_from == "help output of b9999"
    assert table.find("-fa").flag.name == "--flash-attn"


def test_script_makes_an_overlay_from_source(tmp_path):
    source = SOURCES / "arg.cpp.txt"
    done = run_script("arg-cpp", str(source), "--build", "b9255", "--base", "b9254")
    assert done.returncode == 0, done.stderr
    folder = ROOT / "olares_apps" / "engines" / "flags" / "data" / "llamacpp"
    table = load_table(done.stdout, lambda build: (folder / f"{build}.json").read_text())
    assert {flag.name for flag in table.flags} == set(
        by_name(flags_from_arg_cpp(source.read_text()))
    )


def test_script_reads_a_wheel_without_importing_it(tmp_path):
    wheel = tmp_path / "vllm-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in VLLM_FILES.items():
            archive.writestr(name, text)
        archive.writestr("vllm/__init__.py", "raise SystemExit('imported')")
    done = run_script("vllm-wheel", str(wheel), "--build", "9.9.9")
    assert done.returncode == 0, done.stderr
    table = load_table(done.stdout, {}.__getitem__)
    assert table.find("-gc").flag.shape == "GraphConfig"


def test_script_compares_a_listing_with_a_shipped_table(tmp_path):
    table = load_build("vllm", "0.33.0")
    flags = [flag for flag in table.flags if flag.removed is None]
    lines = ["# note", *(", ".join(flag.names) + "\tstr" for flag in flags)]
    listing = tmp_path / "flags.txt"
    listing.write_text("\n".join(lines))
    assert run_script("compare", str(listing), "--build", "0.33.0").returncode == 0
    listing.write_text("\n".join([*lines[:-1], "--brand-new\tint"]))
    done = run_script("compare", str(listing), "--build", "0.33.0")
    assert done.returncode == 1
    assert f"only in {listing}: --brand-new" in done.stdout
    assert f"only in 0.33.0: {flags[-1].name}" in done.stdout


@pytest.mark.parametrize("content", ["", "no options here\n"])
def test_script_refuses_a_file_without_options(tmp_path, content):
    file = tmp_path / "help.txt"
    file.write_text(content)
    done = run_script("help", str(file), "--build", "b1")
    assert done.returncode == 1
    assert "no option found" in done.stderr
    assert done.stdout == ""
