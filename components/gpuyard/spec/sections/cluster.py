"""The cluster under the platform, and how objects, images and charts get there."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Cidr, Day, ImagePrefix, Positive, Switch, Text, value_error


class Nat(StrEnum):
    """How private nodes reach the internet.

    `one` gateway, which is gone with its zone; one `per_zone`; or `none`: images then come from a mirror, or
    through private endpoints.
    """

    ONE = "one"
    PER_ZONE = "per_zone"
    NONE = "none"


class PrivateEndpoints(StrEnum):
    """Which services of aws are reached without the internet.

    `gateway` is S3's, which costs nothing; `interface` adds ECR, STS, EC2, EKS and others, paid by the hour.
    """

    GATEWAY = "gateway"
    INTERFACE = "interface"


class Subnets(SpecModel):
    """Subnets of a network that is there already."""

    private: Annotated[tuple[Text, ...], Field(min_length=1, max_length=16)]
    """Where nodes and the control plane's interfaces go; on gcp one subnetwork."""
    public: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    """Where load balancers that face the internet go, on aws; their tag is yours to set. Default: none."""


class ClusterNetwork(SpecModel):
    """The network of the cluster: one of its own, or with `id` one that is there already."""

    cidr: Cidr | None = None
    """Addresses of a network of its own; on gcp, of its nodes. Default 10.0.0.0/16."""
    pods: Cidr | None = None
    """Addresses of pods, on gcp: on aws they come out of `cidr`. Default 10.16.0.0/13."""
    services: Cidr | None = None
    """Addresses of services. Default 172.20.0.0/16 on aws, 10.8.0.0/20 on gcp."""
    nat: Nat = Nat.ONE
    """one, per_zone or none. Default one."""
    flow_logs: Switch = True
    """Write down which address talked to which. Default on."""
    endpoints: PrivateEndpoints = PrivateEndpoints.GATEWAY
    """gateway or interface, on aws. Default gateway; without NAT, interface."""
    id: Text | None = None
    """A network that is there already: vpc-… on aws, its name on gcp. Default: one is made."""
    subnets: Subnets | None = None
    """Subnets of that network. Default: those that `tags` find."""
    tags: Annotated[dict[Text, Text], Field(max_length=10)] = Field(default_factory=dict)
    """Tags that the private subnets of that network carry, on aws, to find them by. Default: none."""

    @model_validator(mode="after")
    def _own_or_given(self) -> "ClusterNetwork":
        given_fields = self.model_fields_set
        if self.id is None:
            extra, problem = (
                sorted(given_fields & {"subnets", "tags"}),
                "belongs to a network that has an `id`",
            )
        else:
            extra = sorted(given_fields & {"cidr", "nat", "flow_logs", "endpoints"})
            problem = "is about a network of its own, and this one is there already"
        if self.id is not None and bool(self.subnets) == bool(self.tags):
            raise value_error(
                "network_form",
                "a network that is there already says which subnets are the cluster's, in one way",
                allowed="subnets: {private: [ID, …]}, or tags: {KEY: VALUE} that private subnets carry",
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


class ControlPlane(SpecModel):
    """Who reaches the Kubernetes API; its private endpoint always answers."""

    public: Annotated[tuple[Cidr, ...], Field(max_length=40)] = ()
    """Networks outside that may reach it, each as small as it can be. Default: none."""
    dns: Switch = False
    """On gcp: its DNS name answers from outside too, to whom IAM admits. Default off."""


class LogKind(StrEnum):
    """What the control plane writes down; GKE keeps `audit` and `authenticator` by itself."""

    API = "api"
    AUDIT = "audit"
    AUTHENTICATOR = "authenticator"
    CONTROLLER_MANAGER = "controller-manager"
    SCHEDULER = "scheduler"


class ControlPlaneLogs(SpecModel):
    """What is kept of what the control plane writes down."""

    kinds: tuple[LogKind, ...] = tuple(LogKind)
    """Of api, audit, authenticator, controller-manager, scheduler. Default: all."""
    retention_days: Positive = 90
    """Days at least that they are kept, on aws. Default 90."""


class ReleaseChannel(StrEnum):
    """How soon GKE upgrades; `extended` keeps a minor for 24 months."""

    RAPID = "rapid"
    REGULAR = "regular"
    STABLE = "stable"
    EXTENDED = "extended"


class ClusterSupport(StrEnum):
    """What EKS does when standard support of the minor ends.

    `extended` stays on it for a higher fee; `standard` upgrades the control plane by itself.
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
    """Days in which GKE upgrades nothing."""

    name: Text
    """What it is for."""
    start: Day
    """Its first day, in UTC."""
    end: Day
    """The first day after it."""


class Maintenance(SpecModel):
    """When GKE may upgrade control plane and nodes. EKS upgrades when you say so."""

    days: Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)] = (
        Weekday.SAT,
        Weekday.SUN,
    )
    """Of mon, tue, wed, thu, fri, sat, sun. Default sat and sun."""
    start: Annotated[str, Field(strict=True, pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")] = "02:00"
    """When it begins, in UTC and in quotes. Default "02:00"."""
    hours: Annotated[int, Field(strict=True, ge=4, le=24)] = 8
    """How long it lasts: 4 at least. Default 8."""
    freezes: Annotated[tuple[Freeze, ...], Field(max_length=20)] = ()
    """Days in which nothing is upgraded. Default: none."""


class ClusterSpec(SpecModel):
    """The Kubernetes cluster under the platform."""

    existing: Text | None = None
    """A cluster, or kubeconfig context, that exists already; `up` on a cluster of your own needs one."""
    protect: Switch = True
    """Refuse to delete the cluster and its pools. Default on: nobody rebuilds a fleet by a slip."""
    zones: Annotated[tuple[Text, ...], Field(max_length=7)] = ()
    """Zones that it lies in: two at least on aws. Default: those of the pools, and another if that is one."""
    network: ClusterNetwork = ClusterNetwork.model_construct()
    """The network it lies in. Default: one of its own, with private nodes."""
    endpoint: ControlPlane = ControlPlane.model_construct()
    """Who reaches the Kubernetes API. Default: who is in the network."""
    admins: Annotated[tuple[Text, ...], Field(max_length=50)] = ()
    """Who may do everything in it, who deploys it too: ARNs, or members such as group:NAME@HOST on gcp."""
    key: Text | None = None
    """The key, of KMS or Cloud KMS, of secrets and nodes' disks. Default: one is made, on aws of secrets."""
    logs: ControlPlaneLogs = ControlPlaneLogs.model_construct()
    """What is kept of what the control plane writes down. Default: everything, for 90 days."""
    release_channel: ReleaseChannel = ReleaseChannel.REGULAR
    """rapid, regular, stable or extended, on gcp. Default regular."""
    maintenance: Maintenance = Maintenance.model_construct()
    """When GKE may upgrade. Default: at the weekend, from two to ten."""
    support: ClusterSupport = ClusterSupport.EXTENDED
    """standard or extended, on aws. Default extended: no minor changes by itself."""


class Mirror(SpecModel):
    """Where images and charts come from in a closed network."""

    images: ImagePrefix
    """The registry, with path, that holds a copy of every image."""
    charts: Text | None = None
    """Where charts are taken from. Default: from the same registry, as OCI artifacts."""
    prepull: Annotated[tuple[Text, ...], Field(max_length=20)] = ()
    """Images that every GPU node pulls when it comes, before a pod needs them. Default: none."""


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
            "not a digest of a change, nor a list of them",
            allowed="sha256:… as `gpuyard check --against STATE` prints it, or a list of such",
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
