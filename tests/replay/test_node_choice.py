"""Which node kube-scheduler chooses for a pod, as seen on a real one with fake nodes."""

from gpuyard_advisor.replay.node_pools import NodePool
from gpuyard_advisor.replay.options import Chance
from gpuyard_core.names import GPU
from kit.stacks import plan_of, platform, pool


def test_pods_without_requests_of_cpu_fill_node_after_node():
    """The LimitRange gives them 100m and 64Mi: too little for the scores to tell a node with many from one with few,
    and a first pod makes an empty node look less balanced. Seen: 24 such pods on three of eight nodes.
    """
    plan = plan_of(platform([pool(nodes=8)], cloud="simulated"))
    nodes = NodePool(plan, plan.pools[0], Chance(1))
    for node in range(8):
        nodes.add(node)
    request = nodes.request({GPU: 1})
    assert request is not None
    assert [len(set(nodes.place(request, 8))) for _ in range(3)] == [1, 1, 1]


def test_pods_with_requests_of_cpu_spread():
    """LeastAllocated: the emptiest node first."""
    plan = plan_of(platform([pool(nodes=8)], cloud="simulated"))
    nodes = NodePool(plan, plan.pools[0], Chance(1))
    for node in range(8):
        nodes.add(node)
    request = nodes.request({GPU: 1, "cpu": 12_000, "memory": 128 * 2**30})
    assert request is not None
    assert sorted(nodes.place(request, 8).values()) == [1] * 8


def test_of_equal_nodes_the_oldest_gets_the_pod():
    """kube-scheduler 1.36 lists nodes by age and takes the first of the highest score, so that the others empty. Seen:
    a pod that needed a whole node of six waited 6 s on a full cluster, and 140 s where the choice was random.
    """
    plan = plan_of(platform([pool(nodes=8)], cloud="simulated"))
    nodes = NodePool(plan, plan.pools[0], Chance(1))
    for node in range(8):
        nodes.add(node)
    request = nodes.request({GPU: 1})
    assert request is not None
    nodes.place(request, 64)
    for node, pods in ((6, 1), (2, 3), (4, 1)):
        nodes.change(node, request, -pods)
    assert [[*nodes.place(request, 1)] for _ in range(5)] == [[2], [2], [2], [4], [6]]


def test_a_large_cluster_examines_a_part_of_its_nodes_for_each_pod():
    """From another place each time, so that any node of the highest score gets the pod."""
    plan = plan_of(platform([pool(nodes=100)], cloud="simulated"))
    nodes = NodePool(plan, plan.pools[0], Chance(1))
    for node in range(100):
        nodes.add(node)
    request = nodes.request({GPU: 1})
    assert request is not None
    nodes.place(request, 800)
    for free in range(1, 8):
        nodes.change(free, request, -free)
    assert len({next(iter(nodes.place(request, 1))) for _ in range(7)}) > 1
