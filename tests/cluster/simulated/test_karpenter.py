"""A real Karpenter makes for each shape of our stacks the nodes that the plan foresees, and takes them away.

A campaign: `GPUYARD_KARPENTER` is the program, with its kwok provider, and `GPUYARD_KARPENTER_CRDS` has
folders of its definitions. What does not agree is listed, each shape by itself.
"""

import sys

import pytest

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.spec.pools import Scaling
from gpuyard.spec.read import read_stack_file
from gpuyard_simulate.api import ApiError
from kit import waiting
from kit.cluster import karpenter
from kit.cluster.karpenter import OF_KARPENTER, items, needs_karpenter, place, put, running, within
from kit.cluster.lab import delete
from kit.stacks import platform, pool, spec_of

pytestmark = needs_karpenter()
FOLDER = sizes.ROOT / "tests" / "golden_stacks"
STACKS = (
    "ladder",
    "research",
    "spot-research",
    "mig-inference",
    "mps-inference",
    "reserved-training",
    "slices",
    "fleet",
)
STAYS = {"mig-inference": "mixed"}
"""Pools that Karpenter may not have: GPUs of which some are cut and some are whole (`scaling.miscounts`)."""


LADDER = platform(
    [
        pool(
            "ladder",
            nodes="0..6",
            machine="g6.12xlarge",
            capacity=[{"spot": True, "nodes": 2}, "on-demand"],
        ),
        pool("like", nodes="0..4", machine=["g6.16xlarge", "g6.8xlarge"]),
    ],
    cloud="aws",
    shapes=[
        {"name": "over-two-rungs", "pool": "ladder", "nodes": 4, "gpus_per_node": 4},
        {"name": "cheapest", "pool": "like", "nodes": 2, "gpus_per_node": 1},
    ],
)


def plan_by_karpenter(name):
    """The stack with every pool given to Karpenter that it may have."""
    raw = LADDER if name == "ladder" else stack(name)
    for each in raw["pools"]:
        if each["name"] == STAYS.get(name):
            continue
        each |= {"nodes": f"0..{str(each['nodes']).rpartition('.')[2]}", "scaling": "karpenter"}
        for word in ("provisioning", "keep_warm", "topology"):
            each.pop(word, None)
    return plan_or_raise(spec_of(raw))


def stack(name):
    spec = read_stack_file((FOLDER / f"{name}.yaml").read_bytes(), name).spec
    return spec.model_dump(mode="json", exclude_unset=True)


@pytest.mark.parametrize("name", STACKS)
def test_each_shape_gets_the_nodes_that_the_plan_foresees(program, name):
    api = program
    plan = plan_by_karpenter(name)
    made = karpenter.for_kwok(plan)
    for each in made:
        waiting.until(lambda each=each: put(api, each), errors=(ApiError,))
    apart = []
    try:
        for shape in plan.shapes:
            if plan.pool(shape.pool).scaling is Scaling.KARPENTER:
                apart += one_shape(api, plan, shape)
    finally:
        for each in reversed(made):
            delete(api, place(each))
    assert apart == []


def one_shape(api, plan, shape):
    """What does not agree, in words."""
    wanted = list(karpenter.pods(plan, shape))
    for each in wanted:
        put(api, each)
    found = []
    foreseen = karpenter.foreseen(plan, shape)
    if not within(90 + 2 * len(wanted), lambda: running(api, wanted, again=True)):
        found.append(f"{shape.name}: not all of {len(wanted)} pods run")
    nodes, zones = karpenter.seen(items(api, OF_KARPENTER))
    sys.stdout.write(f"{plan.name} {shape.name}: {dict(nodes)} in {sorted(zones)}\n")
    if nodes != foreseen:
        found.append(f"{shape.name}: {dict(nodes)}, not {dict(foreseen)}")
    if not zones <= karpenter.zones_of(plan, shape):
        found.append(f"{shape.name}: nodes in {sorted(zones)}")
    for each in wanted:
        delete(api, place(each))
    if not within(240 + len(wanted), lambda: not items(api, OF_KARPENTER)):
        found.append(f"{shape.name}: {len(items(api, OF_KARPENTER))} nodes stay")
    return found
