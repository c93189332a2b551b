"""Names that targets refer to."""

from gpuyard.plan.draft import Draft
from gpuyard_core.findings import Diagnostic, Fix, error, format_list


def check_targets(draft: Draft) -> list[Diagnostic]:
    """Waits are measured by priority, so each target must name an existing one."""
    known = draft.spec.priorities
    targets = draft.spec.targets
    return [
        error(
            "targets.priority",
            ("targets", "wait_p95_minutes", name),
            "no priority has this name",
            given=name,
            allowed=format_list(known) or "a name under `priorities`",
            fix=Fix(
                message="remove it, or add it under `priorities`",
                at=("targets", "wait_p95_minutes", name),
            ),
        )
        for name in (targets.wait_p95_minutes if targets else ())
        if name not in known
    ]
