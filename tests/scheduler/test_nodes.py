"""Pods find a place on nodes, or do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_advisor.scheduler.nodes import (
    Nodes,
    largest_free,
    missing_resources,
    place,
    planned_node_resources,
)
from kit.cases.explain import GPU
from kit.stacks import plan_of, platform

WHOLE = {"cpu": 192000, "pods": 110, GPU: 8}


def nodes(gpus, count=1, *, running=True):
    return Nodes({**WHOLE, GPU: gpus}, count, running)


def free(room):
    return sorted((n.free[GPU], n.count, n.running, bool(n.placed_pod_sets)) for n in room)


def test_a_node_is_what_its_machine_and_its_pool_say():
    fake = plan_of(platform(cloud="simulated"))
    found = planned_node_resources(fake, fake.pool("train"))
    assert found == {
        "cpu": 192000,
        "memory": 2048 * 2**30,
        "pods": 110,
        "vpc.amazonaws.com/efa": 32,
        GPU: 8,
    }
    real = plan_of(platform())
    room = real.pool("train").allocatable
    found = planned_node_resources(real, real.pool("train"))
    assert (found["cpu"], found["memory"]) == (room.cpu * 1000, room.memory_gib * 2**30)
    assert room.cpu < 192


def test_running_nodes_are_taken_first_and_the_fullest_of_them():
    room = (nodes(8, 4, running=False), nodes(8, 2), nodes(4))
    found = place(room, {GPU: 4}, 1)
    assert (found.unplaced, found.nodes, found.started) == (0, 1, 0)
    assert free(found.free) == [(0, 1, True, True), (8, 2, True, False), (8, 4, False, False)]


def test_what_does_not_fit_on_running_nodes_starts_more():
    found = place((nodes(8, 4, running=False), nodes(8, 2)), {GPU: 8}, 3)
    assert (found.unplaced, found.nodes, found.started) == (0, 3, 1)
    assert free(found.free) == [(0, 1, True, True), (0, 2, True, True), (8, 3, False, False)]


def test_the_last_node_is_filled_in_part():
    found = place((nodes(8, 3),), {GPU: 3}, 5)
    assert (found.unplaced, found.nodes) == (0, 3)
    assert free(found.free) == [(2, 2, True, True), (5, 1, True, True)]


def test_what_finds_no_place_is_counted():
    found = place((nodes(4, 2),), {GPU: 8}, 3)
    assert (found.unplaced, found.nodes, found.free) == (3, 0, (nodes(4, 2),))
    assert place((), {GPU: 1}, 2).unplaced == 2


def test_pods_apart_take_a_node_each():
    found = place((nodes(8, 3),), {GPU: 1}, 4, apart=True)
    assert (found.unplaced, found.nodes) == (1, 3)


def test_pods_apart_keep_off_nodes_of_their_own_set_alone():
    first = place((nodes(8, 2),), {GPU: 1}, 1, who="workers", apart=True)
    assert place(first.free, {GPU: 1}, 2, who="workers", apart=True).unplaced == 1
    assert place(first.free, {GPU: 1}, 2, who="leader", apart=True).unplaced == 0
    assert place(first.free, {GPU: 1}, 2, who="workers").unplaced == 0


def test_spread_pods_lie_evenly_on_the_emptiest_nodes():
    found = place((nodes(8, 2), nodes(2)), {GPU: 1}, 3, spread=True)
    assert free(found.free) == [(2, 1, True, False), (6, 1, True, True), (7, 1, True, True)]


def test_a_node_of_the_same_job_is_counted_once():
    first = place((nodes(8, 2),), {GPU: 6}, 1)
    second = place(first.free, {GPU: 2}, 1)
    assert (first.nodes, second.nodes) == (1, 0)


def test_a_node_takes_no_more_pods_than_a_kubelet_does():
    found = place((Nodes({"cpu": 10**6, "pods": 110}, 1, running=True),), {"cpu": 1}, 111)
    assert found.unplaced == 1
    assert place((Nodes({"pods": 110}, 1, running=True),), {}, 5).unplaced == 0


def test_overfull_nodes_take_nothing():
    assert place((nodes(-2),), {GPU: 1}, 1).unplaced == 1


@pytest.mark.parametrize(
    ("requests", "names"),
    [({GPU: 9, "cpu": 1}, [GPU]), ({"x": 1}, ["x"]), ({GPU: 8}, []), ({"x": 0}, [])],
)
def test_what_a_node_has_too_little_of(requests, names):
    assert missing_resources(WHOLE, requests) == names


def test_the_free_pieces_are_told_by_size():
    room = (nodes(4), nodes(4), nodes(0), nodes(8, 0), nodes(2, 3))
    assert largest_free(room, GPU) == [(4, 2), (2, 3)]


rooms = st.lists(
    st.builds(nodes, st.integers(0, 8), st.integers(0, 4), running=st.booleans()), max_size=5
).map(tuple)


@given(rooms, st.integers(1, 8), st.integers(0, 40), st.booleans(), st.booleans())
def test_nothing_is_lost_and_nothing_is_made(room, gpus, count, apart, spread):
    found = place(room, {GPU: gpus}, count, apart=apart, spread=spread)
    before, after = (sum(n.free[GPU] * n.count for n in r) for r in (room, found.free))
    assert before - after == gpus * (count - found.unplaced)
    assert sum(n.count for n in found.free) == sum(n.count for n in room)
    assert all(n.free[GPU] >= 0 for n in found.free)
    assert found.started <= found.nodes <= count


@given(rooms, st.integers(1, 8), st.integers(0, 40), st.booleans())
def test_alike_pods_fit_in_any_order_or_in_none(room, gpus, count, apart):
    packed = place(room, {GPU: gpus}, count, apart=apart)
    spread = place(room, {GPU: gpus}, count, apart=apart, spread=True)
    assert packed.unplaced == spread.unplaced
