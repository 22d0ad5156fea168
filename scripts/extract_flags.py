"""Make a flag table: from help output, from a llama.cpp source, or from a vLLM package.

    scripts/extract_flags.py help FILE|- --build b9254 [--arg-cpp FILE [--speculative FILE]]
    scripts/extract_flags.py arg-cpp FILE --build b9464 [--speculative FILE] [--base b9254]
    scripts/extract_flags.py vllm-wheel FILE.whl|FILE.tar.gz|FOLDER --build 0.33.0
    scripts/extract_flags.py compare LISTING --build 0.33.0

The table goes to stdout; ``compare`` prints the names that a listing (one flag per line:
names, a tab, the type) and a shipped table do not share. Nothing of the package that is read
is run or imported. See docs/flag-tables.md.
"""

import argparse
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from olares_apps.engines.flag_extract import (
    flags_from_arg_cpp,
    flags_from_help,
    flags_from_vllm,
    names_from_listing,
    refine,
)
from olares_apps.engines.flags.files import dump_overlay, dump_table, load_table
from olares_apps.engines.flags.model import Flag, FlagTable
from olares_apps.engines.flags.tables import known_builds

DATA = Path(__file__).parents[1] / "olares_apps" / "engines" / "flags" / "data"
SOURCES = {"llamacpp": "ggml-org/llama.cpp", "vllm": "vllm-project/vllm"}


def main(argv: Sequence[str] | None = None) -> int:
    """Read the source named on the command line and print its table."""
    args = _parser().parse_args(argv)
    if args.command == "compare":
        return _compare(args)
    try:
        table = MAKERS[args.command](args)
    except (OSError, ValueError, SyntaxError) as error:
        print(f"extract_flags: {args.file}: {error}", file=sys.stderr)
        return 1
    if not table.flags:
        print(
            f"extract_flags: {args.file}: no option found; is it the right file?", file=sys.stderr
        )
        return 1
    if args.base:
        sys.stdout.write(dump_overlay(table, _read_table(table.engine, args.base)))
    else:
        sys.stdout.write(dump_table(table))
    print(f"{len(table.flags)} flags of {table.engine} {table.build}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    helps = {
        "help": "output of llama-server --help (- for standard input)",
        "arg-cpp": "common/arg.cpp of a llama.cpp tree",
        "vllm-wheel": "wheel, source archive or unpacked folder of vLLM",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("file", help=text)
        command.add_argument("--build", required=True, help="name of the table, e.g. b9254")
        command.add_argument("--base", help="write only the differences from this build's table")
        command.add_argument("--project", help="project the build comes from, OWNER/NAME")
        command.add_argument("--from", dest="origin", help="provenance in a few words")
        command.add_argument("--upstream", help="mainline build that a fork stands on")
        command.add_argument(
            "--covers",
            nargs=2,
            metavar=("FIRST", "LAST"),
            help="first and last build known to have the same options",
        )
        if name != "vllm-wheel":
            command.add_argument("--speculative", help="common/speculative.cpp of the same tree")
        if name == "help":
            command.add_argument("--arg-cpp", help="common/arg.cpp of the same build")
    compare = commands.add_parser("compare", help="compare a listing with a shipped table")
    compare.add_argument("file", help="listing: names, a tab, the type")
    compare.add_argument("--build", required=True, help="build of vLLM that has a table")
    return parser


def _compare(args: argparse.Namespace) -> int:
    table = _read_table("vllm", args.build)
    listed = {name for names in names_from_listing(_text(args.file)) for name in names}
    known = {name for flag in table.flags for name in (*flag.names, *flag.negated)}
    stated = {name for flag in table.flags for name in flag.names}
    for name in sorted(listed - known):
        print(f"only in {args.file}: {name}")
    for name in sorted(stated - listed):
        print(f"only in {args.build}: {name}")
    return 1 if listed - known or stated - listed else 0


def _make_help(args: argparse.Namespace) -> FlagTable:
    text = sys.stdin.read() if args.file == "-" else _text(args.file)
    flags = flags_from_help(text)
    origin = f"help output of {args.build}"
    if args.arg_cpp:
        flags = refine(flags, _source_flags(args.arg_cpp, args.speculative))
        origin += ", value types from common/arg.cpp"
    return _table("llamacpp", args, flags, origin)


def _make_arg_cpp(args: argparse.Namespace) -> FlagTable:
    flags = _source_flags(args.file, args.speculative)
    return _table("llamacpp", args, flags, f"common/arg.cpp of {args.build}")


def _make_vllm(args: argparse.Namespace) -> FlagTable:
    paths, read = _python_files(Path(args.file))
    flags, shapes = flags_from_vllm(paths, read)
    table = _table("vllm", args, flags, f"Python source of {args.build}")
    return replace(table, shapes=shapes)


MAKERS: dict[str, Callable[[argparse.Namespace], FlagTable]] = {
    "help": _make_help,
    "arg-cpp": _make_arg_cpp,
    "vllm-wheel": _make_vllm,
}


def _table(engine: str, args: argparse.Namespace, flags: Sequence[Flag], origin: str) -> FlagTable:
    unique = {flag.name: flag for flag in reversed(flags)}
    return FlagTable(
        engine=engine,
        build=args.build,
        source=args.project or SOURCES[engine],
        extracted_from=args.origin or origin,
        flags=tuple(unique[name] for name in sorted(unique)),
        covers=tuple(args.covers) if args.covers else None,
        upstream=args.upstream,
    )


def _source_flags(path: str, speculative: str | None) -> list[Flag]:
    return flags_from_arg_cpp(_text(path), _text(speculative) if speculative else "")


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


def _read_table(engine: str, build: str) -> FlagTable:
    if build not in known_builds(engine):
        raise SystemExit(
            f"extract_flags: no table {build}; known: {', '.join(known_builds(engine))}"
        )
    folder = DATA / engine
    return load_table(
        _text(str(folder / f"{build}.json")), lambda base: _text(str(folder / f"{base}.json"))
    )


def _python_files(path: Path) -> tuple[list[str], Callable[[str], str]]:
    """Return the paths under ``vllm/`` of a wheel, archive or folder, and how to read one."""
    if path.is_dir():
        found = [str(item.relative_to(path)) for item in (path / "vllm").rglob("*.py")]
        return found, lambda name: (path / name).read_text(encoding="utf-8")
    if zipfile.is_zipfile(path):
        wheel = zipfile.ZipFile(path)
        found = [name for name in wheel.namelist() if name.startswith("vllm/")]
        return found, lambda name: wheel.read(name).decode()
    archive = tarfile.open(path)  # noqa: SIM115 - read lazily until the process ends
    members = {
        member.name.split("/", 1)[1]: member
        for member in archive.getmembers()
        if member.isfile() and "/vllm/" in member.name and member.name.endswith(".py")
    }

    def read(name: str) -> str:
        file = archive.extractfile(members[name])
        return file.read().decode() if file else ""

    return [name for name in members if name.startswith("vllm/")], read


if __name__ == "__main__":
    sys.exit(main())
