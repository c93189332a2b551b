"""GPU-CFG-03: Karpenter objects in the words of the version that is served."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpuyard.catalogue.kubernetes.karpenter import (
    CONSOLIDATION_POLICIES,
    EMPTY_ALONE,
    PACKED,
)
from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    known_value,
    mapping,
    text,
)
from gpuyard.rules.subjects.installed_versions import (
    any_at_least,
    is_version_unknown,
    version_if_all_older,
)
from gpuyard.rules.subjects.pods import POD_KINDS, speaks_of_gpus
from gpuyard.rules.subjects.pools import (
    KARPENTER,
    gpu_pools,
    has_no_gpus,
    requests_gpus,
    without_gpus,
)

NODE_CLASS = "karpenter.k8s.aws/EC2NodeClass"
_OVERLAY = "karpenter.sh/NodeOverlay"
_NOT_ADDED = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_OLD_KINDS = {
    "karpenter.sh/Provisioner": "NodePool",
    "karpenter.k8s.aws/AWSNodeTemplate": "EC2NodeClass",
}
_GONE_SINCE = (0, 33)
"""The first Karpenter without the old kinds."""
_V1_ALONE_SINCE = (1, 1)
"""The first that serves nothing before v1."""
_V1_SINCE = (1,)
"""The first that serves v1."""
_PROGRAM = "karpenter"
_SERVED, _BETA, _ALPHA = "v1", "v1beta1", "v1alpha1"
REFERENCE = ("group", "kind", "name")
KUBELET_ELSEWHERE = ("topologyManagerPolicy", "cpuManagerPolicy", "memoryManagerPolicy")
_BY_DEFAULT = "720h"
_TEMPLATE: Path = ("spec", "template", "spec")
_RESERVED = "karpenter.sh"
_ALLOWED = "karpenter.sh/capacity-type"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _OVERLAY:
        if _version(resource) != _ALPHA:
            yield Violation(
                ("apiVersion",),
                f"{resource.kind} is served by no Karpenter: there is {_ALPHA} of it alone",
                f"write karpenter.sh/{_ALPHA}",
            )
        yield from _overlay(mapping(resource.properties, "spec"))


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Versions that are gone; with a Karpenter beside them that has them still, both are old together."""
    if not _speaks_of_gpus(stack):
        return
    older = version_if_all_older(stack, _PROGRAM, _GONE_SINCE)
    sure = any_at_least(stack, _PROGRAM, _GONE_SINCE)
    for resource in stack.of(*_OLD_KINDS):
        if without_gpus(resource):
            continue
        kind, problem = resource.group_kind, f"{resource.kind} is of Karpenter before 0.32"
        problem += f", as {older} here is: no later one has it" if older else ": nothing serves it"
        fix = f"write it as {_OLD_KINDS[kind]} of {_served(kind)}"
        fix += ", with a Karpenter of today" if older else ""
        grave = Severity.INFO if older else _where(sure=sure)
        yield Violation(("kind",), problem, fix, resource, grave, is_advisory=bool(older))
    older = version_if_all_older(stack, _PROGRAM, _V1_ALONE_SINCE)
    before = version_if_all_older(stack, _PROGRAM, _V1_SINCE)
    unsure = not older and is_version_unknown(stack, _PROGRAM)
    sure = any_at_least(stack, _PROGRAM, _V1_ALONE_SINCE)
    for resource in _about_gpus(stack):
        if _version(resource) == _SERVED:
            yield from _of(resource)
            continue
        beta = _version(resource) == _BETA
        if beta and unsure:
            continue  # a variable decides which Karpenter reads it
        grave = Severity.INFO if beta and older else _where(sure=sure or not beta)
        problem = f"{resource.kind} is not served since Karpenter 1.1"
        fix = f"write {_served(resource.group_kind)}"
        if beta and before:
            fix = f"when you upgrade Karpenter {before}, which has no later one, {fix}"
        # where it is the only one that is served, it is right until then
        choice = beta and bool(before)
        yield Violation(("apiVersion",), problem, fix, resource, grave, is_advisory=choice)
        if grave is not Severity.INFO:
            yield from (_as_served(each, grave) for each in _of(resource))


def _speaks_of_gpus(stack: Stack) -> bool:
    """Whether a pool, its class or a pod says a word of them: else none of it is for GPUs."""
    kinds = (KARPENTER, NODE_CLASS, *_OLD_KINDS, *POD_KINDS)
    if any(map(speaks_of_gpus, stack.of(*kinds))) or any(gpu_pools(stack.of(KARPENTER))):
        return True
    return any(map(requests_gpus, stack.of(*_OLD_KINDS)))


def _where(*, sure: bool) -> Severity | None:
    """Objects of yesterday are right beside a Karpenter of yesterday, pinned where nobody looks."""
    return None if sure else Severity.WARNING


def _as_served(violation: Violation, grave: Severity | None) -> Violation:
    """What is wrong of it once it is written as today's version."""
    problem = (
        violation.problem
        if violation.problem.startswith("as ")
        else f"as {_SERVED}, {violation.problem}"
    )
    return replace(violation, problem=problem, severity=violation.severity or grave)


