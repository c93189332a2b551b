"""A validated stack compared with the deployed state."""

from dataclasses import replace

from gpuyard.changes.deployed_state import DeployedState
from gpuyard.changes.findings import change_findings
from gpuyard.changes.planned_changes import PlannedChanges, plan_changes
from gpuyard.stack_validation import ValidatedStack
from gpuyard_core.findings import sort_findings


def compare_with_deployed(
    judged: ValidatedStack, state: DeployedState
) -> tuple[ValidatedStack, PlannedChanges | None]:
    """Add the findings about planned changes; without a plan nothing is compared."""
    if judged.plan is None:
        return judged, None
    changes = plan_changes(judged.plan, judged.plan.provider.graph(judged.plan), state)
    results = (*judged.findings, *change_findings(judged.plan, changes))
    return replace(judged, findings=tuple(sort_findings(results))), changes
