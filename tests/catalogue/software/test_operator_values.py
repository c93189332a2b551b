"""The values that are called unknown are those that the chart does not have."""

import pytest
import yaml

from gpuyard.catalogue.software.operator_values import OF_HELM, SECTIONS, TOP_LEVEL
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
