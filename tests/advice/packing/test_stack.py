"""The shapes of a platform as needs: of the GPU of their pool, in the unit that the pool has."""

from fractions import Fraction

from gpuyard_advisor.advice.packing.machines import (
    MachinePacking,
    NoMachineFits,
    clouds_of,
    needs_of,
    pack_stack,
)
from gpuyard_core.catalogue.machines import Capacity
from kit.stacks import plan_of as plan_from
from kit.stacks import platform, pool

POOLS = [
    pool("train", machine="p5.48xlarge", nodes=4),
    pool("serve", machine="p4d.24xlarge", nodes=1, sharing={"mig": {"3g.20gb": 2}}),
    pool("dev", machine="g6.12xlarge", nodes=2, sharing={"time_slicing": 4}),
    pool(
        "mixed",
        machine="p4d.24xlarge",
        nodes=1,
        sharing={"mig": {"1g.5gb": 7}, "time_slicing": 2},
    ),
]
SHAPES = [
    {"name": "llm", "pool": "train", "nodes": 2, "gpus_per_node": 8},
    {"name": "one", "pool": "train", "gpus_per_node": 1},
    {"name": "embed", "per_pod": {"slice": "3g.20gb", "cpu": 8, "memory_gib": 64}},
    {"name": "note", "pool": "dev", "per_pod": {"shares": 1, "cpu": 4, "memory_gib": 16}},
]


def plan_of(shapes=SHAPES, pools=POOLS, **more):
    return plan_from(platform(pools, shapes=shapes, **more))


def test_every_shape_is_a_need():
    found = {n.name: n for n in needs_of(plan_of())}
    llm, embed, note = found["llm"], found["embed"], found["note"]
    assert (llm.pods, llm.gpus, llm.gpu, llm.colocated) == (2, 8, "H100", True)
    assert llm.machines == {"p5.48xlarge"}
    assert (found["one"].colocated, found["one"].cpu_milli) == (False, 0)
    assert (embed.slice, embed.cpu_milli, embed.memory_mib) == ("3g.20gb", 8000, 65536)
    assert (note.gpus, note.slice, note.gpu) == (Fraction(1, 4), "", "L4")


def test_a_share_of_a_slice_takes_the_slice():
    shape = {"name": "tiny", "pool": "mixed", "per_pod": {"slice": "1g.5gb.shared"}}
    (found,) = needs_of(plan_of([shape]))
    assert found.slice == "1g.5gb"


def test_the_cheapest_machines_beside_those_the_stack_names():
    plan = plan_of()
    assert clouds_of(plan) == ("aws",)
    found = pack_stack(plan, "aws", Capacity.ON_DEMAND)
    assert isinstance(found.best, MachinePacking)
    assert isinstance(found.named, MachinePacking)
    assert set(found.named.machines) == {"p5.48xlarge", "p4d.24xlarge", "g6.12xlarge"}
    assert found.best.usd < found.named.usd
    assert found.best.is_optimal
    assert "g6.12xlarge" not in found.best.machines


def test_a_price_that_nobody_knows_leaves_the_named_machines_without_an_answer():
    dev = pool("dev", machine="g6.12xlarge", nodes=2, sharing={"time_slicing": 4})
    note = {"name": "note", "pool": "dev", "per_pod": {"shares": 1, "cpu": 2, "memory_gib": 16}}
    found = pack_stack(plan_of([note], [dev]), "aws", Capacity.SPOT)
    assert isinstance(found.best, MachinePacking)
    assert set(found.best.machines) == {"gr6.4xlarge"}
    assert isinstance(found.named, NoMachineFits)


def test_a_machine_with_a_part_of_a_gpu_shares_it_no_further():
    """`g6f.2xlarge` has a quarter of an L4 for half the price, and `check` refuses to share that."""
    found = pack_stack(plan_of([SHAPES[3]]), "aws", Capacity.ON_DEMAND)
    assert isinstance(found.best, MachinePacking)
    assert set(found.best.machines) == {"g6.2xlarge"}
    spot = pack_stack(plan_of([SHAPES[3]]), "aws", Capacity.SPOT).best
    assert isinstance(spot, MachinePacking)
    assert set(spot.machines) == {"gr6.4xlarge"}


def test_a_part_of_a_gpu_goes_to_one_pod_and_has_its_price():
    dev = pool("dev", machine="g6f.4xlarge", nodes=2)
    shape = {"name": "note", "pool": "dev", "gpus_per_node": 1}
    plan = plan_of([shape, {**shape, "name": "other"}], [dev])
    assert {need.gpus for need in needs_of(plan)} == {Fraction(1, 2)}
    found = pack_stack(plan, "aws", Capacity.ON_DEMAND)
    assert isinstance(found.best, MachinePacking)
    assert isinstance(found.named, MachinePacking)
    assert found.named.machines == {"g6f.4xlarge": 2}
    assert found.best.usd == found.named.usd


def test_without_shapes_there_is_no_cloud():
    assert clouds_of(plan_of([])) == ()
