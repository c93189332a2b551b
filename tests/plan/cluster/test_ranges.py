"""Where the subnets of a cluster lie: a zone that comes later moves none, and none lies in another."""

from itertools import combinations

from gpuyard.plan.cluster.ranges import (
    cluster_ranges,
    cluster_spec,
    cluster_zones,
    configured_zones,
    subnet_ranges,
    zones_with_subnets,
)
from gpuyard.providers.aws.cluster import addresses_of_node
from gpuyard_core.catalogue.machines import MACHINES
from kit.stacks import platform, pool, spec_of

ZONES = tuple(f"us-east-1{letter}" for letter in "abcdef")


def spec(cloud="aws", pool_zones=(), **cluster):
    system = {"machine": "m7i.xlarge" if cloud == "aws" else "e2-standard-4", "nodes": 2}
    pools = [pool(zones=list(pool_zones))]
    return spec_of(platform(pools, cloud=cloud, system=system, cluster=cluster))


def test_a_zone_that_comes_later_moves_no_other():
    few, all_of_them = (subnet_ranges("10.0.0.0/16", z) for z in (ZONES[::2], ZONES))
    assert {zone: all_of_them[zone] for zone in few} == few


def test_no_subnet_lies_in_another():
    for zones in (
        ZONES,
        ("another-1", "another-2"),
        ("us-east-1a", "another-1"),
        ("us-east-1g", "another-1"),
    ):
        subnets = [one for both in subnet_ranges("10.0.0.0/22", zones).values() for one in both]
        assert len(subnets) == 2 * len(zones)
        assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))


def test_a_private_subnet_has_an_eighth_of_the_network():
    private, public = subnet_ranges("10.0.0.0/16", ZONES)["us-east-1b"]
    assert (str(private), str(public)) == ("10.0.32.0/19", "10.0.228.0/22")


def test_the_zones_are_the_clusters_or_else_those_of_its_pools():
    assert cluster_zones(spec()) == ()
    assert cluster_zones(spec(pool_zones=["us-east-1b", "us-east-1a"])) == (
        "us-east-1a",
        "us-east-1b",
    )
    said = ["us-east-1b", "us-east-1a", "us-east-1b"]
    assert cluster_zones(spec(pool_zones=["us-east-1b"], zones=said)) == (
        "us-east-1b",
        "us-east-1a",
    )


def test_a_cluster_on_eks_has_two_zones_of_which_some_have_no_name_yet():
    assert zones_with_subnets(spec()) == ("another-1", "another-2")
    assert zones_with_subnets(spec(pool_zones=["us-east-1b"])) == ("us-east-1b", "another-1")
    assert zones_with_subnets(spec(pool_zones=ZONES)) == ZONES


def test_a_network_of_its_own_has_every_range():
    assert cluster_ranges(spec()) == {"cidr": "10.0.0.0/16", "services": "172.20.0.0/16"}
    own = spec("gcp", network={"cidr": "10.1.0.0/16"})
    assert cluster_ranges(own) == {
        "cidr": "10.1.0.0/16",
        "pods": "10.16.0.0/13",
        "services": "10.8.0.0/20",
    }


def test_of_a_network_that_is_there_only_what_is_made_in_it_is_known():
    there = {"id": "vpc-0123456789abcdef0", "subnets": {"private": ["subnet-0123456789abcdef0"]}}
    assert cluster_ranges(spec(network=there)) == {}
    assert cluster_ranges(spec(network=there | {"services": "172.21.0.0/16"})) == {
        "services": "172.21.0.0/16"
    }
    there = {"id": "our-network", "subnets": {"private": ["nodes"]}}
    assert cluster_ranges(spec("gcp", network=there)) == {
        "pods": "10.16.0.0/13",
        "services": "10.8.0.0/20",
    }


def test_a_stack_that_says_nothing_of_its_cluster_costs_no_copy_of_the_defaults():
    """A plan asks a dozen times: copies were a quarter of its time."""
    silent = spec_of(platform([pool()]))
    assert cluster_spec(silent) is cluster_spec(spec_of(platform([pool("other")])))
    assert cluster_spec(silent).network.cidr is None


def test_interfaces_that_carry_efa_only_take_no_addresses():
    assert addresses_of_node(None) == 33
    assert addresses_of_node(MACHINES["p5.48xlarge"]) == 33


def test_each_zone_that_is_named_has_the_first_place_that_names_it():
    """Of the cluster first, then of pools: who asks a cloud about it asks once."""
    pools = [pool(zones=["us-east-1b", "us-east-1c"]), pool("more", zones=["us-east-1c"])]
    own = {"zones": ["us-east-1a", "us-east-1b"]}
    assert configured_zones(spec_of(platform(pools, cloud="aws", cluster=own))) == {
        "us-east-1a": ("cluster", "zones", 0),
        "us-east-1b": ("cluster", "zones", 1),
        "us-east-1c": ("pools", 0, "zones", 1),
    }
    assert configured_zones(spec()) == {}
