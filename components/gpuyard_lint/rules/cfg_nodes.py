"""Rules on the configuration of Karpenter, the cluster autoscaler and the kubelet."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from gpuyard_core.catalogue.kubernetes.karpenter import CONSOLIDATION_POLICIES, EMPTY_ALONE, PACKED
from gpuyard_core.catalogue.machines import find_machine
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, items, known_value, mapping, number, text
from gpuyard_lint.rules.rule import (
    ContextEffect,
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
    once_per_stack,
)
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES
from gpuyard_lint.rules.subjects.installed_versions import (
    any_at_least,
    is_version_unknown,
    version_if_all_older,
)
from gpuyard_lint.rules.subjects.pods import POD_KINDS, speaks_of_gpus
from gpuyard_lint.rules.subjects.pools import (
    KARPENTER,
    NODE_CLASS,
    NODE_POOL,
    POOL_KINDS,
    USER_DATA,
    gpu_pool,
    gpu_pools,
    is_class_without_gpus,
    plain_user_data,
    requests_gpus,
    without_gpus,
)

# GPU-CFG-03
_OVERLAY = "karpenter.sh/NodeOverlay"
_NOT_ADDED = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_OLD_KINDS = {
    "karpenter.sh/Provisioner": "NodePool",
    "karpenter.k8s.aws/AWSNodeTemplate": "EC2NodeClass",
}
_GONE_SINCE = (0, 33)
"""The first Karpenter without the old kinds."""
_V1_ALONE_SINCE = (1, 1)
"""The first that serves only v1."""
_V1_SINCE = (1,)
"""The first that serves v1."""
_PROGRAM = "karpenter"
_SERVED, _BETA, _ALPHA = "v1", "v1beta1", "v1alpha1"
REFERENCE = ("group", "kind", "name")
KUBELET_ELSEWHERE = ("topologyManagerPolicy", "cpuManagerPolicy", "memoryManagerPolicy")
_BY_DEFAULT = "720h"
_NODE_SPEC: Path = ("spec", "template", "spec")
_RESERVED = "karpenter.sh"
_ALLOWED = "karpenter.sh/capacity-type"


def _check_overlay(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _OVERLAY:
        if _version(resource) != _ALPHA:
            yield Violation(
                ("apiVersion",),
                f"no Karpenter serves {resource.kind}: only {_ALPHA} exists",
                f"write karpenter.sh/{_ALPHA}",
            )
        yield from _overlay(mapping(resource.properties, "spec"))


def _check_karpenter(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Versions that are no longer served; with an old Karpenter in the same input, both are old together."""
    if not _speaks_of_gpus(stack):
        return
    older = version_if_all_older(stack, _PROGRAM, _GONE_SINCE)
    sure = any_at_least(stack, _PROGRAM, _GONE_SINCE)
    for resource in stack.resources_of_kinds(*_OLD_KINDS):
        if without_gpus(resource):
            continue
        kind, problem = resource.group_kind, f"{resource.kind} is an API of Karpenter before 0.32"
        problem += (
            f", which {older} here serves; later ones do not"
            if older
            else ": current ones do not serve it"
        )
        fix = f"write it as {_OLD_KINDS[kind]} of {_served(kind)}"
        fix += ", with a current Karpenter" if older else ""
        # old objects are correct with an old Karpenter, whose version may be pinned elsewhere
        severity = Severity.INFO if older else None if sure else Severity.WARNING
        yield Violation(("kind",), problem, fix, resource, severity, is_advisory=bool(older))
    older = version_if_all_older(stack, _PROGRAM, _V1_ALONE_SINCE)
    before = version_if_all_older(stack, _PROGRAM, _V1_SINCE)
    unsure = not older and is_version_unknown(stack, _PROGRAM)
    sure = any_at_least(stack, _PROGRAM, _V1_ALONE_SINCE)
    for resource in _about_gpus(stack):
        if _version(resource) == _SERVED:
            yield from _fields(resource)
            continue
        beta = _version(resource) == _BETA
        if beta and unsure:
            continue  # a variable decides which Karpenter version reads it
        severity = None if sure or not beta else Severity.WARNING
        severity = Severity.INFO if beta and older else severity
        problem = f"{resource.kind} is not served since Karpenter 1.1"
        fix = f"write {_served(resource.group_kind)}"
        if beta and before:
            fix = f"when you upgrade Karpenter {before}, which serves no later version, {fix}"
        # valid until the upgrade, if the installed Karpenter serves only this version
        choice = beta and bool(before)
        yield Violation(("apiVersion",), problem, fix, resource, severity, is_advisory=choice)
        if severity is not Severity.INFO:
            yield from (_as_served(each, severity) for each in _fields(resource))


