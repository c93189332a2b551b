"""Every check by its cases: on what it fails, what else changes, with which words; and what passes."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
import yaml

from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.spec.teams import Isolation
from gpuyard_advisor.readiness.assessment import LIVE, PLANNED, Readiness, run_checks
from gpuyard_advisor.readiness.checks import readiness_checks
from gpuyard_advisor.readiness.infrastructure import MONITORS
from gpuyard_advisor.readiness.inputs import ClusterObjects, Subject
from gpuyard_advisor.readiness.monitoring import RULES
from kit.cases.readiness import HERE, answers, asked, cluster_of, subject, subject_of
from kit.every import judge

ALWAYS = {"SEC-04": "another version of the operator reaches all pools at once"}
"""What fails whatever the plan says: the capability is not there yet."""
OPEN = {
    "MON-03": "whether each alert has fired requires a test",
    "MON-04": "whether it adds up to the bill requires a comparison",
}
"""What even a cluster with everything leaves open."""
NEVER_PLANNED = {
    *("INF-09", "SCH-04", "AUT-05", "AUT-06", "AUT-07", "MON-04"),
    *("MLO-01", "MLO-02", "MLO-03", "MLO-04"),
}
"""What a plan alone never fails: it leaves it open, says that it does not apply, or passes it."""
BESIDE = {*ALWAYS, "AUT-01", "SEC-05"}
"""What no file can write down: below."""
PASSES_PLANNED = {
    *("INF-01", "INF-02", "INF-05", "INF-06", "INF-08", "INF-09"),
    *("SCH-02", "SCH-03", "SCH-04", "SCH-05", "SCH-06", "SCH-08"),
    *("AUT-01", "AUT-02", "AUT-03", "AUT-04", "AUT-05", "AUT-06"),
    *("SEC-01", "SEC-02", "SEC-05", "SEC-06", "SEC-07"),
    *("STO-01", "STO-02", "CST-01", "CST-03", "CST-04"),
    *("MLO-01", "MLO-02", "MLO-03"),
}
"""Of a platform that has all its plan alone can show."""


@cache
def cases(who: str) -> list[dict]:
    found = []
    for path in sorted(Path(HERE, "cases", who).glob("*.yaml")):
        found += yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@cache
def before(base: str, *, live: bool) -> dict[str, str]:
    return answers(asked({"base": base}, live=live))


@pytest.mark.parametrize("who", ["plan", "cluster"])
def test_each_case_changes_the_answers_that_it_names_and_no_other(who):
    judge(
        [
            (
                f"{case['check']}, {case['case']}",
                partial(answers_as_said, case, live=who == "cluster"),
            )
            for case in cases(who)
        ]
    )


def answers_as_said(case, *, live):
    found = asked(case, live=live)
    assert found.of(case["check"]).reasons == case.get("why", "")
    after = answers(found)
    assert after[case["check"]] == case["answer"]
    was = before(case.get("base", "ready"), live=live)
    other = {name: word for name, word in after.items() if word != was[name]}
    other.pop(case["check"], None)
    assert other == case.get("also", {})


@pytest.mark.parametrize(("who", "functions"), [("plan", PLANNED), ("cluster", LIVE)])
def test_every_check_that_is_answered_has_a_case_that_fails_it(who, functions):
    failing = {case["check"] for case in cases(who) if case["answer"] == "FAIL"}
    assert set(functions) - failing == (NEVER_PLANNED | BESIDE if who == "plan" else set())


def test_a_case_is_of_a_check_that_is_asked():
    assert {case["check"] for case in cases("plan")} <= set(PLANNED)
    assert {case["check"] for case in cases("cluster")} <= set(LIVE)


def test_a_platform_passes_all_that_its_plan_alone_can_show():
    found = answers(asked({}))
    assert {name for name, word in found.items() if word == "PASS"} == PASSES_PLANNED
    assert {name for name, word in found.items() if word == "FAIL"} == {"SEC-04", "SEC-08"}
    assert "n/a" not in found.values()


def test_a_cluster_with_everything_passes_all_that_can_be_seen():
    found = asked({}, live=True)
    expected = (PASSES_PLANNED | set(LIVE)) - set(OPEN) - {"SEC-08"}
    assert {name for name, word in answers(found).items() if word == "PASS"} == expected
    for name, words in OPEN.items():
        assert found.of(name).status.value == "NOT RUN"
        assert words in found.of(name).reasons


def own_monitoring(mode: str, base: str = "ready") -> Readiness:
    """A cluster whose monitors, rules and receivers are gpuyard's alone."""
    case = {"base": base, "with": {"observability": {"prometheus": mode}}}
    plan = subject_of(case).plan
    labels = dict(plan.observability.labels)
    ours = {
        kind: [o for o in objects if o["metadata"]["name"].startswith("gpuyard")]
        for kind, objects in cluster_of(plan).items()
        if kind in {*MONITORS, *RULES, "AlertmanagerConfig"}
    }
    (prometheus,) = cluster_of(plan)["Prometheus"]
    selectors = ("podMonitor", "rule", "serviceMonitor")
    prometheus["spec"] |= {f"{each}Selector": {"matchLabels": labels} for each in selectors}
    pods = [p for p in cluster_of(plan)["Pod"] if p["metadata"]["name"] != "opencost-0"]
    kinds = {**cluster_of(plan), **ours, "Pod": pods, "Prometheus": [prometheus]}
    return run_checks(subject_of(case), ClusterObjects(objects=kinds))


