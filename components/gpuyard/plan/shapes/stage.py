"""Stage: for every shape a pool that fits, a team with the quota, and limits for the rest."""

from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import ShapePlan
from gpuyard.plan.shapes.host import configured_limits, keep_teams_within_limits
from gpuyard.plan.shapes.quota import place_shape_with_quota, quota_holders
from gpuyard.plan.shapes.shapes import plan_shape_start
from gpuyard_core.findings import Diagnostic


def decide_shapes(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """Where each shape starts, and for which teams; one that cannot is dropped with a finding."""
    spec = draft.spec
    positions = {pool.name: i for i, pool in reversed(list(enumerate(spec.pools)))}
    holders, limits = quota_holders(draft.quotas), configured_limits(spec)
    results: list[ShapePlan] = []
    blocked: dict[str, tuple[str, ...]] = {}
    findings: list[Diagnostic] = []
    for index, shape in enumerate(spec.shapes):
        first, problem = plan_shape_start(shape, draft.pools, positions, ("shapes", index))
        findings += [problem] if problem else []
        if first is None:
            continue
        placed, problems = place_shape_with_quota(draft, index, first, holders)
        findings += problems
        if placed is None:
            continue
        plan, short = keep_teams_within_limits(shape, placed, limits)
        results.append(plan)
        if short:
            blocked[shape.name] = short
    return replace(draft, shapes=tuple(results), blocked_teams=blocked), findings
