"""Brakes: what is stopped, the stronger of two, and that no proof depends on them."""

import pytest

from gpuyard_core.findings import Severity
from kit.stacks import findings, ids, plan_of, platform, pool, shape, team


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (None, None, ""),
        ("hold", None, "hold"),
        (None, "drain", "drain"),
        ("hold", "drain", "drain"),
        ("drain", "hold", "drain"),
        ("hold", "hold", "hold"),
    ],
)
def test_the_stronger_of_two_brakes_holds(ours, theirs, both):
    one = team(guarantee={"train": 8}, **({"stop_policy": theirs} if theirs else {}))
    plan = plan_of(platform(None, [one], queueing={"stop_policy": ours} if ours else {}))
    assert plan.teams[0].stop_policy == both
    assert plan.queueing.stop_policy == (ours or "")


def test_every_brake_is_said_with_what_it_does():
    raw = platform(
        [pool(stop_policy="hold")],
        [team(guarantee={"train": 8}, stop_policy="hold")],
        queueing={"stop_policy": "drain"},
    )
    found = findings(raw)
    assert {f.severity for f in found} == {Severity.WARNING}
    assert [(f.where, f.problem) for f in found] == [
        ("pools[0].stop_policy", "stopped: no job starts in pool train; running jobs continue"),
        ("queueing.stop_policy", "stopped: no job of any team starts; running jobs are evicted"),
        ("teams[0].stop_policy", "stopped: no job of team vision starts; running jobs continue"),
    ]


def test_a_stopped_pool_has_a_flavor_that_no_queue_hands_out():
    plan = plan_of(platform([pool(stop_policy="hold"), pool("other")]))
    assert [(f.name, f.stopped) for f in plan.queueing.flavors] == [
        ("train", True),
        ("other", False),
    ]
    assert [p.stop_policy for p in plan.pools] == ["hold", ""]


def test_guarantees_shapes_and_money_are_what_they_were():
    teams = [team(guarantee={"train": 32})]
    shapes = [shape(nodes=4, gpus_per_node=8)]
    free = plan_of(platform(None, teams, shapes=shapes))
    raw = platform(
        [pool(stop_policy="hold")], teams, shapes=shapes, queueing={"stop_policy": "drain"}
    )
    held = plan_of(raw)
    assert set(ids(raw)) == {"stop.active"}
    assert (held.shapes, held.bill, held.teams[0].quotas) == (
        free.shapes,
        free.bill,
        free.teams[0].quotas,
    )
