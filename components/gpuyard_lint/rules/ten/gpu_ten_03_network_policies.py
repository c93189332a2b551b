"""GPU-TEN-03: network policies deny by default, and allow DNS and listed addresses."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    number,
)
from gpuyard_lint.rules.subjects.tenants import gpu_tenants, platform_namespaces

POLICY = "networking.k8s.io/NetworkPolicy"
_DNS = 53
_OUTSIDE = frozenset({80, 443})


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    policies = stack.resources_of_kinds(POLICY)
    mine = gpu_tenants(stack) if policies else set[str]()
    for policy in policies:
        yield from _as_advisory(_inward(policy), policy.namespace, mine)
    for name in sorted({policy.namespace for policy in policies} - {""}):  # "": unknown namespace
        namespace_policies = [policy for policy in policies if policy.namespace == name]
        yield from _as_advisory(_names(namespace_policies), name, mine)
    namespaces = stack.resources_of_kinds("Namespace")
    bare = _without_denial(stack, policies) if namespaces else set[str]()
    for namespace in namespaces:
        if namespace.name in bare:
            yield Violation(
                ("metadata", "name"),
                f"no policy denies traffic to {namespace.name} by default: every pod of the cluster reaches it",
                "add a NetworkPolicy with podSelector: {} and both policyTypes",
                namespace,
            )


def _as_advisory(
    violations: Iterator[Violation], name: str, mine: AbstractSet[str]
) -> Iterator[Violation]:
    """A namespace without GPUs in the input is not checked."""
    yield from (replace(each, is_advisory=name not in mine) for each in violations)


def _without_denial(stack: Stack, policies: Sequence[Resource]) -> set[str]:
    """Namespaces of tenants with GPUs without a policy that denies traffic."""
    denied = {policy.namespace for policy in policies if _denies(policy)}
    return gpu_tenants(stack) - denied - platform_namespaces(stack)


def _inward(policy: Resource) -> Iterator[Violation]:
    """Egress rules for HTTP or HTTPS that only select pods of the same namespace."""
    for index, rule in enumerate(items(at(policy.properties, "spec", "egress"))):
        ports = {number(mapping(port).get("port")) for port in items(mapping(rule).get("ports"))}
        peers = [mapping(peer) for peer in items(mapping(rule).get("to"))]
        only_here = [
            peer for peer in peers if set(peer) == {"podSelector"} and not peer["podSelector"]
        ]
        if ports & _OUTSIDE and peers and len(only_here) == len(peers):
            yield Violation(
                ("spec", "egress", index, "to"),
                "an empty podSelector selects every pod of this namespace and nothing outside it",
                "allow outside addresses with ipBlock: {cidr: …}",
                policy,
            )


def _denies(policy: Resource) -> bool:
    spec = mapping(policy.properties.get("spec"))
    return "podSelector" in spec and not mapping(spec.get("podSelector"))


def _names(policies: list[Resource]) -> Iterator[Violation]:
    """Denied egress without DNS: pods cannot resolve names."""
    denying = [policy for policy in policies if _denies(policy) and _is_egress(policy)]
    if denying and not any(_allows_dns(policy) for policy in policies):
        yield Violation(
            ("spec", "egress"),
            "egress is denied, including port 53: pods cannot resolve DNS names",
            "allow UDP and TCP 53 to kube-dns",
            denying[0],
        )


def _is_egress(policy: Resource) -> bool:
    return "Egress" in items(at(policy.properties, "spec", "policyTypes"))


def _allows_dns(policy: Resource) -> bool:
    for rule in items(at(policy.properties, "spec", "egress")):
        ports = items(mapping(rule).get("ports"))
        if not ports or any(number(mapping(port).get("port")) == _DNS for port in ports):
            return True
    return False


RULE = Rule(
    id="GPU-TEN-03",
    title="Network policies deny by default, allow DNS, and list external addresses",
    severity=Severity.WARNING,
    why="A policy that seems to allow model downloads but does not fails only when a job runs.",
    fix="Deny by default in teams' namespaces; allow DNS; allow outside addresses with ipBlock.",
    sources=("Kubernetes documentation, network policies: podSelector and namespaceSelector",),
    references=(AuditReference("CIS EKS 1.8.0", "4.3.2"),),
    kinds=(POLICY, "Namespace"),
    check_stack=_check,
)
