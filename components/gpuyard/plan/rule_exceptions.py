"""Exceptions to rules in the stack file that have expired.

The linter and the policy pack evaluate the rules; this module checks the dates only.
"""

from gpuyard.plan.draft import Draft
from gpuyard_core.findings import Diagnostic, Fix, warning


def check_exceptions(draft: Draft) -> list[Diagnostic]:
    """Report expired exceptions; without a date, none."""
    today, policies = draft.today, draft.spec.policies
    if today is None or policies is None:
        return []
    over = [(i, each) for i, each in enumerate(policies.exceptions) if each.expires <= today]
    return [
        warning(
            "policies.expired",
            ("policies", "exceptions", index),
            f"the exception to {each.rule} for {each.resource} expired on {each.expires}:"
            " the rule applies again",
            given=str(each.expires),
            allowed=f"a day after {today}",
            fix=Fix(
                message="remove it, or renew `reason` and `expires`",
                at=("policies", "exceptions", index),
            ),
        )
        for index, each in over
    ]
