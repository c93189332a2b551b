"""Commands read series that the recording rules make, by labels that they have."""

from dataclasses import fields

import pytest

from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.rules import query_scope, rule_groups
from gpuyard_advisor.usage.fleet import IDLE_HOURS, PARTS, SERIES, QueueReading, Wait, read_fleet
from gpuyard_advisor.usage.hours import HourlyExport, HourlySeries
from gpuyard_advisor.usage.rightsize import METRICS, WorkloadKey, workloads
from gpuyard_advisor.usage.statement import KEYS
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

COMMITMENT = {"machine": "p5.48xlarge", "nodes": 1, "years": 1, "usd_per_hour": 40.0}
RENAMED = {"owner": "pod", "workload_class": "class"}
"""Fields that do not have the name of their label."""


@pytest.fixture(scope="module")
def plan():
    """A platform that has every kind of recorded series."""
    raw = platform(
        [pool(), cut_pool(), shared_pool()],
        [team(guarantee={"train": 1}, budget_usd_per_month=100_000)],
        cloud="aws",
        prices={"commitments": [COMMITMENT]},
        targets={"utilisation_percent": "65..85", "wait_p95_minutes": {"research": 120}},
        priorities={"research": 10},
    )
    return plan_of(raw)


@pytest.fixture(scope="module")
def recorded(plan):
    """The labels of every recorded series."""
    return query_scope(plan)


def named(labels):
    """A value for each label: its own name."""
    return tuple(sorted((name, name) for name in labels.names))


def is_filled(record, *labels):
    return all(getattr(record, label) == label for label in labels)


@pytest.mark.parametrize("query", sorted({*SERIES.values(), IDLE_HOURS, *KEYS, *METRICS}))
def test_each_query_keeps_the_contract(recorded, query):
    assert check_query(query, recorded) == []


def test_the_cost_has_these_parts(plan):
    rules = [rule for group in rule_groups(plan) for rule in group["rules"]]
    made = [each["labels"]["part"] for each in rules if each.get("record") == SERIES["cost"]]
    assert sorted(made) == sorted(PARTS)


def test_the_state_is_read_by_labels_that_the_series_have(recorded):
    def query(expression):
        name = SERIES["pod_active"] if expression == IDLE_HOURS else expression
        labels = named(recorded.recorded[name].labels)
        parts = PARTS if name == SERIES["cost"] else ("part",)
        return [(tuple((k, part if k == "part" else v) for k, v in labels), 0.01) for part in parts]

    fleet = read_fleet(query)
    assert fleet.missing == ()
    assert is_filled(fleet.gpus[0], "pool", "node", "gpu")
    (idle,) = fleet.idle
    assert is_filled(idle, "pool", "node", "gpu", "slice", "team", "namespace", "pod")
    assert None not in (idle.hours, idle.usd_per_hour)
    assert [row.name for row in (*fleet.pools, *fleet.teams)] == ["pool", "team"]
    for row, unknown in ((fleet.pools[0], set()), (fleet.teams[0], {"billed"})):
        assert {each.name for each in fields(row) if getattr(row, each.name) is None} == unknown
    assert fleet.queues == (QueueReading("queue", 0.01, (Wait("priority", 0.01, 0.01),)),)
    (target,) = fleet.targets
    assert is_filled(target, "target", "priority")
    assert set(fleet.cost) == set(PARTS)


def test_a_statement_is_made_from_labels_that_the_series_have(recorded):
    for name, labels in KEYS.items():
        assert recorded.recorded[name].labels.names.issuperset(labels)


def test_workloads_are_told_apart_by_labels_that_the_series_have(recorded):
    series = [
        HourlySeries(
            (("__name__", name), *named(recorded.recorded[name].labels)), {0: 1.0}, {0: 1}, {0: 1.0}
        )
        for name in METRICS
    ]
    (workload,) = workloads(HourlyExport(tuple(series), (), len(series)))
    for field in fields(WorkloadKey):
        assert getattr(workload.key, field.name) == RENAMED.get(field.name, field.name)
