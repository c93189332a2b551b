"""What a change of the spec does to the registrations: no more than it says."""

from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuyard.resources import Platform
from gpuyard_testing import StackRunner
from kit.cases.records import objects_of
from kit.searches import examples
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

POOLS = [pool(), cut_pool(), shared_pool()]
TEAMS = [
    team("vision", guarantee={"train": 8, "serve/3g.20gb": 4}),
    team("speech", guarantee={"train": 8, "dev/shared": 4}, borrow={"train": 8}),
]
LAB = platform(cloud="simulated", pools=POOLS, teams=TEAMS)


def registered(raw):
    """URN → everything that a deployment would compare, for one run of a platform."""
    graph = StackRunner().run(lambda: Platform("lab", {"platform": raw}))
    return {one.urn: one for one in graph}


def changed(before, after):
    """The names of what stays and has other inputs; nothing may come or go."""
    first, second = registered(before), registered(after)
    assert sorted(first) == sorted(second)
    return sorted(one.name for urn, one in first.items() if one.inputs != second[urn].inputs)


def test_moving_a_quota_changes_both_teams_and_nothing_else():
    moved = [
        {**TEAMS[0], "guarantee": {"train": 12, "serve/3g.20gb": 4}},
        {**TEAMS[1], "guarantee": {"train": 4, "dev/shared": 4}},
    ]
    assert changed(LAB, {**LAB, "teams": moved}) == [
        "lab",
        "lab-queueing:ClusterQueue:lab-speech",
        "lab-queueing:ClusterQueue:lab-vision",
        "lab-speech",
        "lab-speech:LimitRange:speech/gpuyard",
        "lab-speech:ResourceQuota:speech/gpuyard",
        "lab-vision",
        "lab-vision:LimitRange:vision/gpuyard",
        "lab-vision:ResourceQuota:vision/gpuyard",
        "lab:ConfigMap:gpuyard-lab/gpuyard-report",  # what the next deployment is compared with
    ]


def test_another_group_changes_the_access_of_one_team():
    with_groups = [{**TEAMS[0], "groups": ["seers"]}, TEAMS[1]]
    others = [{**TEAMS[0], "groups": ["watchers"]}, TEAMS[1]]
    assert changed({**LAB, "teams": with_groups}, {**LAB, "teams": others}) == [
        "lab",
        "lab-vision",
        "lab-vision:RoleBinding:vision/gpuyard-members",
        "lab:ClusterRoleBinding:gpuyard-lab-classes",
    ]


def test_another_node_is_one_more_registration():
    more = {**LAB, "pools": [pool(nodes=5), *POOLS[1:]]}
    added = set(registered(more)) - set(registered(LAB))
    assert [urn.rpartition("::")[2] for urn in added] == ["lab-train:Node:train-004"]


def test_a_renamed_team_keeps_every_urn_and_every_object():
    renamed = [{**TEAMS[0], "name": "sight", "previous_names": ["vision"]}, TEAMS[1]]
    assert changed(LAB, {**LAB, "teams": renamed}) == [
        "lab",
        "lab-vision",
        "lab:ConfigMap:gpuyard-lab/gpuyard-report",  # it names pools and teams
    ]


def test_a_renamed_pool_keeps_every_urn_and_every_object():
    pools = [{**pool(), "name": "big", "previous_names": ["train"]}, *POOLS[1:]]
    teams = [
        {**TEAMS[0], "guarantee": {"big": 8, "serve/3g.20gb": 4}},
        {**TEAMS[1], "guarantee": {"big": 8, "dev/shared": 4}, "borrow": {"big": 8}},
    ]
    assert changed(LAB, {**LAB, "pools": pools, "teams": teams}) == [
        "lab",
        "lab-speech",
        "lab-train",
        "lab-vision",
        "lab:ConfigMap:gpuyard-lab/gpuyard-platform",  # it lists the pools by name
        "lab:ConfigMap:gpuyard-lab/gpuyard-report",
    ]


def test_a_team_and_a_pool_may_have_one_name():
    both = platform(cloud="simulated", teams=[team("train", guarantee={"train": 8})])
    assert {one.type for one in registered(both).values() if one.name == "lab-train"} == {
        "gpuyard:index:GpuNodePool",
        "gpuyard:index:Team",
    }


def test_two_platforms_stand_in_one_stack(pulumi_mocks):
    other = {**LAB, "name": "den", "teams": []}

    def program():
        Platform("lab", {"platform": LAB})
        Platform("den", {"platform": other})

    graph = pulumi_mocks.run(program)
    assert len({one.urn for one in graph}) == len(graph)


def reverse_keys(value):
    """The same value with the keys of every mapping the other way round."""
    if isinstance(value, dict):
        return {key: reverse_keys(value[key]) for key in reversed(value)}
    return [reverse_keys(one) for one in value] if isinstance(value, list) else value


def freeze(value):
    """The same value of other kinds of mapping and list."""
    if isinstance(value, dict):
        return MappingProxyType({key: freeze(one) for key, one in value.items()})
    return tuple(map(freeze, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("form", [reverse_keys, freeze])
def test_the_order_and_the_kind_of_mappings_do_not_matter(form):
    def facts(raw):
        """Everything but the order: the SDK registers what is ready, in any order."""
        return {
            urn: (one.parent, one.inputs, sorted(one.dependencies), one.registered_outputs)
            for urn, one in registered(raw).items()
        }

    assert facts(form(LAB)) == facts(LAB)


@st.composite
def platforms(draw):
    """Small simulated platforms that no proof refuses: guarantees from what is there."""
    kinds = draw(st.lists(st.sampled_from([pool, shared_pool]), min_size=1, max_size=3))
    pools = [kind(f"p{n}", nodes=draw(st.integers(1, 3))) for n, kind in enumerate(kinds)]
    teams = []
    for n in range(draw(st.integers(0, 3))):
        one = draw(st.sampled_from(pools))
        key = one["name"] if "sharing" not in one else f"{one['name']}/shared"
        amounts = {key: draw(st.integers(0, 2))}
        share = draw(st.sampled_from(["guarantee", "borrow"]))
        teams.append(team(f"t{n}", groups=draw(st.sampled_from([[], ["g"]])), **{share: amounts}))
    return platform(cloud="simulated", pools=pools, teams=teams)


@pytest.mark.timeout(120)  # every example is two runs of a program; a busy machine takes its time
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.too_slow])
@given(platforms())
def test_any_platform_registers_its_rendered_objects_known_or_not(raw):
    known, _ = StackRunner().assert_same_when_unknown(lambda: Platform("lab", {"platform": raw}))

    def key(obj):
        return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    made = sorted((one.inputs for one in known if one.custom), key=key)
    assert made == sorted(objects_of(plan_of(raw)), key=key)
    seen: set[str] = set()
    for one in known:
        assert set(one.dependencies) <= seen
        seen.add(one.urn)
