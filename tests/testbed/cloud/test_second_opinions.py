"""Requests of gpuyard's graphs, checked by the clouds' own models, which are compared with the fakes."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.checking import refusals
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.opinions.bodies import SENT, model, requests
from testbed.plugins.cloud.opinions.walk import said_against
from testbed.plugins.cloud.shapes import Place

from gpuyard.plan import plan_or_raise
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.read import read_stack_file
from kit.clouds.stored import STORED
from kit.every import every
from kit.stacks import platform, pool, spec_of, team

STACKS = Path(__file__).parents[2] / "golden_stacks"
SHIPPED = STACKS.parents[1] / "stacks"
KARPENTER = STACKS.parent / "render" / "aws" / "stacks" / "karpenter.yaml"
OFFER = {
    "block": "cb-0123456789abcdef0",
    "nodes": 4,
    "purchase": {"hours": 48, "starts": "2099-12-01", "usd": 8000},
}
BOUGHT = {"nodes": "0..4", "zones": ["us-east-1a"], "capacity": [OFFER]}
FURTHER = {
    "a block that is bought": platform(
        [pool(**BOUGHT, upgrade={"max_unavailable": 2, "max_surge": 1, "force": True})], cloud="aws"
    ),
    "Karpenter in a network of ours": platform([pool(**BOUGHT, scaling="karpenter")], cloud="aws"),
    "nodes made anew all at once": platform(
        [pool(machine="g2-standard-8", upgrade={"blue_green": True, "drain_minutes": 90})],
        cloud="gcp",
    ),
    "a managed Prometheus": platform(
        [pool()],
        [team("a", guarantee={"train": 8})],
        cloud="aws",
        observability={
            "prometheus": "managed",
            "alerts": {"critical": {"sns": "arn:aws:sns:us-east-1:123456789012:gpu"}},
        },
    ),
}
"""Settings that no golden stack has."""
PLACES = {
    Cloud.AWS: Place("aws", region="us-east-1"),
    Cloud.GCP: Place("gcp", region="us-central1", project="lab-1"),
}


def golden(path: Path) -> PlatformSpec:
    spec = read_stack_file(path.read_bytes(), path.name).spec
    assert spec is not None
    return spec


def made(spec: PlatformSpec) -> list[tuple[str, dict[str, Any]]]:
    """The resources of a stack in a separate account: by kind, the inputs with their defaults and names."""
    there = spec.cluster_exists or (spec.cluster and spec.cluster.network.id)
    if spec.cloud not in PLACES or there:
        return []
    place, account = PLACES[spec.cloud], Account()
    render = aws_graph if spec.cloud is Cloud.AWS else gcp_graph
    graph = render(plan_or_raise(spec))
    assert judged(graph, place, account) == []
    return [(each.kind, dict(each.inputs)) for each in account.all()]


@pytest.fixture(scope="module")
def sent() -> dict[str, list[tuple[str, dict[str, Any]]]]:
    found = {
        path.stem: made(golden(path))
        for path in (
            *sorted(STACKS.glob("*.yaml")),
            *sorted(SHIPPED.glob("Pulumi.*.yaml")),
            KARPENTER,
        )
    }
    found |= {f"stores on {cloud}": made(spec_of(raw)) for cloud, raw in STORED.items()}
    found |= {name: made(spec_of(raw)) for name, raw in FURTHER.items()}
    return {name: resources for name, resources in found.items() if resources}


def test_the_models_say_nothing_against_what_golden_stacks_would_send(sent):
    assert {path.stem for path in SHIPPED.glob("Pulumi.*.yaml")} & sent.keys() == {
        *("Pulumi.aws-training", "Pulumi.aws-inference"),
        *("Pulumi.gcp-training", "Pulumi.gcp-inference"),
    }
    assert {kind.partition(":")[0] for resources in sent.values() for kind, _ in resources} == {
        "aws",
        "gcp",
    }

    def judge(name: str) -> None:
        for kind, inputs in sent[name]:
            assert said_against(kind, inputs) == [], kind

    every(sent, judge)


FREEZE = {
    "exclusionName": "launch",
    "startTime": "2027-01-01T00:00:00Z",
    "endTime": "2027-01-15T00:00:00Z",
    "exclusionOptions": {"scope": "NO_UPGRADES"},
}


def test_freezes_are_sent_by_their_names():
    kind = "gcp:container/cluster:Cluster"
    inputs = {"maintenancePolicy": {"maintenanceExclusions": [FREEZE]}}
    (body,) = requests(kind, inputs).values()
    assert body["maintenancePolicy"]["window"]["maintenanceExclusions"] == {
        "launch": {
            "startTime": "2027-01-01T00:00:00Z",
            "endTime": "2027-01-15T00:00:00Z",
            "maintenanceExclusionOptions": {"scope": "NO_UPGRADES"},
        }
    }
    assert said_against(kind, inputs) == []
    wrong = changed(inputs, ("maintenancePolicy", "maintenanceExclusions"), [{**FREEZE, "to": "x"}])
    assert "[launch].to: no such member" in "".join(said_against(kind, wrong))


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inside = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, each in inside:
        if isinstance(each, Mapping | list):
            yield from leaves(each, (*at, key))
        else:
            yield (*at, key), each


def changed(inputs: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The same inputs with one other value."""
    other = copy.deepcopy(inputs)
    place = other
    for step in at[:-1]:
        place = place[step]
    place[at[-1]] = value
    return other


