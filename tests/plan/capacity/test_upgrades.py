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
                "a tenth of a group out of work at once, none beyond the pool's own;"
                " pods have 15 minutes to end; where one is not out by then, EKS stops the update"
            ),
        ),
        (
            *("aws", {}, {"max_unavailable": 2, "max_surge": 1, "force": True}),
            (
                "2 nodes out of work at once, so many, and two for each zone at least, made before;"
                " pods have 15 minutes to end, and then go with their node"
            ),
        ),
        (
            *("aws", {"scaling": "karpenter", "nodes": "0..4"}, {"drain_minutes": 1}),
            (
                "by Karpenter, never while anything runs on them;"
                " pods have 1 minute to end, and then go with their node"
            ),
        ),
        (
            *("aws", {"scaling": "karpenter", "nodes": "0..4", "disruption_window": UPKEEP}, None),
            (
                "by Karpenter, 2 nodes at once in the hours of upkeep;"
                " pods have 60 minutes to end, and then go with their node"
            ),
        ),
        (
            *("gcp", L4, None),
            (
                "1 node out of work at once, none beyond the pool's own;"
                " pods have 60 minutes to end, and then go with their node"
            ),
        ),
        (
            *("gcp", L4, {"max_surge": 3, "drain_minutes": 120}),
            (
                "no nodes out of work at once, 3 nodes made before;"
                " pods have 120 minutes to end, and then go with their node"
            ),
        ),
        (
            *("gcp", L4, {"blue_green": True}),
            "all new nodes beside all old ones; pods have 60 minutes to end, and then go with their node",
        ),
    ],
)
def test_the_plan_says_how_many_at_once_and_what_becomes_of_pods(cloud, rest, upgrade, said):
    assert says(cloud, upgrade, **rest) == said


def test_where_no_cloud_makes_nodes_nothing_is_said():
    assert says("none") is None
    assert says("simulated") is None
