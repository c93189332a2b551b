"""GPU-NET-01: nobody outside reaches the nodes, and nobody reaches them by SSH."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import (
    ContextEffect,
    NotEvaluatedError,
    Parameters,
    Reference,
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
from gpuyard.rules.subjects.pools import NODE_GROUP, NODE_POOL, gpu_pool

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
"""As bad, and no node: others look for those."""

_OF_NODES = (_SSH, 2379, 2380, 6443, 9345, 10250, 10255)
"""Ports of the machine itself: etcd, the API of Kubernetes and of RKE2, the kubelet."""
_OF_OTHERS = re.compile(
    r"(^|[^a-z])([ane]?lb|load.?balancer|ingress|bastion|jump|vpn|rds|db|redis|efs|fsx|proxy)([^a-z]|$)",
    re.IGNORECASE,
)
"""By name, whose the group is: of a front door, a way in or a store it is not our subject."""
_ICMP = frozenset({"icmp", "icmpv6", "1", "58"})
"""By names and by numbers: a rule for it opens no port, its from and to are types of messages."""
_GRAVE = frozenset({f"port {_SSH}", "every port"})
"""Which a service that is meant for all never needs; of another port nobody can say."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    # of Terraform the name begins with the type
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
        return  # a load balancer's front door
    if _WORLD & ranges:
        yield _open(path, _named(low, high), own=any(low <= each <= high for each in _OF_NODES))
    elif low <= _SSH <= high and ranges - {""}:
        yield _ssh(path)


def _named(low: float, high: float) -> str:
    """One port, or several: a range with SSH in it is as bad as all of them; media have one of their own."""
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
    """Whether a port, or a range such as 1024-65535, has one of a node's own in it."""
    first, _, last = ports.partition("-")
    low, high = number(first), number(last or first)
    return low is None or high is None or any(low <= each <= high for each in _OF_NODES)


def _node_group(resource: Resource) -> Iterator[Violation]:
    if gpu_pool(resource) is None or not at(resource.properties, "remoteAccess", "ec2SshKey"):
        return
    if items(at(resource.properties, "remoteAccess", "sourceSecurityGroupIds")):
        # off unless somebody sets a key, and here from groups that somebody named
        yield replace(_ssh(("remoteAccess",)), is_advisory=True)
    else:
        yield _open(("remoteAccess",), f"port {_SSH}", own=True)


def _open(path: Path, what: str, *, own: bool) -> Violation:
    return Violation(
        path,
        f"the whole internet reaches {what} of these machines",
        "admit named networks only; services come in through a load balancer",
        severity=None if what in _GRAVE else Severity.WARNING,
        is_advisory=not own,  # somebody's own service, which may be meant for all
    )


def _ssh(path: Path) -> Violation:
    return Violation(
        path,
        "SSH goes around every quota, log and admission rule of the cluster",
        "remove it; use Session Manager or `kubectl debug node` for the rare case",
        severity=Severity.WARNING,  # from networks that somebody named
    )


def _context_effect(stack: Stack, resource: Resource, _: Path) -> ContextEffect:
    """A firewall of Google's for tags is for the machines that carry one of them: some in view, or none."""
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
    """Of all of Google's machines in view."""
    pools = (block(pool.properties.get("nodeConfig")) for pool in stack.of(*_GOOGLES))
    machines = (machine.properties for machine in stack.of(*_MACHINES))
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
    why="An H100 that answers on the internet is found within hours, and mines until somebody looks.",
    fix="Admit named networks only; no port 22 on GPU nodes.",
    sources=("EKS API, RemoteAccessConfig: without source groups port 22 is open to the world",),
    references=(Reference("CIS EKS 1.8.0", "5.4"), Reference("CIS GKE 1.9.0", "5.6")),
    kinds=(GROUP, GROUP_RULE, INGRESS, FIREWALL, NODE_GROUP),
    check=_check,
    adjust=_context_effect,
)
