"""Rules on what networks reach: GPU nodes and their metrics."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import (
    at,
    block,
    is_true,
    items,
    known_value,
    mapping,
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
    once_per_stack,
    read_table,
)
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES, is_switched_off
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, NODE_POOL, gpu_pool

# GPU-NET-01
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
    for index, rule in enumerate(items(resource.properties, "ingress")):
        yield from _rule(block(rule), ("ingress", index))


def _group_rule(resource: Resource) -> Iterator[Violation]:
    if text(resource.properties, "type") == "ingress":
        yield from _rule(resource.properties, ())


def _rule(rule: Mapping[str, Any], path: Path) -> Iterator[Violation]:
    if _opens_no_port(rule.get("protocol")):
        return
    ranges = [*items(rule, "cidrBlocks"), *items(rule, "ipv6CidrBlocks")]
    first, last = number(rule.get("fromPort")), number(rule.get("toPort"))
    yield from _violations({text(each) for each in ranges}, first, last, path)


def _opens_no_port(protocol: object) -> bool:
    return str(protocol).lower() in _ICMP


def _ingress(resource: Resource) -> Iterator[Violation]:
    properties = resource.properties
    if _opens_no_port(properties.get("ipProtocol")):
        return
    ranges = {text(properties, "cidrIpv4"), text(properties, "cidrIpv6")}
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
    if text(properties, "direction") == "EGRESS" or is_true(properties.get("disabled")):
        return
    world = bool(_WORLD & {text(each) for each in items(properties, "sourceRanges")})
    for index, allowed in enumerate(items(properties, "allows")):
        ports = [str(known_value(port)) for port in items(block(allowed).get("ports"))]
        if _opens_no_port(block(allowed).get("protocol")) or (
            ports and set(ports) <= {"80", "443"}
        ):
            continue
        if world:
            own = not ports or any(map(_reaches_a_node, ports))
            what = f"port {', '.join(ports)}" if ports else "every port"
            yield _open(("allows", index), what, own=own)
        elif str(_SSH) in ports and items(properties, "sourceRanges"):
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
    target_tags = {text(each) for each in items(resource.properties, "targetTags")}
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
    return {text(tag) for each in (*pools, *machines) for tag in items(each, "tags")}


_CHECKS = {
    GROUP: _group,
    GROUP_RULE: _group_rule,
    INGRESS: _ingress,
    FIREWALL: _firewall,
    NODE_GROUP: _node_group,
}


# GPU-STK-07
_OPEN = frozenset({"LoadBalancer", "NodePort"})
_PORT = 9400.0
"""The exporter's port. The DCGM host engine uses 5555, as other programs do."""
_TYPE = ("dcgmExporter", "service", "type")
_EXPORTER_VALUES = "values:dcgm-exporter"
_TYPES = {
    OPERATOR_VALUES: (_TYPE,),
    CLUSTER_POLICY: (("spec", *_TYPE),),
    _EXPORTER_VALUES: (_TYPE, ("service", "type")),
}
"""The path at which values configure the Service of the exporter."""
_BY_RULES = ("networking.k8s.io/Ingress", "gateway.networking.k8s.io/HTTPRoute")
_OF_ISTIO = "networking.istio.io/VirtualService"
_OF_TRAEFIK = ("traefik.io/IngressRoute", "traefik.containo.us/IngressRoute")
_OF_OPENSHIFT = "route.openshift.io/Route"
_ROUTES = (*_BY_RULES, _OF_ISTIO, *_OF_TRAEFIK, _OF_OPENSHIFT)
_INSIDE = "mesh"
"""Istio's gateway for all sidecars, which is no entry point, and the default of a VirtualService."""
_FROM_THE_NETWORK: list[list[str]] = read_table("internal_load_balancers")
"""Annotations of an internal load balancer."""
_WORDS = ("dcgm", "gpu-metrics", "nvidia-exporter")


def _check_exposure(resource: Resource, _: Parameters) -> Iterator[Violation]:
    """A warning if only the cloud network reaches it: that can be intended."""
    for violation in _shown(resource):
        internal = _is_internal(resource, violation.path)
        yield replace(violation, severity=Severity.WARNING) if internal else violation


