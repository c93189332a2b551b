"""How nodes are made anew, in words; what no cloud can be told has proofs of its own (upgrade.word)."""

import pytest

from kit.stacks import plan_of, platform, pool

L4 = {"machine": "g2-standard-8"}


def says(cloud, upgrade=None, **rest):
    more = {"upgrade": upgrade} if upgrade else {}
    (one,) = plan_of(platform([pool(**rest, **more)], cloud=cloud)).pools
    return one.upgrade.description if one.upgrade else None


UPKEEP = {"cron": "0 2 * * 6", "hours": 4, "nodes": 2}


@pytest.mark.parametrize(
    ("cloud", "rest", "upgrade", "said"),
    [
        (
            *("aws", {}, None),
            (
                "a tenth of a group unavailable at once, no additional nodes; pods have 15 minutes to "
                "terminate; if one still runs, EKS stops the update"
            ),
        ),
        (
            *("aws", {}, {"max_unavailable": 2, "max_surge": 1, "force": True}),
            (
                "2 nodes unavailable at once, as many nodes (at least two for each zone) created first; "
                "pods have 15 minutes to terminate, and are then deleted with their node"
            ),
        ),
        (
            *("aws", {"scaling": "karpenter", "nodes": "0..4"}, {"drain_minutes": 1}),
            (
                "by Karpenter, only when empty; pods have 1 minute to terminate, and are then deleted "
                "with their node"
            ),
        ),
        (
            *("aws", {"scaling": "karpenter", "nodes": "0..4", "disruption_window": UPKEEP}, None),
            (
                "by Karpenter, 2 nodes at once in the disruption window; pods have 60 minutes to "
                "terminate, and are then deleted with their node"
            ),
        ),
        (
            *("gcp", L4, None),
            (
                "1 node unavailable at once, no additional nodes; pods have 60 minutes to terminate, and "
                "are then deleted with their node"
            ),
        ),
        (
            *("gcp", L4, {"max_surge": 3, "drain_minutes": 120}),
            (
                "no nodes unavailable at once, 3 nodes created first; pods have 120 minutes to "
                "terminate, and are then deleted with their node"
            ),
        ),
        (
            *("gcp", L4, {"blue_green": True}),
            (
                "all new nodes alongside all old ones; pods have 60 minutes to terminate, and are then "
                "deleted with their node"
            ),
        ),
    ],
)
def test_the_plan_says_how_many_at_once_and_what_becomes_of_pods(cloud, rest, upgrade, said):
    assert says(cloud, upgrade, **rest) == said


def test_where_no_cloud_makes_nodes_nothing_is_said():
    assert says("none") is None
    assert says("simulated") is None
