"""GPU-NET-01: nodes accept no traffic from the internet and no SSH."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    ContextEffect,
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    block,
    is_true,
    items,
    known_value,
    number,
    once_per_stack,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, NODE_POOL, gpu_pool

GROUP = "aws:ec2/SecurityGroup"
GROUP_RULE = "aws:ec2/SecurityGroupRule"
INGRESS = "aws:vpc/SecurityGroupIngressRule"
FIREWALL = "gcp:compute/Firewall"
_GOOGLES = (NODE_POOL, "gcp:container/Cluster")
_MACHINES = ("gcp:compute/Instance", "gcp:compute/InstanceTemplate")
_WORLD = frozenset({"0.0.0.0/0", "::/0"})
_SSH = 22
_WEB = frozenset({80.0, 443.0})
_DATABASES = frozenset({1433.0, 3306.0, 5432.0, 6379.0, 27017.0})
"""Equally dangerous, but not a node; other linters check them."""

_OF_NODES = (_SSH, 2379, 2380, 6443, 9345, 10250, 10255)
"""Ports of the machine itself: etcd, the API servers of Kubernetes and RKE2, the kubelet."""
_OF_OTHERS = re.compile(
    r"(^|[^a-z])([ane]?lb|load.?balancer|ingress|bastion|jump|vpn|rds|db|redis|efs|fsx|proxy)([^a-z]|$)",
    re.IGNORECASE,
)
"""Names of groups for load balancers, bastions and storage, which this rule does not check."""
_ICMP = frozenset({"icmp", "icmpv6", "1", "58"})
"""ICMP by name and by number: such a rule opens no port, its from and to are message types."""
_GRAVE = frozenset({f"port {_SSH}", "every port"})
"""Ports that a public service never needs; other ports may be intended."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    # Terraform names begin with the type
    words = f"{resource.name.rpartition('.')[2]} {resource.properties.get('name')}"
    if resource.group_kind == NODE_GROUP or not _OF_OTHERS.search(words):
        yield from _CHECKS[resource.group_kind](resource)


def _group(resource: Resource) -> Iterator[Violation]:
    for index, rule in enumerate(items(resource.properties.get("ingress"))):
        yield from _rule(block(rule), ("ingress", index))


def _group_rule(resource: Resource) -> Iterator[Violation]:
    if text(resource.properties.get("type")) == "ingress":
        yield from _rule(resource.properties, ())


def _rule(rule: Mapping[str, Any], path: Path) -> Iterator[Violation]:
    if _opens_no_port(rule.get("protocol")):
        return
    ranges = [*items(rule.get("cidrBlocks")), *items(rule.get("ipv6CidrBlocks"))]
    first, last = number(rule.get("fromPort")), number(rule.get("toPort"))
    yield from _violations({text(each) for each in ranges}, first, last, path)


def _opens_no_port(protocol: object) -> bool:
    return str(protocol).lower() in _ICMP


def _ingress(resource: Resource) -> Iterator[Violation]:
    properties = resource.properties
    if _opens_no_port(properties.get("ipProtocol")):
        return
    ranges = {text(properties.get("cidrIpv4")), text(properties.get("cidrIpv6"))}
    yield from _violations(
        ranges, number(properties.get("fromPort")), number(properties.get("toPort")), ()
    )


def _violations(
    ranges: set[str], first: float | None, last: float | None, path: Path
) -> Iterator[Violation]:
    low, high = (
        (0, 65535) if first is None or first < 0 else (first, last if last is not None else first)
    )
    if low == high and low in _WEB | _DATABASES:
        return  # a public service, not a node
    if _WORLD & ranges:
        yield _open(path, _named(low, high), own=any(low <= each <= high for each in _OF_NODES))
    elif low <= _SSH <= high and ranges - {""}:
        yield _ssh(path)


def _named(low: float, high: float) -> str:
    """One port or a range: a large range with SSH counts as every port."""
    if high - low > _SSH >= low:
        return "every port"
    return f"port {low:.0f}" if low == high else f"ports {low:.0f} to {high:.0f}"