def _is_internal(resource: Resource, path: Path) -> bool:
    """By the annotations of an object, or by those that the exporter's chart writes on its Service."""
    of_chart = resource.group_kind == _EXPORTER_VALUES
    where = (*path[:-1], "annotations") if of_chart else ("metadata", "annotations")
    annotations = mapping(at(resource.properties, *where))
    return any(str(annotations.get(key)).lower() == value for key, value in _FROM_THE_NETWORK)


def _shown(resource: Resource) -> Iterator[Violation]:
    if resource.group_kind == "Service":
        kind = text(at(resource.properties, "spec", "type"))
        if kind in _OPEN and _serves_metrics(resource):
            severity = None if _is_named_so(resource) else Severity.WARNING
            yield _violation(("spec", "type"), kind, severity)
        return
    if resource.group_kind in _ROUTES:
        yield from _routed(resource)
        return
    for path in _TYPES[resource.group_kind]:
        kind = text(at(resource.properties, *path))
        if kind in _OPEN and not _is_off(resource, path):
            yield _violation(path, kind)


def _is_off(resource: Resource, path: Path) -> bool:
    """Whether the exporter behind a Service is disabled."""
    exporter = path[: -len(("service", "type"))]
    return is_switched_off(known_value(at(resource.properties, *exporter, "enabled")))


def _routed(resource: Resource) -> Iterator[Violation]:
    """An external route that ends at the exporter's Service."""
    kind = resource.group_kind.rpartition("/")[2]
    for path, name in _ends(resource):
        if "dcgm-exporter" in name:
            yield _violation(path, f"{kind} to {name}")


def _ends(resource: Resource) -> Iterator[tuple[Path, str]]:
    """Each Service at the end of a route, and the routing rule."""
    spec = mapping(resource.properties, "spec")
    if resource.group_kind == _OF_OPENSHIFT:
        yield ("spec", "to"), text(at(spec, "to", "name"))
    elif resource.group_kind in _OF_TRAEFIK:
        for r, route in enumerate(items(spec, "routes")):
            for service in items(route, "services"):
                yield ("spec", "routes", r), text(service, "name")
    elif resource.group_kind == _OF_ISTIO:
        if set(map(text, items(spec, "gateways"))) - {_INSIDE}:
            yield from _of_istio(spec)
    else:
        for r, rule in enumerate(items(spec, "rules")):
            for way in items(at(rule, "http", "paths")) or items(rule, "backendRefs"):
                name = text(at(way, "backend", "service", "name")) or text(way, "name")
                yield ("spec", "rules", r), name


def _of_istio(spec: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for protocol in ("http", "tls", "tcp"):
        for r, rule in enumerate(items(spec.get(protocol))):
            for way in items(rule, "route"):
                host = text(at(way, "destination", "host"))
                yield ("spec", protocol, r), host.partition(".")[0]


def _serves_metrics(resource: Resource) -> bool:
    ports = [mapping(port) for port in items(at(resource.properties, "spec", "ports"))]
    of_exporter = any(
        number(port.get("port")) == _PORT and number(port.get("targetPort")) in {None, _PORT}
        for port in ports
    )
    return of_exporter or _is_named_so(resource)


def _is_named_so(resource: Resource) -> bool:
    named = resource.name + " ".join(
        [text(value) for value in mapping(at(resource.properties, "spec", "selector")).values()]
    )
    return any(word in named for word in _WORDS)


def _violation(path: Path, kind: str, severity: Severity | None = None) -> Violation:
    article = "an" if kind.startswith("I") else "a"
    return Violation(
        path,
        f"{article} {kind} exposes GPU metrics and the exporter's debug pages to all who can reach it",
        "use ClusterIP, and scrape from inside the cluster",
        severity=severity,
    )


RULES = (
    load_rule(
        "GPU-NET-01",
        kinds=(GROUP, GROUP_RULE, INGRESS, FIREWALL, NODE_GROUP),
        check=_check,
        adjust=_context_effect,
    ),
    load_rule(
        "GPU-STK-07",
        kinds=("Service", *_ROUTES, OPERATOR_VALUES, CLUSTER_POLICY, _EXPORTER_VALUES),
        check=_check_exposure,
    ),
)
