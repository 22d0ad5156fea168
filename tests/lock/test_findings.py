"""Findings about spec, lock and hardware, by the public cases they come from."""

import re
from dataclasses import replace
from typing import Any

import pytest
from support.fit_facts import facts_27b, facts_35b
from support.locks import file_of, image_of, lock_of
from support.specs import MINIMAL, load, spec_text

from olares_apps.findings import Finding, Severity
from olares_apps.hardware import load_profile
from olares_apps.lock.findings import RULES, lock_findings
from olares_apps.lock.model import Lock

ONE = load_profile("olares-one")
Q3, Q4 = 17_200_000_000, 22_000_000_000
FULL = ("ctx: 32768", "ctx: 262144\n  kv: {k: q4_0, v: q4_0}")
MTP = ("  parallel: 1\n", "  parallel: 1\n  speculative: {method: mtp, n_max: 3}\n")


def findings(text: str, lock: Lock | None) -> list[Finding]:
    return lock_findings(load(text).spec, lock, None, ONE)


def only(rule: str, found: list[Finding]) -> Finding:
    (finding,) = [item for item in found if item.rule == rule]
    return finding


def locked(size: int = Q3, head: str = "full", **more: Any) -> Lock:
    gguf = facts_35b(size, head).to_dict()
    images = more.pop("images", [image_of()])
    return lock_of(file_of(size=size, gguf=gguf, **more), images=images)


def sized(size: int, *changes: tuple[str, str]) -> str:
    return spec_text(("17.2", str(size / 10**9)), *changes)


def test_a_model_that_fits_gives_no_finding():
    found = findings(sized(Q3, FULL, MTP), locked(Q3))
    assert [item for item in found if item.severity is not Severity.INFO] == []


@pytest.mark.parametrize(("beyond", "told"), [(0, 0), (60_000, 0), (10**9, 1)])
def test_a_file_that_is_longer_than_its_header_says_is_doubted(beyond, told):
    facts = replace(facts_35b(Q3), file_size=Q3 + beyond)
    lock = lock_of(file_of(size=Q3 + beyond, gguf=facts.to_dict()), images=[image_of()])
    text = spec_text(("size_gb: 17.2", f"size: {Q3 + beyond}"), FULL, MTP)
    found = [item for item in findings(text, lock) if item.rule == "model-file"]
    assert [item.severity for item in found] == [Severity.WARNING] * told
    if told:
        assert f"has {Q3 + beyond} bytes, its header accounts for {Q3}" in found[0].message


def test_the_larger_quantisation_does_not_fit_and_the_smaller_is_suggested():
    others = {"Demo-35B-UD-Q3_K_XL.gguf": Q3, "Demo-35B-BF16.gguf": 70 * 10**9}
    lock = locked(Q4, file="Demo-Q4.gguf", others=others)
    text = sized(Q4, FULL, MTP, ("Demo-35B-UD-Q3_K_XL.gguf", "Demo-Q4.gguf"))
    finding = only("model-fits", findings(text, lock))
    assert finding.severity is Severity.ERROR
    assert "usable after driver/vGPU reserve 23.42GiB" in finding.message
    assert "Demo-35B-UD-Q3_K_XL.gguf (17.2 GB)" in finding.hint


def test_a_file_of_more_than_twice_what_its_header_says_is_an_error():
    facts = replace(facts_27b(2 * 10**9), file_size=4 * 10**9 + 1)
    extra = file_of(role="extra", repo="o/extra", file="extra.gguf", gguf=facts.to_dict())
    lock = locked(Q3)
    lock = lock.model_copy(update={"files": [*lock.files, extra]})
    finding = only("model-file", findings(sized(Q3, FULL, MTP), lock))
    assert finding.severity is Severity.ERROR
    assert "has 4000000001 bytes, its header accounts for 2000000000" in finding.message


DRAFTER = "    - {role: drafter, repo: o/draft, file: draft.gguf}\nengine:\n  type"
DRAFT = ("  parallel: 1\n", "  parallel: 1\n  speculative: {method: draft, n_max: 4}\n")


