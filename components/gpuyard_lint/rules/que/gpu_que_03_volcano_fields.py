"""GPU-QUE-03: Volcano queues have only fields that Volcano reads."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, mapping, text

QUEUE = "scheduling.volcano.sh/Queue"
FIELDS = frozenset(
    {
        *("affinity", "capability", "dequeueStrategy", "deserved", "extendClusters", "guarantee"),
        *("parent", "priority", "reclaimable", "type", "weight"),
    }
)
"""The fields of the spec of a Queue in v1.15."""
_PREEMPTION = (
    "add preempt and reclaim to the scheduler's actions; set reclaimable to allow reclaiming"
)
_STRATEGIES = ("fifo", "traverse")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    spec = mapping(resource.properties.get("spec"))
    for key in spec:
        if key not in FIELDS:
            suggestion = nearest_name(key, sorted(FIELDS))
            fix = f"write {suggestion}" if suggestion else "remove it"
            yield Violation(
                ("spec", key),
                f"a Queue has no field {key}: it is silently dropped",
                _PREEMPTION if key.lower().startswith("preempt") else fix,
            )
    strategy = text(spec.get("dequeueStrategy"))
    if strategy and strategy not in _STRATEGIES:
        yield Violation(
            ("spec", "dequeueStrategy"),
            f"{strategy} is rejected: dequeueStrategy must be {' or '.join(_STRATEGIES)}",
            f"write {_STRATEGIES[1]}, the default",
        )


RULE = Rule(
    id="GPU-QUE-03",
    title="A Volcano queue has only fields that Volcano reads",
    severity=Severity.ERROR,
    why="Preemption fields in a queue have no effect: the scheduler's actions control preemption.",
    fix="Use weight, deserved, guarantee, capability and reclaimable; preempt in the scheduler's actions.",
    sources=("volcano-sh/volcano v1.15.1 CRD scheduling.volcano.sh_queues",),
    kinds=(QUEUE,),
    check=_check,
)
