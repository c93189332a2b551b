"""Refusals by the API server and by the platform's policy."""

from collections.abc import Sequence

from gpuyard.scheduler.requests import RejectedRequest
from gpuyard.spec.sections import Enforce


def refused(problems: Sequence[RejectedRequest]) -> str:
    """What the API server does not take; else what a node's device plugin does not."""
    by_server = [p.message for p in problems if not p.on_node]
    if by_server:
        return "Kubernetes does not accept it: " + "; ".join(by_server)
    message = "; ".join(dict.fromkeys(p.message for p in problems))
    return f"the device plugin refuses its pods (UnexpectedAdmissionError): {message}"


def not_admitted(violations: Sequence[str]) -> str:
    """What the platform's policy refuses."""
    return "the platform's policy refuses it: " + ". ".join(violations)


def let_pass(violations: Sequence[str], how: Enforce) -> str:
    """What the policy finds fault with and does not stop."""
    does = "warns of it" if how is Enforce.WARN else "notes it for the audit"
    return f"the platform's policy {does}: " + ". ".join(violations)
