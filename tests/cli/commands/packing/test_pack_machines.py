"""`gpuyard pack machines`: the cheapest machines for a stack's shapes, beside those the stack names."""

import json

import pytest

from gpuyard_advisor.advice.packing import machines
from kit.stacks import cut_pool, platform, pool, shape, shared_pool

LLM = shape("llm", pool="train", nodes=2, gpus_per_node=8)
NOTE = shape("note", pool="dev", per_pod={"shares": 1, "cpu": 4, "memory_gib": 16})
SPOT_NOTE = shape("note", pool="dev", per_pod={"shares": 1, "cpu": 2, "memory_gib": 16})
SPOT = platform([pool(), shared_pool(machine="g6.12xlarge")], shapes=[LLM, SPOT_NOTE])
ALL = platform([pool(), shared_pool()], shapes=[LLM, NOTE])


def packed(gpuyard, write, raw, *args, code=0):
    ended = gpuyard("pack", "machines", write(raw), *args)
    assert ended.code == code, ended.out + ended.err
    return ended


def document(gpuyard, write, raw, *args, code=0):
    return json.loads(packed(gpuyard, write, raw, "--format", "json", *args, code=code).out)


def flat(ended):
    return " ".join(ended.out.split())


def test_machines_nodes_money_and_what_the_stack_would_save(gpuyard, write):
    text = flat(packed(gpuyard, write, ALL))
    assert "2 shapes at once in aws, " in text
    assert "$/hour on-demand, optimal machine nodes $/hour pods per node" in text
    assert "p5.48xlarge 2 110.08 1 × llm" in text
    assert "The stack's own machines cost 114.68 $/hour, 3.62 more: 2 × p5.48xlarge, 1 ×" in text


def test_a_stack_that_names_the_cheapest_is_told_so(gpuyard, write):
    raw = platform([pool()], shapes=[LLM])
    assert "The stack's own machines cost the same." in packed(gpuyard, write, raw).out


def test_unknown_prices_are_listed_and_never_chosen(gpuyard, write):
    text = flat(packed(gpuyard, write, SPOT, "--capacity", "spot"))
    assert "The stack's own machines do not fit note at this capacity type." in text
    assert "Excluded would fit some of the pods machine why" in text
    assert "g6.12xlarge spot price unknown as of 2026-11-21" in text


def test_the_document_has_both_choices(gpuyard, write):
    found = document(gpuyard, write, ALL)
    assert (found["command"], found["cloud"], found["capacity"]) == ("pack", "aws", "on-demand")
    best, named = found["best"], found["named"]
    assert best["is_optimal"] is True
    assert best["usd_per_hour"] == best["bound_usd_per_hour"] < named["usd_per_hour"]
    assert best["machines"][0] == {
        "machine": "p5.48xlarge", "nodes": 2, "usd_per_hour": 110.08, "pods_on_each": {"llm": 1},
    }  # fmt: skip
    spot = document(gpuyard, write, SPOT, "--capacity", "spot")
    assert spot["named"]["no_machine_for"] == ["note"]
    assert spot["named"]["usd_per_hour"] is None
    assert spot["best"]["left_out"]["g6.12xlarge"] == "spot price unknown as of 2026-11-21"


def test_a_shape_that_nothing_on_offer_holds_is_refused(gpuyard, write):
    raw = platform(
        [pool(machine="p6e-gb200.36xlarge")],
        cloud="simulated",
        shapes=[shape("llm", pool="train", gpus_per_node=4)],
    )
    ended = packed(gpuyard, write, raw, code=3)
    assert "aws on-demand: no offered machine fits llm" in flat(ended)
    assert "p6e-gb200.36xlarge not sold on-demand, only block" in flat(ended)
    assert document(gpuyard, write, raw, code=3)["best"]["no_machine_for"] == ["llm"]


def test_what_is_not_proved_says_how_far_it_may_be(gpuyard, write, monkeypatch):
    monkeypatch.setattr(machines.MachinePacking, "is_optimal", property(lambda _: False))
    text = flat(packed(gpuyard, write, ALL))
    assert "at most 0.00% above the lower bound" in text


def test_a_refused_stack_is_refused_with_its_findings(gpuyard, write):
    wrong = platform([pool(machine="p5.48xlrge")], shapes=[LLM])
    ended = packed(gpuyard, write, wrong, code=3)
    assert "pool.machine_unknown" in ended.out
    assert "refused" in ended.err
    found = document(gpuyard, write, wrong, code=3)
    assert found["findings"][0]["id"] == "pool.machine_unknown"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (platform([pool()], shapes=[]), "has no shapes. Add `shapes`: the workloads that must be able to start."),
        (
            platform(
                [
                    pool(machine={"gpu": "H100", "gpus": 8, "cpu": 96, "memory_gib": 1024}),
                ],
                cloud="none",
                shapes=[LLM],
            ),
            "are of none; use machines of one cloud: aws or gcp.",
        ),
        (
            platform([pool(), cut_pool(machine="a2-highgpu-8g")], cloud="simulated", shapes=[
                LLM, shape("cut", pool="serve", per_pod={"slice": "3g.20gb"}),
            ]),
            "are of aws, gcp; use machines of one cloud",
        ),
    ],
)  # fmt: skip
def test_a_stack_without_one_cloud_of_machines_is_wrong_usage(gpuyard, write, raw, message):
    ended = packed(gpuyard, write, raw, code=2)
    assert message in ended.err
