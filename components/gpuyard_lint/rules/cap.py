"""Rules on capacity: pools of GPU nodes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpuyard_core.catalogue.cluster.machine_gpus import gpus_of_machine, has_gpus
from gpuyard_core.catalogue.kubernetes.karpenter import EMPTY_ALONE
from gpuyard_core.catalogue.machines import find_machine
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import (
    at,
    complete_mapping,
    enum_value,
    is_true,
    items,
    mapping,
    mappings,
    number,
    text,
)
from gpuyard_lint.rules.rule import (
    ContextEffect,
    NotEvaluatedError,
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
)
from gpuyard_lint.rules.subjects.device_counts import max_gpus_per_node
from gpuyard_lint.rules.subjects.installed_versions import version_if_all_older
from gpuyard_lint.rules.subjects.pods import all_gpu_pods_block_disruption
from gpuyard_lint.rules.subjects.pools import (
    GPU,
    KARPENTER,
    NODE_CLASS,
    NODE_GROUP,
    NODE_POOL,
    POOL_KINDS,
    GpuPool,
    classes_of_gpus,
    gpu_pool,
    gpu_pools,
)

# GPU-CAP-01
_OF_EKS = " (EKS calls the effect NO_SCHEDULE), and add a small group without GPUs for system pods"
_KEEPS = frozenset({"NO_SCHEDULE", "NO_EXECUTE", "NoSchedule", "NoExecute"})


def _check_taints(resource: Resource, _: Parameters) -> Iterator[Violation]:
    pool = gpu_pool(resource)
    if pool is None:
        return
    if not any(enum_value(taint, "effect") in _KEEPS for taint in pool.taints):
        of_eks = _OF_EKS if resource.group_kind == NODE_GROUP else ""
        yield Violation(
            pool.taints_at,
            "no taint keeps other pods off these GPU nodes: a web server can occupy a GPU machine",
            f"taint it {GPU}=present:NoSchedule{of_eks}",
        )


def _adjust_taints(stack: Stack, resource: Resource, _: Path) -> ContextEffect:
    """With one machine with one GPU and no other pool, all pods have to run there."""
    most = number(at(resource.properties, "scalingConfig", "maxSize"))
    only = stack.resources_of_kinds(NODE_GROUP) == (resource,) and not stack.resources_of_kinds(
        KARPENTER
    )
    alone = only and most == 1 and max_gpus_per_node(stack) == 1
    return ContextEffect.CHOICE if alone else ContextEffect.FULL


# GPU-CAP-02
_BOUNDS: dict[str, tuple[Path, ...]] = {
    NODE_GROUP: (("scalingConfig", "maxSize"),),
    NODE_POOL: (
        ("autoscaling", "totalMaxNodeCount"),
        ("autoscaling", "maxNodeCount"),
        ("nodeCount",),
        ("initialNodeCount",),
    ),
    KARPENTER: (("spec", "limits", GPU), ("spec", "limits", "nodes"), ("spec", "replicas")),
}


def _check_bound(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    pool = gpu_pool(resource)
    if pool is None:
        return
    bounds = _BOUNDS[resource.group_kind]
    bound_values = ((path, number(at(resource.properties, *path))) for path in bounds)
    results = [(path, bound) for path, bound in bound_values if bound is not None]
    limits = at(resource.properties, "spec", "limits") if resource.group_kind == KARPENTER else {}
    # Karpenter limits in CPU or memory also bound a pool of GPU machines
    if not results and not any(mapping(limits).get(e) is not None for e in ("cpu", "memory")):
        yield Violation(
            bounds[0][:-1],
            "this pool has no maximum size: only the cloud's quota limits its GPUs and cost",
            f"set {'.'.join(str(step) for step in bounds[0])}",
        )
    if not results:
        return
    path, bound = results[0]
    counts = () if path[-1] == GPU else map(gpus_of_machine, pool.machines)
    per_node = max((1 if count is None else count for count in counts), default=1)
    if (gpus := int(bound) * per_node) > parameters["max_gpus_per_node"]:
        yield Violation(
            path,
            f"the pool can grow to {gpus:,} GPUs; the maximum is {parameters['max_gpus_per_node']:,}",
            f"lower it to {parameters['max_gpus_per_node'] // per_node}",
        )


# GPU-CAP-03
_ENOUGH_TYPES = 2
_COMPUTE_CLASS = "cloud.google.com/ComputeClass"
_CAPACITY_AT: Mapping[str, Path] = {
    NODE_GROUP: ("capacityType",),
    NODE_POOL: ("nodeConfig", "spot"),
    KARPENTER: ("spec", "template", "spec", "requirements"),
}


def _check_fallback(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for compute_class in stack.resources_of_kinds(_COMPUTE_CLASS):
        yield from _of_class(compute_class)
    pools = list(gpu_pools(stack.resources_of_kinds(*POOL_KINDS)))
    if any(pool.on_demand for pool in pools):
        return
    for pool in pools:
        if pool.may_use_spot and len(set(pool.machines)) == 1:  # none: any machine of a family
            yield Violation(
                _CAPACITY_AT[pool.resource.group_kind],
                "all GPU nodes are spot of one machine type: when it is unavailable, no node starts",
                "allow several machine types, or add an on-demand pool as fallback",
                pool.resource,
            )


def _of_class(compute_class: Resource) -> Iterator[Violation]:
    """GKE tries priorities in order; after the last, any machine or none."""
    spec = mapping(compute_class.properties, "spec")
    tried = mappings(spec, "priorities")
    usual = mapping(spec, "priorityDefaults")
    of_gpus = (mapping(e, "gpu") or has_gpus(text(e, "machineType")) for e in tried)
    if any("nodepools" in each for each in tried) or not any(of_gpus):
        return  # the provisioning of a named pool is defined elsewhere
    spot = all(is_true(each.get("spot", usual.get("spot"))) for each in tried)
    machines = {text(each, "machineType") or text(each, "gpu", "type") for each in tried}
    if spot and len(machines) < _ENOUGH_TYPES:
        yield Violation(
            ("spec", "priorities"),
            "all GPU nodes of this class are spot of one machine type: when it is unavailable, no node starts",
            "add a priority without spot or with another machine type",
            compute_class,
        )


# GPU-CAP-04
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
_CLASS_NAME = ("spec", "template", "spec", "nodeClassRef", "name")


def _check_known_values(resource: Resource, _: Parameters) -> Iterator[Violation]:
    """An unknown value of a pool, which is reported once."""
    _lacks_budgets(resource)
    _may_end(resource)
    yield from ()


def _check_disruption(stack: Stack, _: Parameters) -> Iterator[Violation]:
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
        disruption = at(pool.properties, "spec", "disruption")
        waits = (
            text(at(disruption, "consolidationPolicy")) == EMPTY_ALONE
            or text(at(disruption, "consolidateAfter")) == "Never"
        )
        return waits and (kept or _keeps_image(pool, stack))
    except NotEvaluatedError:
        return False


def _waits_for_pods(pool: Resource) -> bool:
    """Whether a terminating node waits as long as a pod requires it, without a time limit."""
    return at(pool.properties, "spec", "template", "spec", "terminationGracePeriod") is None


def _keeps_image(pool: Resource, stack: Stack) -> bool:
    named = text(at(pool.properties, *_CLASS_NAME))
    classes = stack.resources_named(named, NODE_CLASS)
    return bool(classes) and all(map(_is_pinned, classes))


def _is_pinned(node_class: Resource) -> bool:
    terms = [mapping(each) for each in items(at(node_class.properties, "spec", "amiSelectorTerms"))]
    written = bool(terms) and all({"id", "alias"} & term.keys() for term in terms)
    return written and not list(_moving_images(node_class))


def _may_end(resource: Resource) -> bool:
    """Whether its nodes expire after the default time."""
    if _disturbed(resource) is None:
        return False
    template = at(resource.properties, "spec", "template", "spec")
    maker = at(template, "nodeClassRef", "group")
    misplaced = any(at(resource.properties, *p, "expireAfter") is not None for p in _MISPLACED)
    return at(template, "expireAfter") is None and maker in _WITH_THAT_DEFAULT and not misplaced


# GPU-CAP-05
_ONLY_LATEST = "windows"
"""Karpenter accepts only @latest for these."""
_NO_MORE = "al2@"
"""EKS has published no Amazon Linux 2 image since November 2025: latest does not change (GPU-AWS-08)."""


def _check_pinned_images(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for node_class, _pools in classes_of_gpus(stack):
        for violation in _moving_images(node_class):
            yield replace(violation, resource=node_class)


def _moving_images(resource: Resource) -> Iterator[Violation]:
    """The images of a node class that change over time."""
    for index, term in enumerate(items(at(resource.properties, "spec", "amiSelectorTerms"))):
        alias = text(term, "alias")
        if alias.endswith("@latest") and not alias.startswith((_ONLY_LATEST, _NO_MORE)):
            family = alias.partition("@")[0]
            yield Violation(
                ("spec", "amiSelectorTerms", index, "alias"),
                f"{alias} changes to a new image, with another driver, when EKS publishes one",
                f"pin it, for example {family}@v20260930",
            )


# GPU-CAP-06
_TAGS: Mapping[str, tuple[str, ...]] = {
    NODE_GROUP: ("tags",),
    NODE_POOL: ("nodeConfig", "resourceLabels"),
}
_OF_WHO_PAYS = ("owner", "cost-center")
_NODES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    NODE_GROUP: (("scalingConfig", "maxSize"),),
    NODE_POOL: (("autoscaling", "maxNodeCount"), ("nodeCount",)),
    KARPENTER: (("spec", "limits", "nodes"), ("spec", "replicas")),
}


def _check_cost(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    pools = list(gpu_pools(stack.resources_of_kinds(*POOL_KINDS)))
    ceiling = parameters["usd_per_hour"]
    costs = [] if ceiling is None else [(pool, _worst(pool)) for pool in pools]
    total = sum(cost for _, cost in costs)
    if ceiling is not None and total > ceiling:
        dearest = max(costs, key=lambda each: each[1])[0]
        yield Violation(
            (),
            f"with all nodes running, these pools cost {total:,.0f} $/hour at list price;"
            f" the maximum (`usd_per_hour`) is {ceiling:,.0f}",
            "lower the maximum size of the most expensive pool, or raise `usd_per_hour`",
            dearest.resource,
        )
    expected = tuple(parameters["tags"]) or _used(pools)
    for pool in pools:
        yield from _untagged(pool, expected)


def _used(pools: Sequence[GpuPool]) -> tuple[str, ...]:
    """Without configured tags: those that another pool has, because its owner wants them on all pools."""
    present = {tag for pool in pools for tag in _tags(pool)}
    return tuple(tag for tag in _OF_WHO_PAYS if tag in present)


def _tags(pool: GpuPool) -> set[str]:
    path = _TAGS.get(pool.resource.group_kind)
    value = mapping(at(pool.resource.properties, *path)) if path else {}
    return {str(key).lower().replace("_", "-") for key in value}


def _worst(pool: GpuPool) -> float:
    prices = [
        machine.on_demand.high
        for name in pool.machines
        if (machine := find_machine(name)) is not None and machine.on_demand is not None
    ]
    counts = (
        number(at(pool.resource.properties, *path)) for path in _NODES[pool.resource.group_kind]
    )
    nodes = next((count for count in counts if count is not None), 0)
    return nodes * max(prices, default=0.0)


def _untagged(pool: GpuPool, expected: tuple[str, ...]) -> Iterator[Violation]:
    path = _TAGS.get(pool.resource.group_kind)
    if path is None:
        return
    complete_mapping(at(pool.resource.properties, *path))
    tags = _tags(pool)
    if missing := [tag for tag in expected if tag not in tags]:
        yield Violation(
            path,
            f"the pool lacks tags for cost allocation: no {' and no '.join(missing)}",
            f"tag the pool with {', '.join(missing)}",
            pool.resource,
        )


RULES = (
    load_rule(
        "GPU-CAP-01", kinds=(NODE_GROUP, KARPENTER), check=_check_taints, adjust=_adjust_taints
    ),
    load_rule("GPU-CAP-02", kinds=POOL_KINDS, check=_check_bound),
    load_rule("GPU-CAP-03", kinds=(*POOL_KINDS, _COMPUTE_CLASS), check_stack=_check_fallback),
    load_rule(
        "GPU-CAP-04", kinds=(KARPENTER,), check=_check_known_values, check_stack=_check_disruption
    ),
    load_rule("GPU-CAP-05", kinds=(NODE_CLASS,), check_stack=_check_pinned_images),
    load_rule("GPU-CAP-06", kinds=POOL_KINDS, check_stack=_check_cost),
)
