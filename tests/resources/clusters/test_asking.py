"""Before anything is registered, a program asks its cloud for what the stack file names."""

import json

import pulumi
import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.shapes import Place

from gpuyard.resources import Platform
from gpuyard.resources.errors import PlatformRefused
from gpuyard.testing import StackRunner
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
    with pytest.raises(PlatformRefused) as stopped:
        seen.run(program(cloud, of_pool, **more))
    return stopped.value.findings, made


@every(
    ("cloud", "of_pool", "fault", "said"),
    [
        ("aws", {"zones": ["us-east-1z"]}, None, "us-east-1 has no zone us-east-1z"),
        (
            *("aws", {"zones": ["us-east-1e"]}, None),
            "EKS makes no control plane in us-east-1e, which is use1-az3 in this account",
        ),
        ("aws", {"zones": ["us-east-1b"]}, UNSOLD, "p5.48xlarge is not sold in us-east-1b"),
        (
            *("gcp", {**GOOGLES, "zones": ["us-central1-z"]}, None),
            "us-central1 has no zone us-central1-z",
        ),
        (
            *("gcp", {**GOOGLES, "zones": ["us-central1-b"]}, UNSOLD_AT_GOOGLE),
            "a3-megagpu-8g is not sold in us-central1-b",
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
    assert found.problem == f"no subnet {subnets[1]} is in {own}"
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
    assert text.startswith(f"{OFFERS} is not answered, so nothing is said of it")
