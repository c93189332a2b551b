"""Plans as documents, and sums of a plan as text."""

from typing import TYPE_CHECKING, Any

from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.text import usd

if TYPE_CHECKING:
    from gpuyard.plan.records import PlatformPlan, Total


def plan_document(plan: "PlatformPlan") -> dict[str, Any]:
    """The whole plan, and the spec it comes from."""
    result: dict[str, Any] = tree(plan)
    return result


def money(total: "Total", *, nodes: bool = True) -> str:
    """A sum with its unknown part: `757.48 + unknown for 10 nodes`."""
    if not total.unknown:
        return usd(total.known_usd)
    if not total.known_usd:
        return "unknown"
    whose = f" for {_nodes(total.unknown_nodes)}" if nodes else ""
    return f"{usd(total.known_usd)} + unknown{whose}"


def _nodes(count: float) -> str:
    return f"{count:.4g} {'node' if count == 1 else 'nodes'}"
