"""GPU-MET-03: what scales pods can see what it scales by."""

from collections.abc import Iterator

from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, items, mapping, text
from gpuyard.rules.subjects.pods import VENDOR

HPA = "autoscaling/HorizontalPodAutoscaler"
VPA = "autoscaling.k8s.io/VerticalPodAutoscaler"
_BY_RESOURCE = {"Resource": "resource", "ContainerResource": "containerResource"}


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    yield from _pods(resource) if resource.group_kind == HPA else _sizes(resource)


def _pods(resource: Resource) -> Iterator[Violation]:
    for index, metric in enumerate(items(at(resource.properties, "spec", "metrics"))):
        field = _BY_RESOURCE.get(text(mapping(metric).get("type")), "")
        name = text(mapping(mapping(metric).get(field)).get("name"))
        if name.startswith((VENDOR, "gpu")):
            path: Path = ("spec", "metrics", index, field, "name")
            yield Violation(
                path,
                f"an autoscaler knows the use of cpu and memory only: of {name} it never learns any",
                "take a metric of type Pods or External on DCGM_FI_DEV_GPU_UTIL, or a ScaledObject of KEDA",
            )


def _sizes(resource: Resource) -> Iterator[Violation]:
    policies = items(at(resource.properties, "spec", "resourcePolicy", "containerPolicies"))
    for index, policy in enumerate(policies):
        for position, name in enumerate(items(mapping(policy).get("controlledResources"))):
            if text(name).startswith(VENDOR):
                yield Violation(
                    (
                        *("spec", "resourcePolicy", "containerPolicies", index),
                        *("controlledResources", position),
                    ),
                    f"a vertical autoscaler sets cpu and memory only, never {text(name)}",
                    "remove it; ask for the slice or share that the work needs",
                )


RULE = Rule(
    id="GPU-MET-03",
    title="Autoscalers do not scale by the resource nvidia.com/gpu",
    severity=Severity.REFUSE,
    why="Resource metrics come from metrics-server, which has no GPUs: the workload keeps its size for ever.",
    fix="Scale by a metric of the exporter, through KEDA or an adapter.",
    sources=(
        "Kubernetes documentation, HorizontalPodAutoscaler: resource metrics are cpu and memory",
    ),
    kinds=(HPA, VPA),
    check=_check,
)
