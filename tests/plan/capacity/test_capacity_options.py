"""The capacity ladder in each cloud's words, and where nodes are asked to stand close together."""

import pytest

from gpuyard.plan.capacity.capacity_options import max_nodes_total
from gpuyard.plan.records import CapacityOption
from gpuyard.provider import provider_of
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.gcp.capacity_options import option_node_pools
from gpuyard.spec.pools import CapacityOptionSpec, Pool
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.catalogue.node_pools import Ec2CapacitySettings, GkeCapacitySettings
from gpuyard_core.catalogue.purchasing import (
    CALENDAR,
    CAPACITY_BLOCK,
    EC2_RESERVATION,
    FLEX_START,
    GCE_RESERVATION,
    ULTRASERVER_BLOCK,
    ZONES,
)
from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import findings, plan_of, platform, pool

HELD = {"reserved": "cr-0a", "block": "cr-0b"}


def rung(mode, **rest):
    return {mode: HELD.get(mode, True), **rest}


def planned(cloud, *ladder, shapes=(), **rest):
    machine = {"gcp": "a3-megagpu-8g"}.get(cloud, "p5.48xlarge")
    zone = {"aws": ["us-east-1a"], "gcp": ["us-central1-a"]}.get(cloud, [])
    one = {"machine": machine, "zones": zone, "nodes": "0..8", "capacity": list(ladder), **rest}
    return plan_of(platform([pool(**one)], cloud=cloud, shapes=list(shapes))).pools[0]


EC2 = [
    ("reserved", ("ON_DEMAND", "reserved", None, "capacity-reservations-only"), "none"),
    ("block", ("CAPACITY_BLOCK", "reserved", "capacity-block", "capacity-reservations-only"), "none"),
    ("spot", ("SPOT", "spot", "spot", "none"), "cluster"),
    ("on-demand", ("ON_DEMAND", "on-demand", None, "open"), "cluster"),
]  # fmt: skip
GKE = [
    ("reserved", (False, False, False, "SPECIFIC_RESERVATION", True), "none"),
    ("flex-start", (False, True, False, "NO_RESERVATION", False), "none"),
    ("spot", (True, False, False, "NO_RESERVATION", True), "compact"),
    ("on-demand", (False, False, False, "NO_RESERVATION", True), "compact"),
]


@pytest.mark.parametrize(("mode", "purchase", "placement"), EC2)
def test_a_rung_on_ec2(mode, purchase, placement):
    (found,) = planned("aws", rung(mode, nodes=8)).capacity_options
    keys = ("capacity_type", "karpenter_capacity_type", "market_type", "reservation_preference")
    assert found.aws == Ec2CapacitySettings(**dict(zip(keys, purchase, strict=True)))
    assert (found.gcp, found.placement, found.reservation) == (None, placement, HELD.get(mode))


@pytest.mark.parametrize(("mode", "purchase", "placement"), GKE)
def test_a_rung_on_gke(mode, purchase, placement):
    held = "projects/p/reservations/r" if mode == "reserved" else True
    (found,) = planned("gcp", {mode: held, "nodes": 8}).capacity_options
    keys = ("spot", "flex_start", "queued", "reservation_type", "auto_repair")
    assert found.gcp == GkeCapacitySettings(**dict(zip(keys, purchase, strict=True)))
    assert (found.aws, found.placement) == (None, placement)


def test_every_way_to_buy_has_its_row_on_one_cloud_or_both():
    assert {row[0] for row in (*EC2, *GKE)} == {mode.value for mode in Capacity}


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_elsewhere_nothing_is_bought(cloud):
    for found in planned(cloud, rung("block", nodes=8), rung("spot")).capacity_options[:1]:
        assert (found.aws, found.gcp, found.placement, found.lifetime) == (None, None, "none", "")


