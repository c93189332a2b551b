"""The search for nodes, beside what Kueue's own code found for the same trees and the same pods.

`kueue_placements.json` holds trees made up at random, with what `FindTopologyAssignmentsForFlavor` of Kueue
v0.19.2 answered; `docs/concepts/explain.md` says how. Nodes are written as the values of their levels, their
name, and their free GPUs.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_advisor.scheduler.domains import Domain, DomainRequest, find_domains
from kit.every import every

CASES = json.loads(Path(__file__).with_name("kueue_placements.json").read_text())
PODS = 110


def leaves_of(nodes: list[str], each: int, leader: int | None = None) -> list[Domain]:
    found = []
    for node in nodes:
        *values, free = node.split(" ")
        gpus = int(free)
        pods = gpus // each
        one = Domain(tuple(values), pods=pods, pods_beside=pods)
        if leader is not None and gpus >= leader:
            one.leaders, one.pods_beside = 1, (gpus - leader) // each
        found.append(one)
    return found


def asked(case: dict[str, Any], depth: int) -> DomainRequest:
    (level, size), *inner = case.get("slices") or [(depth - 1, 1)]
    return DomainRequest(
        case["count"],
        case["level"],
        level,
        size,
        tuple((at, n) for at, n in inner),
        required=case["how"] == "required",
        is_preferred=case["how"] == "loose",
        leader="leader" in case,
    )


@every("case", CASES, ids=range(len(CASES)))
def test_every_pod_goes_where_kueue_puts_it(case):
    leaves = leaves_of(case["nodes"], case["each"], case.get("leader"))
    depth = len(leaves[0].values)
    found = find_domains(leaves, depth, asked(case, depth))
    if case["kueue"] is None:
        assert found.pods is None
        return
    assert found.pods is not None
    assert {node.values[-1]: pods for node, pods in found.pods} == case["kueue"]["pods"]
    assert (found.leader and found.leader.values[-1]) == case["kueue"].get("leader")


def test_the_cases_are_of_every_kind():
    kinds = {
        (case["how"], case["kueue"] is None, "leader" in case, len(case.get("slices", [])))
        for case in CASES
    }
    for how in ("required", "preferred", "loose"):
        for fails in (True, False):
            assert {(how, fails, False, n) for n in (0, 1, 2)} <= kinds
        assert how == "loose" or {(how, False, True, 0), (how, True, True, 0)} <= kinds
    assert ("loose", False, False, 3) in kinds


def test_without_nodes_there_is_no_room():
    assert find_domains([], 2, DomainRequest(1, 0, 1)).pods is None


@pytest.mark.parametrize(
    ("wanted", "best"),
    [
        (DomainRequest(9, 0, 1, required=True), 5),
        (DomainRequest(9, 1, 1, required=True), 4),
        (DomainRequest(9, 0, 1), 8),
        (DomainRequest(9, 1, 1, is_preferred=True), 8),
        (DomainRequest(9, 0, 0, 4, required=True), 4),
        (DomainRequest(9, 0, 1, 2, is_preferred=True), 6),
        (DomainRequest(9, 0, 1, required=True, leader=True), 4),
    ],
)
def test_what_does_not_fit_says_how_much_would(wanted, best):
    nodes = ["a n0 4", "a n1 1", "b n2 3"]
    found = find_domains(leaves_of(nodes, 1, 1 if wanted.leader else None), 2, wanted)
    assert (found.pods, found.max_pods) == (None, best)


def test_a_leader_without_a_node_keeps_its_workers_waiting():
    nodes = ["a n0 4", "b n1 4"]
    for how in ({"required": True}, {}):
        found = find_domains(leaves_of(nodes, 1, 5), 2, DomainRequest(2, 0, 1, leader=True, **how))
        assert (found.pods, found.max_pods) == (None, 0 if how else 8)


trees = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 8)),
    min_size=1,
    max_size=9,
)


@given(
    trees,
    st.integers(1, 12),
    st.sampled_from(["required", "preferred", "loose"]),
    st.integers(0, 2),
    st.booleans(),
)
def test_no_pod_is_lost_and_no_node_is_overdrawn(tree, count, how, level, leads):
    nodes = [f"{block} {block}{rack} n{i} {free}" for i, (block, rack, free) in enumerate(tree)]
    wanted = DomainRequest(
        count,
        2 if how == "loose" else level,
        2,
        required=how == "required",
        is_preferred=how == "loose",
        leader=leads and how != "loose",
    )
    found = find_domains(leaves_of(nodes, 1, 2 if wanted.leader else None), 3, wanted)
    if found.pods is None:
        assert found.max_pods < count or wanted.leader
        return
    taken = {node.values[-1]: pods for node, pods in found.pods}
    assert sum(taken.values()) == count
    if wanted.leader:
        assert found.leader is not None
        taken[found.leader.values[-1]] = taken.get(found.leader.values[-1], 0) + 2
    assert all(pods <= tree[int(name[1:])][2] for name, pods in taken.items())
    where = {n.split(" ")[2]: tuple(n.split(" ")[: level + 1]) for n in nodes}
    assert how != "required" or len({where[name] for name in taken}) == 1


@given(trees, st.integers(1, 3), st.integers(1, 3), st.integers(0, 1))
def test_slices_stay_whole(tree, size, slices, level):
    nodes = [f"{block} {block}{rack} n{i} {free}" for i, (block, rack, free) in enumerate(tree)]
    wanted = DomainRequest(size * slices, 0, level, size, ((2, 1),), is_preferred=True)
    found = find_domains(leaves_of(nodes, 1), 3, wanted)
    held: dict[tuple[str, ...], int] = {}
    for node, pods in found.pods or ():
        key = node.values[: level + 1]
        held[key] = held.get(key, 0) + pods
    assert all(pods % size == 0 for pods in held.values())
