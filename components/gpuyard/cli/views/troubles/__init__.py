"""Signs of trouble in words."""

from collections.abc import Iterable

from gpuyard.catalogue.troubles import Trouble


def trouble_text(trouble: Trouble) -> str:
    """One sign: what it means, what to do, what else sees it, and who says so."""
    source = trouble.source
    lines = [
        f"{trouble.id} ({trouble.remedy})",
        f"  means: {trouble.means}",
        f"  then: {trouble.do}",
    ]
    if trouble.checks:
        lines.append(f"  seen by: {', '.join(trouble.checks)}")
    lines.append(f"  source: {source.title}, read on {source.checked_on}{source.doubt}")
    return "\n".join(lines) + "\n"


def signs_text(troubles: Iterable[Trouble]) -> str:
    """Those that go with a check, a line each; nothing where none does."""
    rows = [f"    {each.id:<22} {each.means} ({each.remedy})" for each in troubles]
    return "\n".join(["  signs that go with it:", *rows]) + "\n" if rows else ""
