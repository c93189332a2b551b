"""Signs of trouble in words."""

from collections.abc import Iterable

from gpuyard.catalogue.known_issues import KnownIssue


def known_issue_text(trouble: KnownIssue) -> str:
    """One sign: what it means, what to do, what else sees it, and who says so."""
    source = trouble.source
    lines = [
        f"{trouble.id} ({trouble.remedy})",
        f"  means: {trouble.meaning}",
        f"  then: {trouble.remediation}",
    ]
    if trouble.checks:
        lines.append(f"  seen by: {', '.join(trouble.checks)}")
    lines.append(f"  source: {source.title}, read on {source.checked_on}{source.doubt}")
    return "\n".join(lines) + "\n"


def symptoms_text(troubles: Iterable[KnownIssue]) -> str:
    """Those that go with a check, a line each; nothing where none does."""
    rows = [f"    {each.id:<22} {each.meaning} ({each.remedy})" for each in troubles]
    return "\n".join(["  signs that go with it:", *rows]) + "\n" if rows else ""