def _speaks_of_gpus(stack: Stack) -> bool:
    """Whether a pool, its class or a pod mentions GPUs."""
    kinds = (KARPENTER, NODE_CLASS, *_OLD_KINDS, *POD_KINDS)
    if any(map(speaks_of_gpus, stack.resources_of_kinds(*kinds))) or any(
        gpu_pools(stack.resources_of_kinds(KARPENTER))
    ):
        return True
    return any(map(requests_gpus, stack.resources_of_kinds(*_OLD_KINDS)))


def _as_served(violation: Violation, severity: Severity | None) -> Violation:
    """A violation that remains after conversion to the served version."""
    problem = (
        violation.problem
        if violation.problem.startswith("as ")
        else f"as {_SERVED}, {violation.problem}"
    )
    return replace(violation, problem=problem, severity=violation.severity or severity)


def _about_gpus(stack: Stack) -> Iterator[Resource]:
    """Pools and node classes, except those without GPUs."""
    yield from (pool for pool in stack.resources_of_kinds(KARPENTER) if not without_gpus(pool))
    yield from (
        each
        for each in stack.resources_of_kinds(NODE_CLASS)
        if not is_class_without_gpus(each, stack)
    )


def _version(resource: Resource) -> str:
    return resource.kind.split("/")[1]


def _fields(resource: Resource) -> Iterator[Violation]:
    """Violations of the fields of the served version."""
    for violation in (_pool if resource.group_kind == KARPENTER else _class)(resource):
        yield replace(violation, resource=resource)


def _served(kind: str) -> str:
    return f"{kind.partition('/')[0]}/{_SERVED}"


def _pool(resource: Resource) -> Iterator[Violation]:
    properties = resource.properties
    reference = mapping(at(properties, *_NODE_SPEC, "nodeClassRef"))
    if missing := [key for key in REFERENCE if not text(reference.get(key))]:
        yield Violation(
            (*_NODE_SPEC, "nodeClassRef"),
            f"nodeClassRef requires group, kind and name; no {' and no '.join(missing)} here",
            "write nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: …}",
        )
    disruption = mapping(at(properties, "spec", "disruption"))
    policy = text(disruption, "consolidationPolicy")
    if policy and policy not in CONSOLIDATION_POLICIES:
        yield Violation(
            ("spec", "disruption", "consolidationPolicy"),
            f"{policy} is rejected: consolidationPolicy must be one of {', '.join(CONSOLIDATION_POLICIES)}",
            f"write {PACKED if 'nder' in policy else EMPTY_ALONE}",
        )
    for path in (("spec", "disruption"), ("spec",)):
        value = mapping(at(properties, *path))
        if "expireAfter" not in value:
            continue
        # the earlier version read it here; with this value, dropping it changes nothing
        same = _version(resource) != _SERVED and text(value["expireAfter"]) == _BY_DEFAULT
        yield Violation(
            (*path, "expireAfter"),
            "Karpenter reads expireAfter only in the template: here it is dropped, and nodes expire after 720h",
            "move it to spec.template.spec.expireAfter",
            severity=Severity.INFO if same else None,
            is_advisory=same,
        )
    yield from _labels(properties)


def _labels(properties: Any) -> Iterator[Violation]:
    for key in mapping(at(properties, "spec", "template", "metadata", "labels")):
        if key.partition("/")[0].endswith(_RESERVED) and key != _ALLOWED:
            yield Violation(
                ("spec", "template", "metadata", "labels", key),
                f"labels under {_RESERVED} are reserved: the API server rejects the NodePool",
                "use your own domain",
            )
    for index, each in enumerate(items(at(properties, *_NODE_SPEC, "requirements"))):
        if not text(each, "key"):
            problem = "the API server rejects a requirement without a key"
            yield Violation((*_NODE_SPEC, "requirements", index), problem, "set key to the label")


