"""GPU-GCP-01: the API server is not open to the internet, and nodes have no public address."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    block,
    is_true,
    items,
    text,
)

_WORLD = frozenset({"0.0.0.0/0", "::/0"})


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    private = block(at(resource.properties, "privateClusterConfig"))
    if not is_true(private.get("enablePrivateNodes")):
        yield Violation(
            ("privateClusterConfig", "enablePrivateNodes"),
            "every GPU node has a public IP address",
            "set enablePrivateNodes: true, and use Cloud NAT to pull images",
        )
    by_address = at(
        resource.properties, "controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled"
    )
    if is_true(private.get("enablePrivateEndpoint")) or by_address is False:
        return
    networks = at(resource.properties, "masterAuthorizedNetworksConfig", "cidrBlocks")
    allowed = [text(block(each).get("cidrBlock")) for each in items(networks)]
    if not allowed or _WORLD & set(allowed):
        yield Violation(
            ("masterAuthorizedNetworksConfig",),
            "the whole internet reaches the API server of this cluster",
            "set enablePrivateEndpoint: true, or authorize only your networks",
        )


RULE = Rule(
    id="GPU-GCP-01",
    title="A GKE cluster has private nodes and an endpoint for listed networks",
    severity=Severity.ERROR,
    why="A leaked token of a GPU cluster works from any network.",
    fix="Enable private nodes; make the endpoint private, or authorize listed networks.",
    sources=("GKE documentation, network isolation",),
    references=(AuditReference("CIS GKE 1.9.0", "5.6.3-5.6.5"),),
    kinds=("gcp:container/Cluster",),
    check=_check,
)
