"""Exceptions from rules that the stack file has, held against the calendar.

What a rule is and what breaks it, the linter and the policy pack know; here is only what is over.
"""

from gpuyard.findings import Finding, Fix, warning
from gpuyard.plan.draft import Draft


def check_exceptions(draft: Draft) -> list[Finding]:
    """Those that excuse nothing any more; without a day none is known to be over."""
    today, policies = draft.today, draft.spec.policies
    if today is None or policies is None:
        return []
    over = [(i, each) for i, each in enumerate(policies.exceptions) if each.expires <= today]
    return [
        warning(
            "policies.expired",
            ("policies", "exceptions", index),
            f"the exception of {each.rule} for {each.resource} expired on {each.expires}:"
            " the rule holds there again",
            value=str(each.expires),
            allowed=f"a day after {today}",
            fix=Fix(
                message="take it away, or say again why and until when",
                at=("policies", "exceptions", index),
            ),
        )
        for index, each in over
    ]
