"""The network of an EKS cluster: new, with a private subnet in each zone, or existing."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.plan.cluster.ranges import (
    ANOTHER_ZONE,
    cluster_ranges,
    cluster_spec,
    cluster_zones,
    subnet_ranges,
    without_local_zones,
    zones_with_subnets,
)
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.place import (
    AwsLocation,
    StringInput,
    aws_resource,
    role,
    role_policy,
    statement,
)
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.spec.sections import Nat, PrivateEndpoints
from gpuyard_core.catalogue.cluster.eks import (
    GATEWAY_SERVICE,
    INTERFACE_SERVICES,
    METRICS_SERVICE,
    ZONES_WITHOUT,
    log_retention_days,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkParts:
    """A network, and the parts of it that the cluster uses."""

    vpc: StringInput
    private: Mapping[str, StringInput]
    """Ids of private subnets by zone; by their own id if their zone is unknown."""
    control_plane_subnets: tuple[StringInput, ...]
    """The subnets of the control plane: once set, they stay."""
    resources: tuple[CloudResource, ...] = ()
    calls: tuple[CloudCall, ...] = ()
    egress_dependencies: tuple[str, ...] = ()
    """Resources that nodes in private subnets need to reach anything."""


def network_of(plan: PlatformPlan, place: AwsLocation) -> NetworkParts:
    """The network of the stack file."""
    return _existing_network(plan) if cluster_spec(plan.spec).network.id else _own(plan, place)


# ── an existing network ───────────────────────────────────────────────────────────────────────────
def _existing_network(plan: PlatformPlan) -> NetworkParts:
    """The listed subnets; with zones, AWS is queried for the subnets of each zone."""
    network = cluster_spec(plan.spec).network
    ids = list(network.subnets.private) if network.subnets else []
    marks = [("subnet-id", ids)] if ids else [(f"tag:{k}", [v]) for k, v in network.tags.items()]
    zones = cluster_zones(plan.spec)
    private, calls = subnets_by_zone(str(network.id), zones, marks)
    regional = without_local_zones(zones)
    all_regional = len(regional) == len(zones)
    control = ids if ids and all_regional else [private[zone] for zone in regional]
    return NetworkParts(
        vpc=str(network.id),
        private=private or {each: each for each in ids},
        control_plane_subnets=tuple(control),
        calls=calls,
    )


def subnets_by_zone(
    vpc: StringInput, zones: tuple[str, ...], marks: list[tuple[str, list[str]]]
) -> tuple[dict[str, StringInput], tuple[CloudCall, ...]]:
    """A subnet in each zone, out of those in the network with all tags."""
    calls = tuple(
        CloudCall(
            kind="aws:ec2/getSubnets:getSubnets",
            name=f"private-{zone}",
            args={
                "filters": [
                    {"name": name, "values": values}
                    for name, values in (
                        ("vpc-id", [vpc]),
                        ("availability-zone", [zone]),
                        *sorted(marks),
                    )
                ]
            },
            outputs=("ids",),
        )
        for zone in zones
    )
    return {zone: call.get("ids.0") for zone, call in zip(zones, calls, strict=True)}, calls


# ── a new network ─────────────────────────────────────────────────────────────────────────────────
def _own(plan: PlatformPlan, place: AwsLocation) -> NetworkParts:
    network = cluster_spec(plan.spec).network
    names, calls = _zone_names(plan)
    vpc = aws_resource(plan, "vpc", cidr=cluster_ranges(plan.spec)["cidr"])
    private = {zone: _subnet(plan, zone, names[zone], public=False) for zone in names}
    regional = without_local_zones(names)
    way_out = _egress(plan, {z: names[z] for z in regional}) if network.nat is not Nat.NONE else []
    tables = [each for zone in names for each in _private_table(plan, zone, private[zone], way_out)]
    endpoints = _endpoints(plan, place, [private[z] for z in regional], tables)
    flow = _flow_logs(plan) if network.flow_logs else []
    resources = (vpc, *private.values(), *way_out, *tables, *endpoints, *flow)
    return NetworkParts(
        vpc=vpc.get("id"),
        private={zone: subnet.get("id") for zone, subnet in private.items()},
        control_plane_subnets=tuple(private[z].get("id") for z in regional),
        resources=resources,
        calls=calls,
        egress_dependencies=tuple(
            each.name
            for each in resources
            if each.kind.endswith(("RouteTableAssociation", ":Route", ":VpcEndpoint"))
        ),
    )


def _zone_names(plan: PlatformPlan) -> tuple[dict[str, StringInput], tuple[CloudCall, ...]]:
    """The name of each zone; EKS needs two, so AWS is queried for those not in the stack file."""
    named, zones = cluster_zones(plan.spec), zones_with_subnets(plan.spec)
    if named == zones:
        return {zone: zone for zone in zones}, ()
    lacking = [zone for zone in zones if zone.startswith(ANOTHER_ZONE)]
    call = CloudCall(
        kind="aws:index/getAvailabilityZones:getAvailabilityZones",
        name="zones",
        args={
            "state": "available",
            "excludeNames": list(named),
            "excludeZoneIds": list(ZONES_WITHOUT),
            # Local zones lack what a control plane needs.
            "filters": [{"name": "opt-in-status", "values": ["opt-in-not-required"]}],
        },
        outputs=("names",),
    )
    late = {zone: call.get(f"names.{n}") for n, zone in enumerate(lacking)}
    return {zone: late.get(zone, zone) for zone in zones}, (call,)


def _subnet(plan: PlatformPlan, zone: str, name: StringInput, *, public: bool) -> CloudResource:
    """Load balancers and Karpenter find it by its tags."""
    ranges = subnet_ranges(cluster_ranges(plan.spec)["cidr"], zones_with_subnets(plan.spec))
    return aws_resource(
        plan,
        "subnet",
        side="public" if public else "private",
        zone=zone,
        zone_name=name,
        cidr=str(ranges[zone][public]),
        load_balancers="elb" if public else "internal-elb",
        discovery=None if public else plan.name,
    )


# ── egress ────────────────────────────────────────────────────────────────────────────────────────
def _egress(plan: PlatformPlan, names: Mapping[str, StringInput]) -> list[CloudResource]:
    """An internet gateway, public subnets, and a NAT gateway in one or each of them."""
    gateway, table = (
        aws_resource(plan, "internet"),
        aws_resource(plan, "route-table", side="public"),
    )
    out = _route(plan, "public", table, gateway=gateway.get("id"))
    subnets = {zone: _subnet(plan, zone, name, public=True) for zone, name in names.items()}
    linked = [_linked(plan, f"public-{zone}", table, subnet) for zone, subnet in subnets.items()]
    one = cluster_spec(plan.spec).network.nat is Nat.ONE
    nats: list[CloudResource] = []
    for zone in list(names)[:1] if one else list(names):
        address = aws_resource(plan, "nat-address", zone=zone)
        ids = {"address": address.get("id"), "subnet": subnets[zone].get("id")}
        nats += [address, aws_resource(plan, "nat", zone=zone, **ids)]
    return [gateway, table, out, *subnets.values(), *linked, *nats]


def _private_table(
    plan: PlatformPlan, zone: str, subnet: CloudResource, way_out: list[CloudResource]
) -> list[CloudResource]:
    """A route table for each zone, so that `nat: one` becomes `per_zone` without a replacement."""
    name = f"private-{zone}"
    table = aws_resource(plan, "route-table", side=name)
    nats = {n.name: n for n in way_out if n.kind.endswith(":NatGateway")}
    nat = nats.get(f"nat-{zone}") or next(iter(nats.values()), None)
    out = [_route(plan, name, table, nat=nat.get("id"))] if nat else []
    return [table, *out, _linked(plan, name, table, subnet)]


def _route(
    plan: PlatformPlan,
    side: str,
    table: CloudResource,
    *,
    gateway: UnresolvedOutput | None = None,
    nat: UnresolvedOutput | None = None,
) -> CloudResource:
    return aws_resource(plan, "route", side=side, table=table.get("id"), gateway=gateway, nat=nat)


def _linked(
    plan: PlatformPlan, side: str, table: CloudResource, subnet: CloudResource
) -> CloudResource:
    ids = {"table": table.get("id"), "subnet": subnet.get("id")}
    return aws_resource(plan, "route-table-association", side=side, **ids)


# ── private endpoints ─────────────────────────────────────────────────────────────────────────────
def _endpoints(
    plan: PlatformPlan,
    place: AwsLocation,
    subnets: list[CloudResource],
    tables: list[CloudResource],
) -> list[CloudResource]:
    """S3's always, which is free; the others if configured, or if there is no NAT."""
    network = cluster_spec(plan.spec).network
    private = [each.get("id") for each in tables if each.kind.endswith(":RouteTable")]
    has_workspace = plan.observability is not None and plan.observability.managed is not None
    gateway = _endpoint(
        plan, place, GATEWAY_SERVICE, vpcEndpointType="Gateway", routeTableIds=private
    )
    if network.endpoints is PrivateEndpoints.GATEWAY and network.nat is not Nat.NONE:
        return [gateway]
    group = aws_resource(plan, "endpoints")
    inside = aws_resource(plan, "endpoints-from-inside", cidr=cluster_ranges(plan.spec)["cidr"])
    interfaces = [
        _endpoint(
            plan,
            place,
            service,
            vpcEndpointType="Interface",
            subnetIds=[each.get("id") for each in subnets],
            securityGroupIds=[group.get("id")],
            privateDnsEnabled=True,
        )
        for service in (*INTERFACE_SERVICES, *([METRICS_SERVICE] if has_workspace else []))
    ]
    return [gateway, group, inside, *interfaces]


