"""`gpuyard offers`: the machines that fit, ranked, with what the rank is made of."""

import json

import pytest

from gpuyard.plan.money.prices import node_price
from gpuyard_core.catalogue.machines import MACHINES, Capacity


def flat(ended):
    return " ".join(ended.out.split())


def document(gpuyard, *args):
    ended = gpuyard("offers", *args, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


@pytest.mark.parametrize("spelling", ["H200", "h200-141gb", "NVIDIA-H200", "NVIDIA H200"])
def test_a_gpu_is_known_by_any_usual_name(gpuyard, spelling):
    assert {o["gpu"] for o in document(gpuyard, "--gpu", spelling)["offers"]} == {"H200"}


def test_an_unknown_gpu_has_a_nearest_spelling(gpuyard):
    ended = gpuyard("offers", "--gpu", "H1000")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("gpuyard: no GPU 'H1000' in the catalogue. Known: T4, ")
    assert ended.err.endswith(" Did you mean H100?\n")
    assert "Did you mean" not in gpuyard("offers", "--gpu", "\x1b[31m").err
    assert "\x1b" not in gpuyard("offers", "--gpu", "\x1b[31m").err


@pytest.mark.parametrize(
    "args",
    [
        ("--cloud", "azure"),
        ("--capacity", "lease"),
        ("--workload", "fun"),
        ("--memory-gib", "0"),
        ("--memory-gib", "many"),
        ("--gpus", "-1"),
        ("extra",),
    ],
)
def test_wrong_usage_is_one_sentence(gpuyard, args):
    ended = gpuyard("offers", *args)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("gpuyard: ")
    assert ended.err.endswith(". See `gpuyard offers --help`.\n")


def test_where_no_gpu_has_so_much_memory_the_largest_is_named(gpuyard):
    text = flat(
        gpuyard("offers", "--memory-gib", "500", "--cloud", "aws", "--capacity", "on-demand")
    )
    assert text.endswith(
        "nearest without --memory-gib: the largest is p6-b300.48xlarge in aws (8 × B300 of 270 GiB, sold"
        " block, on-demand, reserved, spot) at 142.42 $/hour on-demand, and 64 more"
    )


def test_an_offer_shows_price_score_parts_and_sources(gpuyard):
    text = flat(gpuyard("offers", "--gpu", "H100", "--workload", "training", "--cloud", "aws"))
    assert "training 2 of 141 machines fit --gpu H100 --cloud aws" in text
    assert "score (maximum 100) = memory 30 + fabric 40 + nvlink 30" in text
    assert "1 p5.48xlarge 55.04 on-demand 78.7 11.6 400.0 900.0" in text
    assert "8 × H100 80 GiB 16.95-18.73 spot +8.7 +40.0 +30.0" in text
    assert "prices apply to us-east-1 (aws); other regions differ" in text
    assert "retrieved on 2026-11-21" in text


def test_an_unknown_price_is_last_and_never_nothing(gpuyard):
    text = flat(gpuyard("offers", "--gpu", "H200"))
    assert text.index("a3-ultragpu-8g") < text.index(
        "p5e.48xlarge 8 × H200 on-demand unknown as of 2026-11-21"
    )
    assert " 0.00" not in text
    last = document(gpuyard, "--gpu", "H200")["offers"][-1]
    assert (last["machine"], last["usd_per_hour"], last["score"]) == ("p5e.48xlarge", None, None)
    assert (last["unknown_since"], last["rank"]) == ("2026-11-21", 4)


def test_a_capacity_block_costs_in_an_offer_what_it_costs_in_a_bill(gpuyard):
    offers = document(gpuyard, "--capacity", "block", "--gpu", "H100", "--cloud", "aws")["offers"]
    found = {o["machine"]: o["usd_per_hour"] for o in offers}
    billed = node_price(None, MACHINES["p5.48xlarge"], Capacity.BLOCK)
    assert found["p5.48xlarge"] == {"low": billed.low, "high": billed.high}


def test_only_unknown_prices_are_still_an_answer(gpuyard):
    ended = gpuyard("offers", "--capacity", "flex-start", "--gpu", "H200")
    assert ended.code == 0
    assert "a3-ultragpu-8g * 8 × H200 flex-start unknown as of 2026-11-21" in flat(ended)
    assert "score of 100" not in ended.out


def test_spot_is_a_range_and_ranks_by_its_high_end(gpuyard):
    text = flat(gpuyard("offers", "--capacity", "spot", "--gpu", "H100", "--cloud", "aws"))
    assert "1 p5.48xlarge 16.95-18.73 spot 85.4 34.2" in text


def test_facts_that_nobody_verified_are_marked(gpuyard):
    text = flat(gpuyard("offers", "--gpu", "B300"))
    assert "p6-b300.48xlarge *" in text
    assert "* not verified: GPU" in text
    assert document(gpuyard, "--gpu", "B300")["offers"][0]["unverified"] == ["GPU"]
    assert "*" not in gpuyard("offers", "--gpu", "H100", "--cloud", "aws").out


def test_a_long_answer_is_cut_in_text_and_whole_in_a_document(gpuyard):
    assert "… and 129 more; --format json lists all." in gpuyard("offers").out
    assert len(document(gpuyard)["offers"]) == 141
    assert "more;" not in gpuyard("offers", "--gpu", "H100").out


def test_a_part_of_a_gpu_and_an_unknown_network_are_said(gpuyard):
    text = flat(gpuyard("offers", "--gpu", "RTX6000", "--cloud", "gcp", "--workload", "training"))
    assert "1/8 × RTX6000 96 GiB" in text
    assert "unknown" in text
    assert "TCP only one GPU" in text


def test_nothing_found_says_what_each_condition_leaves_and_what_is_nearest(gpuyard):
    ended = gpuyard("offers", "--gpu", "H200", "--cloud", "gcp", "--capacity", "on-demand")
    assert (ended.code, ended.err) == (0, "")
    text = flat(ended)
    assert (
        "None of 141 machines in the catalogue fits --gpu H200 --cloud gcp --capacity on-demand."
        in text
    )
    assert "--gpu H200 4 --cloud gcp 75 --capacity on-demand 132" in text
    assert (
        "nearest without --capacity: a3-ultragpu-8g in gcp (8 × H200, sold block, flex-start, reserved, spot)"
        " at 86.76 $/hour reserved" in text
    )
    assert "nearest without --cloud: p5en.48xlarge in aws" in text
    found = document(gpuyard, "--gpu", "H200", "--cloud", "gcp", "--capacity", "on-demand")
    assert found["offers"] == []
    assert [n["without"] for n in found["nearest"]] == [["gpu"], ["cloud"], ["capacity"]]


def test_the_nearest_may_have_an_unknown_price(gpuyard):
    text = flat(gpuyard("offers", "--gpu", "GB300", "--gpus", "8"))
    assert (
        "without --gpus: a4x-maxgpu-4g-metal in gcp (4 × GB300, sold reserved), price unknown as of"
        in text
    )


def test_a_document_has_the_formula_and_the_sources(gpuyard):
    found = document(gpuyard, "--workload", "inference", "--gpu", "L4", "--gpus", "8")
    assert (found["version"], found["command"], found["workload"]) == (1, "offers", "inference")
    assert found["asked"] == {"gpu": "L4", "gpus": "8"}
    assert [(m["name"], m["most"]) for m in found["score"]] == [("memory", 60), ("units", 40)]
    offer = found["offers"][0]
    assert offer["machine"] == "g2-standard-96"
    assert offer["usd_per_hour"] == {"low": 8.003, "high": 8.003}
    assert offer["spot_usd_per_hour"] == {"low": 4.499, "high": 4.499}
    assert sum(p["points"] for p in offer["parts"]) == pytest.approx(offer["score"])
    assert all(s["checked_on"] == "2026-11-21" for s in offer["sources"])
