"""GPU-CAP-04: Karpenter may disturb GPU nodes only as somebody has decided."""

from collections.abc import Callable, Iterator

from gpuyard.catalogue.kubernetes.karpenter import EMPTY_ALONE
from gpuyard.findings import Severity
from gpuyard.rules.cap.gpu_cap_05_pinned_image import moving_images
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
from gpuyard.rules.subjects.installed_versions import version_if_all_older
from gpuyard.rules.subjects.pods import all_gpu_pods_block_disruption
from gpuyard.rules.subjects.pools import KARPENTER, NODE_CLASS, GpuPool, gpu_pool

_WITH_THAT_DEFAULT = (None, "karpenter.k8s.aws")
"""EKS Auto Mode and AKS end nodes by rules of their own."""

_MISPLACED = (("spec", "disruption"), ("spec",))
"""Where the end of a node stands and is not read; GPU-CFG-03 says so."""
_BUDGETS_SINCE = (0, 34)
"""The first Karpenter that knows a budget: others reject the field."""
_ENDS_SINCE = (1,)
"""The first that ends a node whatever runs on it: before, it waits for pods that ask it not to."""
_V1 = "karpenter.sh/v1/NodePool"
"""Served since then."""
_CLASS = ("spec", "template", "spec", "nodeClassRef", "name")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    """What is not known of a pool, which is told once."""
    _lacks_budgets(resource)
    _may_end(resource)
    yield from ()


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Budgets and an end, as far as the Karpenter beside them has them."""
    budgets = not version_if_all_older(stack, "karpenter", _BUDGETS_SINCE)
    ends = not version_if_all_older(stack, "karpenter", _ENDS_SINCE)
    long_running = all_gpu_pods_block_disruption(stack)
    for resource in stack.of(KARPENTER):
        spot = _sure(_is_spot, resource)
        # one of before reads none of these: it is for another Karpenter, whatever else is pinned here
        new = resource.kind == _V1
        if (budgets or new) and _sure(_lacks_budgets, resource):
            yield Violation(
                ("spec", "disruption"),
                "without budgets Karpenter may take a tenth of the GPU nodes at any hour",
                "write spec.disruption.budgets, such as nodes: 0 while people train",
                resource,
                is_advisory=spot or _takes_none(resource, stack, kept=long_running),
            )
        if (ends or new) and _sure(_may_end, resource):
            yield Violation(
                ("spec", "template", "spec"),
                "without expireAfter every GPU node is ended after 720 hours, whatever runs on it",
                "write spec.template.spec.expireAfter: Never, or how long the longest job may be",
                resource,
                is_advisory=spot or (long_running and _sure(_waits_for_pods, resource)),
            )


def _sure(judge: Callable[[Resource], bool], pool: Resource) -> bool:
    """Whether something is known to hold: what is unknown is said of each pool alone."""
    try:
        return judge(pool)
    except NotEvaluatedError:
        return False


def _disturbed(resource: Resource) -> GpuPool | None:
    """The pool, where it has GPUs, and Karpenter decides how many nodes it has."""
    pool = gpu_pool(resource)
    fixed = pool is None or at(resource.properties, "spec", "replicas") is not None
    return None if fixed else pool


def _lacks_budgets(resource: Resource) -> bool:
    budgets = items(at(resource.properties, "spec", "disruption", "budgets"))
    return _disturbed(resource) is not None and not budgets


def _is_spot(resource: Resource) -> bool:
    """Whether its nodes may end at any hour anyway."""
    pool = gpu_pool(resource)
    return pool is not None and pool.spot_first


def _takes_none(pool: Resource, stack: Stack, *, kept: bool) -> bool:
    """Whether a node goes only when nothing runs on it: none is consolidated, nor drifts under its pods."""
    try:
        return _waits(pool) and (kept or _keeps_image(pool, stack))
    except NotEvaluatedError:
        return False


def _waits(pool: Resource) -> bool:
    disruption = at(pool.properties, "spec", "disruption")
    return (
        text(at(disruption, "consolidationPolicy")) == EMPTY_ALONE
        or text(at(disruption, "consolidateAfter")) == "Never"
    )


def _waits_for_pods(pool: Resource) -> bool:
    """Whether a node that ends waits as long as a pod asks for it, and not until some hour."""
    return at(pool.properties, "spec", "template", "spec", "terminationGracePeriod") is None


def _keeps_image(pool: Resource, stack: Stack) -> bool:
    named = text(at(pool.properties, *_CLASS))
    classes = stack.named(named, NODE_CLASS)
    return bool(classes) and all(map(_is_pinned, classes))


def _is_pinned(node_class: Resource) -> bool:
    terms = [mapping(each) for each in items(at(node_class.properties, "spec", "amiSelectorTerms"))]
    written = bool(terms) and all({"id", "alias"} & term.keys() for term in terms)
    return written and not list(moving_images(node_class))


def _may_end(resource: Resource) -> bool:
    """Whether its nodes end at a time that nobody has written."""
    if _disturbed(resource) is None:
        return False
    template = at(resource.properties, "spec", "template", "spec")
    maker = at(template, "nodeClassRef", "group")
    misplaced = any(at(resource.properties, *p, "expireAfter") is not None for p in _MISPLACED)
    return at(template, "expireAfter") is None and maker in _WITH_THAT_DEFAULT and not misplaced


RULE = Rule(
    id="GPU-CAP-04",
    title="A Karpenter NodePool with GPUs sets disruption budgets",
    severity=Severity.WARNING,
    why="The defaults suit web servers: they end a training run in its last hour.",
    fix="Write disruption budgets and expireAfter for GPU NodePools.",
    sources=(
        "kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, defaults",
        "aws/karpenter-provider-aws upgrade guide, v0.34.0: budgets",
        "karpenter.sh v1.0, v1 migration: expiration is forceful, and no longer waits",
    ),
    kinds=(KARPENTER,),
    check=_check,
    check_stack=_check_together,
)
