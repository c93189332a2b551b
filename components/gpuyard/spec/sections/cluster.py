"""The Kubernetes cluster, and how objects, images and charts reach it."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gpuyard_core.models.values import (
    Cidr,
    Day,
    ImagePrefix,
    Positive,
    SpecModel,
    Switch,
    Text,
    value_error,
)


class Nat(StrEnum):
    """How private nodes reach the internet.

    `one` gateway, which fails with its zone; one `per_zone`; or `none`, where images come from a mirror or
    through private endpoints.
    """

    ONE = "one"
    PER_ZONE = "per_zone"
    NONE = "none"


class PrivateEndpoints(StrEnum):
    """Which services of aws are reachable without the internet.

    `gateway` covers S3 at no cost; `interface` adds ECR, STS, EC2, EKS and others, billed by the hour.
    """

    GATEWAY = "gateway"
    INTERFACE = "interface"


MAX_SECURITY_GROUPS = 3
"""EC2 allows five for each network interface by default; gpuyard needs two of them."""


class Subnets(SpecModel):
    """Subnets of an existing network."""

    private: Annotated[tuple[Text, ...], Field(min_length=1, max_length=16)]
    """Private subnets of nodes and of the control plane's network interfaces; on gcp one subnetwork."""
    public: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    """Public subnets of internet-facing load balancers, on aws; you must set their tag. Default: none."""


class ClusterNetwork(SpecModel):
    """The network of the cluster: a new one, or with `id` an existing one."""

    cidr: Cidr | None = None
    """Address range of a new network; on gcp, of its nodes. Default: 10.0.0.0/16."""
    pods: Cidr | None = None
    """Address range of pods, on gcp; on aws pods use `cidr`. Default: 10.16.0.0/13."""
    services: Cidr | None = None
    """Address range of Services. Default: 172.20.0.0/16 on aws, 10.8.0.0/20 on gcp."""
    nat: Nat = Nat.ONE
    """NAT gateways of a new network: one, per_zone or none. Default: one."""
    flow_logs: Switch = True
    """Whether flow logs record connections between addresses. Default: on."""
    endpoints: PrivateEndpoints = PrivateEndpoints.GATEWAY
    """Private endpoints for services of aws: gateway or interface. Default: gateway; interface without
    NAT."""
    id: Text | None = None
    """Existing network: vpc-… on aws, its name on gcp. Default: none; gpuyard creates one."""
    subnets: Subnets | None = None
    """Subnets of the existing network. Default: those that `tags` select."""
    tags: Annotated[dict[Text, Text], Field(max_length=10)] = Field(default_factory=dict)
    """Tags that select the private subnets of the existing network, on aws. Default: none."""
    security_groups: Annotated[tuple[Text, ...], Field(max_length=MAX_SECURITY_GROUPS)] = ()
    """Existing security groups that nodes have in addition, on aws. Default: none."""

    @model_validator(mode="after")
    def _own_or_given(self) -> "ClusterNetwork":
        given_fields = self.model_fields_set
        if self.id is None:
            extra = sorted(given_fields & {"subnets", "tags"})
            problem = "requires an existing network with an `id`"
        else:
            extra = sorted(given_fields & {"cidr", "nat", "flow_logs", "endpoints"})
            problem = "applies to a new network only, and `id` names an existing one"
        if self.id is not None and bool(self.subnets) == bool(self.tags):
            raise value_error(
                "network_form",
                "an existing network needs exactly one of `subnets` and `tags`",
                allowed="subnets: {private: [ID, …]}, or tags: {KEY: VALUE} of the private subnets",
                fix="remove `tags`" if self.tags else "add subnets: {private: [ID, …]}",
                change=(("tags",), None) if self.tags else None,
            )
        if extra:
            raise value_error(
                "network_form",
                f"`{extra[0]}` {problem}",
                allowed="cidr, pods, services, nat, flow_logs, endpoints; or id with subnets or tags",
                fix=f"remove `{extra[0]}`",
                change=((extra[0],), None),
            )
        return self


class ClusterRoles(SpecModel):
    """Existing identities, which gpuyard does not change: you grant their permissions."""

    cluster: Text | None = None
    """ARN of the IAM role of the control plane, on aws. Default: gpuyard creates one."""
    nodes: Text | None = None
    """Identity of nodes: the ARN of an IAM role on aws, the email of a service account on gcp.
    Default: gpuyard creates one."""


class ControlPlane(SpecModel):
    """Network access to the Kubernetes API; its private endpoint is always enabled."""

    public: Annotated[tuple[Cidr, ...], Field(max_length=40)] = ()
    """External networks that may reach the Kubernetes API; keep each as small as possible. Default:
    none."""
    dns: Switch = False
    """Whether the DNS endpoint is reachable from outside, on gcp; IAM controls access. Default: off."""


class LogKind(StrEnum):
    """Logs of the control plane; GKE always keeps `audit` and `authenticator`."""

    API = "api"
    AUDIT = "audit"
    AUTHENTICATOR = "authenticator"
    CONTROLLER_MANAGER = "controller-manager"
    SCHEDULER = "scheduler"


