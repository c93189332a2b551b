"""Nodes that are there and take no pods, give out less than planned, or are missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from gpuyard.explain.messages import phrases
from gpuyard.manifests.quantities import CPU, MEMORY, format_amount
from gpuyard.names import GATE_TAINT
from gpuyard.plan.records import PoolPlan, Taint
from gpuyard.scheduler.node_states import CORDONED, NOT_READY, UNREACHABLE

_NAMED = 3
NodeWords = tuple[str, str]
"""What is said of a node: its verb, and the rest."""
_PLURAL = {"is": "are", "has": "have", "gives": "give"}
_BY_TAINT: Mapping[str, tuple[NodeWords, NodeWords]] = {
    CORDONED: (("is", "cordoned"), ("is", "uncordoned")),
    NOT_READY: (("is", "not ready"), ("is", "ready")),
    GATE_TAINT: (("is", "not checked yet"), ("is", "checked")),
    UNREACHABLE: (("is", "not reachable"), ("is", "ready")),
}


class _Fault(Protocol):
    @property
    def message(self) -> str: ...
    @property
    def condition(self) -> str: ...


def keeps_off(taint: Taint) -> tuple[NodeWords, NodeWords]:
    """A taint that the pods do not bear; what is wrong, and what would be right."""
    wrong = ("has", f"the taint {taint}, which its pods do not tolerate")
    return _BY_TAINT.get(taint.key, (wrong, ("is", f"without the taint {taint}")))


def gives_less(has: str, resource: str, planned: int) -> tuple[NodeWords, NodeWords]:
    """Less of a resource than the pool was planned with."""
    right = format_amount(resource, planned)
    short = right if resource in {CPU, MEMORY} else f"{planned:,}"
    return ("gives", f"out {has} instead of {short}"), ("gives", f"out {right}")


def named(nodes: Sequence[str], verbs: NodeWords) -> str:
    """`n0 is cordoned`, `n0, n1, n2 and 5 more are cordoned`."""
    more = len(nodes) - _NAMED
    shown = [*nodes[:_NAMED], f"{more:,} more"] if more > 1 else list(nodes)
    verb, rest = verbs
    return f"{phrases.listed(shown)} {verb if len(nodes) == 1 else _PLURAL[verb]} {rest}"


def missing(pool: PoolPlan, existing: int, names: Sequence[str]) -> tuple[str, str]:
    """Nodes that a pool always has, and that do not run."""
    count = pool.start_nodes - existing
    verb = "is" if 1 in {existing, pool.start_nodes} else "are"
    message = f"{existing:,} of {phrases.some(pool.start_nodes, 'node')} {verb} there"
    if names:
        return f"{message} ({named(names, ('is', 'missing'))})", named(names, ("is", "back"))
    return message, f"{count:,} more {'runs' if count == 1 else 'run'}"


def says(pool: PoolPlan, faults: Iterable[_Fault]) -> str:
    """Why a pool has less room than planned."""
    return f"its quota is free, but {pool.name} is not as planned: {'; '.join(f.message for f in faults)}"


def all_mended(faults: Iterable[_Fault]) -> str:
    """Everything that must be put right."""
    return phrases.listed(f.condition for f in faults)


def not_counted(faults: Iterable[_Fault]) -> str:
    """NodeWords beside another reason to wait."""
    return (
        f"nodes that are not as planned have no room here: {'; '.join(f.message for f in faults)}"
    )
