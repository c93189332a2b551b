"""GPU-STK-07: metrics stay inside the cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    items,
    known_value,
    mapping,
    number,
    text,
)
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES, is_switched_off

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
_FROM_THE_NETWORK = (
    ("alb.ingress.kubernetes.io/scheme", "internal"),
    ("kubernetes.io/ingress.class", "gce-internal"),
    ("service.beta.kubernetes.io/aws-load-balancer-scheme", "internal"),
    ("service.beta.kubernetes.io/aws-load-balancer-internal", "true"),
    (
        "service.beta.kubernetes.io/aws-load-balancer-internal",
        "0.0.0.0/0",
    ),  # as in the first version
    ("networking.gke.io/load-balancer-type", "internal"),
    ("cloud.google.com/load-balancer-type", "internal"),
    ("service.beta.kubernetes.io/azure-load-balancer-internal", "true"),
)
"""Annotations of an internal load balancer."""
_EXPORTER = "dcgm-exporter"
_WORDS = ("dcgm", "gpu-metrics", "nvidia-exporter")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    """A warning if only the cloud network reaches it: that can be intended."""
    for violation in _shown(resource):
        yield (
            replace(violation, severity=Severity.WARNING)
            if _is_internal(resource, violation.path)
            else violation
        )


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
            violation = _violation(("spec", "type"), kind)
            yield (
                violation
                if _is_named_so(resource)
                else replace(violation, severity=Severity.WARNING)
            )
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
        if _EXPORTER in name:
            yield _violation(path, f"{kind} to {name}")


def _ends(resource: Resource) -> Iterator[tuple[Path, str]]:
    """Each Service at the end of a route, and the routing rule."""
    spec = mapping(resource.properties.get("spec"))
    if resource.group_kind == _OF_OPENSHIFT:
        yield ("spec", "to"), text(at(spec, "to", "name"))
    elif resource.group_kind in _OF_TRAEFIK:
        for r, route in enumerate(items(spec.get("routes"))):
            for service in items(mapping(route).get("services")):
                yield ("spec", "routes", r), text(mapping(service).get("name"))
    elif resource.group_kind == _OF_ISTIO:
        if set(map(text, items(spec.get("gateways")))) - {_INSIDE}:
            yield from _of_istio(spec)
    else:
        for r, rule in enumerate(items(spec.get("rules"))):
            for way in items(at(rule, "http", "paths")) or items(mapping(rule).get("backendRefs")):
                name = text(at(way, "backend", "service", "name")) or text(mapping(way).get("name"))
                yield ("spec", "rules", r), name


def _of_istio(spec: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for protocol in ("http", "tls", "tcp"):
        for r, rule in enumerate(items(spec.get(protocol))):
            for way in items(mapping(rule).get("route")):
                host = text(at(way, "destination", "host"))
                yield ("spec", protocol, r), host.partition(".")[0]


def _serves_metrics(resource: Resource) -> bool:
    ports = [mapping(port) for port in items(at(resource.properties, "spec", "ports"))]
    return any(map(_is_the_exporters, ports)) or _is_named_so(resource)


def _is_the_exporters(port: Mapping[str, Any]) -> bool:
    """By port number, unless targetPort differs."""
    return number(port.get("port")) == _PORT and number(port.get("targetPort")) in {None, _PORT}


def _is_named_so(resource: Resource) -> bool:
    named = resource.name + " ".join(_labels(resource.properties))
    return any(word in named for word in _WORDS)


def _labels(properties: Mapping[str, Any]) -> list[str]:
    return [text(value) for value in mapping(at(properties, "spec", "selector")).values()]


def _violation(path: Path, kind: str) -> Violation:
    return Violation(
        path,
        f"{_a(kind)} {kind} exposes GPU metrics and the exporter's debug pages to all who can reach it",
        "use ClusterIP, and scrape from inside the cluster",
    )


def _a(word: str) -> str:
    return "an" if word.startswith("I") else "a"


RULE = Rule(
    id="GPU-STK-07",
    title="GPU metrics are not exposed outside the cluster",
    severity=Severity.ERROR,
    why="The exporter has no authentication, and served memory profiles until CVE-2026-47483 was fixed.",
    fix="Use a ClusterIP Service; allow only Prometheus with a NetworkPolicy.",
    sources=(
        "NVIDIA bulletin on CVE-2026-47483",
        "AWS Load Balancer Controller, annotation scheme; GKE documentation, internal load balancers",
        "Cloud Provider Azure, LoadBalancer: azure-load-balancer-internal",
        "NVIDIA/dcgm-exporter, deployment/templates/service.yaml: service.annotations",
    ),
    kinds=("Service", *_ROUTES, OPERATOR_VALUES, CLUSTER_POLICY, _EXPORTER_VALUES),
    check=_check,
)
