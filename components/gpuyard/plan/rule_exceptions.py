"""Exceptions from rules that the stack file has, held against the calendar.

What a rule is and what breaks it, the linter and the policy pack know; here is only what is over.
"""

from collections.abc import Iterator
from datetime import date

from gpuyard.findings import Finding, Fix, warn
from gpuyard.spec.platform import PlatformSpec


def check_exceptions(spec: PlatformSpec, today: date) -> Iterator[Finding]:
    """Those that excuse nothing any more."""
    for index, each in enumerate(spec.policies.exceptions if spec.policies else ()):
        if each.expires <= today:
            path = ("policies", "exceptions", index)
            yield warn(
                "policies.expired",
                path,
                f"the exception of {each.rule} for {each.resource} expired on {each.expires}:"
                " the rule holds there again",
                given=str(each.expires),
                allowed=f"a day after {today}",
                fix=Fix(says="take it away, or say again why and until when", at=path),
            )
