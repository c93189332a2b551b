"""A word that the plan makes nothing of is said, or refuses where silence would hand out GPUs wrongly."""

import ast
from enum import Enum

import pytest

import sizes
from gpuyard.plan import plan, unimplemented
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.read import read_platform
from gpuyard.stack_validation import validate
from gpuyard_core.findings import Severity
from gpuyard_core.models.problems import models_in
from kit.stacks import YOURS, findings, platform, pool, spec_of, team

READERS = ("plan", "admission", "render", "changes", "resources", "cli")
"""Floors that make something of a word: those that only explain a plan do not count."""
NAMED = {
    PlatformSpec: {*unimplemented.NO_EFFECT, *unimplemented.PLANNED},
    Pool: {*unimplemented.POOL_NOTHING, *unimplemented.POOL_PLANNED},
}
"""Words that are said to have no effect yet."""


def words(model, met):
    """Every word of the vocabulary, but what stands below one that is said to have no effect yet."""
    if model in met:
        return
    met.add(model)
    for word, about in model.model_fields.items():
        if word not in NAMED.get(model, ()):
            yield model, word, about.annotation
            for inner in models_in(about.annotation):
                yield from words(inner, met)


def read_outside_the_spec():
    """Names that code of these floors takes from anything; the notes themselves read none."""
    paths = (p for f in READERS for p in (sizes.ROOT / "components/gpuyard" / f).rglob("*.py"))
    trees = (ast.parse(p.read_text(encoding="utf-8")) for p in paths if p.stem != "deferred")
    return {
        node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }


def leaves_no_choice(annotation):
    """A word with one value says nothing that could be read; with a second one it must be."""
    return isinstance(annotation, type) and issubclass(annotation, Enum) and len(annotation) == 1


@pytest.mark.repeats("tests/typed/test_typed.py")
def test_every_word_is_read_by_a_plan_or_said_to_have_no_effect_yet():
    read = read_outside_the_spec()
    ahead = [
        f"{model.__name__}.{word}"
        for model, word, annotation in words(PlatformSpec, set())
        if word not in read and not leaves_no_choice(annotation)
    ]
    assert ahead == []


@pytest.mark.repeats("tests/typed/test_typed.py")
def test_the_gate_sees_a_word_that_nobody_reads():
    every = {word for _, word, _ in words(PlatformSpec, set())}
    assert {"shapes", "mig", "guaranteed", "budget_usd_per_month"} <= every
    assert every.isdisjoint({"disk_gib", "upgrade"})
    assert read_outside_the_spec().isdisjoint({"guaranted"})


@pytest.mark.parametrize("model", NAMED)
def test_only_words_of_the_vocabulary_are_said_to_have_no_effect(model):
    assert NAMED[model] <= set(model.model_fields)


def test_a_pool_that_nobody_would_scale_is_refused_where_a_stack_is_judged():
    raw = platform(
        [pool(nodes="0..4", scaling="karpenter")], cloud="aws", cluster={"existing": "blue"}
    )
    judged = validate(read_platform(raw))
    [finding] = [f for f in judged.findings if f.severity is not Severity.INFO]
    assert (finding.id, finding.where) == ("scaling.karpenter", "pools[0].scaling")
    assert finding.severity is Severity.ERROR
    assert judged.plan is None
    assert validate(read_platform({**raw, "pools": [pool(nodes="0..4")]})).plan is not None


def test_who_scales_node_groups_is_said_where_it_is_not_us():
    scaled = platform([pool(nodes="0..4"), pool("more")], cloud="aws")
    assert yours(scaled) == []
    there = {**scaled, "cluster": {"existing": "blue"}}
    assert [f.where for f in yours(there)] == ["cloud", "pools"]
    fixed = platform([pool()], cloud="aws", cluster={"existing": "blue"})
    assert [f.where for f in yours(fixed)] == ["cloud"]
    gcp = platform([pool(machine="a3-highgpu-8g", nodes="0..4")], cloud="gcp")
    assert yours(gcp) == yours(platform()) == []
    assert [f.where for f in yours({**gcp, "cluster": {"existing": "blue"}})] == ["cloud"]


def test_what_nodes_still_lack_is_said_where_some_lack_it():
    def lacks(machine, cloud, cluster=None, **more):
        raw = platform([pool(machine=machine, **more)], cloud=cloud, cluster=cluster)
        return [f.problem for f in yours(raw)]

    (efa,) = lacks("p5.48xlarge", "aws", {"existing": "blue"})
    assert efa.startswith("you must install the device plugin of EFA: gpuyard does not")
    assert lacks("p5.48xlarge", "aws") == lacks("g6.xlarge", "aws", {"existing": "blue"}) == []
    (driver,) = lacks("a3-highgpu-8g", "gcp", {"existing": "blue"}, image="cos")
    assert driver.startswith("you must install Google's driver installer: gpuyard does not")
    assert lacks("a3-highgpu-8g", "gcp", {"existing": "blue"}, image="ubuntu-gke") == []
    assert lacks("g6.xlarge", "aws") == lacks("a3-highgpu-8g", "gcp", image="cos") == []


def yours(raw):
    return [f for f in plan(spec_of(raw))[1] if f.id in YOURS]


def said(raw):
    return [f for f in findings(raw) if f.id.startswith("section.")]


def test_a_section_without_effect_is_noted_with_what_happens_instead():
    (finding,) = said(platform(tags={"a": "b"}))
    assert (finding.id, finding.severity, finding.where) == (
        "section.deferred",
        Severity.INFO,
        "tags",
    )
    assert finding.problem == (
        "`tags` is valid but has no effect yet: gpuyard creates no cloud resource that could have tags"
    )


def test_words_of_pools_are_noted_where_they_stand():
    raw = platform([pool(), pool("more", disk_gib=500)], [team(limits={})])
    assert [f.where for f in said(raw)] == ["pools[1].disk_gib"]


def test_what_is_proved_but_not_carried_out_is_told_apart():
    (finding,) = said(platform([pool(numa="restricted")]))
    assert (finding.where, finding.severity) == ("pools[0].numa", Severity.INFO)
    assert (
        finding.problem
        == "gpuyard validates `numa`, but deploys none or only part of it: gpuyard configures no kubelet here"
    )


def test_a_word_that_was_not_written_is_not_spoken_of():
    assert said(platform()) == []


def test_what_clusters_and_nodes_are_to_be_is_carried_out_where_they_are_made():
    words = {"image": "al2023-nvidia", "numa": "restricted", "disk_gib": 500}
    more = {"tags": {"a": "b"}, "cluster": {"protect": False}}
    assert said(platform([pool(**words)], cloud="aws", **more)) == []
    own = said(platform([pool(disk_gib=500)], **more))
    assert [f.where for f in own] == ["cluster", "pools[0].disk_gib", "tags"]


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_the_context_of_a_cluster_that_exists_is_carried_out(cloud):
    assert said(platform(cloud=cloud, cluster={"existing": "blue"})) == []


def test_what_the_hosts_of_your_own_cluster_have_is_carried_out():
    assert said(platform([pool(image="own-driver")])) == []


def test_policies_are_carried_out():
    assert said(platform(policies={"levels": {"GPU-TEN-02": "off"}})) == []
