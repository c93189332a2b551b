"""Checks of what a cluster names: client networks, principals, keys and zones."""

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network

from gpuyard.plan.cluster.ranges import (
    EKS_ZONES,
    MOST_ZONES,
    cluster_spec,
    cluster_zones,
    without_local_zones,
    zones_with_subnets,
)
from gpuyard.plan.draft import Draft
from gpuyard.provider import provider_of
from gpuyard.spec.late_inputs import is_late_input, is_late_list
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import Apply
from gpuyard_core.catalogue.cluster.names import SECURITY_GROUP
from gpuyard_core.catalogue.purchasing import IdFormat
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info

_CLUSTER: Path = ("cluster",)
_IDENTITIES = {"cluster": "the control plane", "nodes": "nodes"}
_WIDEST = {4: 8, 6: 32}
"""By IP version, the shortest prefix of one owner's network; two /1 networks are the internet."""


def check_endpoint(draft: Draft) -> Iterator[Diagnostic]:
    """Check that the Kubernetes API is open to your own networks only, never to the internet."""
    public = cluster_spec(draft.spec).endpoint.public
    wide = {i for i, cidr in enumerate(public) if _is_wide(cidr)}
    path: Path = (*_CLUSTER, "endpoint", "public")
    retained = [cidr for i, cidr in enumerate(public) if i not in wide]
    for i in sorted(wide):
        yield error(
            "cluster.open",
            (*path, i),
            "the Kubernetes API would be open to the internet, or a large part of it",
            given=public[i],
            allowed="your own networks, /8 or smaller (/32 for IPv6)",
            fix=Fix(
                message="remove it: the private endpoint remains", at=path, value=retained or None
            ),
        )


def _is_wide(cidr: str) -> bool:
    network = ip_network(cidr)
    return network.prefixlen < _WIDEST[4 if isinstance(network, IPv4Network) else 6]


def check_cluster_names(draft: Draft) -> Iterator[Diagnostic]:
    """Check the form of principals, keys and networks before the cloud rejects them midway."""
    cloud = draft.spec.cloud.value
    for what, path, value, form in _names(draft):
        if not is_late_input(value) and not form.pattern.fullmatch(value):
            yield error(
                "cluster.name_form",
                path,
                f"not the name of {what} on {cloud}",
                given=value,
                allowed=f"a value such as {form.example}",
                fix=Fix(message="copy it from the cloud's console or CLI"),
            )


def _names(draft: Draft) -> Iterator[tuple[str, Path, str, IdFormat]]:
    formats, cluster = draft.provider.cluster_names, cluster_spec(draft.spec)
    if formats is None:
        return
    for i, admin in enumerate(cluster.admins):
        yield "a user, a role or a group", (*_CLUSTER, "admins", i), admin, formats.admin
    if cluster.key is not None:
        yield "a key", (*_CLUSTER, "key"), cluster.key, formats.key
    network: Path = (*_CLUSTER, "network")
    if cluster.network.id is not None:
        yield "a network", (*network, "id"), cluster.network.id, formats.network
    if cluster.network.subnets is not None:
        for side in ("private", "public"):
            for i, subnet in enumerate(getattr(cluster.network.subnets, side)):
                yield "a subnet", (*network, "subnets", side, i), subnet, formats.subnet
    for i, group in enumerate(cluster.network.security_groups):
        yield "a security group", (*network, "security_groups", i), group, SECURITY_GROUP
    roles = ((word, of, getattr(cluster.roles, word)) for word, of in _IDENTITIES.items())
    yield from (
        (f"the identity of {of}", (*_CLUSTER, "roles", word), role, formats.role)
        for word, of, role in roles
        if role is not None
    )


