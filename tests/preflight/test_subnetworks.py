"""How gcloud is asked for a subnetwork that a stack file names, and what else its answer can be."""

from gpuyard.preflight import gcp
from gpuyard.preflight.asking import NO_FORM, Answer
from gpuyard.preflight.wants import Ahead
from gpuyard.render.gcp.graph import gcp_graph
from preflight.test_account import on_gcp


def ahead(subnet, region="us-central1"):
    network = {"network": {"id": "shared", "subnets": {"private": [subnet]}}}
    plan = on_gcp(cluster=network, region=region)
    return Ahead(plan, gcp_graph(plan), "lab")


def words(subnet, **rest):
    asked = {each.name: each.words for each in gcp.gcp_questions(ahead(subnet, **rest))}
    return asked[f"subnet {subnet}"][5:-2]


def heard(answer):
    found = ahead("gpus")
    mine = [q for q in gcp.gcp_questions(found) if q.name == "subnet gpus"]
    return gcp.gcp_heard(found, mine, {"subnet gpus": answer})


def test_a_name_is_asked_for_in_the_region_and_a_path_as_it_is():
    assert words("gpus") == ("gpus", "--region=us-central1")
    assert words("gpus", region=None) == ("gpus",)
    path = "projects/host/regions/us-central1/subnetworks/gpus"
    assert words(path) == (path,)


def test_what_cannot_be_read_is_not_known():
    for answer, why in (
        (Answer(error="INTERNAL"), "INTERNAL"),
        (Answer(value={"name": "gpus"}), NO_FORM),
        (Answer(value=[]), NO_FORM),
        (Answer(why="silent"), "silent"),
    ):
        assert why in [each.why for each in heard(answer).unasked]


def test_one_of_the_given_network_is_said():
    link = "https://www.googleapis.com/compute/v1/projects/lab/global/networks/shared"
    assert "subnetwork gpus is of shared" in heard(Answer(value={"network": link})).said
