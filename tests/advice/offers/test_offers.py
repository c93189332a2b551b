"""Offers: what fits a wish, ranked by documented scores, with the reasons."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_advisor.advice.offers.offers import (
    MEASURES,
    OfferPurpose,
    OfferRequest,
    max_isolated_pods,
    offers,
    parts_of,
    price_of,
    whole_gpus,
)
from gpuyard_core.catalogue.fabric import GPUDIRECT, direct_fabric
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.machines import MACHINES, Capacity

GPU_MACHINES = [m for m in MACHINES.values() if m.is_gpu_machine]

WISHES = st.builds(
    OfferRequest,
    workload=st.sampled_from(OfferPurpose),
    gpu=st.none() | st.sampled_from(list(GPUS.values())),
    memory_gib=st.none() | st.integers(1, 300),
    cloud=st.none() | st.sampled_from(["aws", "gcp"]),
    capacity=st.none() | st.sampled_from(Capacity),
    gpus=st.none() | st.integers(1, 20),
)


def names(wish):
    return [o.machine.name for o in offers(wish).offers]


def fits(machine, wish):
    """The conditions again, in other words than the code's."""
    return (
        (wish.gpu is None or machine.gpu.name == wish.gpu.name)
        and (
            wish.memory_gib is None
            or machine.gpu.memory_gib * machine.gpu_fraction >= wish.memory_gib
        )
        and wish.cloud in {None, machine.cloud}
        and (wish.capacity is None or wish.capacity in machine.sold)
        and (wish.gpus is None or machine.gpus * machine.gpu_fraction >= wish.gpus)
    )


@given(WISHES)
def test_offers_are_exactly_the_machines_that_fit_best_first(wish):
    found = offers(wish)
    assert sorted(names(wish)) == sorted(m.name for m in GPU_MACHINES if fits(m, wish))
    scores = [o.score for o in found.offers]
    known = [s for s in scores if s is not None]
    assert known == sorted(known, reverse=True)
    assert scores[len(known) :] == [None] * (len(scores) - len(known))
    assert found == offers(wish)


@given(WISHES)
def test_a_score_is_the_sum_of_its_parts_and_an_unknown_price_has_none(wish):
    for offer in offers(wish).offers:
        if offer.price is None:
            assert (offer.score, offer.parts) == (None, ())
            assert offer.unknown_since == offer.machine.source.checked_on
        else:
            assert offer.price.low > 0
            assert offer.unknown_since is None
            assert offer.score == pytest.approx(sum(p.points for p in offer.parts))
            assert 0 <= offer.score <= 100
            assert all(0 <= p.points <= p.most for p in offer.parts)


@given(WISHES)
def test_a_score_does_not_depend_on_what_else_is_asked(wish):
    alone = {
        o.machine.name: o
        for o in offers(OfferRequest(workload=wish.workload, capacity=wish.capacity)).offers
    }
    for offer in offers(wish).offers:
        assert offer == alone[offer.machine.name]


@given(WISHES)
def test_when_nothing_fits_the_fewest_conditions_are_given_up(wish):
    found = offers(wish)
    if found.offers:
        assert found.relaxed_offers == ()
        return
    assert found.relaxed_offers
    assert len({len(n.dropped_condition) for n in found.relaxed_offers}) == 1
    for near in found.relaxed_offers:
        fields = {name.replace("-", "_"): None for name in near.dropped_condition}
        left = offers(replace(wish, **fields))
        assert near.count == len(left.offers)
        if not {"memory-gib", "gpus"} & {*near.dropped_condition}:
            assert near.best == left.offers[0]


def test_without_a_least_size_the_largest_is_the_nearest():
    [near] = offers(OfferRequest(memory_gib=500)).relaxed_offers
    assert near.dropped_condition == ("memory-gib",)
    assert near.best.gpu.memory_gib == max(m.gpu.memory_gib for m in GPU_MACHINES)
    [near] = offers(OfferRequest(gpus=1000)).relaxed_offers
    assert near.best.machine.gpus == max(m.gpus for m in GPU_MACHINES)


def test_the_points_of_every_workload_are_a_hundred():
    for measures in MEASURES.values():
        assert sum(m.most for m in measures) == 100


def test_training_prefers_fabric_and_nvlink():
    ranked = names(OfferRequest(workload=OfferPurpose.TRAINING))
    assert ranked[0] == "p5en.48xlarge"
    assert set(ranked[:5]) == {
        "p5en.48xlarge", "p6e-gb200.36xlarge", "a3-ultragpu-8g", "p6-b200.48xlarge", "p6-b300.48xlarge",
    }  # fmt: skip


def test_inference_prefers_small_units():
    ranked = names(OfferRequest(workload=OfferPurpose.INFERENCE))
    assert ranked.index("g6f.large") < ranked.index("g6.2xlarge") < ranked.index("p5.48xlarge")


