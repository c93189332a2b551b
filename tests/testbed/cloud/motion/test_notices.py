"""Schedules, the clouds' events for each notice, and their delivery to Karpenter's queue."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.motion import event_bus, notices, schedule
from testbed.plugins.cloud.motion.notices import NOTICES
from testbed.plugins.cloud.motion.schedule import Interruption, Schedule, drawn
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place

from gpuyard_core.catalogue.kubernetes.interruptions import MACHINE_SECONDS, NOTICE_SECONDS
from gpuyard_core.catalogue.kubernetes.karpenter import EVENTS
from kit.clouds.aws import graph_of
from kit.every import every
from kit.stacks import pool

AWS = Place("aws", region="us-east-1")
SCALED = pool(nodes="0..4", scaling="karpenter", zones=["us-east-1a"], capacity=["spot"])


# ── the schedule ──────────────────────────────────────────────────────────────────────────────────
def test_a_seed_draws_the_same_moments_pools_and_notices_always():
    first = drawn(6, ["a", "b"], ["spot", "rebalance"], count=40, within=600)
    assert first == drawn(6, ["a", "b"], ["spot", "rebalance"], count=40, within=600)
    assert first != drawn(7, ["a", "b"], ["spot", "rebalance"], count=40, within=600)
    assert list(first) == sorted(first)
    assert {each.pool for each in first} == {"a", "b"}
    assert {each.notice for each in first} == {"spot", "rebalance"}
    assert all(0 <= each.second <= 600 for each in first)


def test_a_schedule_is_read_as_it_was_written_and_the_seed_chooses_nodes(tmp_path):
    assert schedule.read(tmp_path) is None
    listed = (Interruption(40, "burst", "spot"), Interruption(50, "burst", "health"))
    schedule.write(tmp_path, listed, begins=1000, seed=6, factor=0.1)
    found = schedule.read(tmp_path)
    assert found == Schedule(1000, listed, 6, 0.1)
    assert [found.at(each) for each in found.interruptions] == [1004, 1005]
    nodes = [f"n{number}" for number in range(9)]
    assert found.chosen(0, nodes) == found.chosen(0, list(reversed(nodes)))
    chosen = {Schedule(0, (), seed).chosen(0, nodes) for seed in range(40)}
    assert len(chosen) > 5


@every(
    ("wrong", "says"),
    [
        (
            {"begins": 0, "interruptions": [{"second": 1, "pool": "a", "notice": "sopt"}]},
            r"interruptions\[0\] has the notice 'sopt'; allowed: spot, rebalance, health, state, res",
        ),
        ({"begins": 0, "interruptions": [{"pool": "a"}]}, "missing"),
        ({"begins": 0, "speed": 2}, "speed"),
        ({"begins": 0, "factor": 0}, "no notice lasts 0 times as long"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_an_error(tmp_path, wrong, says):
    (tmp_path / "interruptions.json").write_text(json.dumps(wrong))
    with pytest.raises(ValueError, match=says):
        schedule.read(tmp_path)


# ── notices ───────────────────────────────────────────────────────────────────────────────────────
def test_ec2_has_a_notice_for_each_of_our_rules_of_events_and_gke_has_one():
    assert {word for word, each in NOTICES.items() if each.cloud == "aws"} == set(EVENTS)
    assert {word for word, each in NOTICES.items() if each.cloud == "gcp"} == {"preemption"}
    seconds = {word: each.seconds for word, each in NOTICES.items()}
    assert (seconds["spot"], seconds["reservation"], seconds["preemption"]) == (120, 120, 30)
    assert (seconds["rebalance"], seconds["health"], seconds["state"]) == (None, None, 0)
    assert all(NOTICE_SECONDS[cloud] <= most for cloud, most in MACHINE_SECONDS.items())


# An event as Karpenter's parsers read it: its kind, its instances, and whether the node is drained.
KINDS = {
    ("aws.ec2", "EC2 Spot Instance Interruption Warning"): "SpotInterruptionKind",
    ("aws.ec2", "EC2 Instance Rebalance Recommendation"): "RebalanceRecommendationKind",
    ("aws.ec2", "EC2 Instance State-change Notification"): "StateChangeKind",
    ("aws.health", "AWS Health Event"): "ScheduledChangeKind",
    (
        "aws.ec2",
        "EC2 Capacity Reservation Instance Interruption Warning",
    ): "CapacityReservationInterruptionKind",
}
LEFT_ALONE = {"RebalanceRecommendationKind", "NoOpKind"}


def as_karpenter_reads(event: dict[str, Any]) -> tuple[str, list[str], bool]:
    """[pkg/controllers/interruption, parser.go] `version`, `source` and `detail-type` choose who reads it."""
    kind = KINDS[event["source"], event["detail-type"]] if event["version"] == "0" else "NoOpKind"
    assert isinstance(event["resources"], list)
    datetime.fromisoformat(event["time"])
    detail = event["detail"]
    if kind == "StateChangeKind":
        ends = {"stopping", "stopped", "shutting-down", "terminated"}
        kind = kind if detail["state"] in ends else "NoOpKind"
    if kind == "ScheduledChangeKind":
        about = (detail["service"], detail["eventTypeCategory"])
        kind = kind if about == ("EC2", "scheduledChange") else "NoOpKind"
        ids = [each["entityValue"] for each in detail["affectedEntities"]]
        return kind, ids, kind not in LEFT_ALONE
    return kind, [detail["instance-id"]], kind not in LEFT_ALONE


@every(
    ("word", "kind", "drains"),
    [
        ("spot", "SpotInterruptionKind", True),
        ("rebalance", "RebalanceRecommendationKind", False),
        ("health", "ScheduledChangeKind", True),
        ("state", "StateChangeKind", True),
        ("reservation", "CapacityReservationInterruptionKind", True),
    ],
)
def test_karpenter_reads_each_kind_as_what_it_is(word, kind, drains):
    at = datetime(2026, 11, 26, 4, tzinfo=UTC).timestamp()
    event = notices.event(word, "i-0a", "123456789012", "us-east-1", at)
    assert as_karpenter_reads(event) == (kind, ["i-0a"], drains)
    assert event["time"] == "2026-11-26T04:00:00Z"
    assert event["resources"] == ["arn:aws:ec2:us-east-1:123456789012:instance/i-0a"]
    other = notices.event(word, "i-0b", "123456789012", "us-east-1", at)
    assert event["id"] != other["id"]


# ── the event bus ─────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def held() -> list[Resource]:
    account = Account(None, "aws")
    assert judged(graph_of([SCALED]), AWS, account) == []
    return account.all()


def of(held: list[Resource], kind: str) -> Resource:
    return next(each for each in held if each.kind == kind)


def changed(
    held: list[Resource], kind: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> list[Resource]:
    """Every resource of a kind with other inputs; without inputs removed."""
    found = []
    for each in held:
        inputs = change(dict(each.inputs)) if each.kind == kind else dict(each.inputs)
        if inputs is not None:
            found.append(Resource(each.kind, each.id, inputs, each.state, each.imports))
    return found


def spot() -> dict[str, Any]:
    return notices.event("spot", "i-0a", "123456789012", "us-east-1", 0)


@pytest.mark.parametrize("word", EVENTS)
def test_what_our_graph_makes_brings_each_kind_of_event_into_the_one_queue(held, word):
    event = notices.event(word, "i-0a", "123456789012", "us-east-1", 0)
    assert event_bus.queues_of(event, held) == [of(held, event_bus.QUEUE).id]


def _policy(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change_it(inputs: dict[str, Any]) -> dict[str, Any]:
        policy = json.loads(inputs["policy"])
        change(policy["Statement"][0])
        return {**inputs, "policy": json.dumps(policy)}

    return change_it


def _pattern(**pattern: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda inputs: {**inputs, "eventPattern": json.dumps(pattern)}


@every(
    ("kind", "change"),
    [
        (event_bus.RULE, lambda _: None),
        (event_bus.TARGET, lambda _: None),
        (event_bus.QUEUE, lambda _: None),
        (event_bus.POLICY, lambda _: None),
        (event_bus.RULE, lambda inputs: {**inputs, "state": "DISABLED"}),
        (event_bus.RULE, lambda inputs: {**inputs, "isEnabled": False}),
        (event_bus.RULE, lambda inputs: {**inputs, "eventPattern": ""}),
        (event_bus.RULE, _pattern(source=["aws.s3"])),
        (event_bus.RULE, _pattern(source=["aws.ec2"], detail={"instance-action": ["stop"]})),
        (event_bus.RULE, _pattern(source=["aws.ec2"], detail={"instance-id": {"a": ["b"]}})),
        (event_bus.TARGET, lambda inputs: {**inputs, "rule": "another"}),
        (event_bus.TARGET, lambda inputs: {**inputs, "arn": "arn:aws:sqs:us-east-1:1:another"}),
        (event_bus.POLICY, _policy(lambda s: s.update(Effect="Deny"))),
        (event_bus.POLICY, _policy(lambda s: s.update(Principal={"Service": "sns.amazonaws.com"}))),
        (event_bus.POLICY, _policy(lambda s: s.update(Action=["sqs:ReceiveMessage"]))),
        (event_bus.POLICY, _policy(lambda s: s.update(Resource="arn:aws:sqs:us-east-1:1:another"))),
    ],
)
def test_an_event_does_not_arrive_where_a_piece_is_missing_or_wrong(held, kind, change):
    assert event_bus.queues_of(spot(), changed(held, kind, change)) == []


@every(
    ("kind", "change"),
    [
        (event_bus.RULE, _pattern(source=["aws.ec2"])),
        (event_bus.RULE, _pattern(source=["aws.ec2"], detail={"instance-action": ["terminate"]})),
        (event_bus.RULE, _pattern(resources=[spot()["resources"][0]])),
        (event_bus.POLICY, _policy(lambda s: s.update(Principal="*"))),
        (event_bus.POLICY, _policy(lambda s: s.update(Action="sqs:*", Resource="*"))),
    ],
)
def test_an_event_arrives_once_however_wide_rules_and_policies_are(held, kind, change):
    assert len(event_bus.queues_of(spot(), changed(held, kind, change))) == 1


def test_a_content_filter_is_not_supported_and_that_is_reported(held):
    other = changed(held, event_bus.RULE, _pattern(source=[{"prefix": "aws."}]))
    with pytest.raises(ValueError, match="does not support content filters"):
        event_bus.queues_of(spot(), other)
