"""Answers that come before anything is registered, and what is said of them."""

from gpuyard.preflight.prerequisites import prerequisite_findings
from kit.every import every
from kit.stacks import plan_of, platform, pool

VPC = "vpc-0123456789abcdef0"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
GIVEN = {"cluster": {"network": {"id": VPC, "subnets": {"private": SUBNETS}}}}
AWS_ZONES = {"asked-zones": {"names": ["us-east-1a", "us-east-1b"]}}
GCP_ZONES = {"asked-zones": {"names": ["us-central1-a"]}}
HERE, ELSEWHERE = {"zones": ["us-east-1a"]}, {"zones": ["us-east-1z"]}
GOOGLES = {"machine": "a3-megagpu-8g"}
IN_A = {**GOOGLES, "zones": ["us-central1-a"]}


def sold(*zones, machine="p5.48xlarge"):
    return {"asked-offers": {"instanceTypes": [machine] * len(zones), "locations": list(zones)}}


def at_google(zone, *machines):
    return {f"asked-offers-{zone}": {"machineTypes": [{"name": each} for each in machines]}}


CASES = {
    "zones that are there and sell it": ("aws", HERE, {}, {**AWS_ZONES, **sold("us-east-1a")}, []),
    "a zone of a pool that does not exist": (
        *("aws", ELSEWHERE, {}, {**AWS_ZONES, **sold("us-east-1a")}),
        [("live.zone", "pools[0].zones[0]", "us-east-1 has no zone us-east-1z")],
    ),
    "a zone of the cluster that does not exist": (
        *("aws", {}, {"cluster": {"zones": ["us-east-1a", "us-east-1z"]}}),
        *({**AWS_ZONES, **sold("us-east-1a")},),
        [("live.zone", "cluster.zones[1]", "the region has no zone us-east-1z")],
    ),
    "a zone without a control plane": (
        *("aws", {}, {"cluster": {"zones": ["us-east-1a", "us-east-1b"]}}),
        {
            "asked-zones": {**AWS_ZONES["asked-zones"], "zoneIds": ["use1-az1", "use1-az3"]},
            **sold("us-east-1a"),
        },
        [
            (
                *("live.zone", "cluster.zones[1]"),
                "EKS offers no control plane in us-east-1b, which is use1-az3 in this account",
            )
        ],
    ),
    "a zone that does not sell the machine": (
        *("aws", HERE, {}, {**AWS_ZONES, **sold("us-east-1b")}),
        [("live.offering", "pools[0].zones", "p5.48xlarge is not offered in us-east-1a")],
    ),
    "zones of the cluster, none of which sells the machine": (
        *("aws", {}, {"cluster": {"zones": ["us-east-1a", "us-east-1b"]}}),
        *({**AWS_ZONES, **sold("us-east-1c")},),
        [
            (
                "live.offering",
                "cluster.zones",
                "p5.48xlarge is not offered in us-east-1a, us-east-1b",
            )
        ],
    ),
    "zones of the cluster, one of which sells it": (
        *("aws", {}, {"cluster": {"zones": ["us-east-1a", "us-east-1b"]}}),
        *({**AWS_ZONES, **sold("us-east-1b", "us-east-1c")}, []),
    ),
    "a region that does not sell it": (
        *("aws", {}, {}, sold()),
        [("live.offering", "pools[0].machine", "p5.48xlarge is not offered in the region")],
    ),
    "subnets of the network": ("aws", {}, GIVEN, {"asked-subnets": {"ids": SUBNETS}}, []),
    "a subnet of another network": (
        *("aws", {}, GIVEN, {"asked-subnets": {"ids": SUBNETS[1:]}}),
        [
            (
                "live.subnet",
                "cluster.network.subnets.private[0]",
                f"subnet {SUBNETS[0]} does not exist in {VPC}",
            )
        ],
    ),
    "nobody answers": ("aws", HERE, GIVEN, {}, []),
    "Google's zone sells it": (
        *("gcp", IN_A, {}, {**GCP_ZONES, **at_google("us-central1-a", "a3-megagpu-8g")}, []),
    ),
    "Google's zone does not": (
        *("gcp", IN_A, {}, {**GCP_ZONES, **at_google("us-central1-a")}),
        [("live.offering", "pools[0].zones[0]", "a3-megagpu-8g is not offered in us-central1-a")],
    ),
    "Google has no such zone": (
        *("gcp", {**GOOGLES, "zones": ["us-central1-z"]}, {}, GCP_ZONES),
        [("live.zone", "pools[0].zones[0]", "us-central1 has no zone us-central1-z")],
    ),
    "a pool of Google's that may start anywhere": (
        *("gcp", GOOGLES, {"cluster": {"zones": ["us-central1-a"]}}),
        *({**GCP_ZONES, **at_google("us-central1-a")}, []),
    ),
    "a zone of Google's that does not answer": ("gcp", IN_A, {}, GCP_ZONES, []),
}


@every("case", CASES)
def test_what_is_named_and_not_there_is_refused_with_its_place(case):
    cloud, of_pool, more, told, said = CASES[case]
    plan = plan_of(platform([pool(**of_pool)], cloud=cloud, **more))
    found = prerequisite_findings(plan, told)
    assert [(each.id, each.where, each.problem) for each in found] == said
    assert all(each.severity.value == "error" for each in found)
