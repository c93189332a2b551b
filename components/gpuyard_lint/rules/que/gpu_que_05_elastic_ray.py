"""GPU-QUE-05: a queued Ray cluster with an autoscaler is an elastic job."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.templates import RAY_CLUSTERS, fixed_size_path
from gpuyard_core.names import ELASTIC_ANNOTATION, QUEUE_LABEL
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, at, text


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    path = fixed_size_path(resource.kind.rpartition("/")[2], resource.properties)
    if path and text(at(resource.properties, "metadata", "labels", QUEUE_LABEL)):
        yield Violation(
            path,
            "Kueue rejects it: a queued Ray cluster has a fixed size, or is an elastic job",
            f'annotate it {ELASTIC_ANNOTATION}: "true", or remove enableInTreeAutoscaling',
        )


RULE = Rule(
    id="GPU-QUE-05",
    title="A queued Ray cluster with an autoscaler is an elastic job",
    severity=Severity.ERROR,
    why="Kueue restarts a Ray cluster as a whole, with its head, when the number of its replicas changes.",
    fix=f'Annotate it {ELASTIC_ANNOTATION}: "true" (Kueue 0.18 or later), or set a fixed number of replicas.',
    sources=("kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/raycluster",),
    kinds=tuple(f"ray.io/{kind}" for kind in RAY_CLUSTERS),
    check=_check,
)
