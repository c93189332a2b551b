"""A rule that cannot be held says at which place nobody knows the value."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.fields import (
    PartlyKnown,
    complete_mapping,
    items,
    known_value,
    mapping,
    text,
)
from gpuyard_lint import report as lint_report
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report, find_unknown_value
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Rule
from gpuyard_lint.rules.run import DEFAULT_CONFIGURATION, FindingState, evaluate

GROUP = """resource "aws_eks_node_group" "gpus" {
  instance_types = ["p5.48xlarge"]
  labels         = { team = "a" }
  taint {
    key    = "nvidia.com/gpu"
    effect = var.effect
  }
  node_repair_config { enabled = true }
  scaling_config { max_size = 1 }
}
"""


def rule(check: Any = None, check_stack: Any = None) -> Rule:
    return Rule(
        id="GPU-TRY-01",
        title="t",
        severity=Severity.WARNING,
        why="w",
        fix="f",
        sources=("s",),
        kinds=("v1/Thing", "Thing"),
        check=check,
        check_stack=check_stack,
    )


def told(made: Rule, *properties: Mapping[str, Any]) -> tuple[int, tuple[Any, ...]] | None:
    """The number of the resource and the path; None where nobody can say."""
    resources = [Resource("v1/Thing", "a", each) for each in properties]
    (outcome,) = evaluate(resources, [made])
    found = find_unknown_value(outcome, resources, DEFAULT_CONFIGURATION)
    return found and (resources.index(found[0]), found[1])


@pytest.mark.parametrize(
    ("look", "properties", "path"),
    [
        (lambda p: text(p, "b"), {"a": UNKNOWN, "b": UNKNOWN}, ("b",)),
        (lambda p: text(p, "a", "b"), {"a": {"b": UNKNOWN}}, ("a", "b")),
        (lambda p: known_value(p["a"]["b"]), {"a": {"b": UNKNOWN}}, ("a", "b")),
        (lambda p: text(p, "a", "b"), {"a": PartlyKnown()}, ("a", "b")),
        (lambda p: text(items(p, "a")[1]), {"a": ["x", UNKNOWN]}, ("a", 1)),
        (lambda p: text(items(p, "a")[0], "b"), {"a": ({"b": UNKNOWN},)}, ("a", 0, "b")),
        (
            lambda p: [known_value(each) for each in mapping(p, "a").values()],
            {"a": {"b": UNKNOWN}},
            ("a", "b"),
        ),
        (lambda p: known_value(p["a"]) if len(p) == 1 else None, {"a": UNKNOWN}, ("a",)),
        (lambda p: complete_mapping(p["a"]), {"a": PartlyKnown()}, None),
    ],
)
def test_the_last_unknown_value_that_a_rule_looked_at_is_the_one(look, properties, path):
    def check(resource: Resource, _: Any) -> Any:
        look(resource.properties)
        yield from ()

    assert told(rule(check), properties) == (path and (0, path))


def _several(stack: Any, _: Any) -> Any:
    for each in stack.resources_of_kinds("Thing"):
        text(each.properties, "a")
    yield from ()


def test_of_several_resources_it_is_the_one_that_has_it():
    assert told(rule(check_stack=_several), {"a": "x"}, {"a": UNKNOWN}) == (1, ("a",))


def test_of_very_many_only_the_first_are_watched(monkeypatch):
    monkeypatch.setattr(lint_report, "_MOST_WATCHED", 1)
    assert told(rule(check_stack=_several), {"a": "x"}, {"a": UNKNOWN}) is None


def test_a_report_has_its_line_and_calls_it_as_the_file_does():
    made = build_report(read(GROUP.encode(), "main.tf"), RULES)
    unknown = [hit for hit in made.hits if hit.state is FindingState.NOT_EVALUATED]
    assert {(hit.rule.id, hit.line, hit.diagnostic.location) for hit in unknown} >= {
        ("GPU-CAP-01", 6, "taint[0].effect"),
        ("GPU-CAP-06", 1, "tags"),
    }
    assert all(hit.file == "main.tf" and hit.diagnostic.location for hit in unknown)
