"""Nodes that accept no pods, advertise less than planned, or are missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from gpuyard.plan.records import PoolPlan
from gpuyard_advisor.explain.messages import phrases
from gpuyard_advisor.scheduler.node_states import CORDONED, NOT_READY, UNREACHABLE
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.manifests.quantities import CPU, MEMORY, format_amount
from gpuyard_core.names import GATE_TAINT

_NAMED = 3
NodeWords = tuple[str, str]
"""A statement about a node: verb and rest."""
_PLURAL = {"is": "are", "has": "have", "advertises": "advertise"}
_BY_TAINT: Mapping[str, tuple[NodeWords, NodeWords]] = {
    CORDONED: (("is", "cordoned"), ("is", "uncordoned")),
    NOT_READY: (("is", "not ready"), ("is", "ready")),
    GATE_TAINT: (("is", "not validated yet"), ("is", "validated")),
    UNREACHABLE: (("is", "unreachable"), ("is", "ready")),
}


class _Fault(Protocol):
    @property
    def message(self) -> str: ...
    @property
    def condition(self) -> str: ...


def describe_untolerated_taint(taint: Taint) -> tuple[NodeWords, NodeWords]:
    """A taint that the pods do not tolerate: the fault, and the condition without it."""
    wrong = ("has", f"the taint {taint}, which its pods do not tolerate")
    return _BY_TAINT.get(taint.key, (wrong, ("is", f"without the taint {taint}")))


def describe_reduced_resource(has: str, resource: str, planned: int) -> tuple[NodeWords, NodeWords]:
    """Less of a resource than planned."""
    right = format_amount(resource, planned)
    short = right if resource in {CPU, MEMORY} else f"{planned:,}"
    return ("advertises", f"{has} instead of {short}"), ("advertises", right)


def format_node_states(nodes: Sequence[str], verbs: NodeWords) -> str:
    """`n0 is cordoned`, `n0, n1, n2 and 5 more are cordoned`."""
    more = len(nodes) - _NAMED
    shown = [*nodes[:_NAMED], f"{more:,} more"] if more > 1 else list(nodes)
    verb, rest = verbs
    return f"{phrases.join_with_and(shown)} {verb if len(nodes) == 1 else _PLURAL[verb]} {rest}"


def missing(pool: PoolPlan, existing: int, names: Sequence[str]) -> tuple[str, str]:
    """Missing nodes of a pool's minimum."""
    count = pool.start_nodes - existing
    verb = "is" if 1 in {existing, pool.start_nodes} else "are"
    message = f"{existing:,} of {phrases.format_count(pool.start_nodes, 'node')} {verb} present"
    if names:
        return f"{message} ({format_node_states(names, ('is', 'missing'))})", format_node_states(
            names, ("is", "back")
        )
    return message, f"{count:,} more {'runs' if count == 1 else 'run'}"


def pool_differs_from_plan(pool: PoolPlan, faults: Iterable[_Fault]) -> str:
    """Why a pool has less capacity than planned."""
    return f"its quota is available, but {pool.name} differs from the plan: {'; '.join(f.message for f in faults)}"


def all_fixed(faults: Iterable[_Fault]) -> str:
    """All conditions that fix the faults."""
    return phrases.join_with_and(f.condition for f in faults)


def unfit_nodes_not_counted(faults: Iterable[_Fault]) -> str:
    """A caution about faulty nodes, in addition to another reason to wait."""
    return f"nodes that differ from the plan count as without capacity: {'; '.join(f.message for f in faults)}"
