"""Lists of names in findings: all if few, the first if many."""

import pytest

from gpuyard_core.findings import format_list
from kit.stacks import only, platform, pool, shape


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "n0"),
        (12, ", ".join(f"n{i}" for i in range(12))),
        (13, ", ".join(f"n{i}" for i in range(13))),
        (14, ", ".join(f"n{i}" for i in range(12)) + ", … (14 in all)"),
        (1400, ", ".join(f"n{i}" for i in range(12)) + ", … (1,400 in all)"),
    ],
)
def test_a_finding_names_a_dozen_at_most(count, text):
    assert format_list(f"n{i}" for i in range(count)) == text


def test_pools_that_cannot_start_a_shape_for_one_reason_are_named_together():
    pools = [pool("a"), pool("b", machine="p5.4xlarge"), pool("c"), pool("d", nodes=0)]
    finding = only(platform(pools, shapes=[shape(gpus_per_node=9)]))
    assert finding.problem == (
        "no pool can start it: a, c: 8 GPUs a node, 9 required; b: 1 GPUs a node, 9 required;"
        " d: at most 0 nodes, 1 required"
    )
