"""The values that are called unknown are those that the chart does not have."""

import pytest
import yaml

from gpuyard_core.catalogue.software.operator_values import (
    FIELDS,
    OF_A_RELEASE,
    OF_HELM,
    SECTIONS,
    TOP_LEVEL,
    fields_of,
)
from kit.levels import upstream


@pytest.fixture(scope="module")
def chart():
    return yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def policy():
    path = upstream("crds", "gpu-operator", "nvidia.com_clusterpolicies.yaml")
    versions = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["versions"]
    (version,) = [each for each in versions if each["name"] == "v1"]  # the one that is rendered
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def test_the_first_level_is_the_chart_s(chart):
    assert set(chart) | OF_HELM == TOP_LEVEL


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_nothing_the_chart_has_is_called_unknown(chart, section):
    assert set(chart[section]) <= SECTIONS[section]


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_nothing_is_known_that_neither_chart_nor_policy_has(chart, policy, section):
    assert set(chart[section]) | set(policy[section]["properties"]) == SECTIONS[section]


def below(values, path):
    for key in path:
        values = values.get(key, {})
    return values


def in_policy(policy, path):
    """The schema of what is at this path of a policy; none where the chart alone has it."""
    schema = {"properties": policy}
    for key in path:
        schema = schema.get("properties", {}).get(key, {})
    return schema


@pytest.mark.parametrize("path", sorted(FIELDS), ids=".".join)
def test_the_fields_of_what_is_closed_are_those_of_the_chart_and_the_policy(chart, policy, path):
    of_policy = in_policy(policy, path)
    theirs = set(below(chart, path)) | set(of_policy.get("properties", {}))
    if path[-1] == "config":  # what templates read where they make the ConfigMap
        theirs |= {"create", "data", "name"}
    assert fields_of(path) == theirs
    assert "additionalProperties" not in of_policy
    assert "x-kubernetes-preserve-unknown-fields" not in of_policy


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("path", sorted(FIELDS), ids=".".join)
def test_what_is_called_a_default_is_the_chart_s(chart, path):
    given = below(chart, path)
    known = {name: default for name, default in FIELDS[path].items() if default is not None}
    assert {name: default for name, default in known.items() if default != OF_A_RELEASE} == {
        name: given[name] for name, default in known.items() if default != OF_A_RELEASE
    }


def test_what_is_open_has_no_fields():
    assert fields_of(("devicePlugin", "config", "data")) is None
    assert fields_of(("operator",)) is None
    assert fields_of(()) == TOP_LEVEL
    assert fields_of(("mig",)) == {"strategy"}
