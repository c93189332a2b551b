"""What AWS is asked of a block that is to be bought; findings have proofs of their own (live.block)."""

import pytest

from gpuyard.preflight import aws
from gpuyard.preflight.probes import ProbeAnswer, evaluate
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.aws.graph import aws_graph
from kit.clouds.aws import plan_on_aws
from kit.stacks import pool

OFFER = "cb-0123456789abcdef0"
BUYS = {"hours": 48, "starts": "2026-12-01", "usd": 8000}
PLAN = plan_on_aws(
    [
        pool(
            nodes="0..4",
            zones=["us-east-1a"],
            capacity=[{"block": OFFER, "nodes": 4, "purchase": BUYS}],
        )
    ]
)
OPEN = {"CapacityBlockOfferingId": OFFER, "UpfrontFee": "8000", "AvailabilityZone": "us-east-1a"}


def probes():
    return {e.name: e for e in aws.aws_probes(PlannedAccount(PLAN, aws_graph(PLAN), "1"))}


def questions():
    return {name: " ".join(each.words) for name, each in probes().items()}


def heard(offer, bought):
    asked = [probes()[f"offer {OFFER}"], probes()[f"bought {OFFER}"]]
    return evaluate(asked, {f"offer {OFFER}": offer, f"bought {OFFER}": bought})


def test_offer_and_purchase_are_asked_for_and_no_reservation_of_that_name():
    asked = questions()
    assert (
        "--instance-type p5.48xlarge --instance-count 4 --capacity-duration-hours 48"
        " --start-date-range 2026-12-01T00:00:00Z --end-date-range 2026-12-05T00:00:00Z"
        in asked[f"offer {OFFER}"]
    )
    assert f"Name=tag:gpuyard.dev/offering,Values={OFFER}" in asked[f"bought {OFFER}"]
    assert f"reservation {OFFER}" not in asked


NONE = ProbeAnswer(value={"CapacityReservations": []})


@pytest.mark.parametrize(
    ("offer", "bought", "why"),
    [
        (ProbeAnswer(failure_reason="no credentials found"), NONE, "no credentials found"),
        (ProbeAnswer(error="InternalError"), NONE, "InternalError"),
        (
            ProbeAnswer(value={"CapacityBlockOfferings": [OPEN]}),
            ProbeAnswer(failure_reason="silent"),
            "silent",
        ),
        (
            ProbeAnswer(value={"CapacityBlockOfferings": [OPEN]}),
            ProbeAnswer(value={}),
            "no response",
        ),
    ],
)
def test_without_both_answers_nothing_is_known(offer, bought, why):
    found = heard(offer, bought)
    assert [(each.subject, each.reason) for each in found.skipped] == [(f"the offer {OFFER}", why)]
    assert found.findings == ()


def test_what_is_as_agreed_is_said():
    found = heard(ProbeAnswer(value={"CapacityBlockOfferings": [OPEN]}), NONE)
    assert found.messages == (f"{OFFER} is offered for 8000 USD, as approved",)
    there = {"CapacityReservations": [{"CapacityReservationId": "cr-1", "State": "scheduled"}]}
    found = heard(ProbeAnswer(value={"CapacityBlockOfferings": []}), ProbeAnswer(value=there))
    assert found.messages == (f"{OFFER} was purchased as cr-1, which is scheduled",)


def test_where_nothing_like_it_is_offered_that_is_said():
    (found,) = heard(ProbeAnswer(value={"CapacityBlockOfferings": []}), NONE).findings
    assert (found.id, found.allowed) == ("live.block", "no block of this size on this date")
