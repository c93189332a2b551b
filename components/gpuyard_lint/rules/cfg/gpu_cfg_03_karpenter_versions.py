"""GPU-CFG-03: Karpenter objects use the fields of the served version."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.kubernetes.karpenter import (
    CONSOLIDATION_POLICIES,
    EMPTY_ALONE,
    PACKED,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
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
from gpuyard_lint.rules.subjects.installed_versions import (
    any_at_least,
    is_version_unknown,
    version_if_all_older,
)
from gpuyard_lint.rules.subjects.pods import POD_KINDS, speaks_of_gpus
from gpuyard_lint.rules.subjects.pools import (
    KARPENTER,
    gpu_pools,
    is_class_without_gpus,
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
"""The first that serves only v1."""
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
                f"no Karpenter serves {resource.kind}: only {_ALPHA} exists",
                f"write karpenter.sh/{_ALPHA}",
            )
        yield from _overlay(mapping(resource.properties, "spec"))


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
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
        severity = Severity.INFO if older else _where(sure=sure)
        yield Violation(("kind",), problem, fix, resource, severity, is_advisory=bool(older))
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
            continue  # a variable decides which Karpenter version reads it
        severity = Severity.INFO if beta and older else _where(sure=sure or not beta)
        problem = f"{resource.kind} is not served since Karpenter 1.1"
        fix = f"write {_served(resource.group_kind)}"
        if beta and before:
            fix = f"when you upgrade Karpenter {before}, which serves no later version, {fix}"
        # valid until the upgrade, if the installed Karpenter serves only this version
        choice = beta and bool(before)
        yield Violation(("apiVersion",), problem, fix, resource, severity, is_advisory=choice)
        if severity is not Severity.INFO:
            yield from (_as_served(each, severity) for each in _of(resource))


def _speaks_of_gpus(stack: Stack) -> bool:
    """Whether a pool, its class or a pod mentions GPUs."""
    kinds = (KARPENTER, NODE_CLASS, *_OLD_KINDS, *POD_KINDS)
    if any(map(speaks_of_gpus, stack.resources_of_kinds(*kinds))) or any(
        gpu_pools(stack.resources_of_kinds(KARPENTER))
    ):
        return True
    return any(map(requests_gpus, stack.resources_of_kinds(*_OLD_KINDS)))


def _where(*, sure: bool) -> Severity | None:
    """Old objects are correct with an old Karpenter, whose version may be pinned elsewhere."""
    return None if sure else Severity.WARNING


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


def _of(resource: Resource) -> Iterator[Violation]:
    for violation in _fields(resource):
        yield replace(violation, resource=resource)


def _version(resource: Resource) -> str:
    return resource.kind.split("/")[1]


def _fields(resource: Resource) -> Iterator[Violation]:
    """Violations of the fields of the served version."""
    yield from _pool(resource) if resource.group_kind == KARPENTER else _class(resource)


def _served(kind: str) -> str:
    return f"{kind.partition('/')[0]}/{_SERVED}"


def _pool(resource: Resource) -> Iterator[Violation]:
    properties = resource.properties
    reference = mapping(at(properties, *_TEMPLATE, "nodeClassRef"))
    if missing := [key for key in REFERENCE if not text(reference.get(key))]:
        yield Violation(
            (*_TEMPLATE, "nodeClassRef"),
            f"nodeClassRef requires group, kind and name; no {' and no '.join(missing)} here",
            "write nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: …}",
        )
    disruption = mapping(at(properties, "spec", "disruption"))
    policy = text(disruption.get("consolidationPolicy"))
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
    for index, each in enumerate(items(at(properties, *_TEMPLATE, "requirements"))):
        if not text(mapping(each).get("key")):
            problem = "the API server rejects a requirement without a key"
            yield Violation((*_TEMPLATE, "requirements", index), problem, "set key to the label")


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


RULE = Rule(
    id="GPU-CFG-03",
    title="Karpenter objects use a served version and its fields",
    severity=Severity.ERROR,
    why="The API server rejects old versions and drops moved fields: the pool creates wrong nodes, or none.",
    fix="Use karpenter.sh/v1 with a complete nodeClassRef; put kubelet policies into userData.",
    sources=(
        "kubernetes-sigs/karpenter v1.14.1 CRDs and aws/karpenter-provider-aws EC2NodeClass",
        "kubernetes-sigs/karpenter CRD karpenter.sh_nodeoverlays.yaml, its validations and its one version",
    ),
    kinds=(KARPENTER, NODE_CLASS, _OVERLAY, *_OLD_KINDS),
    check=_check,
    check_stack=_check_together,
)