def check_cluster_zones(draft: Draft) -> list[Diagnostic]:
    """Check zones: all in the region, at least two on aws, and including every zone of a pool."""
    form, cluster = draft.provider.zone_names, cluster_spec(draft.spec)
    if form is None:
        return []
    zones, path = cluster.zones, (*_CLUSTER, "zones")
    if not zones:
        findings = _too_few_subnets(draft)
        if len(zones_with_subnets(draft.spec)) > MOST_ZONES:  # no region has as many zones
            findings.append(
                error(
                    "cluster.zone",
                    ("pools",),
                    "the cluster needs subnets in more zones than its network allows",
                    given=format_list(cluster_zones(draft.spec)),
                    allowed=f"{MOST_ZONES} zones",
                    fix=Fix(message="use fewer zones for pools"),
                )
            )
        return findings
    wrong = [f for i, zone in enumerate(zones) if (f := _zone(draft, form, zone, (*path, i)))]
    if wrong:
        return wrong
    findings = _too_few_subnets(draft)
    # EKS places its control plane in two availability zones, and rejects subnets in only one
    few = draft.provider.has_zonal_subnets and len(without_local_zones(zones)) < EKS_ZONES
    if few and not cluster.existing:
        findings = [
            error(
                "cluster.zone",
                path,
                "EKS needs subnets in two availability zones",
                given=format_list(zones),
                allowed="two availability zones or more, Local Zones not counted; pools may be in one of them",
                fix=Fix(message="add a second zone, or remove `zones`", at=path),
            )
        ]
    return [*findings, *_pools_elsewhere(draft, form, zones)]


def _zone(draft: Draft, form: IdFormat, zone: str, path: Path) -> Diagnostic | None:
    read = form.pattern.fullmatch(zone)
    if read is None:
        problem, allowed = f"not the name of a zone on {draft.spec.cloud.value}", form.example
    elif draft.region and read["region"] != draft.region.name:
        problem = f"this zone is not in {draft.region.name} ({draft.region.source})"
        allowed = f"zones of {draft.region.name}"
    else:
        return None
    fix = Fix(message="write a zone of the region")
    return error("cluster.zone", path, problem, given=zone, allowed=allowed, fix=fix)


def _pools_elsewhere(draft: Draft, form: IdFormat, zones: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Zones that are invalid or in another region are reported by `pool.zone`."""
    for i, pool in enumerate(draft.spec.pools):
        if missing := [z for z in pool.zones if z not in zones and _is_zone(draft, form, z)]:
            yield error(
                "cluster.zone",
                ("pools", i, "zones"),
                "the cluster has no subnet in these zones",
                given=format_list(missing),
                allowed=format_list(zones),
                fix=Fix(message=f"add {format_list(missing)} to `cluster.zones`"),
            )


def _is_zone(draft: Draft, form: IdFormat, zone: str) -> bool:
    """Whether it is a zone of the region, if the region is known."""
    read, region = form.pattern.fullmatch(zone), draft.region
    return read is not None and (region is None or read["region"] == region.name)


def _is_short(subnets: tuple[str, ...], needed: int) -> bool:
    """Whether there are too few; the length of a late list is not known."""
    return len(set(subnets)) < needed and not any(is_late_list(each) for each in subnets)


def _too_few_subnets(draft: Draft) -> list[Diagnostic]:
    """Tags find a subnet in each named zone, a list is used as is: EKS needs two zones."""
    cluster = cluster_spec(draft.spec)
    subnets, tags = cluster.network.subnets, cluster.network.tags
    zones = cluster_zones(draft.spec)
    local = len(zones) - len(without_local_zones(zones))
    needed = max(1 if cluster.existing else EKS_ZONES + local, len(zones))
    if tags and len(zones) < needed:
        word, problem = "tags", "gpuyard looks up subnets by zone, and too few zones are listed"
        fix = Fix(message="add zones: [ZONE, ZONE] to `cluster`")
    elif draft.provider.has_zonal_subnets and subnets and _is_short(subnets.private, needed):
        word = "subnets"
        problem = "EKS needs subnets in two availability zones, one for each zone of the cluster"
        fix = Fix(message="add a private subnet in another zone")
    else:
        return []
    path, allowed = (*_CLUSTER, "network", word), f"a subnet in each of {needed} zones"
    return [error("cluster.zone", path, problem, allowed=allowed, fix=fix)]


def private_endpoint_findings(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """`pulumi up` creates cloud resources from anywhere, but cluster resources from inside only."""
    endpoint = cluster_spec(spec).endpoint
    way_in = provider_of(spec.cloud).endpoint_example
    is_managed = way_in and not spec.cluster_exists and spec.apply is Apply.CLUSTER
    if is_managed and not endpoint.public and not endpoint.dns:
        yield info(
            "cluster.private",
            ("cluster", "endpoint") if spec.cluster else ("cluster",),
            "the Kubernetes API is reachable from the cluster's network only: elsewhere `pulumi up` creates"
            " the cloud resources, but cannot reach the cluster",
            fix=Fix(message=f"run `pulumi up` in that network or a connected one, or add {way_in}"),
        )
