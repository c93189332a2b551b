"""GPU-TEN-04: a ClusterQueue selects its namespaces and limits borrowing."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    known_value,
    mapping,
    number,
    text,
)
from gpuyard_lint.rules.subjects.tenants import CLUSTER_QUEUE as QUEUE
from gpuyard_lint.rules.subjects.tenants import (
    LOCAL_QUEUE,
    can_match_gpu,
    covers_gpus,
    resource_groups,
)

_FOR_ALL = re.compile(r"shared|common|public|default|burst|best-?effort|(^|-)all(-|$)")
"""Names of queues for all teams."""
_FIX = "select the team's namespace by its label"
_SELECTOR: Path = ("spec", "namespaceSelector")


def _check(queue: Resource, _: Parameters) -> Iterator[Violation]:
    spec = mapping(queue.properties.get("spec"))
    if _in_cohort(spec):
        yield from _borrowing(queue)
    elif known_value(spec.get("namespaceSelector")) is None and _is_of_gpus(queue):
        yield _shut(queue)


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    yield from _shut_in_cohorts(stack)
    yield from _shut_beside_gpus(stack)
    yield from _wide_open(stack)


def _shut_in_cohorts(stack: Stack) -> Iterator[Violation]:
    """A queue without a LocalQueue exists to lend, if other queues of its cohort are in the input."""
    cohorts = Counter(
        _in_cohort(mapping(each.properties.get("spec"))) for each in stack.resources_of_kinds(QUEUE)
    )
    queue_names = {
        text(at(queue.properties, "spec", "clusterQueue"))
        for queue in stack.resources_of_kinds(LOCAL_QUEUE)
    }
    for queue in stack.resources_of_kinds(QUEUE):
        spec = mapping(queue.properties.get("spec"))
        cohort = _in_cohort(spec)
        if (
            not cohort
            or known_value(spec.get("namespaceSelector")) is not None
            or not _is_of_gpus(queue)
        ):
            continue
        if queue.name in queue_names:
            yield _shut(queue)
        elif cohorts[cohort] == 1:
            yield _shut(queue, Severity.WARNING)


def _shut_beside_gpus(stack: Stack) -> Iterator[Violation]:
    """A queue for other resources with a LocalQueue, on a platform that also queues GPUs."""
    queues = stack.resources_of_kinds(QUEUE)
    if not any(map(covers_gpus, queues)):
        return
    queue_names = {
        text(at(queue.properties, "spec", "clusterQueue"))
        for queue in stack.resources_of_kinds(LOCAL_QUEUE)
    }
    selecting = {
        queue.name for queue in queues if known_value(at(queue.properties, *_SELECTOR)) is not None
    }
    shut = queue_names - selecting
    for queue in queues:  # of two manifests of one queue, one with a selector is enough
        if queue.name in shut and not _is_of_gpus(queue):
            yield _shut(queue, Severity.WARNING)


def _is_of_gpus(queue: Resource) -> bool:
    """Whether it covers GPUs, or does not list its resources."""
    return not resource_groups(queue) or covers_gpus(queue)


def _shut(queue: Resource, severity: Severity | None = None) -> Violation:
    problem = "without a namespaceSelector no namespace may submit a job"
    return Violation(_SELECTOR, problem, _FIX, queue, severity=severity)


def _in_cohort(spec: Mapping[str, Any]) -> str:
    return str(known_value(spec.get("cohortName")) or known_value(spec.get("cohort")) or "")


def _wide_open(stack: Stack) -> Iterator[Violation]:
    """If no queue has a selector, the cluster is of one team, or an example; otherwise it may be deliberate."""
    queues = [queue for queue in stack.resources_of_kinds(QUEUE) if covers_gpus(queue)]
    selectors = [at(queue.properties, *_SELECTOR) for queue in queues]
    for queue, selector in (
        zip(queues, selectors, strict=True) if any(map(mapping, selectors)) else ()
    ):
        meant = selector is None or mapping(selector) or _FOR_ALL.search(queue.name)
        if not meant:
            yield Violation(
                _SELECTOR,
                "an empty namespaceSelector lets every namespace use this quota",
                _FIX,
                queue,
                severity=Severity.WARNING,
                is_advisory=True,  # permission to create a LocalQueue decides it as well
            )


def _borrowing(queue: Resource) -> Iterator[Violation]:
    """A queue with a lendingLimit borrows deliberately; one without its own quota exists to borrow."""
    for path in _unlimited(queue):
        yield Violation(
            (*path, "borrowingLimit"),
            "without a borrowingLimit the queue can borrow all idle capacity of its cohort",
            "set borrowingLimit; 0 disables borrowing",
            severity=Severity.WARNING,
            is_advisory=True,  # lending idle quota is the purpose of a cohort
        )


def _unlimited(queue: Resource) -> Iterator[Path]:
    for g, group in enumerate(resource_groups(queue)):
        for f, flavor in enumerate(items(mapping(group).get("flavors"))):
            for r, resource in enumerate(items(mapping(flavor).get("resources"))):
                value = mapping(resource)
                limits = [
                    known_value(value.get(field)) for field in ("borrowingLimit", "lendingLimit")
                ]
                owns = number(value.get("nominalQuota")) != 0
                if owns and can_match_gpu(value.get("name")) and limits == [None, None]:
                    yield ("spec", "resourceGroups", g, "flavors", f, "resources", r)


RULE = Rule(
    id="GPU-TEN-04",
    title="A ClusterQueue selects its namespaces and limits borrowing",
    severity=Severity.ERROR,
    why="A null selector admits no namespace, an empty one all; unlimited borrowing takes all idle capacity.",
    fix="Select namespaces by a team label, and set a borrowingLimit for GPUs.",
    sources=("kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go",),
    kinds=(QUEUE,),
    check=_check,
    check_stack=_check_together,
)
