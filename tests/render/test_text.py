"""The page of an app: derived from the spec, in every locale."""

from typing import Any

from support.charts import FULL, NEW, OLD, make_tree

BENCH = [
    {
        "id": "ctx-32k",
        "ctx": 32768,
        "tps": 249.3,
        "runs": 10,
        "acceptance": 86.6,
        "protocol": {"prompt": "a Space Invaders page", "tokens": 2000},
        "image": "docker.io/o/n:b9254",
        "model_file": "m.gguf",
        "source": "an article",
    },
    {
        "id": "ctx-262k",
        "ctx": 262144,
        "tps": 245.71,
        "protocol": {"prompt": "a Space Invaders page", "tokens": 2000},
        "image": "docker.io/o/n:b9254",
        "model_file": "m.gguf",
        "source": "an article",
    },
]


def page(changes: dict[str, Any], locale: str = "en-US") -> dict[str, str]:
    tree = make_tree(NEW, changes)
    data = tree.i18n[locale]
    return {**data["spec"], "description": data["metadata"]["description"]}


def test_the_page_states_what_the_spec_says() -> None:
    text = page({"text.limits": ["No vision."]})["fullDescription"]
    for fact in (
        "Qwen3.6 35B-A3B",
        "`Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf`",
        "UD-Q3_K_XL",
        "17.2 GB",
        "262,144 tokens",
        "KV cache: q4_0",
        "up to 3 tokens",
        "21 GiB",
        "port 8000",
        "`qwen3.6-35b-a3b-mtp`",
        "- No vision.",
        "Apache-2.0",
    ):
        assert fact in text


def test_a_change_of_the_spec_changes_every_text() -> None:
    changes = {"engine.ctx": 131072, "engine.port": 8080, "model.files.0.quant": "Q4_K_M"}
    for locale in ("en-US", "zh-CN"):
        text = page(changes, locale)["fullDescription"]
        assert "131,072" in text
        assert "8080" in text
        assert "Q4_K_M" in text
        assert "262,144" not in text
        assert "8000" not in text


def test_an_exact_size_replaces_the_stated_one() -> None:
    text = page({"model.files.0.size": 17_654_321_000})["fullDescription"]
    assert "17.7 GB" in text
    assert "17.2 GB" not in text


def test_measured_speeds_stand_in_a_table_with_their_protocol() -> None:
    text = page({"bench": BENCH})["fullDescription"]
    assert "| 32,768 | 249.3 | 10 | 86.6 % |\n| 262,144 | 245.71 | - | - |\n" in text
    assert "2,000 tokens per run, prompt: a Space Invaders page" in text
    assert "Measured speed" not in page({})["fullDescription"]


def test_a_table_of_speeds_says_where_its_runs_were_unlike() -> None:
    first, second = BENCH
    first = first | {"settings": {"drafted-tokens": 3}}
    same = page({"bench": [first, second | {"settings": {"drafted-tokens": 3}}]})
    assert "| accepted drafts |\n|---|---|---|---|\n" in same["fullDescription"]
    other = second | {"image": None, "ctx": None}
    text = page({"bench": [first, other]})["fullDescription"]
    assert "| accepted drafts | image | settings |\n|---|---|---|---|---|---|\n" in text
    assert "| 86.6 % | `docker.io/o/n:b9254` | `drafted-tokens=3` |" in text
    assert "| not recorded | 245.71 | - | - | not recorded | not recorded |" in text
    assert (
        "| 未记录 | 245.71 | - | - | 未记录 | 未记录 |"
        in page({"bench": [first, other], "locales.zh-CN": {"summary": "演示。"}}, "zh-CN")[
            "fullDescription"
        ]
    )


def test_the_short_description_is_the_specs_own_sentence() -> None:
    assert page({})["description"] == "Qwen3.6 35B-A3B with 262K context on your own device."


def test_a_locale_without_own_text_is_derived_from_facts() -> None:
    text = page({}, "zh-CN")
    assert "Qwen3.6 35B-A3B" in text["description"]
    assert "262,144" in text["description"]
    assert text["upgradeDescription"] == "首个版本。"


def test_a_locale_with_own_text_uses_it_and_its_placeholders() -> None:
    own = {"zh-CN": {"summary": "千问 {{ ctx_k }}", "about": "关于", "limits": ["无视觉"]}}
    text = page({"locales": own}, "zh-CN")
    assert text["description"] == "千问 262K"
    assert text["fullDescription"].startswith("关于\n\n**运行内容**")
    assert "- 无视觉" in text["fullDescription"]


def test_a_further_locale_borrows_the_derived_parts() -> None:
    tree = make_tree(NEW, {"locales": {"fr-FR": {"summary": "Sur votre appareil."}}})
    assert tree.manifest["spec"]["locale"] == ["en-US", "fr-FR", "zh-CN"]
    assert tree.i18n["fr-FR"]["metadata"]["description"] == "Sur votre appareil."
    assert "262,144 tokens" in tree.i18n["fr-FR"]["spec"]["fullDescription"]


def test_upgrade_notes_show_the_newest_release_first() -> None:
    assert page(FULL)["upgradeDescription"] == (
        "Now with 262K.\n\n| a | b |\n|---|---|\n---\n# h\n\n**1.0.1**\n\nFirst."
    )


def test_release_notes_keep_their_versions_in_every_generation() -> None:
    # Notes name each other by these versions ("1.0.5 ran out of memory"), so they do not move
    # with the number of the archive.
    older = make_tree(OLD, FULL).manifest["spec"]["upgradeDescription"]
    assert make_tree(NEW, FULL).manifest["spec"]["upgradeDescription"] == older


def test_only_a_few_earlier_releases_are_shown() -> None:
    releases = [{"version": f"1.0.{n}", "notes": f"note-{n}."} for n in range(20, 0, -1)]
    text = page({"releases": releases})["upgradeDescription"]
    assert [f"note-{n}." in text for n in (20, 19, 18, 17, 16, 15)] == [True] * 5 + [False]


def test_texts_end_without_a_line_break() -> None:
    for changes in ({}, FULL, {"text.about": "One.\n\nTwo.\n\n\n", "bench": BENCH}):
        for text in page(changes).values():
            assert text == text.strip("\n")
            assert "\n\n\n" not in text
