"""GPU-TEN-04: a Kueue queue that admits whom it should, and says how much it may borrow."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    known,
    mapping,
    text,
)
from gpuyard.rules.subjects.pods import OTHER_ACCELERATORS
from gpuyard.rules.subjects.tenants import LOCAL_QUEUE

QUEUE = "kueue.x-k8s.io/ClusterQueue"


_ORDINARY = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-")
_FIX = "select the team's namespace by a label of its own"
_SELECTOR: Path = ("spec", "namespaceSelector")


def _check(queue: Resource, _: Parameters) -> Iterator[Violation]:
    spec = mapping(queue.properties.get("spec"))
    if _in_cohort(spec):
        yield from _borrowing(queue)
    elif known(spec.get("namespaceSelector")) is None:
        yield _shut(queue)


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    yield from _shut_in_cohorts(stack)
    yield from _wide_open(stack)


def _shut_in_cohorts(stack: Stack) -> Iterator[Violation]:
    """A queue that nobody stands in may be there to lend to its cohort."""
    wanted = {text(at(queue.properties, "spec", "clusterQueue")) for queue in stack.of(LOCAL_QUEUE)}
    for queue in stack.of(QUEUE):
        spec = mapping(queue.properties.get("spec"))
        if _in_cohort(spec) and known(spec.get("namespaceSelector")) is None:
            yield _shut(queue, None if queue.name in wanted else Severity.WARN)


def _shut(queue: Resource, severity: Severity | None = None) -> Violation:
    says = "without a namespaceSelector no namespace may submit a job"
    return Violation(_SELECTOR, says, _FIX, queue, severity=severity)


def _in_cohort(spec: Mapping[str, Any]) -> bool:
    return bool(known(spec.get("cohortName")) or known(spec.get("cohort")))


def _wide_open(stack: Stack) -> Iterator[Violation]:
    """Where no queue selects, the cluster is of one team, or a sample; beside others it may be meant."""
    queues = [queue for queue in stack.of(QUEUE) if any(map(_is_gpu, _covered(queue)))]
    given = [at(queue.properties, *_SELECTOR) for queue in queues]
    for queue, selector in zip(queues, given, strict=True) if any(map(mapping, given)) else ():
        if selector is not None and not mapping(selector):
            yield Violation(
                _SELECTOR,
                "an empty namespaceSelector lets every namespace use this quota",
                _FIX,
                queue,
                severity=Severity.WARN,
            )


def _groups(queue: Resource) -> list[Any]:
    return items(at(queue.properties, "spec", "resourceGroups"))


def _covered(queue: Resource) -> Iterator[Any]:
    for group in _groups(queue):
        yield from items(mapping(group).get("coveredResources"))


def _is_gpu(name: Any) -> bool:
    """Whether it may be: claims of devices are counted under any name that Kueue is told."""
    return bool(text(name)) and not text(name).startswith((*_ORDINARY, *OTHER_ACCELERATORS))


def _borrowing(queue: Resource) -> Iterator[Violation]:
    for g, group in enumerate(_groups(queue)):
        for f, flavor in enumerate(items(mapping(group).get("flavors"))):
            for r, resource in enumerate(items(mapping(flavor).get("resources"))):
                given = mapping(resource)
                if _is_gpu(given.get("name")) and known(given.get("borrowingLimit")) is None:
                    yield Violation(
                        (
                            "spec",
                            "resourceGroups",
                            g,
                            "flavors",
                            f,
                            "resources",
                            r,
                            "borrowingLimit",
                        ),
                        "without a borrowingLimit the queue may take everything that others leave idle",
                        "say how much; 0 borrows nothing",
                        severity=Severity.WARN,
                    )


RULE = Rule(
    id="GPU-TEN-04",
    title="A cluster queue selects its namespaces and limits its borrowing",
    severity=Severity.REFUSE,
    why="A null selector admits nobody, an empty one everybody, and borrowing without limit is not a plan.",
    fix="Select namespaces by a label of the team, and give its GPUs a borrowingLimit.",
    sources=("kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go",),
    kinds=(QUEUE,),
    check=_check,
    check_stack=_check_together,
)