def test_general_is_memory_for_money():
    (part,) = offers(OfferRequest(gpu=GPUS["H200"])).offers[0].parts
    assert (part.name, part.unit, part.note) == ("memory", "GiB/$", "")
    assert part.figure == pytest.approx(8 * 141 / 63.296)
    assert part.points == pytest.approx(100 * part.figure / 40)


@pytest.mark.parametrize(
    ("machine", "name", "note", "points"),
    [
        ("g6.48xlarge", "fabric", "", 5.0),
        ("g6.xlarge", "fabric", "TCP only", 0.0),
        ("a2-highgpu-8g", "fabric", "TCP only", 0.0),
        ("g4-standard-6", "fabric", "unknown", 0.0),
        ("p5.48xlarge", "fabric", "", 40.0),
        ("p6-b300.48xlarge", "fabric", "", 40.0),
        ("p5.4xlarge", "nvlink", "one GPU", 0.0),
        ("p5.48xlarge", "nvlink", "", 30.0),
        ("g6.48xlarge", "nvlink", "", 0.0),
    ],
)
def test_a_part_of_training_says_why_it_gives_nothing(machine, name, note, points):
    row = MACHINES[machine]
    part = next(p for p in parts_of(row, row.gpu, 10.0, OfferPurpose.TRAINING) if p.name == name)
    if machine == "g6.48xlarge" and name == "fabric":
        points = 100 / 8 / 400 * 40
    assert (part.note, part.points) == (note, pytest.approx(points))


@pytest.mark.parametrize(
    ("machine", "count"),
    [
        ("p4d.24xlarge", 56),
        ("g7e.2xlarge", 4),
        ("g4-standard-6", 1),
        ("g6.12xlarge", 4),
        ("g6f.large", 1),
    ],
)
def test_units_are_slices_where_a_gpu_can_be_cut(machine, count):
    assert max_isolated_pods(MACHINES[machine], MACHINES[machine].gpu) == count


def test_a_part_of_a_gpu_is_no_whole_gpu():
    assert whole_gpus(MACHINES["g6f.large"]) == 0.125
    assert "g6f.large" not in names(OfferRequest(gpus=1))
    assert "g6f.large" not in names(OfferRequest(memory_gib=4))
    assert "g6f.large" in names(OfferRequest(memory_gib=3))


@pytest.mark.parametrize(
    ("machine", "capacity", "usd"),
    [
        ("p5.48xlarge", Capacity.ON_DEMAND, (55.04, 55.04)),
        ("p5.48xlarge", Capacity.RESERVED, (55.04, 55.04)),
        ("p5.48xlarge", Capacity.SPOT, (16.95, 18.73)),
        ("p5.48xlarge", Capacity.BLOCK, (41.528, 41.528)),
        ("g6.xlarge", Capacity.BLOCK, None),
        ("a3-ultragpu-8g", Capacity.FLEX_START, None),
        ("p5e.48xlarge", Capacity.ON_DEMAND, None),
    ],
)
def test_a_price_belongs_to_a_way_of_buying(machine, capacity, usd):
    price = price_of(MACHINES[machine], capacity)
    assert (price and (price.low, price.high)) == usd


def test_a_spot_price_ranks_by_its_dearest_zone():
    (offer, *_) = offers(
        OfferRequest(gpu=GPUS["A100-80"], capacity=Capacity.SPOT, cloud="aws")
    ).offers
    assert offer.parts[0].figure == pytest.approx(640 / 20.13)


def test_without_a_wish_the_steadiest_way_is_priced():
    found = {o.machine.name: o.capacity for o in offers(OfferRequest()).offers}
    assert found["p5.48xlarge"] is Capacity.ON_DEMAND
    assert found["a3-ultragpu-8g"] is Capacity.RESERVED
    assert found["p6e-gb200.36xlarge"] is Capacity.BLOCK


def test_facts_that_nobody_verified_are_named():
    def unverified(name, workload=OfferPurpose.GENERAL):
        found = offers(OfferRequest(workload=workload)).offers
        return next(o.unverified for o in found if o.machine.name == name)

    assert unverified("p5.48xlarge") == ()
    assert unverified("p6-b300.48xlarge") == ("GPU",)
    assert unverified("a3-ultragpu-8g") == ("machine", "price")
    assert unverified("a3-ultragpu-8g", OfferPurpose.INFERENCE) == (
        "machine",
        "price",
        "MIG slices",
    )


def test_a_direct_fabric_has_a_name_and_a_source():
    assert direct_fabric(MACHINES["p5.48xlarge"]).name == "EFA"
    assert direct_fabric(MACHINES["a3-megagpu-8g"]).name == "GPUDirect-TCPXO"
    assert direct_fabric(MACHINES["a2-highgpu-8g"]) is None
    assert set(GPUDIRECT) <= set(MACHINES)
    assert all(f.source.checked_on for f in GPUDIRECT.values())


def test_without_any_machine_there_is_no_nearest():
    assert offers(OfferRequest(cloud="aws"), {}).relaxed_offers == ()