@pytest.mark.parametrize(
    ("cloud", "rest", "placement"),
    [
        ("aws", {}, "cluster"),
        ("aws", {"zones": []}, "none"),
        ("aws", {"zones": ["us-east-1a", "us-east-1b"]}, "none"),
        ("aws", {"nodes": "0..1"}, "none"),
        ("aws", {"machine": "g6.12xlarge", "nodes": "0..8"}, "cluster"),
        ("aws", {"machine": "g6.xlarge", "nodes": "0..8"}, "none"),
        ("gcp", {}, "compact"),
        ("gcp", {"machine": "a2-highgpu-8g"}, "none"),
        ("gcp", {"machine": "a3-ultragpu-8g", "capacity": ["flex-start"]}, "compact"),
        ("gcp", {"machine": "a4-highgpu-8g", "capacity": ["flex-start"]}, "compact"),
        ("gcp", {"machine": "a3-megagpu-8g", "capacity": ["flex-start"]}, "none"),
    ],
)
def test_nodes_stand_close_together_where_that_helps_and_is_allowed(cloud, rest, placement):
    capacity = rest.get("capacity", ["spot"])
    (found,) = planned(cloud, **{**rest, "capacity": capacity}).capacity_options
    assert found.placement == placement


def test_queued_nodes_are_never_placed_compactly():
    """GKE refuses a node pool with both, also of the machines whose flex-start nodes may be compact."""
    for machine in ("a3-ultragpu-8g", "a4-highgpu-8g"):
        ladder = planned(
            "gcp", "flex-start", machine=machine, provisioning="queued"
        ).capacity_options
        assert [(r.placement, r.gcp.queued) for r in ladder] == [("none", True)]


@pytest.mark.parametrize("machine", ["a4x-highgpu-4g", "a4x-maxgpu-4g-metal"])
def test_the_nodes_of_a_rack_are_taken_from_their_reservation_with_a_workload_policy(machine):
    held = {"reserved": "projects/p/reservations/r", "nodes": 8}
    (found,) = planned("gcp", held, machine=machine).capacity_options
    assert (found.placement, found.gcp.workload_policy) == ("nvlink", "HIGH_THROUGHPUT 1x72")
    assert planned("gcp", "spot").capacity_options[0].gcp.workload_policy == ""


def test_the_most_nodes_of_a_rung_are_at_most_those_of_the_pool():
    rungs = [{"reserved": "cr-0a", "nodes": 3}, {"spot": True, "nodes": 20}, "on-demand"]
    ladder = planned("aws", *rungs).capacity_options
    assert [(r.max_nodes, r.bounded) for r in ladder] == [(3, True), (8, True), (8, False)]


def test_the_ladder_in_words_says_how_long_nodes_stay():
    assert planned("gcp", "flex-start", "spot").capacity == ("flex-start, at most 7 days", "spot")
    assert planned("aws", rung("block", nodes=8)).capacity == (
        "block cr-0b (8 nodes), until 40 minutes before its end",
    )


@pytest.mark.parametrize(
    ("cloud", "name", "mode", "found"),
    [
        ("aws", "p5.48xlarge", Capacity.BLOCK, CAPACITY_BLOCK),
        ("aws", "p6e-gb200.36xlarge", Capacity.BLOCK, ULTRASERVER_BLOCK),
        ("gcp", "a4-highgpu-8g", Capacity.BLOCK, CALENDAR),
        ("gcp", "a3-ultragpu-8g", Capacity.FLEX_START, FLEX_START),
        ("aws", "p5.48xlarge", Capacity.RESERVED, None),
        ("aws", "p5.48xlarge", Capacity.SPOT, None),
    ],
)
def test_how_long_bought_nodes_stay(cloud, name, mode, found):
    written = CapacityOptionSpec.model_construct(mode=mode)
    option = CapacityOption(mode=mode.value, reservation=None, max_nodes=8, bounded=False)
    one = Pool.model_validate(pool(machine=name))
    bought = provider_of(cloud).complete_option(option, written, one, MACHINES[name])
    assert bought.lifetime == (found.description if found else "")


@every("form", [EC2_RESERVATION, GCE_RESERVATION, *ZONES.values()])
def test_the_examples_that_are_shown_have_the_form_they_are_shown_for(form):
    assert form.pattern.fullmatch(form.example)
    assert form.source.verified


def sold_on(cloud):
    return [m for m in MACHINES.values() if m.cloud == cloud and m.is_gpu_machine]


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_every_machine_can_be_had_in_every_way_it_is_sold_and_in_no_other(cloud):
    zone = {"aws": "us-east-1a", "gcp": "us-central1-a"}[cloud]
    pools = [
        pool(f"p{n}-{i}", machine=machine.name, nodes="0..2", zones=[zone], capacity=[
            {mode.value: f"cr-{n}x{i}" if mode.value in HELD else True, "nodes": 2}
        ], scaling="autoscaler")
        for n, machine in enumerate(sold_on(cloud))
        for i, mode in enumerate(Capacity)
    ]  # fmt: skip
    said = findings(platform(pools, cloud=cloud))
    refused = {f.path[1] for f in said if f.id == "capacity.not_sold"}
    for number, (machine, mode) in enumerate(
        (m, mode) for m in sold_on(cloud) for mode in Capacity
    ):
        assert (number in refused) is (mode not in machine.sold), (machine.name, mode)


