"""Reading charts that anybody made: folders and archives with anything in them."""

import gzip
import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.check_charts import APP, PROFILE, Chart, flagship, rules_of

from olares_apps.checks import (
    ChartContext,
    Source,
    read_archive,
    read_folder,
    read_source,
    run_rules,
)
from olares_apps.checks.source import LIMITS
from olares_apps.errors import UsageError
from olares_apps.findings import Finding
from olares_apps.render.archive import Limits

NAME = f"{APP}-1.0.3.tgz"


def tar_of(entries: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry, data in entries:
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def entry(name: str, data: bytes = b"x", **facts: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(info, key, value)
    return info, data


def chart_entries(prefix: str = f"{APP}/") -> list[tuple[tarfile.TarInfo, bytes]]:
    return [entry(prefix + path, data) for path, data in flagship().items()]


def packed(*more: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return gzip.compress(tar_of([*chart_entries(), *more]), mtime=0)


def check(source: Source) -> list[Finding]:
    return run_rules(
        ChartContext(source.files, folder=source.folder, listing=source.listing, profile=PROFILE)
    )


def check_archive(data: bytes, name: str = NAME) -> list[Finding]:
    return check(read_archive(data, name))


def write(chart: Chart, root: Path) -> Path:
    for path, data in chart.items():
        target = root / APP / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root / APP


# Archives


def test_a_good_archive_has_no_finding() -> None:
    assert check_archive(packed()) == []


def test_an_archive_with_dot_slash_names_is_read_alike() -> None:
    assert check_archive(gzip.compress(tar_of(chart_entries(f"./{APP}/")), mtime=0)) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><p>404", "not gzip, it begins with 3c 21 44 4f"),
        (tar_of(chart_entries()), "a bare tar without gzip"),
        (gzip.compress(packed(), mtime=0), "is not a tar: gzip inside gzip"),
        (packed()[:-200], "is truncated"),
        (packed() + b"more", "holds 4 bytes after its gzip data"),
        (b"\x1f\x8b" + bytes(20), "damaged"),
        (gzip.compress(b"no tar" * 400, mtime=0), "is not a tar archive"),
    ],
    ids=["empty", "html", "bare", "double", "truncated", "trailing", "damaged", "no-tar"],
)
def test_what_is_not_one_gzip_around_one_tar_is_named(data: bytes, message: str) -> None:
    messages = [f.message for f in check_archive(data) if f.rule == "archive-single-gzip"]
    assert any(message in text and NAME in text for text in messages), messages


def test_the_content_of_a_double_gzip_is_still_checked() -> None:
    assert rules_of(check_archive(gzip.compress(packed(), mtime=0))) == {"archive-single-gzip"}


def test_a_bomb_ends_early_in_bounded_memory() -> None:
    limits = Limits(archive=2**20, unpacked=2**20, files=100)
    bomb = gzip.compress(bytes(64 * 2**20), compresslevel=1, mtime=0)
    source = read_archive(bomb, NAME, limits=limits)
    assert source.files == {}
    messages = [f.message for f in check(source) if f.rule == "archive-size"]
    assert any("unpacks to more than 1048576 bytes" in message for message in messages)


def test_a_file_that_is_larger_than_all_limits_is_not_kept() -> None:
    limits = Limits(archive=2**20, unpacked=30_000, files=100)
    source = read_archive(packed(entry(f"{APP}/big", bytes(40_000))), NAME, limits=limits)
    assert sum(map(len, source.files.values())) <= limits.unpacked
    assert "archive-size" in rules_of(check(source))


def test_many_entries_are_counted_and_not_read() -> None:
    many = [entry(f"{APP}/notes/{number}.md") for number in range(LIMITS.files + 500)]
    source = read_archive(packed(*many), NAME)
    assert len(source.listing.entries) == LIMITS.files
    assert any("holds more than 2000 entries" in f.message for f in check(source))


@pytest.mark.parametrize("path", [f"{APP}/../../etc/passwd", "/etc/passwd", "../x", f"{APP}/a\\b"])
def test_paths_that_leave_the_folder_are_never_read(path: str) -> None:
    source = read_archive(packed(entry(path, b"evil")), NAME)
    assert b"evil" not in source.files.values()
    found = [f for f in check(source) if f.rule == "archive-paths"]
    assert len(found) == 1


def test_links_and_special_files_of_an_archive_are_named() -> None:
    link = entry(f"{APP}/templates/_h.tpl", b"", type=tarfile.SYMTYPE, linkname="/home/x")
    pipe = entry(f"{APP}/pipe", b"", type=tarfile.FIFOTYPE)
    findings = check_archive(packed(link, pipe))
    assert rules_of(findings) == {"archive-links", "archive-special-files"}
    assert {f.file for f in findings} == {"templates/_h.tpl", "pipe"}
    assert any("templates/_h.tpl -> /home/x" in f.message for f in findings)


def test_two_top_folders_are_named() -> None:
    findings = check_archive(packed(entry("other/readme", b"x")))
    assert "archive-single-root" in rules_of(findings)


def test_a_file_that_stands_twice_is_named() -> None:
    findings = check_archive(packed(entry(f"{APP}/values.yaml", flagship()["values.yaml"])))
    assert rules_of(findings) == {"archive-content"}


def test_modes_and_times_are_told() -> None:
    findings = check_archive(
        gzip.compress(
            tar_of(
                [
                    *chart_entries(),
                    entry(f"{APP}/README.md", b"x", mode=0o600, mtime=9),
                    entry(f"{APP}/LICENSE", b"x", mode=0o4777, mtime=8),
                ]
            ),
            mtime=1700000000,
        )
    )
    assert rules_of(findings) == {"archive-modes", "archive-deterministic"}
    (mode,) = [f for f in findings if f.rule == "archive-modes"]
    assert "mode 4777" in mode.message
    (times,) = [f for f in findings if f.rule == "archive-deterministic"]
    assert "2023-11-14" in times.message


def test_a_renamed_archive_is_named_with_both_versions() -> None:
    findings = check_archive(packed(), f"{APP}-1.0.9.tgz")
    (found,) = findings
    assert found.rule == "version-consistency"
    assert "1.0.9" in found.message
    assert "1.0.3" in found.message


def test_an_archive_of_another_name_is_named() -> None:
    assert rules_of(check_archive(packed(), "otherone-1.0.3.tgz")) == {"name-consistency"}


def test_an_oversized_archive_is_named_with_size_and_limit() -> None:
    data = packed(entry(f"{APP}/templates/x.yaml", os.urandom(2**20)))
    (found,) = [f for f in check_archive(data) if f.rule == "archive-size"]
    assert str(len(data)) in found.message
    assert "1048576" in found.message
    assert "the largest file is templates/x.yaml" in found.hint


# Folders


def test_a_folder_is_read_with_its_listing(tmp_path: Path) -> None:
    source = read_source(write(flagship(), tmp_path))
    assert source.files == flagship()
    assert check(source) == []


def test_a_folder_of_another_name_is_only_a_warning(tmp_path: Path) -> None:
    write(flagship(), tmp_path).rename(tmp_path / "olares")
    (found,) = check(read_source(tmp_path / "olares"))
    assert (found.rule, found.severity.value) == ("name-consistency", "warning")
    assert "'olares'" in found.message
    assert f"'{APP}'" in found.message


def test_links_inside_are_read_and_links_outside_are_refused(tmp_path: Path) -> None:
    root = write(flagship(), tmp_path)
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: x\n")
    (root / "templates/service.yaml").rename(root / "service.yaml.txt")
    (root / "templates/service.yaml").symlink_to("../service.yaml.txt")
    (root / "templates/a.yaml").symlink_to(secret)
    (root / "templates/b.yaml").symlink_to("/etc/hostname")
    (root / "templates/c.yaml").symlink_to("nowhere.yaml")
    (root / "templates/d").symlink_to("..")
    source = read_source(root)
    assert source.files["templates/service.yaml"] == flagship()["templates/service.yaml"]
    assert b"password: x\n" not in source.files.values()
    severities = {f.file: f.severity.value for f in check(source) if f.rule == "archive-links"}
    assert severities == {
        "templates/service.yaml": "warning",
        "templates/a.yaml": "error",
        "templates/b.yaml": "error",
        "templates/c.yaml": "error",
        "templates/d": "warning",
    }


def test_a_pipe_is_named_and_not_opened(tmp_path: Path) -> None:
    root = write(flagship(), tmp_path)
    os.mkfifo(root / "pipe")
    assert rules_of(check(read_source(root))) == {"archive-special-files"}


def test_a_folder_with_very_many_files_ends_early(tmp_path: Path) -> None:
    root = write(flagship(), tmp_path)
    (root / "notes").mkdir()
    for number in range(300):
        (root / "notes" / f"{number}.md").touch()
    source = read_folder(root, limits=Limits(archive=1, unpacked=2**20, files=100))
    assert len(source.listing.entries) == 100
    assert any("holds more than 100 entries" in f.message for f in check(source))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    root = write(flagship(), tmp_path)
    with (root / "model.gguf").open("wb") as file:
        file.truncate(10 * 2**30)
    source = read_source(root)
    assert "model.gguf" not in source.files
    assert any(f.rule == "archive-size" for f in check(source))


def test_names_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    root = write(flagship(), tmp_path)
    (Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.md"))).write_text("x")
    findings = check(read_source(root))
    assert any("is not UTF-8" in f.message for f in findings if f.rule == "archive-content")


@pytest.mark.parametrize("what", ["missing", "empty", "stranger", "pipe"])
def test_what_is_no_chart_at_all_is_a_usage_error(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what != "missing":
        path.mkdir()
    if what == "stranger":
        (path / "README.md").write_text("hello")
    if what == "pipe":
        path.rmdir()
        os.mkfifo(path)
    with pytest.raises(UsageError) as caught:
        read_source(path)
    assert str(path) in str(caught.value)


def test_a_path_with_a_nul_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        read_source(Path("a\0b"))
