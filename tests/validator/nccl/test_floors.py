"""Bandwidth and its floors: against what others have published, and against what links can carry."""

import pytest

from gpuyard_validator.nccl.arithmetic import (
    GIB,
    Operation,
    algorithm_gbps,
    bus_factor,
    bus_gbps,
    network_share,
)
from gpuyard_validator.nccl.thresholds import (
    LEAST_BYTES,
    Shape,
    bandwidth_threshold,
    ceiling_gbps,
    measured,
)
from kit.every import every

REDUCE, GATHER = Operation.ALL_REDUCE, Operation.ALL_GATHER
SCATTER, ALL = Operation.REDUCE_SCATTER, Operation.ALL_TO_ALL
A100, H100, H200 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200"
B200, GB200 = "NVIDIA-B200", "NVIDIA-GB200"
NVLINKS = {A100: 600, H100: 900, H200: 900, B200: 1800, GB200: 1800}
# GB/s a GPU, one direction: p4de 4 × 100 Gbit/s, p5 32 × 100, p5en 16 × 200, p6-b200 8 × 400, a3-mega 8 × 200
ADAPTERS = {
    (A100, "efa"): 6.25,
    (H100, "efa"): 50,
    (H200, "efa"): 50,
    (B200, "efa"): 50,
    (H100, "infiniband"): 50,
    (H100, "fastrak"): 25,
}


def shape(product=H100, gpus=8, nodes=1, operation=REDUCE, size=8 * GIB, way="nvlink", **more):
    rates = {"nvlink": NVLINKS.get(product, 0), "network": ADAPTERS.get((product, way)), **more}
    return Shape(
        product=product, gpus=gpus, nodes=nodes, operation=operation, size=size, way=way, **rates
    )


# Operation, ranks, bytes, µs, algorithm's and bus bandwidth, as printed by nccl-tests or by those who ran it.
PUBLISHED = [
    (REDUCE, 8, 33554432, 195.40, 171.72, 300.51, "kvcache-ai/Mooncake pull 3484"),
    (REDUCE, 16, 1073741824, 22490, 47.74, 89.52, "NVIDIA/nccl-tests issue 152"),
    (REDUCE, 256, 33554432, 1464.2, 22.92, 45.65, "NVIDIA/nccl-tests issue 78"),
    (REDUCE, 256, 1073741824, 29896, 35.92, 71.55, "NVIDIA/nccl-tests issue 78"),
    (ALL, 4, 524288000, 1174.14, 446.53, 334.90, "NVIDIA/nccl issue 2169"),
]


@every("operation, ranks, size, micro, algorithm, bus, source", PUBLISHED)
def test_bandwidths_are_those_that_nccl_tests_prints(
    operation, ranks, size, micro, algorithm, bus, source
):
    assert algorithm_gbps(size, micro / 1e6) == pytest.approx(algorithm, rel=0.01), source
    assert bus_gbps(operation, ranks, size, micro / 1e6) == pytest.approx(bus, rel=0.01), source


@every(
    "operation, ranks, factor",
    [(REDUCE, 2, 1.0), (REDUCE, 8, 1.75), (GATHER, 2, 0.5), (SCATTER, 8, 0.875), (ALL, 16, 0.9375)],
)
def test_factors_are_those_of_nccl_tests(operation, ranks, factor):
    assert bus_factor(operation, ranks) == factor


# p6-b200, p5 and p4de by AWS: nodes, bus bandwidth, GB/s of a GPU's adapters, how much of them was used.
@every(
    "nodes, bus, adapters, wire, percent",
    [(4, 381.8, 50, 36.9, 74), (2, 487, 50, 32.5, 65), (2, 78.3, 6.25, 5.2, 84)],
)
def test_what_the_wire_carries_is_what_was_published(nodes, bus, adapters, wire, percent):
    found = bus * network_share(REDUCE, 8 * nodes, nodes)
    assert found == pytest.approx(wire, rel=0.01)
    assert 100 * found / adapters == pytest.approx(percent, rel=0.01)


def test_an_all_to_all_sends_to_each_rank_elsewhere_and_nothing_leaves_one_node():
    """On k nodes the bus bandwidth is k/(k-1) of a GPU's adapters (NVIDIA/nccl-tests issue 130)."""
    assert 1 / network_share(ALL, 1600, 2) == pytest.approx(2, rel=0.01)
    assert 1 / network_share(ALL, 1600, 4) == pytest.approx(4 / 3, rel=0.01)
    assert [network_share(each, 8, 1) for each in Operation] == [0, 0, 0, 0]