class ControlPlaneLogs(SpecModel):
    """Logs of the control plane and their retention."""

    kinds: tuple[LogKind, ...] = tuple(LogKind)
    """Logs to keep, of api, audit, authenticator, controller-manager, scheduler. Default: all."""
    retention_days: Positive = 90
    """Minimum retention of logs in days, on aws. Default: 90."""


class ReleaseChannel(StrEnum):
    """How soon GKE upgrades; `extended` keeps a minor version for 24 months."""

    RAPID = "rapid"
    REGULAR = "regular"
    STABLE = "stable"
    EXTENDED = "extended"


class ClusterSupport(StrEnum):
    """What EKS does when standard support of the minor ends.

    `extended` keeps the version for a higher fee; `standard` upgrades the control plane automatically.
    """

    STANDARD = "standard"
    EXTENDED = "extended"


class Weekday(StrEnum):
    """A day of the week."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


class Freeze(SpecModel):
    """Days on which GKE does not upgrade."""

    name: Text
    """Name of the maintenance exclusion."""
    start: Day
    """First day, in UTC."""
    end: Day
    """First day after the exclusion, in UTC."""


class Maintenance(SpecModel):
    """When GKE may upgrade the cluster. EKS upgrades only when you change the version."""

    days: Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)] = (
        Weekday.SAT,
        Weekday.SUN,
    )
    """Days of the maintenance window, of mon, tue, wed, thu, fri, sat, sun. Default: sat and sun."""
    start: Annotated[str, Field(strict=True, pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")] = "02:00"
    """Start time of the maintenance window, in UTC and in quotes. Default: "02:00"."""
    hours: Annotated[int, Field(strict=True, ge=4, le=24)] = 8
    """Length of the maintenance window in hours, at least 4. Default: 8."""
    freezes: Annotated[tuple[Freeze, ...], Field(max_length=20)] = ()
    """Maintenance exclusions: days on which GKE does not upgrade. Default: none."""


class ClusterSpec(SpecModel):
    """The Kubernetes cluster of the platform."""

    existing: Text | None = None
    """Existing cluster, or kubeconfig context; `pulumi up` with `cloud: none` requires it.
    Default: none; gpuyard creates a cluster on aws and gcp."""
    protect: Switch = True
    """Deletion protection of the cluster and its pools. Default: on."""
    zones: Annotated[tuple[Text, ...], Field(max_length=7)] = ()
    """Zones of the cluster, at least two on aws. Default: the zones of the pools, plus another if that
    is only one."""
    network: ClusterNetwork = ClusterNetwork.model_construct()
    """Network of the cluster. Default: a new one with private nodes."""
    endpoint: ControlPlane = ControlPlane.model_construct()
    """Network access to the Kubernetes API. Default: only from inside the network."""
    admins: Annotated[tuple[Text, ...], Field(max_length=50)] = ()
    """Cluster administrators; list the identity that deploys, too: ARNs, or members such as group:NAME@HOST on
    gcp. Default: on aws the identity that deploys, on gcp none."""
    roles: ClusterRoles = ClusterRoles.model_construct()
    """Existing roles of the cluster and its nodes. Default: gpuyard creates them."""
    key: Text | None = None
    """Key of KMS or Cloud KMS that encrypts secrets and node disks. Default: a new key; on aws for
    secrets only."""
    logs: ControlPlaneLogs = ControlPlaneLogs.model_construct()
    """Logs of the control plane. Default: all, kept for 90 days."""
    release_channel: ReleaseChannel = ReleaseChannel.REGULAR
    """Release channel on gcp: rapid, regular, stable or extended. Default: regular."""
    maintenance: Maintenance = Maintenance.model_construct()
    """Maintenance window of GKE. Default: Saturday and Sunday, 02:00 to 10:00 UTC."""
    support: ClusterSupport = ClusterSupport.EXTENDED
    """Support policy on aws: standard or extended. Default: extended; the minor version never changes
    by itself."""


class Mirror(SpecModel):
    """Registry for images and charts in an air-gapped network."""

    images: ImagePrefix
    """Registry, with path, that holds a copy of every image."""
    charts: Text | None = None
    """Location of the charts. Default: the same registry, as OCI artifacts."""
    prepull: Annotated[tuple[Text, ...], Field(max_length=20)] = ()
    """Images that every new GPU node pulls before a pod needs them. Default: none."""


class Apply(StrEnum):
    """How objects reach the cluster.

    `cluster` applies them in `pulumi up`; `render` writes plain manifests for a GitOps repository.
    """

    CLUSTER = "cluster"
    RENDER = "render"


def parse_approvals(value: object) -> object:
    """One digest, or several, as `gpuyard check --against` prints them."""
    digests = [value] if isinstance(value, str) else value
    if not isinstance(digests, list | tuple) or not all(_is_digest(each) for each in digests):
        raise value_error(
            "consent_form",
            "not a digest of a change, or a list of digests",
            allowed="sha256:… as `gpuyard check --against STATE` prints it, or a list of these",
        )
    return digests


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and value.startswith("sha256:")


_DIGEST = {"type": "string", "pattern": "^sha256:"}
Consents = Annotated[
    tuple[Text, ...],
    BeforeValidator(parse_approvals),
    Field(max_length=50),
    WithJsonSchema({"anyOf": [_DIGEST, {"type": "array", "items": _DIGEST, "maxItems": 50}]}),
]
