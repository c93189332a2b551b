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
from gpuyard.render.aws.foundation import StringInput
from gpuyard.render.aws.place import AwsLocation, document, role, statement, tags_of
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.spec.sections import Nat, PrivateEndpoints
from gpuyard_core.catalogue.cluster.eks import (
    GATEWAY_SERVICE,
    INTERFACE_SERVICES,
    METRICS_SERVICE,
    ZONES_WITHOUT,
    log_retention_days,
)

_EVERYWHERE = "0.0.0.0/0"
_HTTPS = 443


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
    vpc = CloudResource(
        kind="aws:ec2/vpc:Vpc",
        name="vpc",
        inputs={
            "cidrBlock": cluster_ranges(plan.spec)["cidr"],
            "enableDnsHostnames": True,
            "enableDnsSupport": True,
            "tags": tags_of(plan, Name=plan.name),
        },
    )
    private = {zone: _subnet(plan, vpc, zone, names[zone], public=False) for zone in names}
    regional = without_local_zones(names)
    way_out = (
        _egress(plan, vpc, {z: names[z] for z in regional}) if network.nat is not Nat.NONE else []
    )
    tables = [
        each for zone in names for each in _private_table(plan, vpc, zone, private[zone], way_out)
    ]
    endpoints = _endpoints(plan, place, vpc, [private[z] for z in regional], tables)
    flow = _flow_logs(plan, vpc) if network.flow_logs else []
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


def _subnet(
    plan: PlatformPlan, vpc: CloudResource, zone: str, name: StringInput, *, public: bool
) -> CloudResource:
    """Load balancers and Karpenter find it by its tags."""
    side = "public" if public else "private"
    cidr = subnet_ranges(str(vpc.inputs["cidrBlock"]), zones_with_subnets(plan.spec))[zone][public]
    found_by = {f"kubernetes.io/role/{'elb' if public else 'internal-elb'}": "1"}
    if not public:
        found_by["karpenter.sh/discovery"] = plan.name
    return CloudResource(
        kind="aws:ec2/subnet:Subnet",
        name=f"{side}-{zone}",
        inputs={
            "vpcId": vpc.get("id"),
            "availabilityZone": name,
            "cidrBlock": str(cidr),
            "tags": tags_of(
                plan,
                Name=f"{plan.name}-{side}-{zone}",
                **found_by,
                **{f"kubernetes.io/cluster/{plan.name}": "owned"},
            ),
        },
    )


# ── egress ────────────────────────────────────────────────────────────────────────────────────────
def _egress(
    plan: PlatformPlan, vpc: CloudResource, names: Mapping[str, StringInput]
) -> list[CloudResource]:
    """An internet gateway, public subnets, and a NAT gateway in one or each of them."""
    gateway = CloudResource(
        kind="aws:ec2/internetGateway:InternetGateway",
        name="internet",
        inputs={"vpcId": vpc.get("id"), "tags": tags_of(plan, Name=plan.name)},
    )
    table = _table(plan, vpc, "public")
    out = _route("public", table, gatewayId=gateway.get("id"))
    subnets = {zone: _subnet(plan, vpc, zone, name, public=True) for zone, name in names.items()}
    linked = [_linked(f"public-{zone}", table, subnet) for zone, subnet in subnets.items()]
    one = cluster_spec(plan.spec).network.nat is Nat.ONE
    zones = list(names)[:1] if one else list(names)
    nats = [each for zone in zones for each in _nat(plan, zone, subnets[zone], out)]
    return [gateway, table, out, *subnets.values(), *linked, *nats]


def _nat(
    plan: PlatformPlan, zone: str, subnet: CloudResource, out: CloudResource
) -> list[CloudResource]:
    tags = tags_of(plan, Name=f"{plan.name}-{zone}")
    address = CloudResource(
        kind="aws:ec2/eip:Eip", name=f"nat-{zone}-address", inputs={"domain": "vpc", "tags": tags}
    )
    gateway = CloudResource(
        kind="aws:ec2/natGateway:NatGateway",
        name=f"nat-{zone}",
        inputs={
            "allocationId": address.get("id"),
            "subnetId": subnet.get("id"),
            "connectivityType": "public",
            "tags": tags,
        },
        after=(out.name,),
    )
    return [address, gateway]


def _private_table(
    plan: PlatformPlan,
    vpc: CloudResource,
    zone: str,
    subnet: CloudResource,
    way_out: list[CloudResource],
) -> list[CloudResource]:
    """A route table for each zone, so that `nat: one` becomes `per_zone` without a replacement."""
    table = _table(plan, vpc, f"private-{zone}")
    nats = {n.name: n for n in way_out if n.kind.endswith(":NatGateway")}
    nat = nats.get(f"nat-{zone}") or next(iter(nats.values()), None)
    out = [_route(f"private-{zone}", table, natGatewayId=nat.get("id"))] if nat else []
    return [table, *out, _linked(f"private-{zone}", table, subnet)]