@every("row", measured())
def test_a_floor_is_below_what_was_measured_and_that_below_what_links_carry(row):
    found = shape(row.product, row.gpus, row.nodes, row.operation, row.size, row.way)
    top, floor = ceiling_gbps(found), bandwidth_threshold(found)
    assert 0.35 * row.best < row.floor < row.best <= top
    assert (floor.floor, floor.is_enforced) == (row.floor, True)
    assert row.floor <= floor.typical <= row.best, "what is usual lies between"
    assert row.source.is_verified
    assert row.source.title in floor.said


@every("product", [*NVLINKS, "NVIDIA-L4", "NVIDIA-L40S", "Tesla-T4", "NVIDIA-A10G"])
def test_no_derived_floor_passes_what_links_carry(product):
    for operation in Operation:
        for nodes in (1, 2, 3, 9, 64):
            for gpus in (1, 2, 4, 8):
                if gpus * nodes == 1:
                    continue
                found = shape(product, gpus, nodes, operation, way="roce", network=12.5)
                told = bandwidth_threshold(found)
                assert told.floor <= ceiling_gbps(found), found
                assert told.said.startswith("derived, not measured: ")
                assert told.is_enforced is bool(NVLINKS.get(product)), (
                    "PCIe's share is told, not failed"
                )


# Floors of other tools that no machine reaches.
IMPOSSIBLE = [
    ("awsome-distributed-training 5-nccl-allreduce.sh, p5", H100, 2, "efa", 800),
    ("the same, p5e and p5en", H200, 2, "efa", 800),
    ("the same, b200", B200, 2, "efa", 900),
    ("the same, p4d", A100, 2, "efa", 300),
    ("NVSentinel, nccl-loopback-nvswitch", H100, 1, "nvlink", 580),
]


@every("tool, product, nodes, way, floor", IMPOSSIBLE)
def test_a_floor_of_another_tool_that_nothing_reaches_is_seen_as_such(
    tool, product, nodes, way, floor
):
    found = shape(product, 8, nodes, way=way)
    assert floor > ceiling_gbps(found) > bandwidth_threshold(found).floor, tool


def test_small_messages_and_unknown_links_have_no_floor():
    """AWS's script held 128 MiB against a figure of 16 GiB."""
    assert bandwidth_threshold(shape(size=128 << 20)) is None
    assert bandwidth_threshold(shape(size=LEAST_BYTES)) is not None
    unknown = shape(nodes=3, way="efa", network=None)
    assert bandwidth_threshold(unknown) is None
    assert ceiling_gbps(unknown) is None


@every("gib, floor", [(1, 362), (3, 362), (4, 377), (15, 377), (16, 381.8), (64, 381.8)])
def test_of_several_sizes_the_next_smaller_counts(gib, floor):
    found = bandwidth_threshold(shape(B200, 8, 4, size=gib * GIB, way="efa"))
    assert found.floor == pytest.approx(0.75 * floor)


def test_a_larger_message_than_any_that_was_measured_or_a_smaller_one_takes_the_nearest():
    assert (
        bandwidth_threshold(shape(A100, size=GIB)).floor
        == bandwidth_threshold(shape(A100, size=64 * GIB)).floor
    )


@every(
    "values, floor, said",
    [
        ({"nodes": 2, "operation": SCATTER, "way": "efa"}, 270, "0.6 of 450 GB/s of NVLink"),
        (
            {"nodes": 4, "way": "infiniband"},
            0.5 * 50 * 31 / 3,
            "0.5 of 50 GB/s of adapters per GPU",
        ),
        ({"product": GB200, "gpus": 4, "nodes": 9}, 540, "0.6 of 900 GB/s of NVLink"),
        ({"product": "NVIDIA-L4", "way": "pcie"}, 0.15 * 8 * 0.985, "0.15 of 7.88 GB/s of PCIe"),
    ],
)
def test_what_nobody_has_measured_is_derived_from_the_narrowest_link(values, floor, said):
    found = bandwidth_threshold(shape(**values))
    assert found.floor == pytest.approx(floor)
    assert found.said == f"derived, not measured: {said}"
