"""The stacks that come with the library: short, each with its page, and nothing that a rule of ours finds."""

from functools import cache, partial
from pathlib import Path

import pytest
import yaml
from testbed.plugins.cloud.judging import judged

from gpuyard.render.cloud.graph import platform_resource_name
from gpuyard.render.platform import platform_objects
from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import validate
from gpuyard_advisor.readiness.assessment import assess_readiness
from gpuyard_advisor.readiness.evidence import CheckStatus
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.run import FindingState
from kit.clouds.answers import PLACES
from kit.clouds.aws import found_by_rules
from kit.clouds.given import account_with

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "stacks"
OF_CLOUDS = ("aws-inference", "aws-training", "existing", "gcp-inference", "gcp-training")
SHIPPED = (*OF_CLOUDS, "local")
PARTS = (
    "## What it builds",
    "## What it costs",
    "## See it on a fake",
    "## Deploy it for real",
)
ASKED = ("Credentials", "Quotas", "First preview", "To take it away")
each = pytest.mark.parametrize("name", OF_CLOUDS)


def file_of(name):
    return ROOT / "stacks" / f"Pulumi.{name}.yaml"


def raw_of(name):
    return yaml.safe_load(file_of(name).read_text(encoding="utf-8"))["config"]["gpuyard:platform"]


@cache
def plan_of(name):
    found = validate(read_stack_file(file_of(name).read_bytes(), name))
    assert found.plan is not None, [str(finding) for finding in found.findings]
    return found.plan


def inside(plan):
    """What a stack registers in its cluster."""
    for obj in platform_objects(plan):
        yield Resource(f"{obj['apiVersion']}/{obj['kind']}", obj["metadata"]["name"], obj)


def test_these_are_shipped_and_no_others():
    assert sorted(path.name for path in (ROOT / "stacks").glob("Pulumi.*.yaml")) == [
        f"Pulumi.{name}.yaml" for name in SHIPPED
    ]
    assert sorted(path.stem for path in PAGES.glob("*.md")) == list(OF_CLOUDS)
    assert {name: plan_of(name).name for name in SHIPPED} == {name: name for name in SHIPPED}


@each
def test_a_stack_is_short_and_its_page_says_all_that_a_deployer_asks(name):
    assert len(file_of(name).read_text(encoding="utf-8").splitlines()) <= 75
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert "```mermaid" in page
    assert f"stacks/Pulumi.{name}.yaml" in page
    at = [page.index(part) for part in PARTS]
    assert at == sorted(at)
    real = page[at[-1] :]
    assert [word for word in ASKED if word not in real] == []
    assert f"make up STACK={name}" in page
    assert f"make down STACK={name}" in page
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"stacks/{name}.md" in navigation


@each
def test_no_rule_of_ours_finds_anything_in_what_a_stack_registers(name):
    plan = plan_of(name)
    graph, objects = plan.provider.graph(plan), list(inside(plan))
    assert found_by_rules(graph, known=True, beside=objects) == set()
    previewed = found_by_rules(graph, known=False, beside=objects)
    assert {verdict for *_, verdict in previewed} <= {FindingState.NOT_EVALUATED}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_stack_passes_most_readiness_checks_that_its_file_alone_decides(name):
    """Checks of monitoring, and those that only a cluster or a run can answer, are left out."""
    found = validate(read_stack_file(file_of(name).read_bytes(), name))
    answers = assess_readiness(plan_of(name), found.findings).answers
    decided = [each for each in answers if each.applies and each.check.category != "monitoring"]
    passed = sum(each.status is CheckStatus.PASS for each in decided)
    failed = sum(each.status is CheckStatus.FAIL for each in decided)
    assert passed / (passed + failed) >= 0.6


def test_the_cluster_that_exists_is_read_and_nothing_of_it_is_made():
    raw, plan = raw_of("existing"), plan_of("existing")
    graph, account = plan.provider.graph(plan), account_with(raw)
    before = {(one.kind, one.id): one.state for one in account.all()}
    assert judged(graph, PLACES["aws"], account, partial(platform_resource_name, "second")) == []
    after = {(one.kind, one.id): one.state for one in account.all()}
    assert {key: after.get(key) for key in before} == before
    made = {kind for kind, _ in after.keys() - before.keys()}
    assert "aws:eks/nodeGroup:NodeGroup" in made
    assert made & {"aws:eks/cluster:Cluster", "aws:ec2/vpc:Vpc", "aws:eks/addon:Addon"} == set()
