"""GPU-QUE-04: a quota with a scope counts what the scope can count."""

from collections.abc import Iterator

from gpuyard.findings import Path, Severity
from gpuyard.rules.que.gpu_que_02_kueue_fields import PRIORITY
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    text,
)
from gpuyard.rules.subjects.tenants import QUOTA

CLASS = "scheduling.k8s.io/PriorityClass"
_NOT_OF_PODS = (
    *("persistentvolumeclaims", "requests.storage", "services", "configmaps", "secrets"),
    *("replicationcontrollers", "resourcequotas", "count/"),
)
_BY_STORAGE = ".storageclass.storage.k8s.io/"
_SELECTED: Path = ("spec", "scopeSelector", "matchExpressions")


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    of_kueue = {each.name for each in stack.of(PRIORITY)}
    of_pods = {each.name for each in stack.of(CLASS)}
    for quota in stack.of(QUOTA):
        expressions = items(at(quota.properties, *_SELECTED))
        for index, each in enumerate(expressions):
            for v, name in enumerate(items(mapping(each).get("values"))):
                if text(name) in of_kueue - of_pods:
                    yield Violation(
                        (*_SELECTED, index, "values", v),
                        f"{text(name)} is a WorkloadPriorityClass: a quota looks at the class of pods only",
                        "give the pods a PriorityClass and name that, or let the queue limit it",
                        quota,
                    )
        if expressions or items(at(quota.properties, "spec", "scopes")):
            yield from _unscoped(quota)


def _unscoped(quota: Resource) -> Iterator[Violation]:
    for key in mapping(at(quota.properties, "spec", "hard")):
        if key.startswith(_NOT_OF_PODS) or _BY_STORAGE in key:
            yield Violation(
                ("spec", "hard", key),
                f"{key} has no scope: the API rejects the quota, unsupported scope applied to resource",
                "put it into a quota of its own, without a scope",
                quota,
            )


RULE = Rule(
    id="GPU-QUE-04",
    title="A quota scope names PriorityClasses and counts pods only",
    severity=Severity.ERROR,
    why="Classes of Kueue are not those of pods: a quota scoped by one is never used up.",
    fix="Scope quotas by PriorityClass; limit Kueue's classes in queues; split off what is not of pods.",
    sources=("Kubernetes documentation, resource quotas per PriorityClass and quota scopes",),
    kinds=(QUOTA,),
    check_stack=_check,
)