def _firewall(resource: Resource) -> Iterator[Violation]:
    properties = resource.properties
    if text(properties.get("direction")) == "EGRESS" or is_true(properties.get("disabled")):
        return
    world = bool(_WORLD & {text(each) for each in items(properties.get("sourceRanges"))})
    for index, allowed in enumerate(items(properties.get("allows"))):
        ports = [str(known_value(port)) for port in items(block(allowed).get("ports"))]
        if _opens_no_port(block(allowed).get("protocol")) or (
            ports and set(ports) <= {"80", "443"}
        ):
            continue
        if world:
            own = not ports or any(map(_reaches_a_node, ports))
            what = f"port {', '.join(ports)}" if ports else "every port"
            yield _open(("allows", index), what, own=own)
        elif str(_SSH) in ports and items(properties.get("sourceRanges")):
            yield _ssh(("allows", index))


def _reaches_a_node(ports: str) -> bool:
    """Whether a port, or a range such as 1024-65535, includes one of the node."""
    first, _, last = ports.partition("-")
    low, high = number(first), number(last or first)
    return low is None or high is None or any(low <= each <= high for each in _OF_NODES)


def _node_group(resource: Resource) -> Iterator[Violation]:
    if gpu_pool(resource) is None or not at(resource.properties, "remoteAccess", "ec2SshKey"):
        return
    if items(at(resource.properties, "remoteAccess", "sourceSecurityGroupIds")):
        # off unless a key is set, and here limited to named groups
        yield replace(_ssh(("remoteAccess",)), is_advisory=True)
    else:
        yield _open(("remoteAccess",), f"port {_SSH}", own=True)


def _open(path: Path, what: str, *, own: bool) -> Violation:
    return Violation(
        path,
        f"the whole internet reaches {what} of these machines",
        "allow only listed networks; expose services through a load balancer",
        severity=None if what in _GRAVE else Severity.WARNING,
        is_advisory=not own,  # a custom service, which may be public deliberately
    )


def _ssh(path: Path) -> Violation:
    return Violation(
        path,
        "SSH bypasses every quota, log and admission rule of the cluster",
        "remove it; use Session Manager or `kubectl debug node` when needed",
        severity=Severity.WARNING,  # limited to named networks
    )


def _context_effect(stack: Stack, resource: Resource, _: Path) -> ContextEffect:
    """A Google firewall with target tags counts if a machine in the input has one of them."""
    target_tags = {text(each) for each in items(resource.properties.get("targetTags"))}
    if resource.group_kind != FIREWALL or not target_tags:
        return ContextEffect.FULL
    try:
        carried = _tags(stack)
    except NotEvaluatedError:
        return ContextEffect.UNSURE
    return ContextEffect.FULL if target_tags & carried else ContextEffect.CHOICE


@once_per_stack
def _tags(stack: Stack) -> set[str]:
    """The tags of all Google machines in the input."""
    pools = (
        block(pool.properties.get("nodeConfig")) for pool in stack.resources_of_kinds(*_GOOGLES)
    )
    machines = (machine.properties for machine in stack.resources_of_kinds(*_MACHINES))
    return {text(tag) for each in (*pools, *machines) for tag in items(each.get("tags"))}


_CHECKS = {
    GROUP: _group,
    GROUP_RULE: _group_rule,
    INGRESS: _ingress,
    FIREWALL: _firewall,
    NODE_GROUP: _node_group,
}
RULE = Rule(
    id="GPU-NET-01",
    title="GPU nodes accept no traffic from the internet, and no SSH",
    severity=Severity.ERROR,
    why="Attackers find a GPU node that is open to the internet within hours and use it for mining.",
    fix="Allow only listed networks; do not open port 22 on GPU nodes.",
    sources=("EKS API, RemoteAccessConfig: without source groups port 22 is open to the world",),
    references=(AuditReference("CIS EKS 1.8.0", "5.4"), AuditReference("CIS GKE 1.9.0", "5.6")),
    kinds=(GROUP, GROUP_RULE, INGRESS, FIREWALL, NODE_GROUP),
    check=_check,
    adjust=_context_effect,
)
