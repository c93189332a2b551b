"""What a cloud is asked before anything is registered."""

from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.cloud.prerequisites import EC2_RESERVATION, GCE_RESERVATION
from gpuyard.render.gcp.graph import gcp_graph
from kit.every import every
from kit.stacks import plan_of, platform, pool

VPC = "vpc-0123456789abcdef0"
PRIVATE = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
ZONES, OFFERS = "getAvailabilityZones", "getInstanceTypeOfferings"
GOOGLES = {"machine": "a3-megagpu-8g"}


def asked(cloud, pools=None, **more):
    """Names of the functions, by the names of the questions."""
    first = GOOGLES if cloud == "gcp" else {}
    raw = platform(pools or [pool(**first)], cloud=cloud, **more)
    graph = {"aws": aws_graph, "gcp": gcp_graph}[cloud](plan_of(raw))
    return {each.name: each for each in graph.prerequisites}


def kinds(calls):
    return {name: each.kind.rpartition(":")[2] for name, each in calls.items()}


@every(
    ("cloud", "more", "found"),
    [
        ("aws", {}, {"asked-offers": OFFERS}),
        (
            "aws",
            {"pools": [pool(zones=["us-east-1a"])]},
            {"asked-zones": ZONES, "asked-offers": OFFERS},
        ),
        (
            "aws",
            {"cluster": {"zones": ["us-east-1a", "us-east-1b"]}},
            {"asked-zones": ZONES, "asked-offers": OFFERS},
        ),
        (
            "aws",
            {"cluster": {"network": {"id": VPC, "subnets": {"private": PRIVATE}}}},
            {"asked-offers": OFFERS, "asked-subnets": "getSubnets"},
        ),
        (
            "aws",
            {
                "cluster": {
                    "network": {"id": VPC, "tags": {"tier": "private"}},
                    "zones": ["us-east-1a", "us-east-1b"],
                }
            },
            {"asked-zones": ZONES, "asked-offers": OFFERS},
        ),
        ("gcp", {}, {}),
        (
            "gcp",
            {
                "pools": [pool(zones=["us-central1-a"], **GOOGLES)],
                "cluster": {"zones": ["us-central1-b", "us-central1-a"]},
            },
            {
                "asked-zones": "getZones",
                "asked-offers-us-central1-b": "getMachineTypes",
                "asked-offers-us-central1-a": "getMachineTypes",
            },
        ),
    ],
)
def test_only_what_is_named_is_asked_for(cloud, more, found):
    assert kinds(asked(cloud, **more)) == found


def test_each_reservation_is_asked_for_once_by_its_id_and_at_google_in_its_pool_s_zone():
    def rungs(*held):
        most = 4 * len(held)
        ladder = [{"reserved": each, "nodes": 4} for each in held]
        return {"nodes": f"0..{most}", "capacity": ladder}

    one, two = rungs("cr-0a", "cr-0b"), rungs("cr-0b")
    at = {"zones": ["us-east-1a"]}
    calls = asked("aws", [pool("one", **one, **at), pool("two", **two, **at)])
    found = {k: v for k, v in calls.items() if k.startswith("asked-reservation")}
    assert {k: (v.kind, v.args) for k, v in found.items()} == {
        f"asked-reservation-{each}": (EC2_RESERVATION, {"id": each}) for each in ("cr-0a", "cr-0b")
    }
    shared = "projects/capacity/reservations/h200/reservationBlocks/b-1"
    googles = {**GOOGLES, "zones": ["us-central1-a"]}
    found = asked("gcp", [pool(**rungs("held", shared), **googles)])
    args = {k: v.args for k, v in found.items() if v.kind == GCE_RESERVATION}
    assert args == {
        "asked-reservation-held-us-central1-a": {"name": "held", "zone": "us-central1-a"},
        f"asked-reservation-{shared}-us-central1-a": {
            "name": "h200",
            "zone": "us-central1-a",
            "project": "capacity",
        },
    }


def test_one_question_is_for_all_machines_and_one_for_all_subnets():
    given = {
        "network": {"id": VPC, "subnets": {"private": PRIVATE, "public": [PRIVATE[0][:-1] + "9"]}}
    }
    calls = asked("aws", [pool(), pool("more", machine="g6.48xlarge")], cluster=given)
    offers, subnets = calls["asked-offers"].args, calls["asked-subnets"].args
    assert offers["filters"] == [
        {"name": "instance-type", "values": ["g6.48xlarge", "p5.48xlarge"]}
    ]
    assert [each["name"] for each in subnets["filters"]] == ["vpc-id", "subnet-id"]
    assert subnets["filters"][0]["values"] == [VPC]
    assert len(subnets["filters"][1]["values"]) == 3


def test_at_google_each_named_zone_is_asked_for_the_machines_and_the_region_for_its_zones():
    zones = ["us-central1-a", "us-central1-c"]
    calls = asked("gcp", [pool(zones=zones, **GOOGLES)])
    assert [each.args.get("zone") for each in calls.values()] == [None, *zones]
    assert calls["asked-offers-us-central1-a"].args["filter"] == 'name = "a3-megagpu-8g"'
    assert calls["asked-zones"].args == {"region": "us-central1"}
