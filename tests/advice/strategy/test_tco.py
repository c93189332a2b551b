"""The cost of owned GPUs: hand-computed cases, and laws over all assumptions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_advisor.advice.strategy.answers import AdvisedCloud, OwnedHardware
from gpuyard_advisor.advice.strategy.tco import nearest_machine, owned_cost
from gpuyard_core.catalogue.gpus import GPUS
from kit.searches import examples

AWS = (AdvisedCloud.AWS, "us-east-1")


def owned(**changes):
    """Ten H100 at 30,000 $ each, with single assumptions: figures that can be computed by hand."""
    fields = {"gpu": "H100", "nodes": 5, "gpus_per_node": 2, "usd_per_gpu": 30_000}
    fields |= {"watts_per_gpu": 500, "utilisation_percent": 50, "pue": (1.5, 1.5)}
    fields |= {"usd_per_kwh": (0.1, 0.1), "operations_percent": (25, 25)}
    fields |= {"depreciation_years": (4, 4)}
    return OwnedHardware(**(fields | changes))


def test_each_part_of_the_cost_is_as_computed_by_hand():
    cost = owned_cost(owned(), *AWS)
    assert cost.gpus == 10
    assert cost.purchase_usd == 300_000
    assert cost.depreciation_usd == (75_000, 75_000)
    # 10 GPUs × 0.5 kW × 8,760 h × PUE 1.5 × 0.10 $/kWh
    assert cost.power_usd == pytest.approx((6_570, 6_570))
    assert cost.operations_usd == (75_000, 75_000)
    assert cost.total_usd == pytest.approx((156_570, 156_570))
    assert cost.opportunity_usd == pytest.approx((78_285, 78_285))
    assert cost.usd_per_gpu_hour == pytest.approx((1.78733, 1.78733), abs=1e-5)
    assert cost.usd_per_used_gpu_hour == pytest.approx((3.57466, 3.57466), abs=1e-5)


def test_the_break_even_with_on_demand_is_as_computed_by_hand():
    cost = owned_cost(owned(), *AWS)
    on_demand = cost.clouds[0]
    assert (cost.machine, cost.gpu, on_demand.option) == ("p5.4xlarge", "H100", "on-demand")
    assert on_demand.usd_per_gpu_hour == 6.88
    # 6.88 $ × 10 GPUs × 8,760 h × 50 %
    assert on_demand.usd_per_year == pytest.approx(301_344)
    assert on_demand.usd_per_used_gpu_hour == pytest.approx(6.88)
    # 1.78733 / 6.88
    assert on_demand.break_even_percent == pytest.approx((25.979, 25.979), abs=1e-3)
    # 300,000 $ / (301,344 - 6,570 - 75,000) $ a year × 12
    assert on_demand.break_even_months == pytest.approx((16.381, 16.381), abs=1e-3)


def test_a_commitment_is_paid_whether_used_or_not():
    (three_years,) = (
        each for each in owned_cost(owned(), *AWS).clouds if each.option.endswith("3 years")
    )
    assert three_years.usd_per_gpu_hour == 2.9722
    assert three_years.usd_per_used_gpu_hour == pytest.approx(5.9444)
    assert three_years.usd_per_year == pytest.approx(260_364.72)
    assert three_years.break_even_percent is None


def test_ways_to_buy_without_a_known_price_are_named():
    cost = owned_cost(owned(), *AWS)
    assert cost.unpriced == ("spot", "savings-plan 1 year", "savings-plan 3 years")


def test_the_low_end_has_all_assumptions_that_make_owning_cheap():
    cost = owned_cost(owned(depreciation_years=(3, 5), operations_percent=(20, 30)), *AWS)
    assert cost.depreciation_usd == (60_000, 100_000)
    assert cost.operations_usd == (60_000, 90_000)
    assert cost.total_usd == pytest.approx((126_570, 196_570))


def test_hardware_older_than_its_term_has_no_depreciation():
    assert owned_cost(owned(age_years=4), *AWS).depreciation_usd == (0, 0)
    terms = {"depreciation_years": (3, 5)}
    assert owned_cost(owned(age_years=4, **terms), *AWS).depreciation_usd == (0, 60_000)
    assert owned_cost(owned(age_years=2.9, **terms), *AWS).depreciation_usd == (60_000, 100_000)


def test_a_purchase_that_saves_nothing_is_never_paid_back():
    on_demand = owned_cost(owned(utilisation_percent=10), *AWS).clouds[0]
    assert on_demand.break_even_months == (None, None)


def test_the_nearest_machine_has_the_same_gpu_or_as_much_memory():
    cloud, region = AWS
    assert nearest_machine(GPUS["L40S"], cloud, region).name == "g6e.xlarge"
    # no cloud sells the A40 with 48 GiB
    other = nearest_machine(GPUS["A40"], cloud, region)
    assert other.gpu.name == "L40S"
    assert nearest_machine(GPUS["GB300"], cloud, region) is None
    assert nearest_machine(GPUS["A100-40"], AdvisedCloud.NONE, "").cloud == "aws"
    without = owned_cost(owned(gpu="GB300"), *AWS)
    assert (without.machine, without.clouds) == ("", ())


ranges = st.tuples(st.floats(0.05, 5), st.floats(0.05, 5)).map(lambda ends: tuple(sorted(ends)))
hardware = st.builds(
    OwnedHardware,
    gpu=st.sampled_from(["H100", "A100-40", "L4", "T4"]),
    nodes=st.integers(1, 100),
    gpus_per_node=st.integers(1, 8),
    usd_per_gpu=st.floats(100, 100_000),
    age_years=st.floats(0, 6),
    watts_per_gpu=st.floats(50, 1500),
    utilisation_percent=st.floats(1, 99),
    pue=ranges,
    usd_per_kwh=ranges,
    operations_percent=ranges,
    depreciation_years=ranges,
)


@given(hardware, st.floats(1, 100))
@settings(max_examples=examples(60), deadline=None)
def test_more_use_never_makes_a_used_hour_dearer(item, percent):
    low, high = sorted([item.utilisation_percent, percent])
    less, more = (
        owned_cost(item.model_copy(update={"utilisation_percent": each}), *AWS)
        for each in (low, high)
    )
    assert more.total_usd == less.total_usd
    assert more.usd_per_used_gpu_hour[1] <= less.usd_per_used_gpu_hour[1]
    assert more.opportunity_usd[1] <= less.opportunity_usd[1]
    for before, after in zip(less.clouds, more.clouds, strict=True):
        assert after.usd_per_year >= before.usd_per_year
        assert after.break_even_percent == before.break_even_percent
        for early, late in zip(after.break_even_months, before.break_even_months, strict=True):
            assert late is None or early <= late


@given(hardware)
@settings(max_examples=examples(60), deadline=None)
def test_at_the_break_even_owning_costs_as_much_as_the_cloud(item):
    cost = owned_cost(item, *AWS)
    for each in cost.clouds:
        for end, percent in enumerate(each.break_even_percent or ()):
            if not 0 < percent <= 100:
                continue
            there = owned_cost(item.model_copy(update={"utilisation_percent": percent}), *AWS)
            (same,) = (c for c in there.clouds if c.option == each.option)
            assert same.usd_per_year == pytest.approx(there.total_usd[end])


@given(hardware)
@settings(max_examples=examples(40), deadline=None)
def test_a_low_end_is_at_most_the_high_end_and_parts_add_up(item):
    cost = owned_cost(item, *AWS)
    pairs = (cost.depreciation_usd, cost.power_usd, cost.operations_usd, cost.total_usd)
    assert all(low <= high for low, high in pairs)
    for end in (0, 1):
        parts = cost.depreciation_usd[end] + cost.power_usd[end] + cost.operations_usd[end]
        assert cost.total_usd[end] == pytest.approx(parts)


def test_twice_the_servers_cost_twice_as_much():
    one, two = (owned_cost(owned(nodes=n), *AWS) for n in (3, 6))
    assert two.total_usd == pytest.approx(tuple(2 * each for each in one.total_usd))
    assert two.usd_per_gpu_hour == pytest.approx(one.usd_per_gpu_hour)
    assert two.clouds[0].break_even_percent == pytest.approx(one.clouds[0].break_even_percent)
