"""The parts of the cost sum to the bill, and the bill is the price of the nodes, in a real Prometheus."""

import random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kit.generated import fleets
from kit.promtool import check_rules, expected, series
from kit.searches import examples

MODES, CLAIMS = fleets.plan_of_modes(), fleets.plan_of_claims()
COST, BILL = "sum by (pool) (gpuyard:cost:dollars_per_hour)", "gpuyard:bill:dollars_per_hour"
NEVER = (
    f"abs({COST} - on (pool) {BILL}) > 0.01",
    f"{BILL} unless on (pool) {COST}",
    f"{COST} unless on (pool) {BILL}",
    f"abs(sum({COST}) - sum({BILL})) > 0.01",
    "gpuyard:cost:dollars_per_hour < -1e-6",
    "gpuyard:pod_gpu_active:ratio > 1.000001 or gpuyard:pod_gpu_active:ratio < 0",
    "gpuyard:gpu_allocated:gpus > 1.000001",
    "gpuyard:node:info unless on (node) gpuyard:node:dollars_per_hour",
    "count by (node) (gpuyard:node:info) > 1",
    (
        "abs(sum by (pool) (gpuyard:gpus_allocated:sum) + on (pool) gpuyard:gpus_unallocated:sum"
        " + on (pool) gpuyard:gpus_unavailable:sum - on (pool) gpuyard:gpus_billed:sum) > 1e-6"
    ),
    "abs(sum by (pool, team, class, slice) (gpuyard:pod_gpu_allocated:gpus) - gpuyard:gpus_allocated:sum) > 1e-6",
    "gpuyard:gpu_memory_used:ratio < 0 or gpuyard:gpu_memory_used:ratio > 1",
    "gpuyard:gpus_used:sum > gpuyard:gpus_allocated:sum + 1e-6",
    "gpuyard:goodput:ratio < 0 or gpuyard:goodput:ratio > 1",
)
MOMENTS = (2, fleets.SAMPLES // 2, fleets.SAMPLES - 1)
SEARCH = settings(
    max_examples=examples(12),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def never(expression, at):
    return expected(expression, at=at)


def billed(plan, fleet, at):
    """What each pool is billed: never another amount, and none without nodes."""
    right = fleets.bill(plan, fleet, at)
    for pool in (*fleet, "commitment"):
        recorded = f'{BILL}{{pool="{pool}"}}'
        if pool in right:
            yield never(f"absent({recorded}) or abs({recorded} - {right[pool]!r}) > 0.005", at)
        else:
            yield never(recorded, at)


def queues(seed):
    """Kueue's counters, which its restarts reset."""
    chance = random.Random(seed)  # noqa: S311  a repeatable choice
    queue = {"cluster_queue": "q"}
    yield series("kueue_pods_ready_to_evicted_time_seconds_sum", fleets.counter(chance), **queue)
    active = [str(chance.randrange(5)) for _ in range(fleets.SAMPLES)]
    yield series("kueue_admitted_active_workloads", active, replica_role="leader", **queue)


def check(plan, fleet, seed):
    moments = [
        test
        for at in MOMENTS
        for test in (*(never(each, at) for each in NEVER), *billed(plan, fleet, at))
    ]
    inputs = [*fleets.series_of(plan, fleet), *queues(seed)]
    check_rules(plan, [{"interval": "30s", "input_series": inputs, "promql_expr_test": moments}])


@SEARCH
@given(fleet=fleets.fleets(MODES), seed=st.integers(0, 2**16))
def test_the_parts_of_the_cost_sum_to_the_price_of_the_nodes(fleet, seed):
    check(MODES, fleet, seed)


@SEARCH
@given(fleet=fleets.fleets(CLAIMS), seed=st.integers(0, 2**16))
def test_they_do_where_pods_claim_gpus(fleet, seed):
    check(CLAIMS, fleet, seed)
