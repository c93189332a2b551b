"""Baseline of the linter: known findings, so that only new ones fail."""

import json
from collections.abc import Sequence

from gpuyard_core.errors import UsageError
from gpuyard_lint.report import HitState, LintFinding

VERSION = 1


def read_baseline(data: bytes, file: str) -> frozenset[str]:
    """The fingerprints of a baseline file."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{file}: not a baseline: {e}. Write it with --write-baseline.") from None
    known = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(known, list) or value.get("version") != VERSION:
        raise UsageError(
            f"{file}: not a baseline of version {VERSION}. Recreate it with --write-baseline."
        )
    prints = [each.get("fingerprint") for each in known if isinstance(each, dict)]
    return frozenset(each for each in prints if isinstance(each, str))


def write_baseline(hits: Sequence[LintFinding]) -> str:
    """The text of a baseline with all open findings and those of the last baseline."""
    recorded = [hit for hit in hits if hit.state in {HitState.OPEN, HitState.BASELINE}]
    findings = [
        {
            "fingerprint": hit.fingerprint,
            "rule": hit.diagnostic.id,
            "file": hit.file,
            "resource": hit.resource,
            "problem": hit.diagnostic.problem,
        }
        for hit in recorded
    ]
    return json.dumps({"version": VERSION, "findings": findings}, indent=2) + "\n"
