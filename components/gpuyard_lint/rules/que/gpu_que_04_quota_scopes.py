"""GPU-QUE-04: a scoped quota counts only what its scope supports."""

from collections.abc import Iterator

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.que.gpu_que_02_kueue_fields import PRIORITY
from gpuyard_lint.rules.rule import (
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
from gpuyard_lint.rules.subjects.tenants import QUOTA

CLASS = "scheduling.k8s.io/PriorityClass"
_NOT_OF_PODS = (
    *("persistentvolumeclaims", "requests.storage", "services", "configmaps", "secrets"),
    *("replicationcontrollers", "resourcequotas", "count/"),
)
_BY_STORAGE = ".storageclass.storage.k8s.io/"
_SELECTED: Path = ("spec", "scopeSelector", "matchExpressions")


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    of_kueue = {each.name for each in stack.resources_of_kinds(PRIORITY)}
    of_pods = {each.name for each in stack.resources_of_kinds(CLASS)}
    for quota in stack.resources_of_kinds(QUOTA):
        expressions = items(at(quota.properties, *_SELECTED))
        for index, each in enumerate(expressions):
            for v, name in enumerate(items(mapping(each).get("values"))):
                if text(name) in of_kueue - of_pods:
                    yield Violation(
                        (*_SELECTED, index, "values", v),
                        f"{text(name)} is a WorkloadPriorityClass: a quota scope matches PriorityClasses of pods only",
                        "set a PriorityClass on the pods and use it here, or limit it in the queue",
                        quota,
                    )
        if expressions or items(at(quota.properties, "spec", "scopes")):
            yield from _unscoped(quota)


def _unscoped(quota: Resource) -> Iterator[Violation]:
    for key in mapping(at(quota.properties, "spec", "hard")):
        if key.startswith(_NOT_OF_PODS) or _BY_STORAGE in key:
            yield Violation(
                ("spec", "hard", key),
                f"{key} supports no scope: the API server rejects the quota (unsupported scope applied to resource)",
                "move it to a separate quota without a scope",
                quota,
            )


RULE = Rule(
    id="GPU-QUE-04",
    title="A quota scope names PriorityClasses and counts pods only",
    severity=Severity.ERROR,
    why="Kueue's priority classes are not those of pods: a quota scoped by one never limits anything.",
    fix="Scope quotas by PriorityClass; limit Kueue's classes in queues; move non-pod resources to another quota.",
    sources=("Kubernetes documentation, resource quotas per PriorityClass and quota scopes",),
    kinds=(QUOTA,),
    check_stack=_check,
)
