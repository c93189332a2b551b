"""What Prometheus answers about its targets and rules, and what that says of the stack."""

from typing import Any

import pytest

from gpuyard_advisor.readiness.assessment import run_checks
from gpuyard_advisor.readiness.evidence import CheckStatus
from gpuyard_advisor.readiness.inputs import ClusterObjects
from kit.cases.readiness import healthy, subject
from kit.every import every

EXPORTER = "ServiceMonitor monitoring/gpuyard-dcgm-exporter"
KUEUE = "ServiceMonitor monitoring/gpuyard-kueue"
POOL = "serviceMonitor/monitoring/gpuyard-dcgm-exporter/0"
OF_KUEUE = "serviceMonitor/monitoring/gpuyard-kueue/0"


def target(pool: str = POOL, health: str = "up", **more: str) -> dict[str, Any]:
    return {"scrapePool": pool, "health": health, "scrapeUrl": "http://10.0.0.1:9400", **more}


def asked(answers: dict[str, Any], unread: dict[str, str] | None = None, **kinds: Any) -> Any:
    objects = {**healthy("observed"), **kinds, **answers}
    return run_checks(subject("observed"), ClusterObjects(objects=objects, unreadable=unread or {}))


def said(found: Any, check: str) -> list[tuple[str, str, str]]:
    of_it = found.of(check).diagnostics
    return [(each.location, each.given, each.problem) for each in of_it]


def loaded() -> list[dict[str, Any]]:
    (ours,) = subject("observed").rendered.all("PrometheusRule")
    return [
        {"name": each["name"], "rules": [{"name": "r", "health": "ok"} for _ in each["rules"]]}
        for each in ours["spec"]["groups"]
    ]


@every(
    ("targets", "status", "expected"),
    [
        ([target(), target()], "PASS", (EXPORTER, "2 targets", "")),
        ([target(), target(health="unknown")], "PASS", (EXPORTER, "2 targets", "")),
        (
            [target(), target("other/0"), target(OF_KUEUE)],
            "FAIL",
            (EXPORTER, "1 targets", "2 exporters run"),
        ),
        (
            [target(), target(health="down", lastError="connection refused")],
            "FAIL",
            (EXPORTER, "down", "http://10.0.0.1:9400: connection refused"),
        ),
        (
            [],
            "FAIL",
            (
                EXPORTER,
                "0 targets",
                "Prometheus finds no Service that it selects, or may not list its pods",
            ),
        ),
    ],
)
def test_the_exporters_are_scraped_as_prometheus_says(targets, status, expected):
    found = asked({"Target": targets, "RuleGroup": loaded()})
    assert expected in said(found, "MON-01")
    assert found.of("MON-01").status.value == status


def test_targets_of_kueue_are_counted_for_the_queues():
    found = asked({"Target": [target(OF_KUEUE)]})
    assert (KUEUE, "1 targets", "") in said(found, "MON-05")


def test_without_an_exporter_no_target_is_expected():
    found = asked({"Target": []}, Pod=[])
    assert (EXPORTER, "0 targets", "no exporter runs") in said(found, "MON-01")


def test_one_prometheus_of_several_has_a_part_of_the_targets():
    sharded = [
        {**each, "spec": {**each["spec"], "shards": 2}}
        for each in healthy("observed")["Prometheus"]
    ]
    found = asked({"Target": [target()]}, Prometheus=sharded)
    assert (EXPORTER, "1 targets", "") in said(found, "MON-01")


def test_a_monitor_that_is_gone_is_said_once():
    found = asked({"Target": []}, ServiceMonitor=[])
    assert said(found, "MON-05")[-1] == (KUEUE, "none", "it does not exist")


def test_rules_that_are_loaded_and_evaluated_pass():
    found = asked({"RuleGroup": loaded()})
    where, value, problem = said(found, "MON-03")[-1]
    assert (where, problem) == ("PrometheusRule monitoring/gpuyard", "")
    assert value.endswith("rules evaluated")


def test_rules_that_prometheus_does_not_have_or_cannot_evaluate_fail():
    first, *others = loaded()
    others[0]["rules"][0] = {"name": "r", "health": "err", "lastError": "many-to-many matching"}
    found = asked({"RuleGroup": others})
    where = "PrometheusRule monitoring/gpuyard"
    missing = (where, "not loaded", f"Prometheus has no group {first['name']}")
    assert said(found, "MON-03")[-2:] == [missing, (where, "r", "many-to-many matching")]
    assert found.of("MON-03").status is CheckStatus.FAIL


def test_rules_that_are_gone_are_said_once():
    found = asked({"RuleGroup": []}, PrometheusRule=[])
    assert said(found, "MON-03")[-1][2] == "whether each alert has fired requires a test"


@pytest.mark.parametrize(("kind", "check"), [("Target", "MON-01"), ("RuleGroup", "MON-03")])
def test_a_silent_prometheus_leaves_open_what_it_alone_can_say(kind, check):
    found = asked({}, {kind: "did not respond"})
    assert "could not be read: did not respond" in said(found, check)[-1][2]
    assert found.of(check).status is CheckStatus.NOT_RUN
