"""What a sign of trouble means and what is done then: XIDs, the driver's own advice, and what programs say."""

from gpuyard.catalogue.known_issues.table import (
    KNOWN_ISSUES,
    Area,
    KnownIssue,
    Remedy,
    find_known_issue,
    issues_for_check,
)

__all__ = ["KNOWN_ISSUES", "Area", "KnownIssue", "Remedy", "find_known_issue", "issues_for_check"]
