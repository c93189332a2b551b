"""The node groups of whole platforms as files: the same bytes as yesterday."""

import json
from pathlib import Path

import pytest

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.render.cloud.graph import Base64
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard.spec.read import read_stack_file
from kit.clouds.node_groups import graph_of, written

HERE = Path(__file__).parent
STACKS = ("reserved-training", "research", "mps-inference")


def scaled_by_groups(name: str) -> PlatformSpec:
    """The stack as it is where Cluster Autoscaler adds the nodes that Karpenter would."""
    file = sizes.ROOT / "tests" / "golden_stacks" / f"{name}.yaml"
    spec = read_stack_file(file.read_bytes(), name).spec
    assert spec is not None
    moved = [
        one.model_copy(update={"scaling": Scaling.AUTOSCALER})
        if one.nodes.low != one.nodes.high
        else one
        for one in spec.pools
    ]
    return spec.model_copy(update={"pools": tuple(moved)})


@pytest.mark.parametrize("name", STACKS)
def test_the_node_groups_of_a_stack_are_the_golden_ones(name, golden):
    graph = graph_of(plan_or_raise(scaled_by_groups(name)))
    shown = [shown_of(each) for each in graph.resources[1:]]
    golden(HERE / "golden" / f"nodes-{name}.json", json.dumps(shown, indent=1) + "\n")


def shown_of(each):
    inputs = {
        key: written(value.text).splitlines() if isinstance(value, Base64) else written(value)
        for key, value in each.inputs.items()
    }
    options = {
        "after": list(each.after),
        "ignores": list(each.ignores),
        "protect": each.protect,
        "deleteFirst": each.delete_first,
    }
    said = {key: value for key, value in options.items() if value}
    return {"kind": each.kind, "name": each.name, "part": each.part, **said, "inputs": inputs}
