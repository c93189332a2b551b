"""How rules are held against resources: verdicts, levels, exceptions, and rules that fail."""

import datetime as dt
from dataclasses import replace

import pytest

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.fields import known_value
from gpuyard_lint.rules.rule import (
    UNKNOWN,
    ContextEffect,
    NotEvaluatedError,
    Resource,
    Rule,
    Stack,
    Violation,
    once_per_stack,
)
from gpuyard_lint.rules.run import (
    Exemption,
    FindingState,
    RuleConfiguration,
    check_resource,
    check_stack,
    evaluate,
)


def one(resource, parameters):
    if known_value(resource.properties.get("size")) == parameters.get("bad", 3):
        yield Violation(("size",), "three is wrong", "write 2")


def all_(stack, parameters):
    for resource in stack.resources_of_kinds("Widget"):
        if resource.properties.get("lonely"):
            yield Violation(("lonely",), "it is alone", "add another", resource)
    if len(stack.resources_of_kinds("Widget", "Gadget")) > parameters["most"]:
        yield Violation((), "too many", "remove some")


def rule(id_="GPU-X-01", **rest):
    return Rule(
        **{
            "id": id_,
            "title": "t",
            "severity": Severity.WARNING,
            "why": "w",
            "fix": "f",
            "sources": ("s",),
            "kinds": ("Widget",),
            **rest,
        }
    )


ONE = rule(check=one)
ALL = rule("GPU-X-02", check_stack=all_, parameters={"most": 2})


def widget(name="a", **properties):
    return Resource("v1/Widget", name, properties)


def said(*resources, rules=(ONE, ALL), **settings):
    outcomes = evaluate(resources, rules, RuleConfiguration(**settings))
    return [(o.rule.id, o.resource.name if o.resource else None, o.state) for o in outcomes]


def test_a_sound_resource_says_nothing():
    assert said(widget(size=2)) == []


def test_a_violation_names_rule_resource_place_and_fix():
    (outcome,) = evaluate([widget(size=3)], [ONE])
    assert (outcome.rule, outcome.resource.name, outcome.diagnostic.path) == (ONE, "a", ("size",))
    assert (outcome.diagnostic.problem, outcome.diagnostic.fix_message) == (
        "three is wrong",
        "write 2",
    )
    assert outcome.diagnostic.severity is Severity.WARNING


def test_a_rule_of_the_stack_says_which_resource_or_none():
    found = said(widget("a", lonely=True), widget("b"), Resource("x.io/v1/Gadget", "c", {}))
    assert found == [("GPU-X-02", "a", FindingState.OPEN)]
    assert said(*[widget(str(i)) for i in range(3)]) == [("GPU-X-02", None, FindingState.OPEN)]


def test_a_rule_is_not_asked_about_other_kinds():
    assert said(Resource("v1/Gadget", "a", {"size": 3})) == []
    assert said(Resource("x.io/v1/Widget", "a", {"size": 3})) == []


def test_what_is_not_known_is_not_evaluated_and_not_passed():
    assert said(widget(size=UNKNOWN)) == [("GPU-X-01", "a", FindingState.NOT_EVALUATED)]


def test_a_rule_that_fails_says_so_and_hides_nothing():
    def breaks(resource, _):
        yield Violation(("size",), "first", "fix")
        raise KeyError("oops")

    broken = rule(check=breaks)
    assert said(widget(size=3), rules=[broken, ONE]) == [
        ("GPU-X-01", "a", FindingState.OPEN),
        ("GPU-X-01", "a", FindingState.FAILED),
        ("GPU-X-01", "a", FindingState.OPEN),
    ]
    outcome = evaluate([widget(size=3)], [broken])[-1]
    assert outcome.diagnostic.problem == "the rule failed: KeyError: 'oops'; please report it"


def test_a_rule_can_be_off_or_of_another_severity_or_with_another_parameter():
    assert said(widget(size=3), off=frozenset({"GPU-X-01"})) == []
    (outcome,) = evaluate(
        [widget(size=3)], [ONE], RuleConfiguration(severities={"GPU-X-01": Severity.ERROR})
    )
    assert outcome.diagnostic.severity is Severity.ERROR
    assert said(widget(size=3), parameters={"GPU-X-01": {"bad": 4}}) == []
    assert said(widget(), parameters={"GPU-X-02": {"most": 0}}) == [
        ("GPU-X-02", None, FindingState.OPEN)
    ]


EXEMPT = Exemption("GPU-X-01", "a", "moves in spring", dt.date(2027, 3, 31))


@pytest.mark.parametrize(
    ("today", "verdict", "note"),
    [
        (None, FindingState.EXEMPTED, "exception until 2027-03-31: moves in spring"),
        (
            dt.date(2027, 3, 30),
            FindingState.EXEMPTED,
            "exception until 2027-03-31: moves in spring",
        ),
        (
            dt.date(2027, 3, 31),
            FindingState.OPEN,
            "exception expired on 2027-03-31: moves in spring",
        ),
    ],
)
def test_an_exception_holds_until_its_day(today, verdict, note):
    settings = RuleConfiguration(exemptions=(EXEMPT,), today=today)
    (outcome,) = evaluate([widget(size=3)], [ONE], settings)
    assert (outcome.state, outcome.note) == (verdict, note)


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_two_exceptions_the_one_that_ends_last_counts(newer_first):
    newer = Exemption("GPU-X-01", "a", "moves in summer", dt.date(2027, 6, 30))
    both = (newer, EXEMPT) if newer_first else (EXEMPT, newer)
    settings = RuleConfiguration(exemptions=both, today=dt.date(2027, 4, 1))
    (outcome,) = evaluate([widget(size=3)], [ONE], settings)
    assert (outcome.state, outcome.note) == (
        FindingState.EXEMPTED,
        "exception until 2027-06-30: moves in summer",
    )