def test_monitoring_of_gpuyard_alone_is_enough():
    found = own_monitoring("install")
    for name in ("INF-03", "MON-01", "MON-05", "CST-02", "CST-06"):
        assert answers(found)[name] == "PASS", found.of(name).reasons
    for name, words in OPEN.items():
        assert found.of(name).status.value == "NOT RUN"
        assert words in found.of(name).reasons
    (cost,) = found.of("MON-04").evidence
    assert cost.given == "gpuyard:cost:dollars_per_hour"


def test_what_a_managed_service_has_is_left_open():
    found = own_monitoring("managed")
    why = "Amazon Managed Service for Prometheus has the rules and receivers, and gpuyard does not query it"
    for name in ("MON-03", "MON-04", "MON-06", "CST-02", "CST-06"):
        assert answers(found)[name] == "NOT RUN"
        assert found.of(name).reasons == why


def test_the_managed_service_of_google_cloud_has_its_monitors_and_rules_in_the_cluster():
    found = own_monitoring("managed", "gcp")
    for name in ("INF-03", "MON-01", "MON-05", "CST-02"):
        assert answers(found)[name] == "PASS", found.of(name).reasons
    used = [each.location for each in found.of("MON-01").evidence if "managed" in each.given]
    assert used == [
        "PodMonitoring gpu-operator/gpuyard-dcgm-exporter",
        "ClusterPodMonitoring gpuyard-kube-state-metrics",
    ]
    assert found.of("MON-03").reasons == OPEN["MON-03"]


def test_what_only_a_run_can_tell_is_not_run_and_says_which_run():
    found = asked({}, live=True)
    alone = [c for c in readiness_checks() if c.id not in PLANNED and c.id not in LIVE]
    assert [c.id for c in alone if found.of(c.id).status.value != "NOT RUN"] == []
    for check in alone:
        if check.id != "SEC-04":
            assert found.of(check.id).reasons == f"requires a test run: {check.run}"
            assert found.of(check.id).source == "none"


def test_without_a_cluster_what_it_alone_can_say_names_the_way_to_ask():
    found = asked({})
    for name in set(LIVE) - set(PLANNED):
        assert (found.of(name).reasons, found.of(name).source) == (
            "requires the cluster: add --live",
            "none",
        )


@pytest.mark.parametrize("name", sorted(ALWAYS))
def test_what_no_release_can_do_yet_fails_on_every_cloud(name):
    for base in ("ready", "gcp", "own"):
        assert answers(asked({"base": base}))[name] == "FAIL", base
    assert answers(asked({"base": "simulated"}))[name] == "n/a"


# ── what no stack file can say, since its proofs refuse it ────────────────────────────────────────
def fails_alone(found, name: str, why: str) -> None:
    was = before("ready", live=False)
    assert found.of(name).reasons == why
    assert {n for n, word in answers(found).items() if word != was[n]} == {name}
    assert answers(found)[name] == "FAIL"


def test_slices_that_an_autoscaler_learns_of_only_from_a_node_fail():
    burst = subject().plan.pool("burst")
    scale = replace(burst.autoscaler_hints, undiscovered_resources=("nvidia.com/mig-1g.5gb",))
    fails_alone(
        asked({"pools": {"burst": {"autoscaler_hints": scale}}}),
        "AUT-01",
        "plan.pools.burst.autoscaler_hints: nvidia.com/mig-1g.5gb is discovered only from a running node",
    )


def test_a_team_that_asked_to_be_apart_and_takes_turns_fails():
    plan = subject().plan
    apart = [replace(t, isolation=Isolation.NODE) if t.name == "speech" else t for t in plan.teams]
    found = run_checks(Subject(replace(plan, teams=tuple(apart)), subject().findings))
    fails_alone(found, "SEC-05", "plan.pools.dev.sharing: speech requested isolation")


def test_a_team_that_takes_turns_with_itself_alone_passes():
    plan = subject().plan
    alone = [t for t in plan.teams if t.name == "speech"]
    alone = [replace(each, isolation=Isolation.NODE) for each in alone]
    others = replace(plan, teams=tuple(alone), services=(), runtimes=())
    found = run_checks(Subject(others, subject().findings))
    assert answers(found)["SEC-05"] == "PASS"


def test_an_autoscaler_that_takes_nodes_in_use_fails(monkeypatch):
    before("ready", live=False)  # kept from now on: it is asked here without the loose values
    plan = subject().plan
    release = plan.provider.autoscaler_release(plan)
    values = {**release.values, "extraArgs": {"scale-down-gpu-utilization-threshold": "0.5"}}
    loose = replace(release, values=values)
    monkeypatch.setattr(type(plan.provider), "autoscaler_release", lambda *_: loose)
    fails_alone(
        asked({}),
        "AUT-02",
        "values of cluster-autoscaler: scale-down-gpu-utilization-threshold: nodes in use may be"
        " removed",
    )


def test_an_operator_without_cdi_fails(monkeypatch):
    before("ready", live=False)  # kept from now on: it is asked here without the changed values
    release = gpu_operator_release(subject().plan)
    off = replace(release, values={**release.values, "cdi": {"enabled": False}})
    monkeypatch.setattr(
        "gpuyard_advisor.readiness.infrastructure.gpu_operator_release", lambda _: off
    )
    why = "values of gpu-operator: cdi.enabled: pods can reach devices without it"
    fails_alone(asked({}), "INF-08", why)
