"""Every shape, asked in turn for a pool that holds it, a team with the quota, and limits for the rest."""

from dataclasses import replace

from gpuyard.findings import Finding
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import ShapePlan
from gpuyard.plan.shapes.host import configured_limits, within_limits
from gpuyard.plan.shapes.quota import quota_holders, with_quota
from gpuyard.plan.shapes.shapes import start_of_shape


def decide_shapes(draft: Draft) -> tuple[Draft, list[Finding]]:
    """Where each shape starts and who can start it; a shape that cannot start is left out, and says why."""
    spec = draft.spec
    positions = {pool.name: i for i, pool in reversed(list(enumerate(spec.pools)))}
    holders, limits = quota_holders(draft.quotas), configured_limits(spec)
    results: list[ShapePlan] = []
    kept_from: dict[str, tuple[str, ...]] = {}
    findings: list[Finding] = []
    for index, shape in enumerate(spec.shapes):
        first, problem = start_of_shape(shape, draft.pools, positions, ("shapes", index))
        findings += [problem] if problem else []
        if first is None:
            continue
        placed, problems = with_quota(draft, index, first, holders)
        findings += problems
        if placed is None:
            continue
        plan, short = within_limits(shape, placed, limits)
        results.append(plan)
        if short:
            kept_from[shape.name] = short
    return replace(draft, shapes=tuple(results), blocked_teams=kept_from), findings