@pytest.mark.parametrize("drafter", [False, True])
def test_the_contexts_that_a_finding_suggests_are_what_it_says_of_them(drafter):
    others = {"Demo-35B-UD-Q3_K_XL.gguf": Q3} if not drafter else {}
    size = Q4 if not drafter else 20_000_000_000
    lock = locked(size, file="Demo-Q4.gguf", others=others)
    changes = [MTP]
    if drafter:
        gguf = facts_27b(2 * 10**9, "none").to_dict()
        draft = file_of(role="drafter", repo="o/draft", file="draft.gguf", gguf=gguf)
        lock = lock.model_copy(update={"files": [*lock.files, draft]})
        changes = [DRAFT, ("engine:\n  type", DRAFTER)]

    def judged(ctx: int) -> Finding | None:
        full = ("ctx: 32768", f"ctx: {ctx}\n  kv: {{k: q4_0, v: q4_0}}")
        text = sized(size, full, *changes, ("Demo-35B-UD-Q3_K_XL.gguf", "Demo-Q4.gguf"))
        found = [item for item in findings(text, lock) if item.rule == "model-fits"]
        return next((item for item in found if " -> " in item.message), None)

    asked = judged(262144)
    assert asked is not None
    assert asked.severity is Severity.ERROR
    suggested = re.search(r"a context of (\d+) tokens \((\d+) tight\)", asked.hint)
    assert suggested, asked.hint
    fits, tight = int(suggested[1]), int(suggested[2])
    assert judged(fits) is None
    beyond, last, over = judged(fits + 256), judged(tight), judged(tight + 256)
    assert beyond is not None
    assert last is not None
    assert over is not None
    assert "tight" in beyond.message
    assert "tight" in last.message
    assert [beyond.severity, last.severity] == [Severity.WARNING] * 2
    assert over.severity is Severity.ERROR


def test_mtp_without_a_head_names_the_file_and_what_is_missing():
    finding = only("mtp-head", findings(sized(Q3, MTP), locked(Q3, "none")))
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "draft-mtp requested but Demo-35B-UD-Q3_K_XL.gguf has no nextn layers "
        "(nextn_predict_layers absent/0, no blk.N.nextn.* tensors)"
    )


def test_a_key_without_tensors_stops_the_server_even_without_mtp():
    finding = only("mtp-head", findings(MINIMAL, locked(Q3, "key")))
    assert finding.severity is Severity.ERROR
    assert "even without MTP" in finding.message


def test_a_head_that_is_not_used_is_mentioned():
    finding = only("mtp-head", findings(MINIMAL, locked(Q3)))
    assert finding.severity is Severity.INFO


def test_a_build_nobody_looked_at_is_a_warning():
    text = sized(Q3, MTP, ("llama-server:b9600", "llama-server:custom"))
    image = image_of("registry.example.org/llama-server:custom")
    finding = only("mtp-head", findings(text, locked(Q3, images=[image])))
    assert finding.severity is Severity.WARNING
    assert "engine.build" in finding.hint
    old = sized(Q3, MTP, ("llama-server:b9600", "llama-server:b9101"))
    image = image_of("registry.example.org/llama-server:b9101")
    assert "choose an image" in only("mtp-head", findings(old, locked(Q3, images=[image]))).hint


def test_cuda_newer_than_the_driver_is_an_error():
    finding = only("image-exists", findings(MINIMAL, locked(images=[image_of(cuda="13.3.0")])))
    assert finding.severity is Severity.ERROR
    assert (
        finding.message == "image CUDA 13.3.0 > driver capability 13.2 of device profile olares-one"
    )


@pytest.mark.parametrize(("amd64", "found"), [("13.0", 0), ("13.3", 1)])
def test_only_the_variant_for_the_device_counts_for_cuda(amd64, found):
    image = image_of(architectures=["amd64", "arm64"])
    ours, other = image.platforms
    platforms = [
        other.model_copy(update={"architecture": "arm64", "cuda": "13.9" if not found else "12.0"}),
        ours.model_copy(update={"cuda": amd64}),
    ]
    image = image.model_copy(update={"platforms": platforms})
    result = findings(MINIMAL, locked(images=[image]))
    assert [item.rule for item in result if "CUDA" in item.message] == ["image-exists"] * found


