"""The outcome of a trace as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuyard.cli.views.findings import document
from gpuyard_advisor.cli.views.whatif.figures import (
    FIGURES,
    ReplayedStack,
    differences,
    priority_name,
)
from gpuyard_advisor.replay.accounts import Outcome, PoolOutcome
from gpuyard_advisor.traces import TraceReading
from gpuyard_core.terminal.documents import tree


def whatif_document(
    file: str, reading: TraceReading, stacks: Sequence[ReplayedStack]
) -> dict[str, Any]:
    """The trace, each stack with its figures, and their differences; findings are those of the last stack."""
    return document(
        "whatif",
        stacks[-1].judged,
        trace=_trace(file, reading),
        stacks=[_stack(each) for each in stacks],
        differences=tree(differences(stacks)) if len(stacks) > 1 else None,
    )


def _trace(file: str, reading: TraceReading) -> Mapping[str, Any]:
    return {
        "file": file,
        "format": reading.format,
        "jobs": len(reading.jobs),
        "seconds": tree(reading.jobs[-1].submitted_seconds),
        "notes": list(reading.notes),
        "skipped": reading.skipped,
        "problems": tree(reading.problems),
    }


def _stack(stack: ReplayedStack) -> Mapping[str, Any]:
    outcome = stack.outcome
    cost = outcome.cost
    return {
        "stack": stack.judged.file,
        "platform": stack.plan.name,
        "figures": {figure.key: tree(figure.of(stack)) for figure in FIGURES},
        "cost": {"known_usd": tree(cost.known_usd), "unknown": list(cost.unknown)},
        "waits": tree(outcome.waits),
        "waits_by_team": tree(outcome.waits_by_team),
        "waits_by_priority": {
            priority_name(stack.plan, value): tree(waits)
            for value, waits in outcome.waits_by_priority.items()
        },
        "pools": [_pool(each) for each in outcome.pools],
        "policies": {name: _policy(each) for name, each in stack.policies.items()},
        "predictions": _predictions(stack),
        "never_started": tree(stack.mapped.never),
        "notes": list(stack.mapped.notes),
        "cautions": list(stack.cautions),
    }


def _predictions(stack: ReplayedStack) -> Mapping[str, Any] | None:
    found, outcome = stack.predicted, stack.shortest_first
    if found is None or outcome is None:
        return None
    return {
        "duration_seconds": tree(found.duration),
        "utilisation": tree(found.utilisation),
        "waited_for_lower_priority": found.waited,
        "preemption_advised": found.advised,
        "preemptions_of_lower_priority": found.preemptions,
        "preemptions_advised": found.preemptions_advised,
        "shortest_first": {
            **_policy(outcome),
            "preemptions": outcome.evictions,
            "lost_gpu_hours": tree(outcome.lost_gpu_hours),
        },
    }


def _policy(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "waits": tree(outcome.waits),
        "utilisation": tree(outcome.utilisation),
        "node_hours": tree(outcome.node_hours),
        "nodes_started": sum(pool.nodes_started for pool in outcome.pools),
        "flaps": outcome.flaps,
        "cost_usd": tree(outcome.cost.usd),
    }


def _pool(pool: PoolOutcome) -> Mapping[str, Any]:
    return {**tree(pool), "utilisation": tree(pool.utilisation)}
