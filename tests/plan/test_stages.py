"""Stages and checks: what one adds works beside all others, and nothing else has to know of it."""

import ast
import random
from dataclasses import FrozenInstanceError, replace
from datetime import date
from functools import wraps

import pytest

import proofs
import sizes
from gpuyard.plan import platform as whole
from gpuyard.plan.draft import Draft
from gpuyard.plan.fact_ages import AGE_WARNINGS, check_exceptions
from gpuyard.plan.money.commitments import check_commitments
from gpuyard.plan.money.prices import check_prices
from gpuyard.plan.platform import CALENDAR_CHECKS, CHECKS, STAGES, calendar_findings, plan
from gpuyard.plan.pools import pools as pools_module
from gpuyard.plan.shapes import quota as shapes_module
from gpuyard.plan.software.support import check_kubernetes
from gpuyard.spec.read import platform_spec, read_stack_file
from gpuyard_core.catalogue.kubernetes.autoscalers import TEMPLATE_TAG
from gpuyard_core.findings import Severity, error, sort_findings, warning
from kit.generated import platforms as made_up
from kit.stacks import parts, plan_of, platform, pool, shape, spec_of, team


def specs():
    """One stack for each finding that there is, and made-up platforms that have several."""
    cases = (proofs.read(kind).of("bad")[0] for kind in proofs.ids())
    read = (
        (read_stack_file(case.text.encode(), proofs.FILE), case.today)
        for case in cases
        if case.text
    )
    found = [(r.checkable_spec, day) for r, day in read if r.checkable_spec is not None]
    return found + [(spec_of(made_up.platform(n)), None) for n in range(40)]


@pytest.mark.timeout(300)
def test_the_order_of_the_checks_changes_neither_the_findings_nor_the_plan(monkeypatch):
    every = specs()
    assert len(every) > 150
    before = [plan(spec, day) for spec, day in every]
    assert sum(found is not None for found, _ in before) > 20
    rng = random.Random(17)  # noqa: S311  no secret is made of it
    for order in (tuple(reversed(CHECKS)), tuple(rng.sample(CHECKS, len(CHECKS)))):
        monkeypatch.setattr(whole, "CHECKS", order)
        for (spec, day), said in zip(every, before, strict=True):
            assert plan(spec, day) == said


def test_the_calendar_of_a_plan_is_that_of_its_draft(monkeypatch):
    every = [(found, day) for spec, day in specs() if (found := plan(spec)[0]) is not None]
    monkeypatch.setattr(whole, "CHECKS", CALENDAR_CHECKS)
    seen = set()
    for found, day in every:
        undated = plan(found.spec)[1]
        for each in (date(2026, 11, 20), date(2028, 1, 1), *filter(None, [day])):
            dated = [f for f in plan(found.spec, each)[1] if f not in undated]
            assert calendar_findings(found, each) == dated
            seen |= {f.id for f in dated}
    only_dated = {"kubernetes.support", "policies.expired", "validation.accepted_over"}
    assert seen == AGE_WARNINGS | only_dated


def test_findings_come_in_order():
    for number in made_up.KNOWN[:60]:
        findings = made_up.known(number)[1]
        assert findings == sort_findings(findings)


def test_a_new_stage_and_a_new_check_need_nothing_but_their_line(monkeypatch):
    """A capability that paints nodes: a stage decides the colour, a check says what is wrong with it."""

    def decide_colour(draft):
        painted = {
            name: replace(pool, labels={**pool.labels, "example.com/colour": "green"})
            for name, pool in draft.valid_pools.items()
        }
        problems = [warning("colour.dull", ("pools",), "everything is green")]
        return replace(draft, pools={**draft.pools, **painted}), problems

    def check_colour(draft):
        for index, one in enumerate(draft.spec.pools):
            colour = draft.valid_pools[one.name].labels["example.com/colour"]
            if one.name == "roses":
                yield error("colour.wrong", ("pools", index), "roses are red", given=colour)

    stages = list(STAGES)
    stages.insert(stages.index(pools_module.decide_pools) + 1, decide_colour)
    monkeypatch.setattr(whole, "STAGES", tuple(stages))
    monkeypatch.setattr(whole, "CHECKS", (check_colour, *CHECKS))
    found, findings = plan(spec_of(platform([pool("daisies")])))
    assert found.pools[0].labels["example.com/colour"] == "green"
    assert [(f.id, f.severity) for f in findings] == [("colour.dull", Severity.WARNING)]
    found, findings = plan(spec_of(platform([pool("daisies"), pool("roses")])))
    assert found is None
    assert parts(findings[0]) == ("colour.wrong", ("pools", 1), "roses are red", "green", "")
    assert [f.id for f in findings] == ["colour.wrong", "colour.dull"]