def test_any_number_of_nodes_is_given_by_rungs_that_hold_them_and_by_no_fewer():
    for most in range(1, 7):
        for bounds in ([1, 2], [3], [2, 2, 2], [6]):
            ladder = [{"spot": True, "nodes": n} for n in bounds]
            found = findings(platform([pool(nodes=f"0..{most}", capacity=ladder)]))
            short = [f for f in found if f.id == "capacity.short"]
            assert bool(short) is (sum(bounds) < most)
            assert all(f.severity is Severity.ERROR for f in short)


def test_a_rung_alone_is_always_reached():
    assert Pool.model_validate(pool()).capacity[0].nodes is None
    assert findings(platform([pool(nodes=0, capacity=["spot"])])) == []


def test_what_is_suggested_instead_needs_no_reservation():
    raw = platform([pool(machine="a3-ultragpu-8g", zones=["us-central1-b"])], cloud="gcp")
    (finding,) = [f for f in findings(raw) if f.id == "capacity.not_sold"]
    assert (finding.path, finding.given) == (("pools", 0, "capacity"), "on-demand, by default")
    assert finding.allowed.startswith("reserved")
    assert finding.fix.value == ["flex-start"]


AT_EC2 = {"reserved": "cr-0123456789abcdef0", "nodes": 2}
TWO = ["a3-highgpu-8g", "a3-megagpu-8g"]
AT_GCE = {"reserved": "projects/p/reservations/r", "nodes": 2}


@every(
    ("cloud", "words", "together"),
    [
        ("aws", {"capacity": ["spot", "on-demand"]}, 8),
        ("aws", {"capacity": [{"spot": True, "nodes": 1}, "on-demand"]}, 5),
        ("aws", {"capacity": [AT_EC2, {"spot": True, "nodes": 1}, "on-demand"]}, 7),
        ("aws", {"capacity": ["on-demand"]}, 4),
        ("aws", {"capacity": [{"spot": True, "nodes": 3}, {"spot": True, "nodes": 2}]}, 4),
        ("gcp", {"capacity": ["spot", "on-demand"]}, 8),
        ("gcp", {"capacity": ["on-demand"]}, 4),
        ("gcp", {"capacity": [AT_GCE, {"spot": True, "nodes": 1}, "on-demand"]}, 5),
        ("gcp", {"machine": TWO, "capacity": [AT_GCE, {"spot": True, "nodes": 1}, "on-demand"]}, 8),
        ("gcp", {"machine": TWO, "capacity": [AT_GCE | {"nodes": 4}, "on-demand"]}, 4),
        ("simulated", {"capacity": ["spot", "on-demand"]}, 4),
        ("none", {"scaling": "autoscaler"}, 4),
    ],
)
def test_autoscalers_let_a_pool_have_what_all_that_is_made_of_its_rungs_may_have(
    cloud, words, together
):
    machine = "g2-standard-96" if cloud == "gcp" else "g6.12xlarge"
    zone = {"gcp": ["us-central1-a"], "aws": ["us-east-1a"]}.get(cloud)
    zones = {"zones": zone} if zone else {}
    one = {"machine": machine, "nodes": "0..4", **zones, **words}
    plan = plan_of(platform([pool(**one)], cloud=cloud))
    (one,) = plan.pools
    assert max_nodes_total(plan.cloud, one) == together
    made = {
        "aws": lambda: sum(each.high for each in group_sizes(one)),
        "gcp": lambda: sum(each.max_nodes for each in option_node_pools(one)),
        "simulated": lambda: one.nodes.high,
        "none": lambda: one.nodes.high,
    }
    assert made[cloud]() == together


def test_a_pool_of_one_size_is_bounded_by_it():
    words = {"machine": "g6.12xlarge", "nodes": 4, "capacity": ["spot", "on-demand"]}
    plan = plan_of(platform([pool(**words)], cloud="aws"))
    assert max_nodes_total(plan.cloud, plan.pools[0]) == 4
