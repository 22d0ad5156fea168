from dataclasses import replace

import pytest
from support.gguf_files import TINY_MOE, Typed, gguf_source, metadata_of, tensors_of

from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.gguf_errors import ShardSetError
from olares_apps.fit.gguf_facts import facts_of
from olares_apps.fit.gguf_header import read_header
from olares_apps.fit.gguf_shards import (
    merge_shards,
    missing_shards,
    parse_shard_name,
    shard_names,
)
from olares_apps.fit.mtp import MtpState, check_mtp


def split(parts: int = 3, total: int | None = None):
    """Return the headers of a model split into ``parts``; the MTP block is in the last."""
    tensors = tensors_of(TINY_MOE)
    size = -(-len(tensors) // parts)
    headers = []
    for number in range(parts):
        keys = {
            "split.no": Typed("uint16", number),
            "split.count": Typed("uint16", total or parts),
            "split.tensors.count": Typed("int32", len(tensors)),
        }
        metadata = (metadata_of(TINY_MOE) if number == 0 else {}) | keys
        part = tensors[number * size : (number + 1) * size]
        headers.append(read_header(gguf_source(metadata, part)))
    return headers


def test_names_of_all_parts_follow_from_one():
    expected = tuple(f"Demo-Q4-0000{number}-of-00003.gguf" for number in (1, 2, 3))
    assert shard_names("Demo-Q4-00001-of-00003.gguf") == expected
    assert shard_names("Demo-Q4-00002-of-00003.gguf") == expected
    assert shard_names("sub/Demo-Q4-00003-of-00003.gguf")[0] == "sub/Demo-Q4-00001-of-00003.gguf"


@pytest.mark.parametrize(
    "file",
    ["Demo.gguf", "Demo-00000-of-00003.gguf", "Demo-00004-of-00003.gguf", "Demo-1-of-3.gguf"],
)
def test_other_names_are_single_files(file):
    assert parse_shard_name(file) is None
    assert shard_names(file) == (file,)


def test_a_part_that_the_repository_lacks_is_named():
    """Public report: only the first parts of a split model were downloaded."""
    present = {"Demo-Q4-00001-of-00003.gguf", "Demo-Q4-00002-of-00003.gguf", "other.gguf"}
    assert missing_shards("Demo-Q4-00001-of-00003.gguf", present) == ("00003-of-00003",)
    assert missing_shards("Demo-Q8.gguf", present) == ("Demo-Q8.gguf",)
    assert missing_shards("other.gguf", present) == ()


def test_facts_of_a_split_model_are_those_of_the_whole():
    whole = facts_of(read_header(gguf_source(metadata_of(TINY_MOE), tensors_of(TINY_MOE))))
    headers = split(3)
    merged = facts_of(merge_shards([headers[2], headers[0], headers[1]]))
    assert merged.shards == 3
    assert merged.file_size == sum(header.file_size for header in headers)
    assert merged.header_bytes == sum(header.data_offset for header in headers)
    same = replace(merged, shards=1, file_size=whole.file_size, header_bytes=whole.header_bytes)
    assert same == whole


def test_the_head_of_a_split_model_is_found_in_its_last_part():
    headers = split(3)
    build = behaviour_of(11434)
    assert check_mtp(facts_of(merge_shards(headers)), build).is_usable
    alone = facts_of(headers[0])
    assert check_mtp(alone, build).state is MtpState.KEY_WITHOUT_TENSORS


def test_a_set_without_its_last_part_says_which_is_missing():
    with pytest.raises(ShardSetError, match="00003-of-00003 missing") as caught:
        merge_shards(split(3)[:2])
    assert caught.value.missing == (3,)


def test_parts_that_do_not_belong_together_are_refused():
    first, second, third = split(3)
    with pytest.raises(ShardSetError, match="twice"):
        merge_shards([first, second, second])
    with pytest.raises(ShardSetError, match=r"split\.count differs"):
        merge_shards([first, second, split(2)[1]])
    with pytest.raises(ShardSetError, match="different models"):
        merge_shards([first, second, replace(third, tensors=first.tensors)])
    with pytest.raises(ShardSetError, match="states"):
        merge_shards([first, second, replace(third, tensors=third.tensors[:-1])])
    with pytest.raises(ShardSetError, match="no part"):
        merge_shards([])


def test_an_unsplit_header_is_returned_as_it_is():
    header = read_header(gguf_source(metadata_of(TINY_MOE), tensors_of(TINY_MOE)))
    assert merge_shards([header]) is header
