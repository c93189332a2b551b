"""Prices by region: what is listed, what is not, and that two regions are never mixed."""

from dataclasses import replace

import pytest

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.purchasing import REGIONS, ZONES
from gpuyard_core.catalogue.regions import listed_regions, prices_in_region, region_names

HOME = {"aws": "us-east-1", "gcp": "us-central1"}


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_every_listed_region_is_one_of_the_cloud_and_none_is_the_home_of_the_rows(cloud):
    regions = listed_regions(cloud)
    assert len(regions) > 20
    assert HOME[cloud] not in regions
    assert [r for r in regions if not REGIONS[cloud].pattern.fullmatch(r)] == []


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_every_listed_price_is_of_a_machine_in_the_catalogue_and_of_its_size(cloud):
    """Nowhere is a machine three times as dear as at home, nor a third of it: a slip would be."""
    seen = 0
    for region in listed_regions(cloud):
        for machine in MACHINES.values():
            there = prices_in_region(machine, region)
            if machine.cloud == cloud and there.region == region:
                seen += 1
                assert 1 / 3 < there.on_demand.low / machine.on_demand.low < 3, (
                    machine.name,
                    region,
                )
                assert there.spot is None or there.spot.high <= there.on_demand.high * 1.001
    assert seen > 500


@pytest.mark.parametrize(
    ("name", "region", "usd", "spot"),
    [
        ("p5.48xlarge", "us-west-2", 55.04, None),
        ("p5.48xlarge", "ap-northeast-1", 68.8, None),
        ("p4d.24xlarge", "eu-central-1", 27.433, None),
        ("g2-standard-4", "asia-east1", 0.818441, 0.386852),
    ],
)
def test_a_machine_has_the_prices_of_the_region(name, region, usd, spot):
    there = prices_in_region(MACHINES[name], region)
    assert (there.region, there.on_demand.low, there.on_demand.high) == (region, usd, usd)
    assert (there.spot.low if there.spot else None) == spot
    assert there.vcpus == MACHINES[name].vcpus


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("p5.48xlarge", None),
        ("p5.48xlarge", "us-east-1"),
        ("p5.48xlarge", "eu-central-1"),
        ("m7i.xlarge", "eu-central-1"),
        ("a3-megagpu-8g", "europe-west4"),
    ],
)
def test_where_no_price_is_listed_it_keeps_its_own_with_the_name_of_their_region(name, region):
    assert prices_in_region(MACHINES[name], region) is MACHINES[name]


def test_a_cloud_without_a_list_has_the_prices_of_its_machines_in_every_region():
    machine = replace(MACHINES["p5.48xlarge"], cloud="toy", region="toy-1")
    assert prices_in_region(machine, "toy-2") is machine


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_region_of_the_example_of_a_zone_is_the_example_of_a_region(cloud):
    zone = ZONES[cloud].pattern.fullmatch(ZONES[cloud].example)
    assert zone["region"] == REGIONS[cloud].example


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_every_region_has_the_form_of_one_and_those_with_prices_are_among_them(cloud):
    names = region_names(cloud)
    assert names >= {HOME[cloud], *listed_regions(cloud)}
    assert [n for n in names if not REGIONS[cloud].pattern.fullmatch(n)] == []
