"""The smallest safe slice of each workload, and when there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.spec.teams import Isolation
from gpuyard_advisor.usage.hours import hourly_export
from gpuyard_advisor.usage.rightsize import (
    ACTIVE,
    GIB,
    GPUS,
    MEMORY,
    USED,
    Choice,
    Finding,
    owner_of,
    percentile,
    rightsize,
    smallest,
)
from gpuyard_advisor.usage.samples import read_samples
from gpuyard_core.errors import UsageError
from kit.recorded import matrix, recorded
from kit.stacks import cut_pool, plan_of, platform, pool, team

A100 = pool("whole", machine="p4d.24xlarge", nodes=1)
SHARED = pool("dev", machine="p4d.24xlarge", nodes=1, sharing={"time_slicing": 4})
PLAN = plan_of(
    platform(
        [A100, cut_pool(), SHARED],
        [team("ml", isolation="slice"), team("lab"), team("safe", isolation="node")],
    )
)


SEVERAL = "its pods hold more than one GPU or share: a slice serves one"
POD = {"pool": "whole", "team": "ml", "namespace": "ml", "pod": "web-6d4cf56db9-bcdfg"}
POD |= {"gpu": "g0", "slice": "", "class_": "inference"}


def pod(gib=4.0, active=0.1, *, gpu="g0", pod="web-6d4cf56db9-bcdfg", whose="ml", **rest):
    labels = {"pool": "whole", "team": whose, "namespace": whose, "pod": pod, "gpu": gpu}
    labels |= {"slice": "", "class_": "inference", **rest}
    used = gib if callable(gib) else lambda _: gib
    return [
        recorded(USED, lambda h: used(h) * GIB, **labels),
        recorded(MEMORY, 40 * GIB, **labels),
        recorded(ACTIVE, active, **labels),
        recorded(GPUS, 1, **labels),
    ]


def advise(*pods, hours=200, plan=PLAN):
    series = [row for each in pods for row in each]
    return rightsize(plan, hourly_export(read_samples([matrix(series, hours)])))


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("web-6d4cf56db9-bcdfg", "web"),
        ("agent-x2x4z", "agent"),
        ("db-0", "db"),
        ("train-worker-0-1-x2x4z", "train-worker"),
        ("llama-7b", "llama-7b"),
        ("7", "7"),
    ],
)
def test_the_owner_of_a_pod(name, owner):
    assert owner_of(name) == owner


@pytest.mark.parametrize(
    ("gib", "active", "whose", "unit"),
    [
        (3.0, 0.05, "ml", "1g.5gb"),
        (3.0, 0.05, "lab", "1g.5gb"),
        (4.0, 0.1, "ml", "1g.10gb"),
        (3.0, 0.15, "ml", "2g.10gb"),
        (10.0, 0.3, "ml", "3g.20gb"),
        (30.0, 0.3, "ml", None),
        (3.0, 0.9, "ml", None),
        (3.0, 0.05, "safe", None),
    ],
)
def test_the_smallest_slice_that_fits_memory_and_activity(gib, active, whose, unit):
    (advice,) = advise(pod(gib, active, whose=whose))
    assert (advice.choice and advice.choice.unit) == unit
    assert bool(advice.reason) == (unit is None)
    if unit:
        assert advice.usd_per_month > 0


def test_a_team_that_requires_slices_never_gets_a_share():
    plan = plan_of(platform([A100, SHARED], [team("ml", isolation="slice"), team("lab")]))
    (lab,) = advise(pod(6.0, 0.15, whose="lab"), plan=plan)
    (ml,) = advise(pod(6.0, 0.15, whose="ml"), plan=plan)
    (none,) = advise(pod(6.0, 0.15, whose="unassigned"), plan=plan)
    assert (lab.choice.unit, lab.choice.offered) == ("shared", True)
    assert (ml.choice.unit, ml.choice.offered) == ("2g.10gb", False)
    assert none.choice == ml.choice


def test_a_pool_of_another_team_is_no_choice():
    cut = cut_pool(owners=["lab"])
    plan = plan_of(platform([A100, cut], [team("ml"), team("lab")]))
    (ml,) = advise(pod(3.0, 0.05), plan=plan)
    assert (ml.choice.pool, ml.choice.offered) == ("whole", False)


@pytest.mark.parametrize(
    ("pods", "hours", "reason"),
    [
        ([pod()], 71, "71 hours with samples; advice needs 72"),
        ([pod()], 80, "80 samples; advice needs 100"),
        ([pod()[:1]], 200, "its memory or its activity is not in the export"),
        ([pod(pool="gone")], 200, "its pool is not in the stack file"),
        ([pod(slice="7g.80gb")], 200, "the price of what it holds is unknown"),
        ([[*pod()[:3], recorded(GPUS, 2, **POD)]], 200, SEVERAL),
        ([pod(), pod(gpu="g1")], 200, SEVERAL),
    ],
)
def test_no_advice_has_a_reason(pods, hours, reason):
    (advice,) = advise(*pods, hours=hours)
    assert (advice.choice, advice.reason) == (None, reason)


@pytest.mark.parametrize(
    ("gib", "active", "finding"),
    [
        (4.0, 0.0, Finding.STUCK),
        (39.0, 0.9, Finding.MEMORY_BOUND),
        (4.0, 0.1, Finding.OVERSIZED),
        (30.0, 0.3, Finding.CPU_BOUND),
        (30.0, 0.9, Finding.WELL_SIZED),
    ],
)
def test_what_the_figures_mean(gib, active, finding):
    assert advise(pod(gib, active))[0].finding is finding


def test_too_little_data_is_an_answer():
    assert advise(pod(), hours=3)[0].finding is Finding.NOT_ENOUGH_DATA


def test_the_pod_that_uses_most_decides_and_replicas_count():
    (advice,) = advise(pod(3.0), pod(10.0, gpu="g1", pod="web-6d4cf56db9-x2x4z"))
    assert advice.choice.unit == "3g.20gb"
    assert advice.workload.held == pytest.approx(2)


@pytest.mark.parametrize(
    ("hours", "gib", "confidence"),
    [
        (340, 3.0, "high"),
        (340, lambda h: 1 + 2 * (h % 2), "medium"),
        (200, 3.0, "medium"),
        (100, 3.0, "low"),
    ],
)
def test_confidence_follows_hours_and_variation(hours, gib, confidence):
    assert advise(pod(gib), hours=hours)[0].confidence == confidence


def test_an_export_without_pods_is_refused():
    with pytest.raises(UsageError, match="no series of pods"):
        advise([recorded("up", 1)])


peaks = st.lists(st.floats(0.1, 40), min_size=100, max_size=200)


@given(peaks, st.floats(0, 1), st.sampled_from(["ml", "lab", "unassigned"]))
def test_no_choice_is_smaller_than_the_99th_percentile(each, active, whose):
    (advice,) = advise(pod(lambda h: each[h], active, whose=whose), hours=len(each))
    need = max(1.2 * percentile(each, 95), percentile(each, 99))
    assert advice.memory_need_gib == pytest.approx(need)
    if advice.choice:
        assert advice.choice.memory_gib >= percentile(each, 99)
        assert advice.choice.memory_gib >= 1.2 * percentile(each, 95) - 1e-9
        assert advice.choice.compute >= min(1.0, 1.2 * active)
        assert whose == "lab" or advice.choice.isolation is not Isolation.SHARED


def test_of_two_equal_choices_the_offered_one_is_taken():
    one, two = (
        Choice("p", unit, 10, 0.5, 1.0, Isolation.SLICE, offered, "A100-40", ())
        for unit, offered in (("a", False), ("b", True))
    )
    assert smallest([one, two], 5, 0.1, 2.0) is two
    assert smallest([one, two], 5, 0.1, 1.0) is None
