"""The fee of the cluster: on whose bill it is, how much of it in which case, and whose part it is."""

from datetime import date

import pytest

from gpuyard.plan import plan
from gpuyard.plan.money.bill_changes import pool_changes
from gpuyard.plan.records import COST_CASES
from kit.stacks import ids, plan_of, platform, pool, spec_of, team

NONE = [pool(nodes=0)]
EXISTING = {"cluster": {"existing": "blue"}}


def bill(pools=None, **rest):
    return plan_of(platform(pools, **rest)).bill


def fees(**rest):
    return [
        tuple(f"{fee.total(case).usd:.2f}" for case in COST_CASES)
        for fee in bill(NONE, **rest).fees
    ]


def yours(usd):
    return {"prices": {"cluster_usd_per_hour": usd}}


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ({"cloud": "aws"}, [("0.10", "0.10", "0.60")]),
        ({"cloud": "aws", "kubernetes": "1.33"}, [("0.60", "0.60", "0.60")]),
        ({"cloud": "aws", **EXISTING}, []),
        ({"cloud": "aws", **EXISTING, **yours(1.65)}, [("1.65", "1.65", "1.65")]),
        ({"cloud": "none"}, []),
        ({"cloud": "none", **yours(2)}, [("2.00", "2.00", "2.00")]),
        ({"cloud": "simulated"}, []),
        ({"cloud": "simulated", **yours(2)}, []),
    ],
)
def test_who_pays_what_for_the_cluster(rest, found):
    assert fees(**rest) == found


GKE = {"pools": [pool(machine="a2-highgpu-8g", nodes=0)], "cloud": "gcp"}


def test_gke_asks_as_much_and_its_free_tier_is_yours_to_write():
    (listed,) = bill(**GKE).fees
    assert (listed.service, listed.minimum_usd_per_hour, listed.maximum_usd_per_hour) == (
        "GKE",
        0.10,
        0.60,
    )
    assert listed.basis == "list price of unknown date, read on 2026-11-22, not verified"
    (free,) = bill(**GKE, **yours(0)).fees
    assert (free.service, free.maximum_usd_per_hour, free.basis) == ("GKE", 0, "your price")
    assert bill(**GKE, **yours(0)).minimum_usd_per_hour == pytest.approx(3 * 0.134, abs=0.01)


def test_the_bill_says_of_what_day_the_fee_is_and_what_it_will_be():
    (now,) = bill(NONE, cloud="aws").fees
    assert (now.service, now.basis) == ("EKS", "list price on 2026-09-28")
    assert now.note == "at most 0.50 more, after standard support of Kubernetes 1.36 ends"
    (old,) = bill(NONE, cloud="aws", kubernetes="1.33").fees
    assert old.note == "0.50 of it because standard support of Kubernetes 1.33 has ended"


def test_the_fee_is_in_every_case_and_nobodys():
    teams = [team(guarantee={"train": 32})]
    with_fee, without = (bill(teams=teams, cloud="aws", **rest) for rest in ({}, EXISTING))
    for case, more in zip(COST_CASES, (0.10, 0.10, 0.60), strict=True):
        totals = [getattr(b, case).usd for b in (with_fee, without)]
        assert totals[0] - totals[1] == pytest.approx(more)
        mine, nobodys = (getattr(share, case).usd for share in with_fee.shares)
        assert mine == getattr(without.shares[0], case).usd
        assert nobodys - getattr(without.shares[1], case).usd == pytest.approx(more)
        assert mine + nobodys == pytest.approx(totals[0])


def test_a_platform_that_only_queues_pays_for_its_own_cluster():
    hub = {"clusters": [{"name": "east", "secret": "east-kubeconfig"}]}
    assert [f.service for f in bill(cloud="aws", queueing=hub).fees] == ["EKS"]


def test_the_bill_is_the_same_on_every_day():
    spec = spec_of(platform(NONE, cloud="aws", kubernetes="1.34"))
    days = (None, date(2026, 11, 22), date(2027, 6, 1))
    assert len({str(plan(spec, day)[0].bill) for day in days}) == 1


def test_a_budget_has_to_hold_the_fee_as_well():
    worst = bill(NONE, cloud="aws").maximum_usd_per_hour
    raw = platform(NONE, cloud="aws", budget={"max_usd_per_hour": worst})
    assert "budget.worst" not in ids(raw)
    raw["budget"] = {"max_usd_per_hour": worst - 0.01}
    assert "budget.worst" in ids(raw)


def test_what_is_in_no_sum_is_named_where_a_cloud_bills_it():
    assert "root disks" in bill(NONE, cloud="aws").left_out
    assert bill(NONE).left_out == bill(NONE, cloud="simulated").left_out == ()


def test_samples_of_a_managed_prometheus_are_named_with_their_price():
    observability = {"prometheus": "managed"}
    *_, last = bill(NONE, cloud="aws", observability=observability).left_out
    assert (
        last
        == "samples of Amazon Managed Service for Prometheus at 0.09 USD a million, not verified"
    )


def test_a_fee_that_comes_goes_or_changes_is_a_change_of_the_bill():
    one, none = (
        plan_of(platform(NONE, cloud="aws")),
        plan_of(platform(NONE, cloud="aws", **EXISTING)),
    )
    old = plan_of(platform(NONE, cloud="aws", kubernetes="1.33"))

    def change(before, after):
        (found,) = [c for c in pool_changes(before, after) if c.names == ("cluster fee",)] or [None]
        return found and [each.difference for each in found.cases]

    assert change(none, none) is None
    assert change(none, one) == pytest.approx([0.1, 0.1, 0.6])
    assert change(one, none) == pytest.approx([-0.1, -0.1, -0.6])
    assert change(old, one) == pytest.approx([-0.5, -0.5, 0])
    assert change(one, one) == [0, 0, 0]
