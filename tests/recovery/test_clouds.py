"""What a cloud had been asked to make is found again: every resource of a platform, one by one."""

from collections.abc import Sequence
from typing import Any

import pytest
from testbed.plugins.cloud.inside import looking

from gpuyard.preflight.probes import Probe, ProbeAnswer
from gpuyard.recovery.clouds import LookupResult, look_up_pending
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard_core.catalogue.software.cloud_ids import ADOPTED_ON_CREATE
from gpuyard_core.names import PLATFORM_LABEL
from kit.clouds.answers import PLACES
from kit.clouds.deployments import Deployment
from kit.clouds.stored import STORED
from kit.stacks import plan_of, platform, pool

LADDER = platform([pool(nodes="1..4", capacity=["spot", "on-demand"])], cloud="aws")
KARPENTER = platform([pool(nodes="0..4", scaling="karpenter")], cloud="aws")
RAW = {
    "aws with stores": STORED["aws"],
    "gcp with stores": STORED["gcp"],
    "aws with rungs": LADDER,
    "aws with karpenter": KARPENTER,
}
GRAPHS = {"aws": aws_graph, "gcp": gcp_graph}
SETTINGS = {"region": "us-east-1", "profile": "ci", "project": "acme-ml"}
PROVIDER = "urn:pulumi:dev::lab::pulumi:providers:any::default"
LEFT = {"gcp:servicenetworking/connection:Connection"}
"""Kinds with numbers of their own that nobody asks for: the command leaves them to people."""


class Killed:
    """A stack whose engine was killed while it made one of its resources."""

    def __init__(self, cloud: str, raw: Any) -> None:
        self.made = Deployment(GRAPHS[cloud](plan_of(raw)), PLACES[cloud])
        self.asked: list[tuple[str, ...]] = []

    def ask(self, questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
        (question,) = questions
        self.asked.append(question.words)
        words = question.words[1 : question.words.index("--region")]
        return {question.name: ProbeAnswer(looking.described(self.made.account.all(), words))}

    def at(self, name: str) -> LookupResult:
        others = [self._entry(each) for each in self.made.kinds if each != name]
        provider = {"urn": PROVIDER, "type": "pulumi:providers:any", "inputs": SETTINGS}
        under_way = [{"type": "creating", "resource": {**self._entry(name), "id": ""}}]
        state = {"resources": [provider, *others], "pending_operations": under_way}
        return look_up_pending(state, self.ask)[self._entry(name)["urn"]]

    def _entry(self, name: str) -> dict[str, Any]:
        kind = self.made.kinds[name]
        about = {"type": kind, "provider": f"{PROVIDER}::0a", "inputs": self.made.inputs[name]}
        return {
            "urn": f"urn:pulumi:dev::lab::{kind}::{name}",
            "id": self.made.states[name]["id"],
            **about,
        }


@pytest.mark.parametrize("case", RAW)
def test_every_resource_that_was_being_made_is_found_again(case: str):
    killed = Killed(case.partition(" ")[0], RAW[case])
    for name, kind in killed.made.kinds.items():
        found, real = killed.at(name), str(killed.made.states[name]["id"])
        if kind in LEFT:
            assert (found.identity, found.reason) == ("", "look it up in the cloud"), name
        elif kind in ADOPTED_ON_CREATE:
            assert (found.identity, found.reason) == ("", ""), name
        else:
            assert (found.identity, found.reason) == (real, ""), name
    assert all(
        words[-6:-2] == ("--region", "us-east-1", "--profile", "ci") for words in killed.asked
    )


NODES = "aws:ec2/securityGroup:SecurityGroup"


def one(kind: str, inputs: dict[str, Any], ask: Any = None, *known: str) -> LookupResult:
    """What is found of one resource."""
    urn = f"urn:pulumi:dev::lab::{kind}::it"
    under_way = {"type": "creating", "resource": {"urn": urn, "type": kind, "inputs": inputs}}
    resources = [{"urn": each, "type": kind} for each in known]
    return look_up_pending({"resources": resources, "pending_operations": [under_way]}, ask)[urn]


def test_what_cannot_be_found_is_left_with_the_reason():
    urn = f"urn:pulumi:dev::lab::{NODES}::it"
    tagged = {"tags": {"Name": "lab-nodes", PLATFORM_LABEL: "lab"}}
    assert one(NODES, tagged, None, urn).reason == "it was a pending replacement"
    assert one(NODES, {}).reason == "its named is unknown"
    assert one("gcp:storage/bucket:Bucket", {"project": "p"}).reason == "its name is unknown"

    def silent(questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
        return {questions[0].name: ProbeAnswer(failure_reason="aws is not installed here")}

    assert one(NODES, tagged, silent).reason == (
        "`aws ec2 describe-tags --filters Name=resource-type,Values=security-group "
        "Name=key,Values=Name Name=value,Values=lab-nodes --output json` failed: aws is "
        "not installed here"
    )

    def two(questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
        return {
            questions[0].name: ProbeAnswer(
                {"Tags": [{"ResourceId": "sg-2"}, {"ResourceId": "sg-1"}]}
            )
        }

    assert one(NODES, tagged, two).reason == "several candidates: sg-1, sg-2"


def test_what_is_not_under_way_in_a_cloud_is_nothing_to_look_for():
    updating = {"type": "updating", "resource": {"urn": "a", "type": NODES}}
    inside = {"type": "creating", "resource": {"urn": "b", "type": "kubernetes:core/v1:Namespace"}}
    assert look_up_pending({"pending_operations": [updating, inside]}, lambda _: {}) == {}
    assert look_up_pending({}, lambda _: {}) == {}


def test_a_stand_in_of_aws_says_what_it_does_not_know():
    for words in (["ec2"], ["ec2", "run-instances"]):
        with pytest.raises(looking.NotHere, match="is not here"):
            looking.described([], words)