def _class(resource: Resource) -> Iterator[Violation]:
    spec = mapping(at(resource.properties, "spec"))
    if "subnetSelectorTerms" in spec and not known_value(spec.get("amiSelectorTerms")):
        # only the earlier version accepts amiFamily alone; the served version does not
        which = "an" if _version(resource) == _SERVED else f"as {_SERVED}, an"
        yield Violation(
            ("spec", "amiSelectorTerms"),
            f"{which} EC2NodeClass without amiSelectorTerms is rejected: amiFamily alone selects no image",
            "write amiSelectorTerms: [{alias: al2023@VERSION}]",
        )
    for key in mapping(at(resource.properties, "spec", "kubelet")):
        if key in KUBELET_ELSEWHERE:
            yield Violation(
                ("spec", "kubelet", key),
                f"{key} is not a field of an EC2NodeClass",
                "write it into userData, as a NodeConfig with spec.kubelet.config",
            )


def _overlay(spec: Any) -> Iterator[Violation]:
    if (
        known_value(spec.get("price")) is not None
        and known_value(spec.get("priceAdjustment")) is not None
    ):
        yield Violation(
            ("spec", "priceAdjustment"),
            "the API server rejects a NodeOverlay with both price and priceAdjustment",
            "keep one of them",
        )
    for name in mapping(spec, "capacity"):
        if name in _NOT_ADDED:
            yield Violation(
                ("spec", "capacity", name),
                f"a NodeOverlay that sets {name} is rejected: it may add extended resources only",
                "remove it; Karpenter takes it from the instance type",
            )


# GPU-CFG-04
EXPANDER = "config:priority-expander"
VALUES = "values:cluster-autoscaler"
_BOUGHT = (
    (
        "reserved",
        re.compile(r"reserv|odcr|capacity-?block|(^|[^a-z])(cb|cr)([^a-z]|$)", re.IGNORECASE),
    ),
    ("on-demand", re.compile(r"on-?_?demand", re.IGNORECASE)),
    ("spot", re.compile(r"spot|preempt", re.IGNORECASE)),
)
"""Capacity types by pattern, in the order in which to try them."""
_ALL = re.compile(r"\^?\.[*+]\$?")