def _endpoint(
    plan: PlatformPlan, place: AwsLocation, service: str, **more: object
) -> CloudResource:
    names = {"name": service.replace(".", "-"), "service": service, "region": place.region}
    return aws_resource(plan, "endpoint", more=more, **names)


def _flow_logs(plan: PlatformPlan) -> list[CloudResource]:
    """Records of connections, and the role that writes them."""
    days = log_retention_days(cluster_spec(plan.spec).logs.retention_days)
    logs = aws_resource(plan, "flow-logs", days=days)
    writer = role(plan, "flow-logs-role", "vpc-flow-logs.amazonaws.com")
    policy = role_policy(
        writer,
        "flow-logs-role-writes",
        statement(
            ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            [logs.get("arn"), Joined(logs.get("arn"), ":*")],
        ),
        statement("logs:DescribeLogGroups", "*"),
    )
    return [logs, writer, policy, aws_resource(plan, "flow")]


# ── the security group of nodes ───────────────────────────────────────────────────────────────────
def security_group_with_rules(
    plan: PlatformPlan, vpc: StringInput, cluster_group: StringInput
) -> list[CloudResource]:
    """No traffic from outside, all among nodes, as EFA requires.

    The rules are separate, so that adding a rule later does not affect the others. Nodes also have the
    cluster's own group, in which EKS allows traffic between control plane and nodes. A rule here allows
    the same for an interface that has only this group.
    """
    names = ("nodes-from-nodes", "nodes-to-nodes", "nodes-from-control-plane", "nodes-out")
    values = {"vpc": vpc, "cluster_group": cluster_group}
    return [aws_resource(plan, name, **values) for name in ("nodes", *names)]


def added_groups(plan: PlatformPlan) -> tuple[str, ...]:
    """Existing groups that nodes have in addition."""
    return cluster_spec(plan.spec).network.security_groups