def places(sent: Mapping[str, list[tuple[str, dict[str, Any]]]]) -> Iterator[Any]:
    """Each text of each kind once, with its place."""
    seen = set[tuple[str, ...]]()
    for resources in sent.values():
        for kind, inputs in resources:
            for at, value in leaves(inputs):
                key = (kind, *(str(step) for step in at if isinstance(step, str)))
                if isinstance(value, str) and value and key not in seen:
                    seen.add(key)
                    yield kind, inputs, at


def test_a_word_that_the_model_does_not_list_is_refused_by_the_fake_as_well(sent):
    judged_, apart = 0, set[str]()
    for kind, inputs, at in places(sent):
        other = changed(inputs, at, "NO_SUCH_WORD")
        if any("is none of" in each for each in said_against(kind, other)):
            judged_ += 1
            if not refusals(kind, other):
                apart.add(f"{kind} {'.'.join(str(step) for step in at)}")
    assert judged_ > 20
    assert apart == set()


def test_a_field_that_no_call_has_is_reported(sent):
    cases = {kind: inputs for resources in sent.values() for kind, inputs in resources}

    def judge(kind: str) -> None:
        said = said_against(kind, {**cases[kind], "noSuchField": "x"})
        assert any("noSuchField: no such member" in each for each in said)
        assert refusals(kind, {**cases[kind], "noSuchField": "x"})

    every(cases, judge)


def test_each_kind_of_bound_is_held():
    group = {
        "clusterName": "lab",
        "nodeGroupName": "gpus",
        "nodeRoleArn": "arn",
        "subnetIds": ["s"],
    }
    bad = {
        "eks.CreateNodegroup: scalingConfig.maxSize": {"scalingConfig": {"maxSize": 0}},
        "eks.CreateNodegroup: capacityType": {"capacityType": "CHEAP"},
        "eks.CreateNodegroup: subnets": {"subnetIds": "s-1"},
        "eks.CreateNodegroup: labels[a]": {"labels": {"a": 1}},
        "eks.CreateNodegroup: nodeRole: required": {"nodeRoleArn": None},
        "eks.CreateNodegroup: scalingConfig.minSize": {"scalingConfig": {"minSize": "two"}},
        "eks.CreateNodegroup: diskSize": {"diskSize": True},
        "eks.CreateNodegroup: updateConfig.maxUnavailable": {"updateConfig": {"maxUnavailable": 0}},
    }
    assert said_against("aws:eks/nodeGroup:NodeGroup", group) == []

    def judge(place: str) -> None:
        said = said_against("aws:eks/nodeGroup:NodeGroup", group | bad[place])
        assert any(each.startswith(place) for each in said), said

    every(bad, judge)


def test_each_call_of_the_table_is_in_the_models():
    for kind, row in SENT.items():
        known = model(kind.partition(":")[0])["calls"]
        assert set(row["calls"]) <= set(known), kind
