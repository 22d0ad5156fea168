import pytest

from olares_apps.errors import UnknownName
from olares_apps.fit.kv_types import KV_TYPES, kv_type


@pytest.mark.parametrize(
    ("name", "bytes_of_256"),
    [
        ("f32", 1024),
        ("f16", 512),
        ("bf16", 512),
        ("q8_0", 272),
        ("q5_1", 192),
        ("q5_0", 176),
        ("q4_1", 160),
        ("q4_0", 144),
        ("iq4_nl", 144),
        # The larger of two layouts: 14 bytes for 32 against 50 for 128.
        ("turbo3", 112),
        ("turbo3_tcq", 104),
        ("turbo4", 136),
        ("turbo2", 80),
    ],
)
def test_bytes_of_a_row_of_256_elements(name, bytes_of_256):
    assert kv_type(name).row(256) == bytes_of_256


def test_every_type_is_in_the_table_above():
    assert len(KV_TYPES) == 13


def test_an_unknown_type_suggests_a_known_one():
    with pytest.raises(UnknownName) as caught:
        kv_type("q4_o")
    assert caught.value.suggestion in KV_TYPES
