"""The program and `gpuyard check` judge alike: same proofs, same findings; only the day is left out."""

from dataclasses import replace
from datetime import date

import pulumi
import pytest

from gpuyard.cli.stacks import validate_text
from gpuyard.plan import platform as planner
from gpuyard.resources import Platform, PlatformRejected, validate_platform
from gpuyard.resources.validated_plan import calendar_findings_today
from gpuyard.stack_validation import validate
from gpuyard_core.findings import Severity
from kit.components import token
from kit.stacks import plan_of, platform, pool, spec_of, stack_file, team

DAY = date(2026, 11, 21)
SUPPORT_ENDED = date(2027, 12, 2)
EXCUSED = {
    "rule": "GPU-CAP-02",
    "resource": "*",
    "reason": "until the pools are split",
    "expires": "2026-11-20",
}
MISSPELT = platform(cloud="simulated", policies={"levels": {"GPU-CAP-99": "off"}})
EXPIRED = platform(cloud="simulated", policies={"exceptions": [EXCUSED]})
PLATFORMS = {
    "fine": platform(),
    "warned": platform(teams=[team("idle")], validation={"required": False}),
    "a rule that is none": MISSPELT,
    "refused by a proof": platform(teams=[team(guarantee={"train": 1000})]),
    "malformed": platform([pool(nodes="9..1")]),
    "malformed, and refused beside": platform(
        [pool(nodes="9..1"), pool("b", machine="p9")], teams=[team("idle")]
    ),
}


def said_by_program(raw):
    try:
        return validate_platform(raw).findings
    except PlatformRejected as refused:
        return refused.findings


@pytest.mark.parametrize("raw", PLATFORMS.values(), ids=PLATFORMS)
def test_the_program_says_what_check_says_of_the_same_platform(raw):
    judged = validate_text(stack_file(raw), "stack.yaml", DAY)
    undated = validate(judged.reading).findings
    assert said_by_program(raw) == tuple(f for f in judged.findings if f in undated) == undated


def test_a_date_without_quotes_is_the_text_that_check_reads(pulumi_mocks, tmp_path):
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_bytes(stack_file(platform([pool(labels={"example.org/since": date(2026, 1, 1)})])))
    assert b"since: 2026-01-01" in file.read_bytes()
    seen = []
    pulumi_mocks.with_settings(project="gpuyard").run(
        lambda: seen.append(
            validate_platform(pulumi.Config("gpuyard").require_object("platform")).plan
        ),
        config=file,
    )
    assert seen == [validate_text(file.read_bytes(), str(file), DAY).plan]
    assert seen[0].spec.pools[0].labels == {"example.org/since": "2026-01-01"}


def test_a_rule_that_is_none_is_a_warning_of_the_deployment_too(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": MISSPELT}))
    assert [log.severity for log in graph.logs] == ["warning"]
    assert "policies.levels" in graph.logs[0].message
    assert "'GPU-CAP-99' is not a rule" in graph.logs[0].message
    assert graph.logs[0].urn == graph.one(token("Platform")).urn


def test_a_malformed_platform_is_refused_without_warnings_about_its_rest():
    found = said_by_program(PLATFORMS["malformed, and refused beside"])
    assert {f.severity for f in found} == {Severity.ERROR}
    assert [f.where for f in found] == ["pools[0].nodes", "pools[1].machine"]


def test_an_exception_that_is_over_is_a_warning_of_the_day_and_no_note(pulumi_mocks, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", str(DAY))
    assert [f.id for f in calendar_findings_today(plan_of(EXPIRED))] == ["policies.expired"]
    assert "policies.expired" not in [f.id for f in validate_platform(EXPIRED).findings]
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": EXPIRED}))
    assert ["expired on 2026-11-20" in log.message for log in graph.logs] == [True]


def test_support_that_ended_stops_a_check_and_no_deployment(monkeypatch):
    prices = {"machines": {"p5.48xlarge": 40}}
    raw = platform(cloud="aws", kubernetes="1.34", prices=prices)
    judged = validate_text(stack_file(raw), "stack.yaml", SUPPORT_ENDED)
    assert judged.plan is None
    assert judged.fails(Severity.ERROR)
    monkeypatch.setenv("GPUYARD_TODAY", str(SUPPORT_ENDED))
    assert validate_platform(raw).plan.name == raw["name"]
    due = {f.id: f.severity for f in calendar_findings_today(validate_platform(raw).plan)}
    assert due["kubernetes.support"] is Severity.WARNING


@pytest.mark.parametrize("given", [dict, spec_of, validate_platform])
def test_a_program_plans_once(pulumi_mocks, monkeypatch, given):
    raw = platform(teams=[team("idle")], validation={"profile": "quick", "required": False})
    planned = []

    def count(draft):
        planned.append(draft.today)
        return draft, []

    monkeypatch.setattr(planner, "STAGES", (count, *planner.STAGES))
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": given(raw)}))

    assert planned == [None], "and the plan depends on no date"
    assert graph.logs, "the warnings of the validation are logged all the same"


def test_a_plan_that_was_not_proved_here_is_proved(pulumi_mocks):
    found = validate_platform(platform()).plan
    wrong = replace(found, spec=spec_of(PLATFORMS["refused by a proof"]))

    with pytest.raises(PlatformRejected):
        pulumi_mocks.run(lambda: Platform("lab", {"platform": wrong}))
