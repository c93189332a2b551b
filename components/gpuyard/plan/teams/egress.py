"""Egress of a team's pods besides each other: DNS, and the networks of the stack file.

Pods outside a team's namespaces cannot reach its pods, and its pods cannot reach those of others. A cloud's
metadata service gives the credentials of a node to every client, so it is excluded from every network.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import EgressNetwork
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Team
from gpuyard_core.catalogue.kubernetes.addresses import METADATA
from gpuyard_core.findings import Diagnostic, Fix, Path, error

Network = IPv4Network | IPv6Network

_METADATA = tuple(ip_network(address) for address in METADATA)


def plan_egress(spec: PlatformSpec, team: Team) -> tuple[EgressNetwork, ...]:
    """The team's networks, else those of the platform; sorted, so that the order has no effect."""
    networks = {ip_network(cidr) for cidr in team.egress_cidrs or _common(spec)}
    return tuple(
        EgressNetwork(str(network), tuple(str(one) for one in _METADATA if _holds(network, one)))
        for network in sorted(networks, key=lambda n: (n.version, n.network_address, n.prefixlen))
    )


def check_egress(draft: Draft) -> list[Diagnostic]:
    """Reject networks that consist of the metadata service only."""
    spec = draft.spec
    findings = _check(_common(spec), ("admission", "egress_cidrs"))
    for index, team in enumerate(spec.teams):
        findings += _check(team.egress_cidrs, ("teams", index, "egress_cidrs"))
    return findings


def _common(spec: PlatformSpec) -> Sequence[str]:
    return spec.admission.egress_cidrs if spec.admission else ()


def _holds(network: Network, one: Network) -> bool:
    return network.version == one.version and network.supernet_of(one)  # type: ignore[arg-type]


def _check(cidrs: Sequence[str], path: Path) -> list[Diagnostic]:
    bare = [cidr for cidr in cidrs if cidr in METADATA]
    if not bare:
        return []
    return [
        error(
            "egress.metadata",
            path,
            "this is the cloud's metadata service: it gives the node's credentials and permissions"
            " to every pod that can reach it",
            given=", ".join(bare),
            allowed="networks with other addresses; gpuyard excludes the metadata service from each",
            fix=Fix(
                message=f"remove {', '.join(bare)}",
                at=path,
                value=[cidr for cidr in cidrs if cidr not in bare],
            ),
        )
    ]
