"""Every rule on its cases, through every front end: the same verdict, the same id, whatever the file.

A case file `cases/<id>.yaml` has `bad` (two at least), `good` (two) and `near_miss` (one). A case has
`resources`: Kubernetes objects, cloud resources as {type, name, properties, protect}, or values of a chart as
{chart, values}; `parameters` of the rule; where it is violated, `at`: the path or paths; and `says`: words of
the messages. A near miss without `at` passes.
"""

import functools
import inspect
import json
import re
from pathlib import Path

import pytest
import yaml

from gpuyard.findings import show_path
from gpuyard.lint.embedded import embedded
from gpuyard.lint.inside import with_inside
from gpuyard.lint.items import FilePlace, Item
from gpuyard.lint.kubernetes import resource as kubernetes_resource
from gpuyard.lint.pulumi import pulumi_resource
from gpuyard.lint.read import read
from gpuyard.lint.terraform import KINDS, PLURAL
from gpuyard.rules import RULES
from gpuyard.rules.rule import UNKNOWN, Resource
from gpuyard.rules.run import RuleVerdict, Strictness, evaluate
from gpuyard.spec.yaml_tree import Document
from kit.every import every, judge
from proofs import load

CASES = Path(__file__).parent / "cases"
BY_ID = {rule.id: rule for rule in RULES}
LEAST = {"bad": 2, "good": 2, "near_miss": 1}
SINGULAR = {many: one for one, many in PLURAL.items()}


@functools.cache
def cases(rule_id):
    return load((CASES / f"{rule_id}.yaml").read_text(encoding="utf-8"))


def each_case(check):
    """A test of every case of a rule: one test a rule, and each case that fails is named."""

    @pytest.mark.parametrize("rule_id", sorted(BY_ID))
    @functools.wraps(check)
    def test(rule_id):
        judge(
            [
                (f"{kind}-{case.get('name', index)}", functools.partial(check, rule_id, case))
                for kind, found in cases(rule_id).items()
                for index, case in enumerate(found)
            ]
        )

    test.__signature__ = inspect.signature(test, follow_wrapped=False)
    return test


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


def is_kubernetes(raw):
    return "apiVersion" in raw


def is_values(raw):
    return "values" in raw and "chart" in raw


def one(raw):
    if is_kubernetes(raw):
        return kubernetes_resource(raw)
    if is_values(raw):
        return Resource(f"values:{raw['chart']}", raw["chart"], raw["values"])
    return pulumi_resource(
        raw["type"], raw["name"], raw["properties"], protected=raw.get("protect")
    )


NOWHERE = FilePlace("", Document(None, {}))


def direct(raws):
    """The resources, and the configuration inside them."""
    items = [Item(one(raw), NOWHERE) for raw in raws]
    inner = [each for item in items for each in with_inside(item)]
    values = [item.resource for item in items if item.resource.kind.startswith("values:")]
    inner += [each for resource in values for each in embedded(resource.properties, NOWHERE)]
    return [each.resource for each in inner]


def said(case, rule_id, resources):
    """Places and messages; anything but a violation is an error of the case."""
    settings = Strictness(parameters={rule_id: case.get("parameters", {})})
    outcomes = evaluate(resources, [BY_ID[rule_id]], settings)
    assert {o.verdict for o in outcomes} <= {RuleVerdict.VIOLATED}, [o.problem for o in outcomes]
    where = sorted(show_path(o.path) for o in outcomes)
    return where, " ".join(f"{o.problem} {o.fix}" for o in outcomes)


def expected(case):
    at = case.get("at", [])
    return sorted([at] if isinstance(at, str) else at)


@each_case
def test_a_case_is_judged_as_it_says(rule_id, case):
    where, words = said(case, rule_id, direct(case["resources"]))
    assert where == expected(case)
    assert [w for w in case.get("says", []) if w not in words] == [], words


def through(data, name):
    reading = read(data.encode(), name)
    assert reading.unread == ()
    return reading.items


def token(raw):
    if is_values(raw):
        return "kubernetes:helm.sh/v3:Release"
    if not is_kubernetes(raw):
        return raw["type"]
    api = raw["apiVersion"] if "/" in raw["apiVersion"] else f"core/{raw['apiVersion']}"
    return f"kubernetes:{api}:{raw['kind']}"


def state(raw):
    if is_values(raw):
        name, inputs = "r", {"chart": raw["chart"], "version": "v26.7.0", "values": raw["values"]}
    elif is_kubernetes(raw):
        name, inputs = raw["metadata"]["name"], raw
    else:
        name, inputs = raw["name"], raw["properties"]
    urn = f"urn:pulumi:dev::x::{token(raw)}::{name}"
    return {"type": token(raw), "urn": urn, "inputs": inputs, "protect": raw.get("protect", False)}


@each_case
def test_a_preview_and_a_state_give_the_same(rule_id, case):
    states = [state(raw) for raw in case["resources"]]
    preview = json.dumps({"steps": [{"op": "create", "newState": each} for each in states]})
    export = json.dumps({"version": 3, "deployment": {"resources": states}})
    for data in (preview, export):
        items = through(data, "pulumi.json")
        where, _ = said(case, rule_id, [item.resource for item in items])
        assert where == expected(case)


@each_case
def test_yaml_gives_the_same_and_a_place_in_the_file(rule_id, case):
    if any("type" in raw and "properties" in raw for raw in case["resources"]):
        return  # a cloud resource is no manifest
    written = [raw["values"] if is_values(raw) else raw for raw in case["resources"]]
    items = through(yaml.safe_dump_all(written), "k.yaml")
    where, _ = said(case, rule_id, [item.resource for item in items])
    assert where == expected(case)


def terraform(value, key=None):
    if isinstance(value, dict) and key not in {
        "labels",
        "tags",
        "nodeLabels",
        "resourceLabels",
        "metadata",
    }:
        return {snake(name): terraform(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [terraform(each) for each in value]
    return value


def snake(name):
    return SINGULAR.get(name) or re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", name)


def blocks(value):
    """Blocks that may stand once are lists of one in a plan."""
    if isinstance(value, dict):
        return {
            key: [blocks(each)]
            if isinstance(each, dict) and key not in {"labels", "tags"}
            else blocks(each)
            for key, each in value.items()
        }
    return [blocks(each) for each in value] if isinstance(value, list) else value


@each_case
def test_the_terraform_twin_gives_the_same(rule_id, case):
    by_kind = {kind: name for name, kind in KINDS.items()}
    found = []
    for raw in case["resources"]:
        if is_values(raw):
            values = {"chart": raw["chart"], "values": [yaml.safe_dump(raw["values"])]}
            found.append({"type": "helm_release", "address": "helm_release.r", "values": values})
            continue
        kind = None if is_kubernetes(raw) else by_kind.get(one(raw).kind)
        if kind is None or "protect" in raw or kind == "helm_release":
            return  # Terraform has no such thing, or says it elsewhere
        values = blocks(terraform(raw["properties"]))
        found.append({"type": kind, "address": f"{kind}.{raw['name']}", "values": values})
    plan = json.dumps({"planned_values": {"root_module": {"resources": found}}}, indent=1)
    items = through(plan, "plan.json")
    where, _ = said(case, rule_id, [item.resource for item in items])
    assert where == expected(case)


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
                    assert [o.problem for o in outcomes if o.verdict is RuleVerdict.FAILED] == []


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
                if rule.looks_at(r)
                else r
                for r in resources
            ]
            settings = Strictness(parameters={rule.id: case.get("parameters", {})})
            left = evaluate(mended, [rule], settings)
            assert len(left) < len(evaluate(resources, [rule], settings)), rule.id
