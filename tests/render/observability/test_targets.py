"""Each target of the stack file has a value, a measured value and an alert."""

import pytest

from gpuyard.render.observability.rules import rule_groups
from gpuyard.render.observability.targets import targets
from gpuyard.spec.sections import Targets
from kit.promtool import check_rules, sample, series
from kit.stacks import plan_of, platform, pool, team

FULL = {
    "utilisation_percent": "65..85",
    "memory_percent": 80,
    "idle_percent": 20,
    "wait_p95_minutes": {"research": 120, "production": 10},
}
"""A value of every field."""
NAMES = {
    "utilisation_percent": {"utilisation_min", "utilisation_max"},
    "memory_percent": {"memory"},
    "idle_percent": {"idle"},
    "wait_p95_minutes": {"wait_p95"},
}
MINUTES = 180


def plan_with(values):
    raw = platform(
        [pool("whole", nodes=1)],
        [team("vision", guarantee={"whole": 1})],
        cloud="aws",
        targets=values,
        priorities={"research": 10, "production": 100},
    )
    return plan_of(raw)


def test_the_values_cover_every_field():
    assert set(FULL) == set(NAMES) == set(Targets.model_fields)


@pytest.mark.parametrize("field", FULL)
def test_a_target_has_a_value_a_measured_value_and_an_alert(field):
    plan = plan_with({field: FULL[field]})
    every = [rule for group in rule_groups(plan) for rule in group["rules"]]
    found = {
        record: {
            r["labels"]["target"] for r in every if r.get("record") == f"gpuyard:target:{record}"
        }
        for record in ("value", "actual")
    }
    assert found == {"value": NAMES[field], "actual": NAMES[field]}
    assert {each.name for each in targets(plan)} == NAMES[field]
    (missed,) = [each["expr"] for each in every if each.get("alert") == "TargetMissed"]
    assert all(missed.count(name) == 1 for name in NAMES[field])


def usage(active, memory, waits):
    """A node whose eight GPUs one pod each uses, and waits by priority in seconds."""

    def always(metric, value, **labels):
        return series(metric, [f"{value}+0x{MINUTES}"], **labels)

    yield always("kube_node_labels", 1, node="whole-0", label_gpuyard_dev_pool="whole")
    for gpu in "01234567":
        labels = {
            "node": "whole-0",
            "UUID": gpu,
            "exported_namespace": "vision",
            "exported_pod": gpu,
        }
        yield always("DCGM_FI_PROF_GR_ENGINE_ACTIVE", active, **labels)
        yield always("DCGM_FI_DEV_FB_USED", memory, **labels)
    for priority, seconds in waits.items():
        for bound in (seconds - 1, seconds, "+Inf"):
            step = 0 if bound == seconds - 1 else 1
            labels = {"cluster_queue": "q", "priority_class": priority, "le": str(bound)}
            yield series(
                "kueue_admission_wait_time_seconds_bucket", [f"0+{step}x{MINUTES}"], **labels
            )


@pytest.mark.parametrize(
    ("use", "missed"),
    [
        ((0.82, 70_000, {"research": 7000, "production": 500}), {}),
        (
            (0.3, 20_000, {"research": 7300, "production": 700}),
            {
                ("utilisation_min", ""),
                ("memory", ""),
                ("idle", ""),
                ("wait_p95", "research"),
                ("wait_p95", "production"),
            },
        ),
        (
            (0.95, 70_000, {"research": 7000, "production": 700}),
            {("utilisation_max", ""), ("wait_p95", "production")},
        ),
    ],
    ids=["met", "missed", "above"],
)
def test_the_alert_names_the_targets_that_are_missed(use, missed):
    firing = 'count by (target, priority) (ALERTS{alertname="TargetMissed", alertstate="firing"})'
    samples = [
        sample(1, **{"target": name, **({"priority": priority} if priority else {})})
        for name, priority in missed
    ]
    test = {
        "interval": "1m",
        "input_series": [*usage(*use)],
        "promql_expr_test": [{"expr": firing, "eval_time": "177m", "exp_samples": samples}],
    }
    check_rules(plan_with(FULL), [test], every=180)
