"""Known issues as text."""

from collections.abc import Iterable

from gpuyard_core.catalogue.known_issues import KnownIssue


def known_issue_text(trouble: KnownIssue) -> str:
    """One known issue: its meaning, remediation, checks and source."""
    source = trouble.source
    lines = [
        f"{trouble.id} ({trouble.remedy})",
        f"  means: {trouble.meaning}",
        f"  fix: {trouble.remediation}",
    ]
    if trouble.checks:
        lines.append(f"  detected by: {', '.join(trouble.checks)}")
    lines.append(f"  source: {source.title}, read on {source.checked_on}{source.unverified_suffix}")
    return "\n".join(lines) + "\n"


def symptoms_text(troubles: Iterable[KnownIssue]) -> str:
    """The known issues of a check, one line each; empty without any."""
    rows = [f"    {each.id:<22} {each.meaning} ({each.remedy})" for each in troubles]
    return "\n".join(["  related symptoms:", *rows]) + "\n" if rows else ""
