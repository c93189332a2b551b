"""How nodes are bought, how long they stay, and how node pools are told so in their clouds' own words."""

import itertools

import pytest

from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.catalogue.node_pools import (
    QUEUED_TAINT,
    added_taints,
    ec2_capacity_settings,
    gke_capacity_settings,
    gke_versions,
    max_nodes_per_pool,
    may_be_compact,
    workload_policy,
)
from gpuyard_core.catalogue.purchasing import (
    BLOCK_SIZES,
    CALENDAR,
    CAPACITY_BLOCK,
    ULTRASERVER_BLOCK,
    ULTRASERVERS,
)
from gpuyard_core.catalogue.sources import find_source, source_ids
from kit.every import every

GCP = [m for m in MACHINES.values() if m.cloud == "gcp"]


@pytest.mark.parametrize("mode", list(Capacity))
def test_every_way_of_buying_is_said_in_words_of_the_interfaces(mode):
    ec2, gke = ec2_capacity_settings(mode), gke_capacity_settings(mode)
    assert ec2.capacity_type in {"ON_DEMAND", "SPOT", "CAPACITY_BLOCK"}
    assert ec2.karpenter_capacity_type in {"on-demand", "spot", "reserved"}
    assert ec2.market_type in {None, "spot", "capacity-block"}
    assert ec2.reservation_preference in {"open", "none", "capacity-reservations-only"}
    assert gke.reservation_type in {"NO_RESERVATION", "SPECIFIC_RESERVATION"}
    held = mode in {Capacity.RESERVED, Capacity.BLOCK}
    assert (gke.reservation_type == "SPECIFIC_RESERVATION") is held
    assert (ec2.reservation_preference == "capacity-reservations-only") is held


@every("machine", GCP)
def test_a_workload_policy_is_of_racks_and_the_taint_of_arm(machine):
    assert (workload_policy(machine) is not None) is machine.is_rack
    assert max_nodes_per_pool(machine) == (18 if machine.is_rack else None)
    assert bool(gke_versions(machine)) is machine.is_rack
    assert bool(added_taints(machine)) is (machine.arch == "arm64")
    assert added_taints(machine, queued=True) == (*added_taints(machine), QUEUED_TAINT)


def test_no_other_cloud_adds_a_taint():
    assert added_taints(MACHINES["g5g.xlarge"], queued=True) == ()


@pytest.mark.parametrize(
    ("name", "flex_start", "queued", "may"),
    [
        ("a3-ultragpu-8g", True, False, True),
        ("a3-ultragpu-8g", True, True, False),
        ("a3-megagpu-8g", True, False, False),
        ("a3-megagpu-8g", False, False, True),
    ],
)
def test_where_a_compact_placement_is_taken(name, flex_start, queued, may):
    assert may_be_compact(MACHINES[name], flex_start=flex_start, queued=queued) is may


def test_every_fact_has_a_source():
    found = [find_source(each) for each in source_ids() if each.startswith("node-pools.")]
    assert len(found) == 8
    assert all(source.title and source.verified for source in found)


def test_an_ultraserver_is_left_sooner_than_other_machines():
    """karpenter's odcrs.md and a report of 2026-02-08: sixty minutes before the end, others forty."""
    assert ULTRASERVER_BLOCK.drained_before_end_minutes == 60
    assert CAPACITY_BLOCK.drained_before_end_minutes == 40
    assert CALENDAR.hours == 90 * 24


def test_a_block_lasts_days_and_then_weeks():
    days = BLOCK_SIZES.days
    assert days[:14] == tuple(range(1, 15))
    assert {b - a for a, b in itertools.pairwise(days[14:])} == {7}
    assert (days[14], days[-1], BLOCK_SIZES.most) == (21, 182, 64)
    assert CAPACITY_BLOCK.hours == ULTRASERVER_BLOCK.hours == days[-1] * 24


def test_an_ultraserver_has_as_many_gpus_as_its_name_says():
    """u-p6e-gb200x36 and u-p6e-gb200x72."""
    for name, sizes in ULTRASERVERS.items():
        assert [size * MACHINES[name].gpus for size in sizes] == [36, 72]
    assert find_source("purchasing.ultraservers").verified
