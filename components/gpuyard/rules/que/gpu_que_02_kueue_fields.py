"""GPU-QUE-02: Kueue's objects say what they mean where it is read."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, known

PRIORITY = "kueue.x-k8s.io/WorkloadPriorityClass"
_QUEUE = "kueue.x-k8s.io/ClusterQueue"
_TOP = ("value", "description")
_SERVED = "kueue.x-k8s.io/v1beta2/"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == PRIORITY:
        for key in _TOP:
            if at(resource.properties, "spec", key) is not None:
                yield Violation(
                    ("spec", key),
                    f"a WorkloadPriorityClass has no spec: its {key} stands beside metadata",
                    f"move {key} to the top level",
                )
        if known(resource.properties.get("value")) is None and not at(
            resource.properties, "spec", "value"
        ):
            yield Violation(
                ("value",), "without a value the class is rejected", "write value: 1000"
            )
    elif resource.kind.startswith(_SERVED) and at(resource.properties, "spec", "cohort"):
        yield Violation(
            ("spec", "cohort"),
            "v1beta2 calls it cohortName: this queue is in no cohort and borrows nothing",
            "write cohortName",
        )


RULE = Rule(
    id="GPU-QUE-02",
    title="Priorities and cohorts of Kueue stand where they are read",
    severity=Severity.REFUSE,
    why="A priority in the wrong place is rejected, a cohort of the wrong name is none.",
    fix="Write value at the top level of a WorkloadPriorityClass, and cohortName in a ClusterQueue.",
    sources=("kubernetes-sigs/kueue v0.19.2 CRDs of v1beta2",),
    kinds=(PRIORITY, _QUEUE),
    check=_check,
)
