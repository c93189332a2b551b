"""What a team may have beside GPUs: derived from its GPUs and shapes, or as the stack file says."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.plan import plan
from gpuyard.plan.records import CpuAndMemory
from gpuyard.plan.shapes.quota import UNSPECIFIED
from gpuyard.plan.teams.limits import NON_GPU_OVERHEAD
from kit.searches import examples
from kit.stacks import (
    cut_pool,
    findings,
    plan_of,
    platform,
    pool,
    shape,
    shared_pool,
    spec_of,
    team,
)

SLICE = "serve/3g.20gb"


def limits(*pools, shapes=(), **rest):
    made = plan_of(platform(list(pools) or None, [team(**rest)], shapes=list(shapes)))
    return made, made.team("vision").limits


def amount(nodes, pool):
    """What runs on them, and as much again of pods that wait."""
    return (
        2 * nodes * pool.allocatable.cpu + NON_GPU_OVERHEAD.cpu,
        2 * nodes * pool.allocatable.memory_gib + NON_GPU_OVERHEAD.memory_gib,
    )


@pytest.mark.parametrize(
    ("guarantee", "borrow", "nodes"), [(8, 0, 1), (8, 1, 2), (1, 0, 1), (9, 7, 2), (24, 8, 4)]
)
def test_gpus_bring_the_room_of_the_nodes_that_they_fill(guarantee, borrow, nodes):
    made, found = limits(guarantee={"train": guarantee}, borrow={"train": borrow})
    assert (found.cpu, found.memory_gib) == amount(nodes, made.pool("train"))
    assert found.explicit_fields == ()


def test_the_scarcest_of_several_slices_says_how_many_nodes():
    made, found = limits(cut_pool(nodes=4), guarantee={SLICE: 9, "serve/1g.5gb": 4})
    assert (found.cpu, found.memory_gib) == amount(2, made.pool("serve"))


def test_shares_fill_nodes_as_well():
    made, found = limits(shared_pool(nodes=2), guarantee={"dev/shared": 17})
    assert (found.cpu, found.memory_gib) == amount(2, made.pool("dev"))


def test_slices_that_are_counted_as_one_fill_nodes_too():
    raw = platform(
        [cut_pool(nodes=2)],
        [team(guarantee={"serve/slices": 57})],
        queueing={"mig_quota": "slices"},
    )
    made = plan_of(raw)
    assert (made.team("vision").limits.cpu, made.team("vision").limits.memory_gib) == amount(
        2, made.pool("serve")
    )


def test_pools_add_up():
    made, found = limits(pool(), shared_pool(), guarantee={"train": 8}, borrow={"dev/shared": 1})
    one, two = amount(1, made.pool("train")), amount(1, made.pool("dev"))
    assert found.cpu == one[0] + two[0] - NON_GPU_OVERHEAD.cpu
    assert found.memory_gib == one[1] + two[1] - NON_GPU_OVERHEAD.memory_gib


def test_a_team_without_gpus_can_run_a_little_all_the_same():
    _, found = limits(guarantee={"train": 0})
    assert (found.cpu, found.memory_gib) == (NON_GPU_OVERHEAD.cpu, NON_GPU_OVERHEAD.memory_gib)


def test_a_shape_that_the_team_has_gpus_for_fits_by_default():
    """Eight pods with one slice each may ask for more CPU than the one node that eight slices fill."""
    wide = shape("wide", nodes=8, per_pod={"slice": "3g.20gb", "cpu": 50, "memory_gib": 300})
    made, found = limits(cut_pool(nodes=8), shapes=[wide], guarantee={SLICE: 8})
    assert (found.cpu, found.memory_gib) == (
        2 * 400 + NON_GPU_OVERHEAD.cpu,
        2 * 2400 + NON_GPU_OVERHEAD.memory_gib,
    )
    assert made.shapes[0].teams == ("vision",)


def test_what_the_stack_file_says_stands():
    said = {"cpu": 16, "memory_gib": 64, "storage_gib": 500, "claims": 5, "pods": 20, "objects": 9}
    _, found = limits(guarantee={"train": 8}, limits=said)
    assert (found.cpu, found.memory_gib, found.storage_gib) == (16, 64, 500)
    assert (found.claims, found.pods, found.objects) == (5, 20, 9)
    assert found.explicit_fields == tuple(sorted(said))


def test_one_word_leaves_the_others_derived():
    made, found = limits(guarantee={"train": 8}, limits={"cpu": 16})
    assert (found.cpu, found.memory_gib) == (16, amount(1, made.pool("train"))[1])
    assert (found.storage_gib, found.claims, found.pods, found.objects) == (1824, 132, 132, 532)


def test_pods_and_objects_are_bounded_by_what_a_team_has_and_claims_by_its_pods():
    mine = {"guarantee": {"train": 8, SLICE: 2}, "borrow": {"train": 4}}
    _, found = limits(pool(), cut_pool(), **mine)
    assert (found.claims, found.pods, found.objects) == (156, 156, 556)
    _, said = limits(pool(), cut_pool(), **mine, limits={"pods": 7})
    assert (said.claims, said.pods, said.objects) == (7, 7, 556)
    _, none = limits(guarantee={"train": 0})
    assert (none.claims, none.pods, none.objects) == (100, 100, 500)


def test_a_container_has_at_most_the_largest_node_or_all_that_its_team_has():
    _, found = limits(pool(), shared_pool(), guarantee={"train": 32})
    assert found.container == CpuAndMemory(192, 2048)
    _, found = limits(guarantee={"train": 32}, limits={"cpu": 64, "memory_gib": 1})
    assert found.container == CpuAndMemory(64, 1)


def test_storage_is_bounded_where_the_stack_file_gives_no_bound():
    mine = {"guarantee": {"train": 8, SLICE: 2}, "borrow": {"train": 4}}
    _, found = limits(pool(), cut_pool(), **mine)
    assert found.storage_gib == 1024 + 14 * 100
    _, given = limits(pool(), cut_pool(), **mine, limits={"storage_gib": 65_536})
    assert given.storage_gib == 65_536
    _, none = limits(guarantee={"train": 0})
    assert none.storage_gib == 1024


def test_teams_are_taken_from_a_shape_that_their_limits_do_not_hold():
    two = shape("two", nodes=2, gpus_per_node=8)
    small = team("small", guarantee={"train": 16}, limits={"pods": 1})
    raw = platform(teams=[small, team("large", guarantee={"train": 16})], shapes=[two])
    (placed,) = plan_of(raw).shapes
    assert (placed.teams, placed.guaranteed) == (("large",), ("large",))
    (found,) = [f for f in findings(raw) if f.id == "team.limits"]
    assert found.where == "teams[0].limits"
    assert found.fix.value == {"pods": 2}


def test_several_shapes_are_one_finding_with_what_they_take_at_most():
    shapes = [shape("two", nodes=2, gpus_per_node=8), shape("three", nodes=3, gpus_per_node=8)]
    small = team("small", guarantee={"train": 32}, lend={}, limits={"pods": 1, "claims": 3})
    raw = platform([pool(nodes=8)], [small, team("b", guarantee={"train": 32})], shapes=shapes)
    (found,) = [f for f in findings(raw) if f.id == "team.limits"]
    assert "for shapes two, three," in found.problem
    assert found.fix.value == {"pods": 3, "claims": 3}


@settings(max_examples=examples(60), deadline=None)
@given(
    nodes=st.integers(1, 6),
    gpus=st.integers(1, 48),
    wanted=st.tuples(st.integers(1, 6), st.integers(1, 8)),
)
def test_by_default_no_limit_stands_in_the_way_of_a_shape(nodes, gpus, wanted):
    mine = team(guarantee={"train": min(gpus, nodes * 8)})
    asked = shape(nodes=wanted[0], gpus_per_node=wanted[1])
    made, said = plan(spec_of(platform([pool(nodes=nodes)], [mine], shapes=[asked])))
    assert "team.limits" not in {f.id for f in said}
    if made is not None:
        held = made.team("vision").limits
        assert wanted[0] * UNSPECIFIED.cpu <= held.cpu
        assert wanted[0] * UNSPECIFIED.memory_gib <= held.memory_gib


@pytest.mark.timed
def test_a_thousand_teams_are_judged_quickly():
    each = {"guarantee": {"train": 1}, "borrow": {"train": 7}, "limits": {"cpu": 1, "pods": 9}}
    teams = [team(f"t{i}", **each) for i in range(1000)]
    shapes = [shape(f"s{i}", nodes=2, gpus_per_node=2) for i in range(20)]
    spec = spec_of(platform([pool(nodes=200)], teams, shapes=shapes))
    began = time.process_time()
    _, said = plan(spec)
    assert time.process_time() - began < 8
    assert sum(f.id == "team.limits" for f in said) == 1000
