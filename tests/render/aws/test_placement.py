"""Where nodes stand, out of whose capacity they come, and whose they are."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.nodes import karpenter_objects
from gpuyard.render.aws.launch import purchase_options
from gpuyard.render.aws.place import aws_tags
from gpuyard.render.cloud.graph import BLOCK
from gpuyard_core.names import OFFERING_TAG
from kit.clouds.aws import plan_on_aws
from kit.clouds.node_groups import GROUP, PLACEMENT, TEMPLATE, aws, graph_of
from kit.stacks import plan_of, platform, pool, team

ZONE = {"zones": ["us-east-1a"]}


def said(rung, **rest):
    """What the template of a pool's only group says of how its nodes are bought."""
    (one,) = [
        t
        for t in graph_of(aws([pool(capacity=[rung], **ZONE, **rest)])).resources_of_kind(TEMPLATE)
        if t.part == "train"
    ]
    about = ("capacityReservationSpecification", "instanceMarketOptions", "instanceType")
    return {key: one.inputs[key] for key in about if key in one.inputs}


def test_a_reservation_is_used_and_nothing_beside_it():
    assert said({"reserved": "cr-0a", "nodes": 4}) == {
        "capacityReservationSpecification": {
            "capacityReservationPreference": "capacity-reservations-only",
            "capacityReservationTarget": {"capacityReservationId": "cr-0a"},
        }
    }


def test_a_block_is_a_market_of_its_own():
    assert said({"block": "cr-0b", "nodes": 4}) == {
        "capacityReservationSpecification": {
            "capacityReservationPreference": "capacity-reservations-only",
            "capacityReservationTarget": {"capacityReservationId": "cr-0b"},
        },
        "instanceMarketOptions": {"marketType": "capacity-block"},
        "instanceType": "p5.48xlarge",
    }


BUYS = {
    "block": "cb-0b",
    "nodes": 4,
    "purchase": {"hours": 48, "starts": "2026-12-01", "usd": 8000},
}


def test_a_block_is_bought_by_its_offer_before_the_group_that_stands_in_it():
    graph = graph_of(aws([pool(capacity=[BUYS], **ZONE)]))
    (block,) = graph.resources_of_kind(BLOCK)
    assert block.name == "train-cb-0b"
    assert {k: block.inputs[k] for k in ("capacityBlockOfferingId", "instancePlatform")} == {
        "capacityBlockOfferingId": "cb-0b",
        "instancePlatform": "Linux/UNIX",
    }
    assert block.inputs["tags"][OFFERING_TAG] == "cb-0b"
    # Nothing gives it back: it is left where it is, and another offer is another block.
    assert (block.retain, block.delete_first, block.part) == (True, False, "train")
    # And nothing is paid before all is there that its nodes need.
    assert block.after == graph.resource("train-block-cb-0b").after
    template = graph.resource("train-block-cb-0b-template")
    target = template.inputs["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": UnresolvedOutput("train-cb-0b.id")}


def test_karpenter_finds_a_block_that_is_bought_by_its_tag():
    plan = plan_on_aws([pool(capacity=[BUYS], nodes="0..4", scaling="karpenter", **ZONE)])
    (block,) = aws_graph(plan).resources_of_kind(BLOCK)
    assert (block.part, "karpenter-identity" in block.after) == ("", True)
    (class_,) = [each for each in karpenter_objects(plan) if each["kind"] == "EC2NodeClass"]
    assert class_["spec"]["capacityReservationSelectorTerms"] == [{"tags": {OFFERING_TAG: "cb-0b"}}]


@pytest.mark.parametrize(("mode", "preference"), [("spot", "none"), ("on-demand", "open")])
def test_what_is_not_reserved_says_nothing_of_a_market(mode, preference):
    assert said(mode) == {
        "capacityReservationSpecification": {"capacityReservationPreference": preference}
    }


@pytest.mark.parametrize(
    "rung", [{"reserved": "cr-0a", "nodes": 4}, {"block": "cr-0b", "nodes": 4}]
)
def test_no_placement_group_stands_beside_a_reservation(rung):
    assert graph_of(aws([pool(capacity=[rung], **ZONE)])).resources_of_kind(PLACEMENT) == []


def test_nodes_that_talk_over_no_fabric_are_in_no_placement_group():
    assert graph_of(aws([pool(machine="g5.xlarge", **ZONE)])).resources_of_kind(PLACEMENT) == []


def test_a_pool_of_another_cloud_is_not_bought_here():
    other = plan_of(platform()).pools[0]
    with pytest.raises(ValueError, match="train has no capacity option on AWS"):
        purchase_options(other, other.capacity_options[0], None)


# ── tags ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_bill_names_the_teams_that_own_a_pool():
    raw = aws([pool(owners=["vision", "speech"])], teams=[team("vision"), team("speech")])
    tags = graph_of(raw).resource("train-on-demand").inputs["tags"]
    assert (tags["owner"], tags["cost-center"]) == ("vision speech", "lab")


def test_what_the_stack_file_says_of_tags_holds_in_any_spelling():
    plan = plan_of(aws(tags={"Owner": "ml", "cost_center": "42", "stage": "prod"}))
    assert aws_tags(plan) == {
        "Owner": "ml",
        "cost_center": "42",
        "gpuyard.dev/platform": "lab",
        "stage": "prod",
    }


def test_a_tag_of_ours_is_not_the_stack_files_to_change():
    plan = plan_of(aws(tags={"gpuyard.dev/platform": "other"}))
    assert aws_tags(plan)["gpuyard.dev/platform"] == "lab"


def test_all_that_can_have_tags_has_them():
    for each in graph_of(aws([pool(**ZONE)])).resources[1:]:
        if each.kind in {GROUP, TEMPLATE, PLACEMENT}:
            assert each.inputs["tags"]["gpuyard.dev/platform"] == "lab", each.name
