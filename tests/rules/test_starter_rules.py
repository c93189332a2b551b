"""What all rules have in common; our own output breaks none of them."""

from pathlib import Path

import pytest

from gpuyard.plan import plan_or_raise
from gpuyard.render.platform import platform_objects
from gpuyard.spec.read import read_stack_file
from gpuyard_core.manifests.fields import items, mapping
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource, group_kind
from gpuyard_lint.rules.run import evaluate


def test_rules_look_at_their_kind_in_any_version():
    assert group_kind("kueue.x-k8s.io/v1beta1/ClusterQueue") == "kueue.x-k8s.io/ClusterQueue"
    assert group_kind("v1/ResourceQuota") == "ResourceQuota"
    assert not any(r.applies_to(Resource("v1/Widget", "p", {})) for r in RULES)


def test_unknown_says_what_it_is_and_odd_values_are_empty():
    assert repr(UNKNOWN) == "(not known yet)"
    assert (mapping("text"), items("text")) == ({}, [])


def test_every_rule_says_why_and_where_it_comes_from():
    ids = [r.id for r in RULES]
    assert ids == sorted(set(ids))
    assert all(r.why and r.sources and r.title and r.kinds for r in RULES)


@pytest.mark.parametrize("path", sorted(Path("stacks").glob("Pulumi.*.yaml")), ids=lambda p: p.name)
def test_every_stack_of_ours_keeps_every_rule(path):
    reading = read_stack_file(path.read_bytes(), path.name)
    assert reading.spec
    resources = [
        Resource(f"{obj['apiVersion']}/{obj['kind']}", obj["metadata"]["name"], obj)
        for obj in platform_objects(plan_or_raise(reading.spec))
    ]
    assert [(o.rule.id, o.diagnostic.problem) for o in evaluate(resources, RULES)] == []
