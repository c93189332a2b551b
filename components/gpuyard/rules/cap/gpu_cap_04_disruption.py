"""GPU-CAP-04: Karpenter may disturb GPU nodes only as somebody has decided."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, items
from gpuyard.rules.subjects.pools import KARPENTER, gpu_pool

_WITH_THAT_DEFAULT = (None, "karpenter.k8s.aws")
"""EKS Auto Mode and AKS end nodes by rules of their own."""

_MISPLACED = (("spec", "disruption"), ("spec",))
"""Where the end of a node stands and is not read; GPU-CFG-03 says so."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) is None or at(resource.properties, "spec", "replicas") is not None:
        return
    if not items(at(resource.properties, "spec", "disruption", "budgets")):
        yield Violation(
            ("spec", "disruption"),
            "without budgets Karpenter may take a tenth of the GPU nodes at any hour",
            "write spec.disruption.budgets, such as nodes: 0 while people train",
        )
    template = at(resource.properties, "spec", "template", "spec")
    maker = at(template, "nodeClassRef", "group")
    misplaced = any(at(resource.properties, *p, "expireAfter") is not None for p in _MISPLACED)
    if at(template, "expireAfter") is None and maker in _WITH_THAT_DEFAULT and not misplaced:
        yield Violation(
            ("spec", "template", "spec"),
            "without expireAfter every GPU node is ended after 720 hours, whatever runs on it",
            "write spec.template.spec.expireAfter: Never, or how long the longest job may be",
        )


RULE = Rule(
    id="GPU-CAP-04",
    title="A Karpenter pool of GPUs says when its nodes may be disturbed",
    severity=Severity.WARN,
    why="The defaults suit web servers: they end a training run in its last hour.",
    fix="Write disruption budgets and expireAfter for GPU NodePools.",
    sources=("kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, defaults",),
    kinds=(KARPENTER,),
    check=_check,
)
