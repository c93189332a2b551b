"""Every rule on its cases, through every front end: the same verdict, the same id, whatever the file.

A case file `cases/<id>.yaml` has `bad` (two at least), `good` (two) and `near_miss` (one). A case has
`resources`: Kubernetes objects, cloud resources as {type, name, properties, protect}, or values of a chart as
{chart, values}; `parameters` of the rule; where it is violated, `at`: the path or paths; and `says`: words of
the messages; `severity` where it is less grave than the rule, `choice` where it can be defended. A near miss
without `at` passes. `not_as` says which front ends cannot hold it, and why; beside `bad` it holds for the
whole file.
"""

import functools
import re
from collections import Counter
from pathlib import Path

import pytest

from case_files import load
from gpuyard_core.findings import Severity, show_path
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.embedded import embedded_configuration
from gpuyard_lint.embedded_values import A_TEMPLATE_OF_VALUES, with_embedded
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import resource as kubernetes_resource
from gpuyard_lint.pulumi import pulumi_resource
from gpuyard_lint.read import read
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from gpuyard_lint.rules.run import FindingState, RuleConfiguration, evaluate
from kit.cases.front_ends import FRONT_ENDS, NoTwinError, is_kubernetes, is_values
from kit.every import every, judge

CASES = Path(__file__).parent / "cases"
BY_ID = {rule.id: rule for rule in RULES}
LEAST = {"bad": 2, "good": 2, "near_miss": 1}


@functools.cache
def cases(rule_id):
    """By kind; `not_as` of the file stands in every case."""
    found = load((CASES / f"{rule_id}.yaml").read_text(encoding="utf-8"))
    nowhere = found.pop("not_as", {})
    for case in (each for kind in found.values() for each in kind):
        case["not_as"] = nowhere | case.get("not_as", {})
        if "terraform" in case["not_as"]:  # what a plan cannot hold, no source of one does
            case["not_as"] = {"hcl": case["not_as"]["terraform"]} | case["not_as"]
    return found


def named_cases(rule_id):
    return [
        (f"{kind}-{case.get('name', index)}", case)
        for kind, found in cases(rule_id).items()
        for index, case in enumerate(found)
    ]


def test_every_rule_has_its_cases_and_nothing_is_left_over():
    assert {path.stem for path in CASES.glob("*.yaml")} == set(BY_ID)


@every("rule_id", sorted(BY_ID))
def test_there_are_enough_cases(rule_id):
    found = cases(rule_id)
    assert {kind: len(found[kind]) >= least for kind, least in LEAST.items()} == dict.fromkeys(
        LEAST, True
    )
    assert all("at" in case for case in found["bad"])
    assert not any("at" in case for case in found["good"])


def one(raw):
    if is_kubernetes(raw):
        return kubernetes_resource(raw)
    if is_values(raw):
        return Resource(f"values:{raw['chart']}", raw["chart"], raw["values"])
    return pulumi_resource(
        raw["type"], raw["name"], raw["properties"], protected=raw.get("protect")
    )


NOWHERE = FileLocation("", Document(None, {}))


def direct(raws):
    """The resources, and the configuration inside them."""
    items = [Item(one(raw), NOWHERE) for raw in raws]
    inner = [each for item in items for each in with_embedded(item)]
    values = [item.resource for item in items if item.resource.kind.startswith("values:")]
    inner += [
        each for resource in values for each in embedded_configuration(resource.properties, NOWHERE)
    ]
    return [each.resource for each in inner]


def said(case, rule_id, resources):
    """Places and messages; anything but a violation, or another severity, is an error of the case."""
    settings = RuleConfiguration(parameters={rule_id: case.get("parameters", {})})
    outcomes = evaluate(resources, [BY_ID[rule_id]], settings)
    assert {o.state for o in outcomes} <= {FindingState.OPEN}, [
        o.diagnostic.problem for o in outcomes
    ]
    grave = case.get("severity", BY_ID[rule_id].severity)
    grave = set(map(Severity, [grave] if isinstance(grave, str) else grave))
    assert {o.diagnostic.severity for o in outcomes} <= grave
    choices = case.get("choice", False)
    assert {o.is_advisory for o in outcomes} <= set(
        choices if isinstance(choices, list) else [choices]
    )
    where = sorted(show_path(o.diagnostic.path) for o in outcomes)
    return where, " ".join(f"{o.diagnostic.problem} {o.diagnostic.fix_message}" for o in outcomes)


def expected(case):
    at = case.get("at", [])
    return sorted([at] if isinstance(at, str) else at)


@pytest.mark.parametrize("rule_id", sorted(BY_ID))
def test_a_case_is_judged_as_it_says(rule_id):
    def check(case):
        where, words = said(case, rule_id, direct(case["resources"]))
        assert where == expected(case)
        assert [w for w in case.get("says", []) if w not in words] == [], words

    judge([(name, functools.partial(check, case)) for name, case in named_cases(rule_id)])


def through(front, case):
    """The resources of a case, written as a file of a front end and read again."""
    name, written = FRONT_ENDS[front]
    reading = read(written(case["resources"]).encode(), name)
    assert {each.reason for each in reading.skipped} <= {A_TEMPLATE_OF_VALUES}
    return [item.resource for item in reading.items]


@pytest.mark.parametrize("rule_id", sorted(BY_ID))
def test_a_case_is_judged_the_same_whatever_the_file(rule_id):
    def check(front, case):
        where, _ = said(case, rule_id, through(front, case))
        assert where == expected(case)

    judge(
        [
            (f"{name} as {front}", functools.partial(check, front, case))
            for name, case in named_cases(rule_id)
            for front in FRONT_ENDS
            if front not in case["not_as"]
        ]
    )