def _check_priorities(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    in_values = resource.group_kind == VALUES
    path: Path = ("expanderPriorities",) if in_values else ()
    results = list(_patterns(mapping(at(resource.properties, *path))))
    if not results:
        return
    best: dict[str, tuple[float, Any, str]] = {}
    for priority, key, pattern in sorted(results, key=lambda each: each[0]):
        for name, expression in _BOUGHT:
            if expression.search(pattern):
                best[name] = (priority, key, pattern)
                break
    spot_first = parameters["spot_first"] or not _are_ranks(results)
    yield from _order(best, path, spot_first=spot_first)
    if not any(_ALL.fullmatch(pattern) for _, _, pattern in results):
        lowest = min(results, key=lambda each: each[0])[1]
        yield Violation(
            (*path, lowest),
            "no pattern matches all groups: an unlisted group does not scale while another one matches",
            "add the lowest priority with `.*`",
        )


def _are_ranks(results: list[tuple[float, Any, str]]) -> bool:
    """1, 2, 3 may be ranks. 10 and 50 usually mean spot before on-demand."""
    numbers = sorted({priority for priority, _, _ in results})
    return numbers == list(range(1, len(numbers) + 1))


def _patterns(results: Mapping[Any, Any]) -> Iterator[tuple[float, Any, str]]:
    for key, patterns in results.items():
        priority = number(key)
        for pattern in items(patterns) if priority is not None else ():
            yield priority or 0.0, key, text(pattern)


def _order(
    best: Mapping[str, tuple[float, Any, str]], path: Path, *, spot_first: bool
) -> Iterator[Violation]:
    names = [name for name, _ in _BOUGHT if name in best]
    for first, second in pairwise(names):
        if spot_first and (first, second) == ("on-demand", "spot"):
            continue
        (low, _, low_pattern), (high, key, pattern) = best[first], best[second]
        if high > low:
            yield Violation(
                (*path, key),
                f"the autoscaler tries the highest number first: {pattern} ({high:g}) before {low_pattern} ({low:g}),"
                f" {second} before {first}",
                f"give {first} the higher number; to prefer {second}, set spot_first"
                if first == "on-demand"
                else f"give {first} the higher number: it is already paid for",
            )


def _adjust_priorities(stack: Stack, _: Resource, __: Path) -> ContextEffect:
    """If pools are in the input and none has GPUs, the groups are not expensive."""
    return ContextEffect.CHOICE if _has_other_pools_alone(stack) else ContextEffect.FULL


@once_per_stack
def _has_other_pools_alone(stack: Stack) -> bool:
    pools = stack.resources_of_kinds(*POOL_KINDS)
    return bool(pools) and not any(map(gpu_pool, pools))


# GPU-CFG-05
KUBELET = "kubelet.config.k8s.io/KubeletConfiguration"
NODE_CONFIG = "node.eks.aws/NodeConfig"
_LAUNCH_TEMPLATE = "aws:ec2/LaunchTemplate"
_STRICT = "single-numa-node"
_SAID = re.compile(r"topologyManagerPolicy[\"']?\s*[:=]\s*[\"']?single-numa-node")
_AT: dict[str, Path] = {
    KUBELET: ("topologyManagerPolicy",),
    NODE_CONFIG: ("spec", "kubelet", "config", "topologyManagerPolicy"),
}
_GKE: Path = ("nodeConfig", "kubeletConfig", "topologyManager", "policy")


def _check_numa_policy(stack: Stack, _: Parameters) -> Iterator[Violation]:
    pools = list(gpu_pools(stack.resources_of_kinds(*POOL_KINDS)))
    for pool in pools:
        gke = pool.resource.group_kind == NODE_POOL and _several(pool.machines)
        if gke and text(at(pool.resource.properties, *_GKE)) == _STRICT:
            yield _violation(pool.resource, _GKE, pool.machines[0])
    operators = stack.resources_of_kinds(OPERATOR_VALUES, CLUSTER_POLICY)
    machine = next((name for pool in pools for name in pool.machines if _several((name,))), "")
    if machine or operators or any(not pool.machines for pool in pools):
        for resource, path in _strict(stack):
            yield _violation(resource, path, machine)


def _strict(stack: Stack) -> Iterator[tuple[Resource, Path]]:
    for kind, path in _AT.items():
        for resource in stack.resources_of_kinds(kind):
            if text(at(resource.properties, *path)) == _STRICT:
                yield resource, path
    for kind, path in USER_DATA.items():
        for resource in stack.resources_of_kinds(kind):
            if _SAID.search(plain_user_data(text(at(resource.properties, *path)))):
                yield resource, path


def _several(machines: tuple[str, ...]) -> bool:
    """True unless all machines are known to have one GPU or one NUMA node, where the policy has no effect."""
    results = [find_machine(name) for name in machines]
    return not results or any(m is None or (m.gpus > 1 and m.numa_nodes != 1) for m in results)


def _violation(resource: Resource, path: Path, machine: str) -> Violation:
    of = f" of {machine}" if machine else ""
    return Violation(
        path,
        f"a pod with all GPUs{of} never fits one NUMA node: it fails with TopologyAffinityError",
        "use best-effort, or restricted",
        resource,
    )


RULES = (
    load_rule(
        "GPU-CFG-03",
        kinds=(KARPENTER, NODE_CLASS, _OVERLAY, *_OLD_KINDS),
        check=_check_overlay,
        check_stack=_check_karpenter,
    ),
    load_rule(
        "GPU-CFG-04", kinds=(EXPANDER, VALUES), check=_check_priorities, adjust=_adjust_priorities
    ),
    load_rule(
        "GPU-CFG-05",
        kinds=(NODE_POOL, KUBELET, NODE_CONFIG, NODE_CLASS, _LAUNCH_TEMPLATE),
        check_stack=_check_numa_policy,
    ),
)
