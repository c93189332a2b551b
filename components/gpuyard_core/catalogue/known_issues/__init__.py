"""Known issues and their remediation: XIDs, recovery actions of the driver, and error messages of programs."""

from gpuyard_core.catalogue.known_issues.table import (
    KNOWN_ISSUES,
    Area,
    KnownIssue,
    Remedy,
    find_known_issue,
    issues_for_check,
)

__all__ = ["KNOWN_ISSUES", "Area", "KnownIssue", "Remedy", "find_known_issue", "issues_for_check"]
