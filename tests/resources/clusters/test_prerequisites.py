"""Before anything is registered, a program asks its cloud for what the stack file names."""

import json

import pulumi
import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.service import reservations
from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.resources import Platform
from gpuyard.resources.clusters import prerequisites
from gpuyard.resources.errors import PlatformRejected
from gpuyard_testing import StackRunner
from kit.clouds import answers
from kit.every import every
from kit.stacks import platform, pool

AWS = Place("aws", region="us-east-1")
GOOGLES = {"machine": "a3-megagpu-8g"}
OFFERS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
UNSOLD = {"fault": "unsold", "zone": "us-east-1b", "type": "p5.48xlarge"}
UNSOLD_AT_GOOGLE = {"fault": "unsold", "zone": "us-central1-b"}


def runner(account=None, but=()):
    calls = {token: each for token, each in answers.calls(account).items() if token not in but}
    return StackRunner(outputs=answers.outputs, calls=calls)


def program(cloud, of_pool, **more):
    raw = platform([pool(**of_pool)], cloud=cloud, **more)

    def run():
        pulumi.runtime.set_config("aws:region", "us-east-1")
        pulumi.runtime.set_config("gcp:region", "us-central1")
        Platform("lab", {"platform": raw})

    return run


def refused(account, cloud, of_pool, **more):
    """What the program says, and what it had registered by then."""
    made = []
    seen = StackRunner(
        outputs=lambda each: made.append(each.type) or answers.outputs(each),
        calls=answers.calls(account),
    )
    with pytest.raises(PlatformRejected) as stopped:
        seen.run(program(cloud, of_pool, **more))
    return stopped.value.findings, made


@every(
    ("cloud", "of_pool", "fault", "said"),
    [
        ("aws", {"zones": ["us-east-1z"]}, None, "us-east-1 has no zone us-east-1z"),
        (
            *("aws", {"zones": ["us-east-1e"]}, None),
            "EKS offers no control plane in us-east-1e, which is use1-az3 in this account",
        ),
        ("aws", {"zones": ["us-east-1b"]}, UNSOLD, "p5.48xlarge is not offered in us-east-1b"),
        (
            *("gcp", {**GOOGLES, "zones": ["us-central1-z"]}, None),
            "us-central1 has no zone us-central1-z",
        ),
        (
            *("gcp", {**GOOGLES, "zones": ["us-central1-b"]}, UNSOLD_AT_GOOGLE),
            "a3-megagpu-8g is not offered in us-central1-b",
        ),
    ],
)
def test_a_zone_that_will_not_do_is_refused_before_anything_is_bought(
    tmp_path, cloud, of_pool, fault, said
):
    script = {"faults": [fault] if fault else []}
    (tmp_path / "faults.json").write_text(json.dumps(script), encoding="utf-8")
    (found,), made = refused(Account(tmp_path), cloud, of_pool)
    assert (found.problem, found.path[:3]) == (said, ("pools", 0, "zones"))
    assert not [each for each in made if each.startswith(("aws:", "gcp:", "kubernetes:"))]


CR = {"id": "cr-0a", "instanceType": "p5.48xlarge", "instanceCount": 4}
H100 = {"name": "held", "machineType": "a3-megagpu-8g", "count": 4}
ON_AWS = {"zones": ["us-east-1a"], "capacity": [{"reserved": "cr-0a", "nodes": 4}]}
AT_GOOGLE = {
    **GOOGLES,
    "zones": ["us-central1-a"],
    "capacity": [{"reserved": "held", "nodes": 4}],
}
GET_EC2 = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
GET_GCE = "gcp:compute/getReservation:getReservation"


@every(
    ("cloud", "of_pool", "there", "said"),
    [
        (*("aws", ON_AWS, {}), "reservation cr-0a does not exist"),
        (
            *("aws", ON_AWS, {"aws": [{**CR, "availabilityZone": "us-east-1b"}]}),
            "reservation cr-0a is in us-east-1b",
        ),
        (
            "aws",
            ON_AWS,
            {"aws": [{**CR, "availabilityZone": "us-east-1a", "instanceCount": 3}]},
            "reservation cr-0a has 3 machines",
        ),
        (
            *("gcp", AT_GOOGLE, {"gcp": [{**H100, "zone": "us-central1-b"}]}),
            "reservation held does not exist in us-central1-a",
        ),
        (
            "gcp",
            AT_GOOGLE,
            {"gcp": [{**H100, "zone": "us-central1-a", "machineType": "a2-highgpu-8g"}]},
            "reservation held has the machine type a2-highgpu-8g",
        ),
    ],
)
def test_a_reservation_that_will_not_do_is_refused_before_anything_is_bought(
    tmp_path, cloud, of_pool, there, said
):
    reservations.write(tmp_path, there)
    (found,), made = refused(Account(tmp_path), cloud, of_pool)
    assert (found.problem, found.where) == (said, "pools[0].capacity")
    assert not [each for each in made if each.startswith(("aws:", "gcp:", "kubernetes:"))]


