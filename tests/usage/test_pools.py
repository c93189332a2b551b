"""Forecasts by pool, and exports that belong to another platform."""

import pytest

from gpuyard_advisor.usage.fleet import forecast_pools, pool_of
from gpuyard_advisor.usage.forecast import Forecast, NotEnoughData, pool_capacities
from gpuyard_advisor.usage.hours import HourlyExport, HourlySeries
from gpuyard_core.errors import UsageError
from kit.stacks import cut_pool, plan_of, platform, pool

PLAN = plan_of(platform([pool(), cut_pool()]))


def export(*labels, weeks=3):
    hours = {h: 10.0 + h % 24 for h in range(weeks * 168)}
    return HourlyExport(tuple(HourlySeries((each,), hours) for each in labels), (), 0)


@pytest.mark.parametrize("label", ["pool", "gpuyard_dev_pool", "label_gpuyard_dev_pool"])
def test_the_pool_of_a_series(label):
    assert pool_of(((label, "train"),)) == "train"
    assert pool_of((("node", "a"),)) is None


def test_each_pool_of_the_plan_has_a_forecast_or_a_reason():
    result = forecast_pools(PLAN, export(("pool", "train"), ("pool", "x"), ("node", "a")))
    train, serve = result.pools
    assert isinstance(train.forecast, Forecast)
    assert train.saturation.usd_per_hour == pytest.approx(train.saturation.nodes * 55.04)
    assert serve.forecast == NotEnoughData("the export has no series of this pool")
    assert result.unused == ((("pool", "x"),), (("node", "a"),))


def test_a_short_series_has_no_saturation():
    (train, _) = forecast_pools(PLAN, export(("pool", "train"), weeks=1)).pools
    assert (type(train.forecast), train.saturation) == (NotEnoughData, None)


def test_several_series_of_a_pool_and_another_platform_are_refused():
    with pytest.raises(UsageError, match="several series for pool train"):
        forecast_pools(PLAN, export(("pool", "train"), ("gpuyard_dev_pool", "train")))
    with pytest.raises(UsageError, match="no series of the export has a label"):
        forecast_pools(PLAN, export(("pool", "x")))


def test_the_capacity_of_a_pool_is_its_maximum():
    assert pool_capacities(PLAN)["train"].gpus == 32
