"""Egress of a team's pods, beside each other: name service, and networks that were named.

Nobody outside a team's namespace reaches its pods, and they reach nobody else's. A cloud's metadata service
hands the credentials of a node to whoever asks, so it is taken out of every network that holds it.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from gpuyard.catalogue.kubernetes.addresses import CLOUD_DNS, METADATA, NODE_DNS
from gpuyard.findings import Finding, Fix, Path, error
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Egress
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.teams import Team

Network = IPv4Network | IPv6Network

_METADATA = tuple(ip_network(address) for address in METADATA)


def name_servers(cloud: Cloud) -> tuple[str, ...]:
    """Addresses of name servers that are no pods."""
    return (NODE_DNS, CLOUD_DNS) if cloud is Cloud.GCP else (NODE_DNS,)


def plan_egress(spec: PlatformSpec, team: Team) -> tuple[Egress, ...]:
    """The team's own networks, else those of the whole platform; sorted, so that order says nothing."""
    networks = {ip_network(cidr) for cidr in team.egress_cidrs or _common(spec)}
    return tuple(
        Egress(str(network), tuple(str(one) for one in _METADATA if _holds(network, one)))
        for network in sorted(networks, key=lambda n: (n.version, n.network_address, n.prefixlen))
    )


def check_egress(draft: Draft) -> list[Finding]:
    """Refuse networks that are nothing but the metadata service."""
    spec = draft.spec
    findings = _check(_common(spec), ("admission", "egress_cidrs"))
    for index, team in enumerate(spec.teams):
        findings += _check(team.egress_cidrs, ("teams", index, "egress_cidrs"))
    return findings


def _common(spec: PlatformSpec) -> Sequence[str]:
    return spec.admission.egress_cidrs if spec.admission else ()


def _holds(network: Network, one: Network) -> bool:
    return network.version == one.version and network.supernet_of(one)  # type: ignore[arg-type]


def _check(cidrs: Sequence[str], path: Path) -> list[Finding]:
    bare = [cidr for cidr in cidrs if cidr in METADATA]
    if not bare:
        return []
    return [
        error(
            "egress.metadata",
            path,
            "this is the cloud's metadata service: it gives the credentials of the node, and of everything"
            " the node may do, to every pod that can reach it",
            value=", ".join(bare),
            allowed="networks with something else in them; the metadata service is left out of each",
            fix=Fix(
                message=f"remove {', '.join(bare)}",
                at=path,
                value=[cidr for cidr in cidrs if cidr not in bare],
            ),
        )
    ]