def _about_gpus(stack: Stack) -> Iterator[Resource]:
    """Pools and node classes, but for those that say that no GPUs are theirs."""
    yield from (pool for pool in stack.of(KARPENTER) if not without_gpus(pool))
    yield from (each for each in stack.of(NODE_CLASS) if not has_no_gpus(each, stack))


def _of(resource: Resource) -> Iterator[Violation]:
    for violation in _fields(resource):
        yield replace(violation, resource=resource)


def _version(resource: Resource) -> str:
    return resource.kind.split("/")[1]


def _fields(resource: Resource) -> Iterator[Violation]:
    """As the version that is served has them."""
    yield from _pool(resource) if resource.group_kind == KARPENTER else _class(resource)


def _served(kind: str) -> str:
    return f"{kind.partition('/')[0]}/{_SERVED}"


def _pool(resource: Resource) -> Iterator[Violation]:
    properties = resource.properties
    reference = mapping(at(properties, *_TEMPLATE, "nodeClassRef"))
    if missing := [key for key in REFERENCE if not text(reference.get(key))]:
        yield Violation(
            (*_TEMPLATE, "nodeClassRef"),
            f"a node class is named by group, kind and name; no {' and no '.join(missing)} here",
            "write nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: …}",
        )
    disruption = mapping(at(properties, "spec", "disruption"))
    policy = text(disruption.get("consolidationPolicy"))
    if policy and policy not in CONSOLIDATION_POLICIES:
        yield Violation(
            ("spec", "disruption", "consolidationPolicy"),
            f"{policy} is rejected: it is one of {', '.join(CONSOLIDATION_POLICIES)}",
            f"write {PACKED if 'nder' in policy else EMPTY_ALONE}",
        )
    for path in (("spec", "disruption"), ("spec",)):
        value = mapping(at(properties, *path))
        if "expireAfter" not in value:
            continue
        # of yesterday it was read here, and without a word nodes end at the same time
        same = _version(resource) != _SERVED and text(value["expireAfter"]) == _BY_DEFAULT
        yield Violation(
            (*path, "expireAfter"),
            "expireAfter is read below the template only: here it is dropped, and nodes end after 720h",
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
                f"labels under {_RESERVED} are Karpenter's own: the NodePool is rejected",
                "use a domain of your own",
            )
    for index, each in enumerate(items(at(properties, *_TEMPLATE, "requirements"))):
        if not text(mapping(each).get("key")):
            problem = "a requirement without a key is rejected"
            yield Violation((*_TEMPLATE, "requirements", index), problem, "name the label as key")


def _class(resource: Resource) -> Iterator[Violation]:
    spec = mapping(at(resource.properties, "spec"))
    if "subnetSelectorTerms" in spec and not known_value(spec.get("amiSelectorTerms")):
        # the version before took amiFamily alone: it is the one that is served that does not
        which = "an" if _version(resource) == _SERVED else f"as {_SERVED}, an"
        yield Violation(
            ("spec", "amiSelectorTerms"),
            f"{which} EC2NodeClass without amiSelectorTerms is rejected: amiFamily alone chooses no image",
            "write amiSelectorTerms: [{alias: al2023@VERSION}]",
        )
    for key in mapping(at(resource.properties, "spec", "kubelet")):
        if key in KUBELET_ELSEWHERE:
            yield Violation(
                ("spec", "kubelet", key),
                f"{key} is no field of an EC2NodeClass",
                "write it into userData, as a NodeConfig with spec.kubelet.config",
            )


def _overlay(spec: Any) -> Iterator[Violation]:
    if (
        known_value(spec.get("price")) is not None
        and known_value(spec.get("priceAdjustment")) is not None
    ):
        yield Violation(
            ("spec", "priceAdjustment"),
            "a NodeOverlay with price and priceAdjustment is rejected: one says what a node costs",
            "keep one of them",
        )
    for name in mapping(spec, "capacity"):
        if name in _NOT_ADDED:
            yield Violation(
                ("spec", "capacity", name),
                f"a NodeOverlay that sets {name} is rejected: it adds resources of devices alone",
                "remove it; what a node has of it Karpenter takes from the machine type",
            )


RULE = Rule(
    id="GPU-CFG-03",
    title="Karpenter objects use a served version and its fields",
    severity=Severity.ERROR,
    why="An old version is rejected, and fields that moved are dropped: the pool makes other nodes, or none.",
    fix="Write karpenter.sh/v1 with a whole nodeClassRef; kubelet policies go into userData.",
    sources=(
        "kubernetes-sigs/karpenter v1.14.1 CRDs and aws/karpenter-provider-aws EC2NodeClass",
        "kubernetes-sigs/karpenter CRD karpenter.sh_nodeoverlays.yaml, its validations and its one version",
    ),
    kinds=(KARPENTER, NODE_CLASS, _OVERLAY, *_OLD_KINDS),
    check=_check,
    check_stack=_check_together,
)