def _called(name):
    """Modules of the plan that define a function of this beginning, and the names they give it."""
    for path in sizes.below(sizes.tracked(), "components/gpuyard/plan/"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(name):
                yield node


@pytest.mark.repeats("none: it runs no line that is measured")
def test_every_check_of_a_draft_and_every_stage_is_one_of_the_tuples():
    def takes_a_draft(node):
        return [ast.unparse(a.annotation) for a in node.args.args if a.annotation] == ["Draft"]

    checks = {node.name for node in _called("check_") if takes_a_draft(node)}
    assert checks == {check.__name__ for check in CHECKS}
    assert {node.name for node in _called("decide_")} == {stage.__name__ for stage in STAGES}
    assert len(set(CHECKS)) == len(CHECKS)


def test_a_draft_does_not_change():
    draft = Draft(spec_of(platform()))
    with pytest.raises(FrozenInstanceError):
        draft.shapes = ()


def test_a_draft_that_no_stage_has_seen_is_empty():
    draft = Draft(spec_of(platform(teams=[team(guarantee={"train": 8})])))
    assert (draft.valid_pools, draft.quotas, draft.shapes, draft.teams) == ({}, {}, (), ())
    assert draft.all_pools_valid
    assert (draft.bill.lines, draft.queueing.cohorts) == ((), ())
    quota = plan_of(platform(teams=[team(guarantee={"train": 8})])).teams[0].quotas[0]
    assert draft.borrowable_beyond_limit(0, quota) == 0


def test_without_a_day_no_check_knows_a_calendar():
    raw = platform(kubernetes="1.33", cloud="aws")
    raw["policies"] = {"exceptions": [_long_over()]}
    draft = Draft(platform_spec(raw))
    for check in (check_kubernetes, check_exceptions):
        assert list(check(draft)) == []
        assert list(check(replace(draft, today=proofs.TODAY.replace(year=2040))))


def _long_over():
    return {
        "rule": "GPU-AWS-01",
        "resource": "lab",
        "reason": "for a week",
        "expires": "2026-01-01",
    }


def test_what_money_buys_is_not_judged_where_a_pool_is_refused():
    raw = platform([pool()], prices={"machines": {"nothing.like-it": {"on_demand": 1}}})
    draft = Draft(spec_of(raw), pools={"train": plan_of(platform()).pools[0]})
    assert [f.id for f in check_prices(draft)] == ["prices.unknown_machine"]
    assert list(check_prices(replace(draft, pools={"train": None}))) == []
    lost = {"commitments": [{"machine": "p4d.24xlarge", "nodes": 2, "years": 1}]}
    found = plan_of(platform([pool(nodes=1)], prices=lost))
    draft = Draft(found.spec, pools={"train": found.pools[0]}, bill=found.bill)
    assert "prices.no_pool" in [f.id for f in check_commitments(draft)]
    assert list(check_commitments(replace(draft, pools={"train": None}))) == []


def counted(monkeypatch, module, name):
    """How often a function is called."""
    calls = []
    real = getattr(module, name)

    @wraps(real)
    def count(*args, **kwargs):
        calls.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, count)
    return calls


def test_a_pool_is_recorded_once_with_what_all_images_agreed_on(monkeypatch):
    made = counted(monkeypatch, pools_module, "PoolPlan")
    scaled = counted(monkeypatch, pools_module, "plan_scaling")
    pools = [
        pool("bare", machine="g6.12xlarge", image="ubuntu-eks", nodes="0..4", scaling="autoscaler"),
        pool("brought", machine="g6.12xlarge", nodes="0..4", scaling="autoscaler"),
    ]
    found = plan_of(platform(pools, cloud="aws"))
    assert len(made) == len(scaled) == len(pools)
    for one in found.pools:
        assert one.node_software.labels.items() <= one.labels.items()
        tags = {
            key.removeprefix(f"{TEMPLATE_TAG}/label/"): value
            for key, value in one.autoscaler_hints.tags.items()
            if key.startswith(f"{TEMPLATE_TAG}/label/")
        }
        assert tags == one.labels
    assert any(one.node_software.labels for one in found.pools)


def test_a_shape_is_asked_once_for_a_pool_then_a_quota_then_limits(monkeypatch):
    order = []
    for name in ("plan_shape_start", "place_shape_with_quota", "keep_teams_within_limits"):
        real = getattr(shapes_module, name)
        monkeypatch.setattr(
            shapes_module,
            name,
            lambda *args, name=name, real=real: [order.append(name), real(*args)][1],
        )
    shapes = [shape("one", gpus_per_node=8), shape("two", gpus_per_node=1)]
    teams = [team(guarantee={"train": 8})]
    assert len(plan_of(platform(teams=teams, shapes=shapes)).shapes) == 2
    assert order == ["plan_shape_start", "place_shape_with_quota", "keep_teams_within_limits"] * 2
