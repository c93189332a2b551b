"""Labels of a pool: what the kubelet takes, to the letter."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuyard.catalogue.kubernetes.api import LABELS_SOURCE
from gpuyard.plan.pools.labels import GRAMMAR, is_name
from gpuyard.spec.read import read_platform
from kit.fixes import applied
from kit.stacks import findings, only, parts, platform, pool

NAME = "letters, digits, dashes, dots and underscores, a letter or digit at both ends, at most 63"
P0 = ("pools", 0)


def labelled(key, value="x"):
    return platform([pool(labels={key: value})])


def test_where_the_forms_are_from_is_said():
    assert LABELS_SOURCE.verified
    assert "Labels" in LABELS_SOURCE.title
    assert GRAMMAR == NAME


@pytest.mark.parametrize(
    ("key", "fix", "value"),
    [
        ("cost centre", "write cost-centre", {"cost-centre": "x"}),
        ("-tier-", "write tier", {"tier": "x"}),
        ("x" * 64, f"write {'x' * 63}", {"x" * 63: "x"}),
        ("Example.org/tier", "write example.org/tier", {"example.org/tier": "x"}),
        ("exam_ple/tier", "write tier", {"tier": "x"}),
        ("/tier", "write tier", {"tier": "x"}),
        ("a/b/tier", "write tier", {"tier": "x"}),
        ("example.org/", "remove it", None),
        ("???", "remove it", None),
    ],
)
def test_a_key_that_kubernetes_does_not_take_is_refused_and_a_near_one_suggested(key, fix, value):
    raw = labelled(key)
    finding = only(raw)
    assert parts(finding) == (
        "pool.label_key",
        (*P0, "labels", key),
        "no key of a label in Kubernetes",
        key,
        f"NAME or DOMAIN/NAME; a name has {NAME}",
    )
    assert (finding.fix.says, finding.fix.value) == (fix, value)
    assert findings(applied(raw, finding.fix)) == []


def test_a_key_whose_near_one_is_there_already_goes():
    raw = platform([pool(labels={"tier": "a", "tier ": "b"})])
    finding = only(raw)
    assert (finding.fix.says, finding.fix.value) == ("remove it", None)
    assert applied(raw, finding.fix)["pools"][0]["labels"] == {"tier": "a"}


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("gold tier", "gold-tier"),
        ("team@example.org", "team-example.org"),
        ("_gold_", "gold"),
        ("x" * 64, "x" * 63),
        ("a/b", "a-b"),
        ("größe", "gr-e"),
        ("***", None),
    ],
)
def test_a_value_that_kubernetes_does_not_take_is_refused(value, near):
    raw = labelled("tier", value)
    finding = only(raw)
    assert parts(finding) == (
        "pool.label_value",
        (*P0, "labels", "tier"),
        "no value of a label in Kubernetes",
        value,
        NAME,
    )
    assert finding.fix.value == near
    assert findings(applied(raw, finding.fix)) == []


@pytest.mark.parametrize("text", ["x", "X", "0", "a.b_c-d", "x" * 63, "a--b"])
def test_what_is_only_near_is_taken(text):
    assert is_name(text)
    assert findings(labelled(text, text)) == []
    assert findings(labelled(f"example.org/{text}", text)) == []
    assert findings(labelled(f"{'a' * 63}.{'b' * 63}/{text}")) == []


@given(st.text(min_size=1, max_size=80).filter(lambda text: text.isprintable()))
def test_whatever_is_written_as_a_label_the_fixes_lead_to_one_that_is_taken(text):
    raw = labelled(text, text)
    assume(read_platform(raw).spec is not None)
    for _ in range(3):
        found = findings(raw)
        if not found:
            return
        raw = applied(raw, found[0].fix)
    raise AssertionError(text)
