"""Each rule: bad, good and near-miss objects; our own output breaks none."""

from pathlib import Path
from typing import Any

import pytest

from gpuyard.plan import planned
from gpuyard.render.platform import platform_objects
from gpuyard.rules import RULES
from gpuyard.rules.rule import UNKNOWN, NotEvaluatedError, Resource, group_kind, items, mapping
from gpuyard.rules.run import evaluate
from gpuyard.spec.read import read_stack_file

QUEUE = "kueue.x-k8s.io/v1beta2/ClusterQueue"
SELECTED = {"matchLabels": {"gpuyard.dev/team": "vision"}}


def queue(version: str = "v1beta2", **spec: Any) -> Resource:
    return Resource(f"kueue.x-k8s.io/{version}/ClusterQueue", "q", {"spec": spec})


def quota(**hard: str) -> Resource:
    return Resource(
        "v1/ResourceQuota",
        "q",
        {"spec": {"hard": {k.replace("__", "/"): v for k, v in hard.items()}}},
    )


def group(**resource: Any) -> list[dict[str, Any]]:
    return [{"flavors": [{"name": "train", "resources": [{"name": "nvidia.com/gpu", **resource}]}]}]


def paths(rule_id: str, resource: Resource) -> list[tuple[str | int, ...]]:
    rule = next(r for r in RULES if r.id == rule_id)
    assert rule.looks_at(resource)
    return [v.path for v in rule.check(resource, {})]


@pytest.mark.parametrize(
    "key", ["limits.nvidia.com/gpu", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"]
)
def test_a_gpu_quota_without_requests_never_binds(key):
    resource = Resource("v1/ResourceQuota", "q", {"spec": {"hard": {key: "8"}}})
    assert paths("GPU-TEN-02", resource) == [("spec", "hard", key)]


@pytest.mark.parametrize(
    "key", ["requests.nvidia.com/gpu", "limits.cpu", "requests.nvidia.com/mig-1g.5gb"]
)
def test_a_quota_by_requests_and_other_limits_are_fine(key):
    assert (
        paths("GPU-TEN-02", Resource("v1/ResourceQuota", "q", {"spec": {"hard": {key: "8"}}})) == []
    )


def test_a_quota_without_a_body_is_fine():
    assert paths("GPU-TEN-02", Resource("v1/ResourceQuota", "q", {"spec": None})) == []


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (queue(), [("spec", "namespaceSelector")]),
        (queue(namespaceSelector={}), [("spec", "namespaceSelector")]),
        (queue("v1beta1", namespaceSelector=SELECTED), [("apiVersion",)]),
        (queue(namespaceSelector=SELECTED), []),
        (queue(namespaceSelector=SELECTED, resourceGroups=group()), []),
        (
            queue(
                namespaceSelector=SELECTED, cohortName="c", resourceGroups=group(borrowingLimit="0")
            ),
            [],
        ),
        (
            queue(namespaceSelector=SELECTED, cohortName="c", resourceGroups=group()),
            [("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "borrowingLimit")],
        ),
    ],
)
def test_a_queue_selects_namespaces_and_limits_borrowing(resource, expected):
    assert paths("GPU-TEN-04", resource) == expected


@pytest.mark.parametrize(
    "spec",
    [
        {"namespaceSelector": UNKNOWN},
        {"namespaceSelector": SELECTED, "cohortName": UNKNOWN},
        {
            "namespaceSelector": SELECTED,
            "cohortName": "c",
            "resourceGroups": group(borrowingLimit=UNKNOWN),
        },
    ],
)
def test_an_unknown_value_ends_the_rule_without_a_verdict(spec):
    with pytest.raises(NotEvaluatedError):
        paths("GPU-TEN-04", queue(**spec))


def test_rules_look_at_their_kind_in_any_version():
    assert group_kind("kueue.x-k8s.io/v1beta1/ClusterQueue") == "kueue.x-k8s.io/ClusterQueue"
    assert group_kind("v1/ResourceQuota") == "ResourceQuota"
    assert not any(r.looks_at(Resource("v1/Widget", "p", {})) for r in RULES)


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
    for obj in platform_objects(planned(reading.spec)):
        resource = Resource(f"{obj['apiVersion']}/{obj['kind']}", obj["metadata"]["name"], obj)
        assert [(o.rule.id, o.problem) for o in evaluate([resource], RULES)] == []
