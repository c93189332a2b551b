"""What is written as SARIF is SARIF 2.1.0: held against models that are made from the official schema."""

import copy
import json
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Log

from case_files import load
from gpuyard_lint.formats import sarif
from gpuyard_lint.ignores import parse_ignores
from gpuyard_lint.items import LintInput, SkippedFile
from gpuyard_lint.pulumi import UNKNOWN_TEXT
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import RuleConfiguration
from kit.cases.front_ends import preview

CASES = Path(__file__).parents[1] / "rules" / "cases"
QUOTA = (
    "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {nvidia.com/gpu: 8}}\n"
)
IGNORED = QUOTA.rstrip() + "  # gpuyard: ignore GPU-TEN-02 because it moves\n"
NAMES = ("a b/ü#%.yaml", "C:\\x\\y.yaml", "<stdin>", "-")


def log(*readings, **more):
    whole = sum(readings, LintInput())
    return json.loads(json.dumps(sarif(build_report(whole, RULES, **more), "1.2.3")))


def validated(document):
    Log.model_validate_json(json.dumps(document))
    return document["runs"][0]


@pytest.mark.parametrize("name", NAMES)
def test_a_finding_in_a_file_of_any_name_is_valid(name):
    run = validated(log(read(QUOTA.encode(), name)))
    assert [result["ruleId"] for result in run["results"]] == ["GPU-TEN-02"]


def test_nothing_at_all_is_valid():
    assert validated(log())["results"] == []


def test_ignored_known_unread_and_unknown_are_valid():
    data = IGNORED.encode()
    known = read(QUOTA.encode(), "b.yaml")
    prints = [hit.fingerprint for hit in build_report(known, RULES).hits]
    unknown = {
        "steps": [{"op": "create", "newState": {"type": "kubernetes:core/v1:ResourceQuota"}}]
    }
    unknown["steps"][0]["newState"] |= {
        "urn": "u::q",
        "inputs": {"spec": UNKNOWN_TEXT},
    }
    document = log(
        read(data, "a.yaml"),
        known,
        read(json.dumps(unknown).encode(), "p.json"),
        LintInput(
            (), (SkippedFile("t.yaml", "a template", 3, template=True), SkippedFile("x.yaml", "no"))
        ),
        ignores=parse_ignores(data, "a.yaml"),
        baseline=prints,
    )
    run = validated(document)
    kinds = {
        (r.get("kind"), *(s["kind"] for s in r.get("suppressions", ()))) for r in run["results"]
    }
    assert {("open",), (None, "external"), (None, "inSource")} <= kinds
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert [each["level"] for each in told] == ["note", "warning"]


def test_every_bad_case_of_every_rule_is_valid_and_has_a_result():
    for path in sorted(CASES.glob("*.yaml")):
        for case in load(path.read_text(encoding="utf-8"))["bad"]:
            text = preview(case["resources"])
            reading = read(text.encode(), "preview.json")
            settings = RuleConfiguration(parameters={path.stem: case.get("parameters", {})})
            run = validated(log(reading, settings=settings))
            assert path.stem in {each["ruleId"] for each in run["results"]}, case["name"]


def test_a_result_points_at_its_rule_and_lines_begin_at_one():
    run = validated(log(read(QUOTA.encode(), "a.yaml")))
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert min(region["startLine"], region["startColumn"]) >= 1
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert not any("helpUri" in rule for rule in rules)  # there is no address to give


@pytest.mark.parametrize(
    "break_it",
    [
        lambda run: run["results"][0].update(level="grave"),
        lambda run: run["results"][0].update(where="here"),
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(kind="maybe"),
        lambda run: run["results"][0].update(ruleIndex=-2),
        lambda run: run["tool"]["driver"].pop("name"),
        lambda run: run.update(columnKind="bytes"),
        lambda run: run["results"][0].update(suppressions=[{"kind": "outside"}]),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(
            startLine=0
        ),
    ],
)
def test_the_models_refuse_what_is_no_sarif(break_it):
    document = log(read(QUOTA.encode(), "a.yaml"))
    validated(document)
    broken = copy.deepcopy(document)
    break_it(broken["runs"][0])
    with pytest.raises(ValidationError):
        validated(broken)