def _table(plan: PlatformPlan, vpc: CloudResource, name: str) -> CloudResource:
    return CloudResource(
        kind="aws:ec2/routeTable:RouteTable",
        name=f"{name}-routes",
        inputs={"vpcId": vpc.get("id"), "tags": tags_of(plan, Name=f"{plan.name}-{name}")},
    )


def _route(name: str, table: CloudResource, **target: UnresolvedOutput) -> CloudResource:
    return CloudResource(
        kind="aws:ec2/route:Route",
        name=f"{name}-out",
        inputs={"routeTableId": table.get("id"), "destinationCidrBlock": _EVERYWHERE, **target},
    )


def _linked(name: str, table: CloudResource, subnet: CloudResource) -> CloudResource:
    return CloudResource(
        kind="aws:ec2/routeTableAssociation:RouteTableAssociation",
        name=f"{name}-uses",
        inputs={"routeTableId": table.get("id"), "subnetId": subnet.get("id")},
    )


# ── private endpoints ─────────────────────────────────────────────────────────────────────────────
def _endpoints(
    plan: PlatformPlan,
    place: AwsLocation,
    vpc: CloudResource,
    subnets: list[CloudResource],
    tables: list[CloudResource],
) -> list[CloudResource]:
    """S3's always, which is free; the others if configured, or if there is no NAT."""
    network = cluster_spec(plan.spec).network
    private = [each.get("id") for each in tables if each.kind.endswith(":RouteTable")]
    has_workspace = plan.observability is not None and plan.observability.managed is not None
    gateway = _endpoint(
        plan, place, vpc, GATEWAY_SERVICE, vpcEndpointType="Gateway", routeTableIds=private
    )
    if network.endpoints is PrivateEndpoints.GATEWAY and network.nat is not Nat.NONE:
        return [gateway]
    group = CloudResource(
        kind="aws:ec2/securityGroup:SecurityGroup",
        name="endpoints",
        inputs={
            "vpcId": vpc.get("id"),
            "description": "Private endpoints: HTTPS from within the network",
            "tags": tags_of(plan, Name=f"{plan.name}-endpoints"),
        },
    )
    inside = CloudResource(
        kind="aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        name="endpoints-from-inside",
        inputs={
            "securityGroupId": group.get("id"),
            "cidrIpv4": vpc.inputs["cidrBlock"],
            "ipProtocol": "tcp",
            "fromPort": _HTTPS,
            "toPort": _HTTPS,
            "description": "Hosts in the network",
        },
    )
    interfaces = [
        _endpoint(
            plan,
            place,
            vpc,
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
    plan: PlatformPlan, place: AwsLocation, vpc: CloudResource, service: str, **more: object
) -> CloudResource:
    return CloudResource(
        kind="aws:ec2/vpcEndpoint:VpcEndpoint",
        name=f"endpoint-{service.replace('.', '-')}",
        inputs={
            "vpcId": vpc.get("id"),
            "serviceName": Joined("com.amazonaws.", place.region, f".{service}"),
            "tags": tags_of(plan, Name=f"{plan.name}-{service}"),
            **more,
        },
    )


# ── flow logs ─────────────────────────────────────────────────────────────────────────────────────
def _flow_logs(plan: PlatformPlan, vpc: CloudResource) -> list[CloudResource]:
    """Records of connections, retained as long as the control plane's logs."""
    logs = CloudResource(
        kind="aws:cloudwatch/logGroup:LogGroup",
        name="flow-logs",
        inputs={
            "name": f"/aws/vpc/{plan.name}/flow-logs",
            "retentionInDays": log_retention_days(cluster_spec(plan.spec).logs.retention_days),
            "tags": tags_of(plan),
        },
        outputs=("arn",),
    )
    writer = role(plan, "flow-logs-role", "vpc-flow-logs.amazonaws.com")
    policy = CloudResource(
        kind="aws:iam/rolePolicy:RolePolicy",
        name="flow-logs-role-writes",
        inputs={
            "role": writer.get("name"),
            "policy": document(
                statement(
                    ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                    [logs.get("arn"), Joined(logs.get("arn"), ":*")],
                ),
                statement("logs:DescribeLogGroups", "*"),
            ),
        },
    )
    flow = CloudResource(
        kind="aws:ec2/flowLog:FlowLog",
        name="flow",
        inputs={
            "vpcId": vpc.get("id"),
            "trafficType": "ALL",
            "logDestinationType": "cloud-watch-logs",
            "logDestination": logs.get("arn"),
            "iamRoleArn": writer.get("arn"),
            "maxAggregationInterval": 600,
            "tags": tags_of(plan, Name=plan.name),
        },
        after=(policy.name,),
    )
    return [logs, writer, policy, flow]
