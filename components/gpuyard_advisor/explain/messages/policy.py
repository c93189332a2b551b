"""Rejections by the API server and the admission policy."""

from collections.abc import Sequence

from gpuyard.spec.sections import Enforce
from gpuyard_advisor.scheduler.requests import InvalidRequest


def requests_rejected(problems: Sequence[InvalidRequest]) -> str:
    """Requests that the API server or the device plugin rejects."""
    by_server = [p.message for p in problems if not p.on_node]
    if by_server:
        return "the API server rejects it: " + "; ".join(by_server)
    message = "; ".join(dict.fromkeys(p.message for p in problems))
    return f"the device plugin rejects its pods (UnexpectedAdmissionError): {message}"


def rejected_by_policy(violations: Sequence[str]) -> str:
    """Violations that the admission policy rejects."""
    return "the platform's admission policy rejects it: " + ". ".join(violations)


def allowed_with_violations(violations: Sequence[str], how: Enforce) -> str:
    """Violations that the admission policy only reports."""
    does = "warns about it" if how is Enforce.WARN else "records it in the audit log"
    return f"the platform's admission policy {does}: " + ". ".join(violations)
