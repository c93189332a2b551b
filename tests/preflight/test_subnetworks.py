"""How gcloud is asked for a subnetwork that a stack file names, and what else its answer can be."""

from gpuyard.preflight import gcp
from gpuyard.preflight.probes import UNEXPECTED_FORMAT, ProbeAnswer
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.gcp.graph import gcp_graph
from preflight.test_account import on_gcp


def ahead(subnet, region="us-central1"):
    network = {"network": {"id": "shared", "subnets": {"private": [subnet]}}}
    plan = on_gcp(cluster=network, region=region)
    return PlannedAccount(plan, gcp_graph(plan), "lab")


def words(subnet, **rest):
    asked = {each.name: each.words for each in gcp.gcp_probes(ahead(subnet, **rest))}
    return asked[f"subnet {subnet}"][5:-2]


def heard(answer):
    found = ahead("gpus")
    mine = [q for q in gcp.gcp_probes(found) if q.name == "subnet gpus"]
    return gcp.gcp_findings(found, mine, {"subnet gpus": answer})


def test_a_name_is_asked_for_in_the_region_and_a_path_as_it_is():
    assert words("gpus") == ("gpus", "--region=us-central1")
    assert words("gpus", region=None) == ("gpus",)
    path = "projects/host/regions/us-central1/subnetworks/gpus"
    assert words(path) == (path,)


def test_what_cannot_be_read_is_not_known():
    for answer, why in (
        (ProbeAnswer(error="INTERNAL"), "INTERNAL"),
        (ProbeAnswer(value={"name": "gpus"}), UNEXPECTED_FORMAT),
        (ProbeAnswer(value=[]), UNEXPECTED_FORMAT),
        (ProbeAnswer(failure_reason="silent"), "silent"),
    ):
        assert why in [each.reason for each in heard(answer).skipped]


def test_one_of_the_given_network_is_said():
    link = "https://www.googleapis.com/compute/v1/projects/lab/global/networks/shared"
    assert (
        "subnetwork gpus belongs to shared" in heard(ProbeAnswer(value={"network": link})).messages
    )
