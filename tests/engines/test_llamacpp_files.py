"""Model files lie where no other app's file can be mistaken for them."""

from typing import Any

import pytest

from olares_apps.engines.files import stored_files
from olares_apps.errors import RenderError
from olares_apps.spec.models import ModelFile


def paths(*files: dict[str, Any]) -> list[str]:
    return [item.path for item in stored_files([ModelFile(**file) for file in files])]


def test_repositories_that_share_a_file_name_do_not_share_a_place() -> None:
    mtp = paths({"repo": "example-org/Demo-27B-MTP-GGUF", "file": "Demo-27B-UD-Q3_K_XL.gguf"})
    dense = paths({"repo": "example-org/Demo-27B-GGUF", "file": "Demo-27B-UD-Q3_K_XL.gguf"})
    assert mtp == ["/models/example-org--Demo-27B-MTP-GGUF/main/Demo-27B-UD-Q3_K_XL.gguf"]
    assert set(mtp).isdisjoint(dense)


def test_revisions_do_not_share_a_place_and_none_adds_a_folder_level() -> None:
    file = {"repo": "o/n", "file": "m.gguf"}
    assert paths({**file, "revision": "refs/pr/1"}) == ["/models/o--n/refs--pr--1/m.gguf"]
    assert paths({**file, "revision": "a" * 40}) != paths(file)


def test_a_stored_name_replaces_the_remote_one_on_the_device_only() -> None:
    (stored,) = stored_files([ModelFile(repo="o/n", file="a/mmproj.gguf", stored_as="p.gguf")])
    assert (stored.remote, stored.path) == ("a/mmproj.gguf", "/models/o--n/main/p.gguf")


def test_all_parts_of_a_split_file_follow_from_the_first() -> None:
    file = ModelFile(repo="o/n", file="Q4/M-00001-of-00003.gguf", size_gb=60, sha256="0" * 64)
    parts = stored_files([file])
    assert [item.remote for item in parts] == [f"Q4/M-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    assert [item.sha256 for item in parts] == ["0" * 64, None, None]
    assert sum(item.about or 0 for item in parts) == 60 * 10**9


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([{"file": "M-00002-of-00003.gguf"}], "part 2 of 3"),
        ([{"file": "M-00001-of-00003.gguf", "stored_as": "m.gguf"}], "must end like"),
        ([{"file": "a.gguf"}, {"file": "b.gguf", "stored_as": "a.gguf"}], "both be stored as"),
        ([{"file": "a|b.gguf"}], "holds '|'"),
        ([{"file": "a.gguf.part"}], "ending that the download keeps"),
    ],
)
def test_names_that_cannot_be_stored_are_refused(files: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(RenderError, match=reason.replace("|", r"\|")):
        paths(*({"repo": "o/n", **file} for file in files))


def test_a_split_model_of_more_parts_than_a_variable_can_name_is_refused() -> None:
    assert len(paths({"repo": "o/n", "file": "m-00001-of-00200.gguf"})) == 200
    with pytest.raises(RenderError, match="has 201 parts, limit 200"):
        paths({"repo": "o/n", "file": "m-00001-of-00201.gguf"})