def test_an_exception_is_for_one_resource_and_one_rule():
    others = said(widget("b", size=3), widget("a", lonely=True), exemptions=(EXEMPT,))
    assert {verdict for _, _, verdict in others} == {FindingState.OPEN}


def test_a_rule_looks_at_one_thing_only_where_it_says_how():
    assert check_resource(ALL, widget(), RuleConfiguration()) == []
    assert check_stack(ONE, Stack((widget(),)), RuleConfiguration()) == []


def test_an_outcome_about_nothing_in_particular_cannot_be_excepted():
    exempt = Exemption("GPU-X-02", "", "all of it", dt.date(2027, 1, 1))
    found = said(*[widget(str(i)) for i in range(3)], exemptions=(exempt,))
    assert found == [("GPU-X-02", None, FindingState.EXEMPTED)]


def choosing(resource, _):
    yield Violation(("size",), "it can be defended", "or not", is_advisory=True)
    yield Violation(("a",), "it can not", "mend it")


def test_what_can_be_defended_is_marked_until_a_user_asks_for_it_or_sets_a_level():
    either = rule(check=choosing)

    def marked(**settings):
        return [
            o.is_advisory for o in evaluate([widget()], [either], RuleConfiguration(**settings))
        ]

    assert marked() == [True, False]
    assert marked(counts_advisory=True) == [False, False]
    assert marked(severities={"GPU-X-01": Severity.INFO}) == [False, False]
    assert marked(severities={"GPU-X-02": Severity.INFO}) == [True, False]


def by_gadgets(stack, *_):
    gadgets = len(stack.resources_of_kinds("Gadget"))
    return (ContextEffect.FULL, ContextEffect.CHOICE, ContextEffect.UNSURE)[gadgets]


LENIENT = rule(check=one, adjust=by_gadgets)
GADGET = Resource("v1/Gadget", "g", {})


def choices(*resources, of=LENIENT, **settings):
    return [o.is_advisory for o in evaluate(resources, [of], RuleConfiguration(**settings))]


def test_all_that_is_in_view_makes_a_choice_of_what_is_said_of_one():
    assert choices(widget(size=3)) == [False]
    assert choices(widget(size=3), GADGET) == [True]
    assert choices(widget(size=3), GADGET, of=ONE) == [False]


def test_whoever_asks_for_choices_or_sets_a_level_gets_what_is_defended_as_well():
    assert choices(widget(size=3), GADGET, counts_advisory=True) == [False]
    assert choices(widget(size=3), GADGET, severities={ONE.id: Severity.ERROR}) == [False]


def test_what_nobody_in_view_can_be_sure_of_is_a_warning_at_most():
    other = Resource("v1/Gadget", "h", {})
    (grave,) = evaluate([widget(size=3), GADGET, other], [LENIENT])
    assert (grave.diagnostic.severity, grave.is_advisory) == (Severity.WARNING, False)
    noted = replace(LENIENT, severity=Severity.INFO)
    (less,) = evaluate([widget(size=3), GADGET, other], [noted])
    assert less.diagnostic.severity is Severity.INFO
    set_ = RuleConfiguration(severities={LENIENT.id: Severity.ERROR})
    assert (
        evaluate([widget(size=3), GADGET, other], [LENIENT], set_)[0].diagnostic.severity
        is Severity.ERROR
    )


def test_what_something_else_in_view_makes_right_is_not_said_whoever_asks():
    right = rule(check=one, adjust=lambda stack, resource, path: ContextEffect.NONE)
    assert choices(widget(size=3), of=right) == []
    assert choices(widget(size=3), of=right, counts_advisory=True) == []
    assert choices(widget(size=3), of=right, severities={right.id: Severity.ERROR}) == []
    assert choices(widget(size=UNKNOWN), of=right) == [False]


def test_what_could_not_be_evaluated_is_no_choice():
    assert choices(widget(size=UNKNOWN), GADGET) == [False]


def test_what_is_not_known_of_the_others_defends_nothing():
    unsure = rule(check=one, adjust=lambda stack, resource, path: known_value(UNKNOWN))
    assert choices(widget(size=3), of=unsure) == [False]


def test_a_function_that_is_once_per_stack_scans_each_stack_once_for_each_argument():
    scanned = []

    @once_per_stack
    def names(stack, kind):
        scanned.append(kind)
        return {known_value(each.name) for each in stack.resources_of_kinds(kind)}

    pod = Resource("v1/Pod", "a", {})
    stack, other = Stack((pod,)), Stack(())
    assert [names(each, "Pod") for each in (stack, stack, other)] == [{"a"}, {"a"}, set()]
    assert names(stack, "Secret") == set()
    assert scanned == ["Pod", "Pod", "Secret"]
    assert stack.resources_named("a", "Pod") == [pod]
    assert stack.resources_named("a", "Secret") == []


def test_a_function_that_is_once_per_stack_is_not_run_again_where_a_value_is_unknown():
    scanned = []

    @once_per_stack
    def names(stack):
        scanned.append(stack)
        return known_value(UNKNOWN)

    stack = Stack(())
    for _ in range(2):
        with pytest.raises(NotEvaluatedError):
            names(stack)
    assert scanned == [stack]
