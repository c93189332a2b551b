"""Volcano: every field that it does not implement is an error at its path, with what to write instead."""

import pytest

from gpuyard_core.findings import show_path
from kit.stacks import findings, platform, pool, team

MINE = team(guarantee={"train": 8})


def found(pools=None, teams=None, queueing=None, cloud="none", **more):
    raw = platform(
        pools or [pool(nodes=4)],
        teams or [MINE],
        queueing={"engine": "volcano", **(queueing or {})},
        cloud=cloud,
        kubernetes="1.36",
        **more,
    )
    return findings(raw)


def at(identity, results):
    return {show_path(each.path): each for each in results if each.id == identity}


VALIDATION = {"image": "registry.example.org/ml/base:1"}
CASES = {
    "priorities": {"priorities": {"high": 1}},
    "workloads": {"workloads": {"training": ["torch"]}},
    "validation": {"validation": VALIDATION},
    "queueing.clusters": {"queueing": {"clusters": [{"name": "west", "secret": "west"}]}},
    "queueing.mig_quota": {"queueing": {"mig_quota": "slices"}},
    "queueing.usage_half_life_hours": {"queueing": {"usage_half_life_hours": 24}},
    "queueing.stop_policy": {"queueing": {"stop_policy": "hold"}},
    "teams[0].stop_policy": {"teams": [{**MINE, "stop_policy": "hold"}]},
    "teams[0].idle": {"teams": [{**MINE, "idle": {}}]},
    "teams[0].queues": {"teams": [{**MINE, "queues": {"main": 1.0}}]},
    "pools[0].owners": {"pools": [pool(nodes=4, owners=["vision"])]},
    "pools[0].stop_policy": {"pools": [pool(nodes=4, stop_policy="hold")]},
    "pools[0].sharing": {"pools": [pool(nodes=4, sharing={"dra": True})]},
    "queueing.engine": {"cloud": "simulated"},
}


@pytest.mark.parametrize("path", CASES)
def test_what_volcano_cannot_do_is_an_error_at_its_field(path):
    unsupported = at("volcano.unsupported", found(**CASES[path]))
    assert set(unsupported) == {path}
    problem = unsupported[path]
    assert problem.problem.startswith("Volcano does not implement this field: ")
    assert problem.fix is not None
    assert problem.fix.value == "kueue"
    assert show_path(problem.fix.at) == "queueing.engine"


def test_the_given_value_is_short():
    clusters = [{"name": name, "secret": name} for name in ("west", "east")]
    given = at("volcano.unsupported", found(queueing={"clusters": clusters}))
    assert given["queueing.clusters"].given == "2 entries"
    given = at("volcano.unsupported", found([pool(nodes=4, owners=["vision"])]))
    assert given["pools[0].owners"].given == "vision"
    given = at("volcano.unsupported", found(teams=[{**MINE, "idle": {}}]))
    assert given["teams[0].idle"].given == "set"


def test_weights_pools_and_interruptions_that_differ_are_named():
    spot = [{"mode": "spot"}, {"mode": "on-demand"}]
    pools = [
        pool(nodes="0..4", capacity=spot, zones=["us-east-1a"]),
        pool("other", nodes=4, zones=["us-east-1a"]),
    ]
    cohorts = [{"name": "lang", "weight": 2.0}]
    teams = [{**MINE, "cohort": "lang", "weight": 3.0}]
    results = found(pools, teams, {"cohorts": cohorts, "fair_sharing": True}, cloud="aws")
    different = [(show_path(e.path), e.problem) for e in results if e.id == "volcano.differs"]
    assert {path for path, _ in different} == {
        "pools",
        "teams[0].weight",
        "queueing.cohorts[0].weight",
        "queueing.fair_sharing",
    }
    of_pools = " ".join(problem for path, problem in different if path == "pools")
    assert "count nvidia.com/gpu of pools train, other together" in of_pools
    assert "does not requeue a gang that loses a node" in of_pools