def test_an_image_for_another_architecture_is_an_error():
    image = image_of(architectures=["arm64/v9"])
    finding = only("image-exists", findings(MINIMAL, locked(images=[image])))
    assert finding.severity is Severity.ERROR
    assert "no amd64 variant (it has arm64)" in finding.message


@pytest.mark.parametrize(
    ("text", "lock", "word"),
    [
        (MINIMAL, None, "there is no lock"),
        (MINIMAL, lock_of(images=[image_of()]), "is not in the lock"),
        (
            spec_text(("      quant:", "      revision: dev\n      quant:")),
            locked(),
            "locked for revision main, not dev",
        ),
    ],
    ids=["none", "new-file", "revision"],
)
def test_a_lock_that_is_behind_its_spec_is_told(text, lock, word):
    finding = only("lock-stale", findings(text, lock))
    assert finding.severity is Severity.WARNING
    assert word in finding.message


def test_an_image_that_was_never_asked_for_is_told():
    assert "not known" in only("image-exists", findings(MINIMAL, locked(images=[]))).message


def test_a_contradiction_a_gated_repository_and_a_missing_digest_are_told():
    file = file_of(parts=[("Demo-35B-UD-Q3_K_XL.gguf", Q4, None)], gated=True)
    found = findings(MINIMAL, lock_of(file, images=[image_of()]))
    messages = [item.message for item in found if item.rule == "model-file"]
    assert "17.2 GB" in messages[0]
    assert "is gated" in messages[1]
    assert "has no digest" in messages[2]


def test_a_gated_repository_whose_token_is_required_needs_no_word():
    lock = locked(gated=True)
    token = "settings:\n  HF_TOKEN: {description: Token with access to the model, required: true}\n"
    (warned,) = [item for item in findings(MINIMAL, lock) if item.rule == "model-file"]
    assert "HF_TOKEN with required: true" in warned.hint
    asked = spec_text(("engine:\n  type", f"{token}engine:\n  type"))
    assert [item for item in findings(asked, lock) if item.rule == "model-file"] == []
    optional = asked.replace("required: true", "required: false")
    assert [item.rule for item in findings(optional, lock)].count("model-file") == 1


def test_a_stated_memory_below_the_estimate_is_told():
    parts = "resources:\n  gpu_memory_parts: [{part: weights, gb: 8}]\nengine:\n"
    found = findings(spec_text(("engine:\n", parts)), locked())
    assert "stated GPU memory of 7.5 GiB is below" in only("model-fits", found).message


def test_every_finding_carries_a_known_rule_and_the_app():
    found = findings(sized(Q4, FULL, MTP), locked(Q4, "none", gated=True, images=[]))
    assert {item.rule for item in found} <= set(RULES)
    assert {item.app for item in found} == {"demoqwenone"}


def test_alternatives_that_carry_the_head_are_named_when_the_target_lacks_it():
    others = [
        ("with/head", facts_35b(Q4).to_dict()),
        ("without/head", facts_35b(Q4, "none").to_dict()),
    ]
    listed = "".join(f"    - {{repo: {repo}, file: x.gguf}}\n" for repo, _ in others)
    text = sized(Q3, MTP, ("engine:\n  type", f"  alternatives:\n{listed}engine:\n  type"))
    lock = locked(Q3, "none")
    before = only("mtp-head", findings(text, lock))
    assert before.hint == "run olapps lock to see whether with/head, without/head carries the head"
    stale = [item.message for item in findings(text, lock) if item.rule == "lock-stale"]
    assert stale == [f"the alternative {repo}/x.gguf is not in the lock" for repo, _ in others]
    known = [file_of(repo=repo, file="x.gguf", size=Q4, gguf=gguf) for repo, gguf in others]
    lock = lock.model_copy(update={"alternatives": known})
    finding = only("mtp-head", findings(text, lock))
    assert finding.hint == "these carry the head: with/head/x.gguf (22.0 GB)"
