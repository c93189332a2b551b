"""Two platforms in one cluster: each object is one platform's, but for the GPU Operator's namespace."""

import pytest

from gpuyard.names import GPU_OPERATOR_NAMESPACE
from gpuyard.plan import plan
from gpuyard.render.platform import platform_objects
from kit.stacks import findings, only, plan_of, platform, pool, spec_of, team


def objects(name):
    """All there is: queues, a priority, idle reclaim, a cohort, a topology."""
    raw = platform(
        [pool(f"{name}-train", topology=True)],
        [team(f"{name}-team", guarantee={f"{name}-train": 8}, idle={}, cohort="labs")],
        name=name,
        priorities={f"{name}-high": 100},
        queueing={"cohorts": [{"name": "labs"}], "install": False},
        observability={"prometheus": "existing", "prometheus_address": "http://prometheus:9090"},
    )
    found, said = plan(spec_of(raw))
    assert found is not None, said
    return {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in platform_objects(found)
    }


def test_platforms_of_two_names_have_nothing_in_common_but_the_operators():
    east, west = objects("east"), objects("west")
    assert {kind for kind, _, _ in east} >= {"CronJob", "Cohort", "ResourceFlavor", "Topology"}
    assert {
        (kind, namespace, name)
        for kind, namespace, name in east & west
        if GPU_OPERATOR_NAMESPACE not in {namespace, name}
    } == set()


@pytest.mark.parametrize(("name", "taken"), [("gpuyard-lab", True), ("gpuyard-east", False)])
def test_the_platforms_own_namespace_is_no_teams(name, taken):
    raw = platform(teams=[team(name, guarantee={"train": 8})])
    if taken:
        assert only(raw).id == "team.reserved"
    else:
        assert findings(raw) == []
        assert plan_of(raw).teams[0].namespace == name
