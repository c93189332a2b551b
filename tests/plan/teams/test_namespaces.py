"""Namespaces of a team: which it has, and what part of its limits each holds."""

import pytest

from gpuyard.plan import plan
from kit.every import every
from kit.stacks import findings, ids, plan_of, platform, spec_of, team


def one(*namespaces, **rest):
    raw = platform(teams=[team(guarantee={"train": 8}, namespaces=list(namespaces), **rest)])
    return plan_of(raw).teams[0]


def amounts(limits):
    return limits.cpu, limits.memory_gib, limits.claims, limits.pods, limits.objects


def test_a_team_that_names_none_has_one_of_its_first_name_with_all_its_limits():
    found = plan_of(platform(teams=[team("sight", previous_names=["vision"])])).teams[0]
    (space,) = found.namespaces
    assert (space.name, space.existing, space.limits) == ("vision", False, found.limits)
    assert found.default_namespace == space
    assert found.stable_name == "vision"


def test_the_names_that_it_gives_are_all_and_the_first_is_its_home():
    found = one("dev", {"name": "old", "existing": True}, previous_names=["seeing"])
    assert [(space.name, space.existing) for space in found.namespaces] == [
        ("dev", False),
        ("old", True),
    ]
    assert found.default_namespace.name == "dev"
    assert found.namespace_or_default("old").name == "old"
    assert found.namespace_or_default("elsewhere") == found.default_namespace
    assert found.cluster_queue == "lab-seeing"


@every("count", range(1, 8))
def test_the_parts_of_all_are_the_whole(count):
    found = one(*(f"n{i}" for i in range(count)))
    parts = [amounts(space.limits) for space in found.namespaces]
    assert tuple(map(sum, zip(*parts, strict=True))) == amounts(found.limits)
    assert all(max(column) - min(column) <= 1 for column in zip(*parts, strict=True))


def test_a_percent_is_a_part_and_the_others_share_the_rest():
    found = one({"name": "a", "percent": 70}, "b", "c", limits={"cpu": 100, "memory_gib": 200})
    assert [s.limits.cpu for s in found.namespaces] == [70, 15, 15]
    assert [s.limits.memory_gib for s in found.namespaces] == [140, 30, 30]


def test_what_is_left_of_a_hundred_is_nobodys():
    found = one({"name": "a", "percent": 30}, {"name": "b", "percent": 20}, limits={"cpu": 100})
    assert [s.limits.cpu for s in found.namespaces] == [30, 20]


def test_storage_is_divided():
    assert [s.limits.storage_gib for s in one("a", "b").namespaces] == [912, 912]
    found = one("a", "b", limits={"storage_gib": 101})
    assert sorted(s.limits.storage_gib for s in found.namespaces) == [50, 51]


def test_no_container_may_have_more_than_its_namespace():
    found = one("a", "b", limits={"cpu": 64, "memory_gib": 3})
    for space in found.namespaces:
        assert space.limits.container.cpu == 32


@pytest.mark.parametrize("enforce", ["deny", "warn"])
def test_several_namespaces_need_a_policy_that_refuses(enforce):
    raw = platform(
        teams=[team(guarantee={"train": 8}, namespaces=["a", "b"])], admission={"enforce": enforce}
    )
    assert ids(raw) == ([] if enforce == "deny" else ["team.namespaces_unheld"])


def test_a_team_that_names_namespaces_leaves_its_own_name_to_others():
    teams = [
        team("vision", guarantee={"train": 8}, namespaces=["eyes"]),
        team("speech", guarantee={"train": 8}, namespaces=["vision"]),
    ]
    assert findings(platform(teams=teams)) == []


def test_the_spec_keeps_the_short_form():
    spec = spec_of(platform(teams=[team(namespaces=["a", {"name": "b", "existing": True}])]))
    assert spec.teams[0].model_dump(mode="json", exclude_defaults=True) == {
        "name": "vision",
        "namespaces": ["a", {"name": "b", "existing": True}],
    }


def test_every_namespace_is_looked_at_for_idle_gpus_and_named_for_other_clusters():
    prometheus = {"prometheus": "existing", "prometheus_address": "http://prometheus:9090"}
    raw = platform(
        teams=[team(guarantee={"train": 8}, namespaces=["a", "b"], idle={})],
        observability=prometheus,
    )
    idle = plan_of(raw).idle
    assert [(t.team, t.label, t.namespace) for t in idle.teams] == [
        ("vision", "vision", "a"),
        ("vision", "vision", "b"),
    ]
    sent = platform(
        teams=[team(guarantee={"train": 8}, namespaces=["a", "b"])],
        queueing={"clusters": [{"name": "west", "secret": "west"}]},
    )
    assert any("a (default), b (default)" in str(found) for found in plan(spec_of(sent))[1])
