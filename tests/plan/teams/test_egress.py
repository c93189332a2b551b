"""Where pods of a team may send."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.plan.records import EgressNetwork
from gpuyard_core.catalogue.kubernetes.addresses import METADATA
from kit.stacks import only, plan_of, platform, team

IPV4, EC2_IPV6, GCE_IPV6, AZURE, ECS = METADATA


def reach(team_cidrs=(), common=None, **rest):
    mine = team(guarantee={"train": 8}, egress_cidrs=list(team_cidrs))
    admission = {"admission": {"egress_cidrs": list(common)}} if common is not None else {}
    return plan_of(platform(teams=[mine], **admission, **rest)).team("vision").egress


def test_a_team_reaches_nothing_outside_by_default():
    assert reach() == ()


def test_what_admission_says_holds_for_teams_that_say_nothing():
    assert reach(common=["10.0.0.0/8"]) == (EgressNetwork("10.0.0.0/8"),)


def test_a_teams_own_networks_stand_for_the_common_ones():
    assert reach(["192.168.0.0/16"], common=["10.0.0.0/8"]) == (EgressNetwork("192.168.0.0/16"),)


def test_order_and_repetition_say_nothing():
    some = ["2001:db8::/32", "10.0.0.0/8", "9.0.0.0/8", "10.0.0.0/16"]
    assert reach(some) == reach([*reversed(some), "9.0.0.0/8"])
    assert [r.cidr for r in reach(some)] == ["9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/16", some[0]]


@pytest.mark.parametrize(
    ("cidr", "without"),
    [
        ("0.0.0.0/0", (IPV4, AZURE, ECS)),
        ("169.254.0.0/16", (IPV4, ECS)),
        ("169.254.169.254/31", (IPV4,)),
        ("169.254.170.23/32", ()),
        ("10.0.0.0/8", ()),
        ("::/0", (EC2_IPV6, GCE_IPV6)),
        ("fd00:ec2::/32", (EC2_IPV6,)),
        ("fd20::/16", (GCE_IPV6,)),
        ("2001:db8::/32", ()),
    ],
)
def test_the_metadata_service_is_left_out_of_every_network(cidr, without):
    assert reach([cidr]) == (EgressNetwork(cidr, without),)


NETWORKS = st.builds(
    lambda address, bits: str(ip_network((address, bits), strict=False)),
    st.one_of(st.ip_addresses(v=4), st.just(ip_address("169.254.169.254"))),
    st.integers(0, 31),
)


@given(st.lists(NETWORKS, min_size=1, max_size=6, unique=True))
def test_no_network_reaches_the_metadata_service(cidrs):
    service = ip_address("169.254.169.254")
    for one in reach(cidrs):
        allowed = service in ip_network(one.cidr)
        assert allowed == any(service in ip_network(hole) for hole in one.without)


def test_several_slips_are_one_finding_with_what_is_left():
    mine = team(guarantee={"train": 8}, egress_cidrs=[IPV4, "10.0.0.0/8", GCE_IPV6])
    found = only(platform(teams=[mine]))
    assert found.given == f"{IPV4}, {GCE_IPV6}"
    assert found.fix.value == ["10.0.0.0/8"]


@pytest.mark.parametrize(
    ("cloud", "servers"),
    [
        ("none", ("169.254.20.10/32",)),
        ("aws", ("169.254.20.10/32",)),
        ("gcp", ("169.254.20.10/32", "169.254.169.254/32")),
    ],
)
def test_names_are_also_asked_of_a_cache_on_the_node(cloud, servers):
    machine = {"gcp": "a2-highgpu-8g"}.get(cloud, "p5.48xlarge")
    pools = [{"name": "train", "machine": machine, "nodes": 4}]
    made = plan_of(platform(pools, [team(guarantee={"train": 8})], cloud=cloud))
    assert made.team("vision").name_servers == servers
