"""Tags against the fakes: what is refused here is refused there, and what a fix writes is taken."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testbed.plugins.cloud.rules.marks import of_marks

from gpuyard.spec.read import read_platform
from gpuyard_core.catalogue.cluster.tags import (
    AWS_TAGS,
    GCP_TAGS,
    aws_letters,
    gcp_key,
    gcp_letters,
)
from kit.searches import examples
from kit.stacks import findings, platform, pool

ROLE, GKE = "aws:iam/role:Role", "gcp:container/cluster:Cluster"
LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
TEXTS = st.text(st.characters(min_codepoint=32, exclude_characters="\x7f"), min_size=1, max_size=80)
SIGNS = st.sampled_from(["aws:", "AWS:aws:", "a", "-", "é", "|", "<", "&", " ", "9", "_", "Ω", "/"])
KEYS = st.lists(SIGNS, min_size=1, max_size=12).map("".join)


def said(tags, cloud="aws"):
    raw = platform([pool()], cloud=cloud, tags=tags)
    return [each for each in findings(raw) if each.id.startswith("tags.")]


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(KEYS, KEYS, max_size=4))
def test_a_tag_is_refused_exactly_where_the_service_refuses_it(tags):
    assert bool(said(tags)) == bool(list(of_marks(ROLE, {"tags": tags}))), tags


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(KEYS, KEYS, max_size=3))
def test_fixes_lead_to_tags_that_are_taken(tags):
    for _ in range(2 * len(tags) + 1):
        found = said(tags)
        if not found:
            break
        fix = found[0].fix
        assert fix is not None
        if len(fix.at) == 1:
            tags = fix.value
        elif fix.value is None:
            tags = {k: v for k, v in tags.items() if k != fix.at[1]}
        else:
            tags = {**tags, fix.at[1]: fix.value}
    assert said(tags) == []
    assert list(of_marks(ROLE, {"tags": tags})) == []


@settings(max_examples=examples(100), deadline=None)
@given(TEXTS, TEXTS)
def test_every_tag_has_a_label_that_gke_takes(key, value):
    label, text = gcp_key(key), gcp_letters(value)
    assert LABEL_KEY.fullmatch(label)
    assert list(of_marks(GKE, {"resourceLabels": {label: text}})) == []


@settings(max_examples=examples(100), deadline=None)
@given(TEXTS)
def test_letters_that_are_taken_stay_as_they_are(text):
    once = aws_letters(text)
    assert len(once) == len(text)
    assert aws_letters(once) == once
    assert gcp_letters(gcp_letters(text)) == gcp_letters(text)


@pytest.mark.parametrize(("cloud", "limits"), [("aws", AWS_TAGS), ("gcp", GCP_TAGS)])
def test_the_last_tag_that_fits_is_the_last_that_is_taken(cloud, limits):
    room = limits.maximum - limits.reserved_by_gpuyard
    tags = {f"tag-{n}": "x" for n in range(room)}
    machine = {"aws": "p5.48xlarge", "gcp": "a2-highgpu-8g"}[cloud]
    for more, expected in (({}, []), ({"another": "x"}, ["tags.too_many"])):
        reading = platform([pool(machine=machine)], cloud=cloud, tags={**tags, **more})
        assert read_platform(reading).spec is not None
        assert [f.id for f in findings(reading) if f.id.startswith("tags.")] == expected