def _forbidden(_args):
    raise answers.NotAnswered(
        "Error 403: Required 'compute.reservations.get' permission, forbidden"
    )


def _unauthorized(_args):
    raise answers.NotAnswered("api error UnauthorizedOperation: You are not authorized")


@every(
    ("cloud", "of_pool", "kind", "answer"),
    [
        ("aws", ON_AWS, GET_EC2, _unauthorized),
        ("aws", ON_AWS, GET_EC2, {}),
        ("aws", ON_AWS, GET_EC2, {"instanceType": "p5.48xlarge"}),
        ("gcp", AT_GOOGLE, GET_GCE, _forbidden),
        ("gcp", AT_GOOGLE, GET_GCE, {}),
    ],
)
def test_whoever_may_not_ask_for_reservations_is_kept_from_nothing(cloud, of_pool, kind, answer):
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pulumi.log, "info", lambda text, *_: said.append(text))
        calls = {**answers.calls(), kind: answer}
        assert StackRunner(outputs=answers.outputs, calls=calls).run(program(cloud, of_pool))
    (text,) = said
    assert text.startswith(f"the query {kind} got no response, so gpuyard cannot check it")


def test_fewer_machines_than_may_run_are_a_warning_that_is_said_once(tmp_path):
    few = {**CR, "availabilityZone": "us-east-1a", "instanceCount": 3}
    reservations.write(tmp_path, {"aws": [few]})
    graph = runner(Account(tmp_path)).run(program("aws", {**ON_AWS, "nodes": "0..4"}))
    said = [each.message for each in graph.logs if each.severity == "warning"]
    about = [text for text in said if "cr-0a has 3 machines" in text]
    assert len(about) == 1
    assert "write nodes: 3 on its capacity option" in about[0]


@pytest.mark.parametrize("drew", [False, True])
def test_a_reservation_that_ended_keeps_nobody_from_changing_what_drew_on_it(
    tmp_path, monkeypatch, drew
):
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0a" if drew else "cr-0"}}
    held = {"capacityReservationSpecification": target}
    template = {"urn": "urn:x", "type": "aws:ec2/launchTemplate:LaunchTemplate", "outputs": held}
    stand = deployed_state({"deployment": {"resources": [template]}})
    monkeypatch.setattr(prerequisites, "last_known_state", lambda: stand)
    if not drew:
        (found,), _ = refused(Account(tmp_path), "aws", ON_AWS)
        assert found.problem == "reservation cr-0a does not exist"
        return
    graph = runner(Account(tmp_path)).run(program("aws", ON_AWS))
    said = [each.message for each in graph.logs if each.severity == "warning"]
    assert any("reservation cr-0a does not exist" in text for text in said)


def test_a_subnet_of_another_network_is_refused_before_anything_is_bought():
    account = Account()
    nets = [{"cidrBlock": f"10.{n}.0.0/16"} for n in (0, 1)]
    own, foreign = (account.create("aws:ec2/vpc:Vpc", "v", net, AWS).id for net in nets)
    subnets = []
    for number, net in enumerate((own, foreign)):
        zone = f"us-east-1{'ab'[number]}"
        given = {"vpcId": net, "cidrBlock": f"10.{number}.0.0/24", "availabilityZone": zone}
        subnets.append(account.create("aws:ec2/subnet:Subnet", zone, given, AWS).id)
    network = {"network": {"id": own, "subnets": {"private": subnets}}}
    (found,), made = refused(account, "aws", {}, cluster=network)
    assert found.problem == f"subnet {subnets[1]} does not exist in {own}"
    assert found.where == "cluster.network.subnets.private[1]"
    assert not [each for each in made if each.startswith("aws:")]


@pytest.mark.parametrize("answer", [None, {"instanceTypes": None, "locations": None}])
def test_a_question_that_is_not_answered_refuses_nothing(monkeypatch, answer):
    said = []
    monkeypatch.setattr(pulumi.log, "info", lambda text, *_: said.append(text))
    asks = runner(but=(OFFERS,))
    if answer is not None:
        asks = StackRunner(outputs=answers.outputs, calls={**answers.calls(), OFFERS: answer})
    assert asks.run(program("aws", {"zones": ["us-east-1a"]}))
    (text,) = said
    assert text.startswith(f"the query {OFFERS} got no response, so gpuyard cannot check it")
