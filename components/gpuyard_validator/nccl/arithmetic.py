"""Bandwidth of a collective, as nccl-tests defines it (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

Sizes are bytes of the whole buffer of one rank, and rates GB/s of 10^9 bytes: a GiB is 7 % more.
"""

from enum import StrEnum


class Operation(StrEnum):
    """The collective operation."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"


GIB = 1 << 30
_GB = 1e9


def bus_factor(operation: Operation, ranks: int) -> float:
    """Factor from algorithm bandwidth to bus bandwidth, which compares with a link's rate."""
    share = (ranks - 1) / ranks
    return 2 * share if operation is Operation.ALL_REDUCE else share


def algorithm_gbps(size: int, seconds: float) -> float:
    """Buffer over time."""
    return size / seconds / _GB


def bus_gbps(operation: Operation, ranks: int, size: int, seconds: float) -> float:
    """Rate of each rank's link, independent of the number of ranks."""
    return algorithm_gbps(size, seconds) * bus_factor(operation, ranks)


def network_share(operation: Operation, ranks: int, nodes: int) -> float:
    """Share of the bus bandwidth that crosses one GPU's part of the adapters; 0 within a node.

    Algorithms with a stage within the node send each block to the other nodes once:
    (k-1)/(n-1) of the bus bandwidth. An all-to-all sends to every remote rank separately.
    """
    elsewhere = ranks - ranks // nodes if operation is Operation.ALL_TO_ALL else nodes - 1
    return elsewhere / (ranks - 1)