CLAIMS = [
    (rule_id, name, front, why, case["resources"])
    for rule_id in sorted(BY_ID)
    for name, case in named_cases(rule_id)
    for front, why in case["not_as"].items()
]


@every(
    ("rule_id", "name", "front", "why", "resources"),
    CLAIMS,
    ids=[f"{rule_id} {name} as {front}" for rule_id, name, front, *_ in CLAIMS],
)
def test_what_is_said_to_have_no_twin_has_none(rule_id, name, front, why, resources):
    _, written = FRONT_ENDS[front]
    with pytest.raises(NoTwinError) as caught:
        written(resources)
    assert str(caught.value) == why


def test_how_many_cases_no_front_end_can_hold_is_known(golden):
    """They are few, and their number never grows unseen; none is left out in silence."""
    counted = Counter((front, why) for _, _, front, why, _ in CLAIMS)
    lines = [f"{front}: {count} cases: {why}" for (front, why), count in sorted(counted.items())]
    golden(Path(__file__).with_name("not_as.txt"), "\n".join(lines) + "\n")


def unknown_parts(value, depth=0):
    """The value with one part after another unknown."""
    if isinstance(value, dict):
        for key, each in value.items():
            if depth:
                yield {**value, key: UNKNOWN}
            for inner in unknown_parts(each, depth + 1):
                yield {**value, key: inner}
    elif isinstance(value, list):
        for index, each in enumerate(value):
            for inner in unknown_parts(each, depth + 1):
                yield [*value[:index], inner, *value[index + 1 :]]


@pytest.mark.parametrize("rule_id", sorted(BY_ID))
def test_nothing_unknown_or_strange_makes_a_rule_fail(rule_id):
    for kind in LEAST:
        for case in cases(rule_id)[kind]:
            resources = direct(case["resources"])
            for index, each in enumerate(resources):
                for changed in [
                    *unknown_parts(each.properties),
                    {},
                    {"spec": []},
                    {"spec": {"template": 5}},
                ]:
                    odd = Resource(each.kind, each.name, changed)
                    outcomes = evaluate(
                        [*resources[:index], odd, *resources[index + 1 :]], [BY_ID[rule_id]]
                    )
                    assert [
                        o.diagnostic.problem for o in outcomes if o.state is FindingState.FAILED
                    ] == []


FILLINGS = ("${X}", "$X", "${X:=4}", "<x>", "{{ .x }}", "@X@", "__X__", "%%X%%", "X_PLACEHOLDER")


def standing(value, path):
    """What stands at a path, None where nothing does."""
    for step in path:
        there = isinstance(value, dict) and step in value
        there |= isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not there:
            return None
        value = value[step]
    return value


def put(value, path, other):
    if not path:
        return other
    inner = put(value[path[0]], path[1:], other)
    if isinstance(value, dict):
        return {**value, path[0]: inner}
    return [*value[: path[0]], inner, *value[path[0] + 1 :]]


def judged_with(case, rule_id, own, path, value):
    """What is said of a resource of a case with another value at a path."""
    other = Resource(
        own.kind, own.name, put(own.properties, path, value), own.protected, own.source
    )
    resources = [other if each is own else each for each in case["direct"]]
    settings = RuleConfiguration(parameters={rule_id: case.get("parameters", {})})
    return [
        each for each in evaluate(resources, [BY_ID[rule_id]], settings) if each.resource is other
    ]


@functools.cache
def told_by_their_value(rule_id):
    """Places of bad cases at which one value stands, and what is told of them of any value."""
    found = []
    for bad in cases(rule_id)["bad"]:
        case = {**bad, "direct": direct(bad["resources"])}
        settings = RuleConfiguration(parameters={rule_id: case.get("parameters", {})})
        for outcome in evaluate(case["direct"], [BY_ID[rule_id]], settings):
            own, path = outcome.resource, outcome.diagnostic.path
            if own and not isinstance(standing(own.properties, path), dict | list | None):
                said = judged_with(case, rule_id, own, path, UNKNOWN)
                words = {each.diagnostic.problem for each in said if each.diagnostic.path == path}
                found.append((case, own, path, words))
    return found


@every("filling", FILLINGS)
def test_no_rule_says_of_what_somebody_fills_in_that_it_is_a_wrong_value(filling):
    unknown = 0
    for rule_id in sorted(BY_ID):
        for case, own, path, words in told_by_their_value(rule_id):
            said = judged_with(case, rule_id, own, path, filling)
            unknown += any(each.state is FindingState.NOT_EVALUATED for each in said)
            told = {
                each.diagnostic.problem
                for each in said
                if each.state is FindingState.OPEN and each.diagnostic.path == path
            }
            assert [each for each in told if filling in each] == []
            assert told <= words, (rule_id, path)  # of any value the same
    assert unknown > 50, "many are told by their value"


@every("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_all_that_a_reader_needs(rule):
    assert re.fullmatch(r"GPU-[A-Z0-9]+-\d\d", rule.id)
    for words in (rule.title, rule.why, rule.fix):
        assert words[0].isupper()
    assert not rule.title.endswith(".") or "requests." in rule.title
    assert rule.why.endswith(".")
    assert rule.sources
    assert rule.kinds
    assert rule.check or rule.check_stack


def test_a_remedy_takes_the_violation_away():
    for rule in [rule for rule in RULES if rule.remediate]:
        for case in cases(rule.id)["bad"]:
            resources = direct(case["resources"])
            mended = [
                Resource(r.kind, r.name, rule.remediate(r.properties), r.protected)
                if rule.applies_to(r)
                else r
                for r in resources
            ]
            settings = RuleConfiguration(parameters={rule.id: case.get("parameters", {})})
            left = evaluate(mended, [rule], settings)
            assert len(left) < len(evaluate(resources, [rule], settings)), rule.id
