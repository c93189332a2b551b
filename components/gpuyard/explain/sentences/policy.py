"""Refusals by the API server and by the platform's policy."""

from collections.abc import Sequence

from gpuyard.scheduler.requests import Refused
from gpuyard.spec.sections import Enforce


def refused(problems: Sequence[Refused]) -> str:
    """What the API server does not take."""
    return "Kubernetes does not accept it: " + "; ".join(p.says for p in problems)


def not_admitted(said: Sequence[str]) -> str:
    """What the platform's policy refuses."""
    return "the platform's policy refuses it: " + ". ".join(said)


def let_pass(said: Sequence[str], how: Enforce) -> str:
    """What the policy finds fault with and does not stop."""
    does = "warns of it" if how is Enforce.WARN else "notes it for the audit"
    return f"the platform's policy {does}: " + ". ".join(said)
