"""Every manifest of `gpuyard job new` starts, by explain, and has no finding, by lint: each shape, kind, team and stack."""

import pytest
import yaml

from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.job_manifests import (
    ManifestKind,
    default_kind,
    manifest_text,
    place_shape,
)
from gpuyard_advisor.workload_lint import lint_workloads
from gpuyard_advisor.workloads import read_job
from kit.cases.manifests import STACKS, plan_of_stack, request, requests

FEWEST = {"dispatcher": 2, "gb200-dra": 7}
"""A dispatcher runs Jobs only; the other stacks have at least a dozen."""


@pytest.mark.parametrize("stack", STACKS)
def test_every_manifest_starts_and_has_no_finding(stack):
    plan = plan_of_stack(STACKS[stack])
    every = list(requests(plan))
    assert len(every) >= FEWEST.get(stack, 12)
    for one in every:
        title = f"{one.kind} of {one.shape.name} for {one.team.name}"
        text = manifest_text(plan, one)
        (workload,) = filter(None, map(read_job, yaml.safe_load_all(text)))
        found = explain(plan, workload)
        assert (found.verdict, found.pools) == (Verdict.STARTS, (one.shape.pool,)), title
        assert found.pods == one.shape.nodes, title
        report = lint_workloads(plan, [one.team], text.encode(), "job.yaml")
        assert [hit.diagnostic.summary for hit in report.open_findings] == [], title


def test_all_kinds_are_written_for_some_stack():
    written = {one.kind for path in STACKS.values() for one in requests(plan_of_stack(path))}
    assert written == set(ManifestKind)


def test_the_default_kind_is_written_for_every_shape_and_team_with_quota():
    for path in STACKS.values():
        plan = plan_of_stack(path)
        for shape in plan.shapes:
            for team in plan.teams:
                if placed := place_shape(plan, team, shape.name):
                    kind = default_kind(plan, team, placed)
                    assert request(plan, kind, team.name, shape.name), (path.name, shape.name, kind)
