"""GPU-CAP-04: Karpenter may disturb GPU nodes only as somebody has decided."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.findings import Severity
from gpuyard.rules.cap.gpu_cap_05_pinned_image import NODE_CLASS, moving_images
from gpuyard.rules.rule import (
    NotEvaluatedError,
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
from gpuyard.rules.subjects.installed import all_older
from gpuyard.rules.subjects.pools import KARPENTER, GpuPool, gpu_pool

_WITH_THAT_DEFAULT = (None, "karpenter.k8s.aws")
"""EKS Auto Mode and AKS end nodes by rules of their own."""

_MISPLACED = (("spec", "disruption"), ("spec",))
"""Where the end of a node stands and is not read; GPU-CFG-03 says so."""
_BUDGETS_SINCE = (0, 34)
"""The first Karpenter that knows a budget: others reject the field."""
_CLASS = ("spec", "template", "spec", "nodeClassRef", "name")


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Pool by pool: of which one is unknown, the others are judged all the same."""
    older, unsure = all_older(stack, "karpenter", _BUDGETS_SINCE), False
    for resource in stack.of(KARPENTER):
        try:
            pool = gpu_pool(resource)
            if pool is None or at(resource.properties, "spec", "replicas") is not None:
                continue
            said = [*([] if older else _budgets(pool, stack)), *_end(pool)]
        except NotEvaluatedError:
            unsure = True
        else:
            yield from (replace(each, resource=resource) for each in said)
    if unsure:
        raise NotEvaluatedError


def _budgets(pool: GpuPool, stack: Stack) -> Iterator[Violation]:
    if not items(at(pool.resource.properties, "spec", "disruption", "budgets")):
        yield Violation(
            ("spec", "disruption"),
            "without budgets Karpenter may take a tenth of the GPU nodes at any hour",
            "write spec.disruption.budgets, such as nodes: 0 while people train",
            choice=pool.only_spot or _takes_none(pool.resource, stack),
        )


def _takes_none(pool: Resource, stack: Stack) -> bool:
    """Whether a node goes only when nothing runs on it: none is consolidated, and its image is pinned."""
    disruption = at(pool.properties, "spec", "disruption")
    waits = (
        text(at(disruption, "consolidationPolicy")) == "WhenEmpty"
        or text(at(disruption, "consolidateAfter")) == "Never"
    )
    named = text(at(pool.properties, *_CLASS))
    classes = [each for each in stack.of(NODE_CLASS) if each.name == named]
    return waits and bool(classes) and all(map(_is_pinned, classes))


def _is_pinned(node_class: Resource) -> bool:
    terms = [mapping(each) for each in items(at(node_class.properties, "spec", "amiSelectorTerms"))]
    written = bool(terms) and all({"id", "alias"} & term.keys() for term in terms)
    return written and not list(moving_images(node_class))


def _end(pool: GpuPool) -> Iterator[Violation]:
    properties = pool.resource.properties
    template = at(properties, "spec", "template", "spec")
    maker = at(template, "nodeClassRef", "group")
    misplaced = any(at(properties, *p, "expireAfter") is not None for p in _MISPLACED)
    if at(template, "expireAfter") is None and maker in _WITH_THAT_DEFAULT and not misplaced:
        yield Violation(
            ("spec", "template", "spec"),
            "without expireAfter every GPU node is ended after 720 hours, whatever runs on it",
            "write spec.template.spec.expireAfter: Never, or how long the longest job may be",
            choice=pool.only_spot,
        )


RULE = Rule(
    id="GPU-CAP-04",
    title="A Karpenter pool of GPUs says when its nodes may be disturbed",
    severity=Severity.WARN,
    why="The defaults suit web servers: they end a training run in its last hour.",
    fix="Write disruption budgets and expireAfter for GPU NodePools.",
    sources=(
        "kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, defaults",
        "aws/karpenter-provider-aws upgrade guide, v0.34.0: budgets",
    ),
    kinds=(KARPENTER,),
    check_stack=_check,
)
