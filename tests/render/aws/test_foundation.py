"""What node groups rest on."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.place import EksNodeInputs

GROUND = EksNodeInputs(
    cluster=UnresolvedOutput("cluster.name"),
    endpoint=UnresolvedOutput("cluster.endpoint"),
    authority=UnresolvedOutput("cluster.certificateAuthority"),
    service_cidr="10.100.0.0/16",
    vpc=UnresolvedOutput("vpc.id"),
    subnets={zone: UnresolvedOutput(f"private-{zone}.id") for zone in ("us-east-1b", "us-east-1a")},
    node_role=UnresolvedOutput("node-role.arn"),
    security_groups=(UnresolvedOutput("nodes.id"),),
)


def test_nodes_without_a_zone_are_put_into_all_in_the_same_order_each_time() -> None:
    assert GROUND.subnets_in(()) == [
        UnresolvedOutput("private-us-east-1a.id"),
        UnresolvedOutput("private-us-east-1b.id"),
    ]


def test_nodes_with_zones_are_put_into_these() -> None:
    assert GROUND.subnets_in(("us-east-1b",)) == [UnresolvedOutput("private-us-east-1b.id")]


def test_a_zone_without_a_subnet_is_named():
    with pytest.raises(
        ValueError, match="no private subnet in us-east-1c; private subnets exist in"
    ) as e:
        GROUND.subnets_in(("us-east-1c", "us-east-1a"))
    assert str(e.value).endswith("us-east-1a, us-east-1b")
