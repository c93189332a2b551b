"""GPU-CAP-04: disruption budgets bound when Karpenter may disrupt GPU nodes."""

from collections.abc import Callable, Iterator

from gpuyard_core.catalogue.kubernetes.karpenter import EMPTY_ALONE
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.cap.gpu_cap_05_pinned_image import moving_images
from gpuyard_lint.rules.rule import (
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
from gpuyard_lint.rules.subjects.installed_versions import version_if_all_older
from gpuyard_lint.rules.subjects.pods import all_gpu_pods_block_disruption
from gpuyard_lint.rules.subjects.pools import KARPENTER, NODE_CLASS, GpuPool, gpu_pool

_WITH_THAT_DEFAULT = (None, "karpenter.k8s.aws")
"""EKS Auto Mode and AKS terminate nodes by their own rules."""

_MISPLACED = (("spec", "disruption"), ("spec",))
"""Places where Karpenter ignores expireAfter; GPU-CFG-03 reports them."""
_BUDGETS_SINCE = (0, 34)
"""The first Karpenter version with budgets: earlier ones reject the field."""
_ENDS_SINCE = (1,)
"""The first that terminates nodes forcefully; earlier ones wait for pods with do-not-disrupt."""
_V1 = "karpenter.sh/v1/NodePool"
"""The kind in the API version that Karpenter 1.0 introduced."""
_CLASS = ("spec", "template", "spec", "nodeClassRef", "name")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    """An unknown value of a pool, which is reported once."""
    _lacks_budgets(resource)
    _may_end(resource)
    yield from ()


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Budgets and expiration, as far as the Karpenter version supports them."""
    budgets = not version_if_all_older(stack, "karpenter", _BUDGETS_SINCE)
    ends = not version_if_all_older(stack, "karpenter", _ENDS_SINCE)
    long_running = all_gpu_pods_block_disruption(stack)
    for resource in stack.resources_of_kinds(KARPENTER):
        spot = _sure(_is_spot, resource)
        # an older Karpenter serves no v1: such an object is for another one than the pinned version
        new = resource.kind == _V1
        if (budgets or new) and _sure(_lacks_budgets, resource):
            yield Violation(
                ("spec", "disruption"),
                "without budgets Karpenter may disrupt 10 % of the GPU nodes at any time",
                'set spec.disruption.budgets, for example nodes: "0" during training hours',
                resource,
                is_advisory=spot or _takes_none(resource, stack, kept=long_running),
            )
        if (ends or new) and _sure(_may_end, resource):
            yield Violation(
                ("spec", "template", "spec"),
                "without expireAfter Karpenter terminates every GPU node after 720 hours, with the jobs on it",
                "set spec.template.spec.expireAfter to Never or to the length of your longest job",
                resource,
                is_advisory=spot or (long_running and _sure(_waits_for_pods, resource)),
            )


def _sure(judge: Callable[[Resource], bool], pool: Resource) -> bool:
    """Whether a condition certainly holds: an unknown value is reported for each pool separately."""
    try:
        return judge(pool)
    except NotEvaluatedError:
        return False


def _disturbed(resource: Resource) -> GpuPool | None:
    """The pool, if it has GPUs and Karpenter decides its node count."""
    pool = gpu_pool(resource)
    fixed = pool is None or at(resource.properties, "spec", "replicas") is not None
    return None if fixed else pool


def _lacks_budgets(resource: Resource) -> bool:
    budgets = items(at(resource.properties, "spec", "disruption", "budgets"))
    return _disturbed(resource) is not None and not budgets


def _is_spot(resource: Resource) -> bool:
    """Whether its nodes may be terminated at any time anyway."""
    pool = gpu_pool(resource)
    return pool is not None and pool.spot_first


def _takes_none(pool: Resource, stack: Stack, *, kept: bool) -> bool:
    """Whether Karpenter removes only empty nodes: no consolidation, no drift under running pods."""
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
    """Whether a terminating node waits as long as a pod requires it, without a time limit."""
    return at(pool.properties, "spec", "template", "spec", "terminationGracePeriod") is None


def _keeps_image(pool: Resource, stack: Stack) -> bool:
    named = text(at(pool.properties, *_CLASS))
    classes = stack.resources_named(named, NODE_CLASS)
    return bool(classes) and all(map(_is_pinned, classes))


def _is_pinned(node_class: Resource) -> bool:
    terms = [mapping(each) for each in items(at(node_class.properties, "spec", "amiSelectorTerms"))]
    written = bool(terms) and all({"id", "alias"} & term.keys() for term in terms)
    return written and not list(moving_images(node_class))


def _may_end(resource: Resource) -> bool:
    """Whether its nodes expire after the default time."""
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
    why="The defaults suit web servers: they can terminate a training run in its last hour.",
    fix="Set disruption budgets and expireAfter for GPU NodePools.",
    sources=(
        "kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, defaults",
        "aws/karpenter-provider-aws upgrade guide, v0.34.0: budgets",
        "karpenter.sh v1.0, v1 migration: expiration is forceful, and no longer waits",
    ),
    kinds=(KARPENTER,),
    check=_check,
    check_stack=_check_together,
)
