"""The optional sections of a stack file: what a platform has beside pools, teams and queues.

Each is small, and most have defaults that a careful platform engineer would choose. What a section turns
into is said by the plan; a section that this release makes nothing of is named there, never ignored.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import (
    Address,
    Cidr,
    Day,
    ImagePrefix,
    MemoryGib,
    Name,
    NodeRange,
    Percent,
    PercentRange,
    Positive,
    Text,
    Usd,
    wrong,
)

Switch = Annotated[bool, Field(strict=True)]


class ClusterSpec(SpecModel):
    """The Kubernetes cluster under the platform."""

    existing: Text | None = None
    """A cluster, or kubeconfig context, that exists already. Default: one is created on aws and gcp."""
    protect: Switch = True
    """Refuse to delete the cluster and its pools. Default on: nobody rebuilds a fleet by a slip."""


class DatasetKind(StrEnum):
    """What kind of shared file system.

    `efs`, `fsx-lustre` on aws; `filestore`, `managed-lustre` on gcp; `class` is a storage class you have.
    """

    EFS = "efs"
    FSX_LUSTRE = "fsx-lustre"
    FILESTORE = "filestore"
    MANAGED_LUSTRE = "managed-lustre"
    CLASS = "class"


class Datasets(SpecModel):
    """Where training data lives: many pods read and write it at once."""

    kind: DatasetKind
    """efs, fsx-lustre, filestore, managed-lustre or class."""
    class_name: Text | None = None
    """The storage class, with kind: class."""
    size_gib: MemoryGib = 1200
    """Size in GiB. Default 1200, the smallest FSx for Lustre; what efs stores is billed, not its size."""


class Checkpoints(SpecModel):
    """Where training keeps its checkpoints: a bucket, so that a lost node loses nothing."""

    bucket: Text | None = None
    """Name of a bucket that exists. Default: one is made, and protected."""
    keep_days: Positive = 30
    """Days after which a checkpoint may be deleted. Default 30."""


class Storage(SpecModel):
    """Storage that all teams share."""

    datasets: Datasets | None = None
    """Shared file system for data. Default: none."""
    checkpoints: Checkpoints | None = None
    """Bucket for checkpoints. Default: none."""


class Prometheus(StrEnum):
    """Whose Prometheus: `install` ours, `existing` the operator that runs already, or `none`."""

    INSTALL = "install"
    EXISTING = "existing"
    NONE = "none"


class Observability(SpecModel):
    """What is measured, for how long it is kept."""

    prometheus: Prometheus = Prometheus.INSTALL
    """install, existing or none. Default install."""
    prometheus_address: Address | None = None
    """Where it answers. Default http://prometheus-operated.monitoring.svc:9090."""
    retention_days: Positive = 15
    """Days that measurements are kept. Default 15, as Prometheus has it."""
    scrape_seconds: Annotated[int, Field(strict=True, ge=1, le=300)] = 15
    """Seconds between two looks at a GPU. Default 15: graphs need no more."""
    cost: Switch = True
    """Install OpenCost, so that used hours become money. Default on."""


class Framework(StrEnum):
    """Runtimes for distributed training."""

    TORCH = "torch"
    DEEPSPEED = "deepspeed"
    JAX = "jax"
    MPI = "mpi"


class ScaleOn(StrEnum):
    """What a service scales on.

    `gpu` is GPU activity, `queue` the length of its request queue, `schedule` a window of the day.
    """

    GPU = "gpu"
    QUEUE = "queue"
    SCHEDULE = "schedule"


class Service(SpecModel):
    """An inference service that grows and shrinks."""

    name: Name
    """The service's name."""
    team: Name
    """The team in whose namespace it runs."""
    shape: Name
    """The shape, of `shapes`, that one replica of it is."""
    replicas: NodeRange
    """How many, such as 1..8."""
    scale_on: ScaleOn = ScaleOn.GPU
    """gpu, queue or schedule. Default gpu."""


class Workloads(SpecModel):
    """Runtimes for training, and services with autoscaling."""

    training: Annotated[tuple[Framework, ...], Field(max_length=4)] = ()
    """Training runtimes to offer: torch, deepspeed, jax, mpi. Default: none."""
    services: Annotated[tuple[Service, ...], Field(max_length=1000)] = ()
    """Inference services. Default: none."""


class Addon(StrEnum):
    """Tools that teams like to have beside the platform."""

    ARGO_WORKFLOWS = "argo-workflows"
    ARGO_CD = "argo-cd"
    KUBEFLOW_PIPELINES = "kubeflow-pipelines"
    TEKTON = "tekton"
    KSERVE = "kserve"


class Enforce(StrEnum):
    """What becomes of a pod that admission finds fault with.

    `deny` refuses it, `warn` lets it pass and tells its owner, `audit` only writes it down.
    """

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


class Admission(SpecModel):
    """What every team's pods are held to; a team may narrow it for itself."""

    images_from: Annotated[tuple[ImagePrefix, ...], Field(max_length=100)] = ()
    """Registries or repositories that images may come from. Default: any."""
    egress_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=100)] = ()
    """Networks that pods may reach outside the cluster. Default: none but what the cluster itself needs."""
    enforce: Enforce = Enforce.DENY
    """deny, warn or audit. Default deny."""
    guaranteed: Switch = True
    """Training pods must ask for as much CPU and memory as they are limited to. Default on."""


class MachinePrice(SpecModel):
    """What one machine costs you an hour, when that is not the list price."""

    on_demand: Usd | None = None
    """US dollars an hour on demand."""
    spot: Usd | None = None
    """US dollars an hour on spot, as a yearly average of yours."""
    reserved: Usd | None = None
    """US dollars an hour for nodes from a reservation or a commitment."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return {"on_demand": float(value)} if plain else value


class Commitment(SpecModel):
    """Nodes you have promised to pay for, used or not."""

    machine: Text
    """The machine type."""
    nodes: Positive
    """How many of it are always paid."""
    years: Annotated[int, Field(strict=True, ge=1, le=5)] = 1
    """For how long: 1 or 3 years usually."""
    usd_per_hour: Usd | None = None
    """US dollars an hour for one. Default: the catalogue's price for that term."""


class Prices(SpecModel):
    """Your prices, where they are not the catalogue's list prices."""

    discount_percent: Percent = 0
    """Percent off every list price on demand. Default 0."""
    machines: dict[Text, MachinePrice] = Field(default_factory=dict)
    """By machine type: 42.5, or {on_demand: 42.5, spot: 17, reserved: 30}. They win over the discount."""
    commitments: Annotated[tuple[Commitment, ...], Field(max_length=100)] = ()
    """What is paid for in any case. Default: nothing."""


class Targets(SpecModel):
    """What the platform is run towards; each is measured, shown and alerted on."""

    utilisation_percent: PercentRange | None = None
    """Share of GPU time in use over the fleet, such as 65..85. The expected bill reckons with its middle."""
    memory_percent: Percent | None = None
    """Share of a GPU's memory that a pod should use at least, for example 80."""
    idle_percent: Percent | None = None
    """Share of allocated GPU time that may be idle at most, for example 20."""
    wait_p95_minutes: dict[Name, Positive] = Field(default_factory=dict)
    """By priority, minutes that 95 of 100 jobs wait at most: {research: 120, production: 10}."""


class Mirror(SpecModel):
    """Where images and charts come from in a closed network."""

    images: ImagePrefix
    """The registry, with path, that holds a copy of every image."""
    charts: Text | None = None
    """Where charts are taken from. Default: from the same registry, as OCI artifacts."""
    prepull: Switch = False
    """Put large images on new nodes before pods need them. Default off."""


class Level(StrEnum):
    """What becomes of a rule that is broken."""

    OFF = "off"
    ADVISORY = "advisory"
    MANDATORY = "mandatory"


class RuleException(SpecModel):
    """One place where one rule need not hold for a while."""

    rule: Text
    """The rule's id, for example GPU-TEN-02."""
    resource: Text
    """Name of the resource it does not hold for."""
    reason: Text
    """Why. Whoever reads it in a year should understand."""
    expires: Day
    """The day from which it holds again, as 2027-03-31."""


class Policies(SpecModel):
    """How strictly rules are held, and where they are not."""

    levels: dict[Text, Level] = Field(default_factory=dict)
    """By rule id: off, advisory or mandatory. Default: each rule's own."""
    exceptions: Annotated[tuple[RuleException, ...], Field(max_length=1000)] = ()
    """Places where a rule need not hold. Default: none."""


class Apply(StrEnum):
    """How objects reach the cluster.

    `cluster` applies them in `pulumi up`; `render` writes plain manifests for a GitOps repository.
    """

    CLUSTER = "cluster"
    RENDER = "render"


class WarmWindow(SpecModel):
    """Hours in which a pool keeps nodes running although nothing asks for them."""

    cron: Text
    """When it begins, as cron has it: `0 7 * * 1-5`."""
    hours: Annotated[float, Field(strict=True, gt=0, le=168, allow_inf_nan=False)]
    """How long it lasts, in hours."""
    nodes: Positive
    """How many nodes run then at least."""
    time_zone: Text = "UTC"
    """Whose clock: an IANA name such as Europe/Paris. Default UTC."""


class FabricKind(StrEnum):
    """How the nodes of a pool of your own reach each other's GPUs.

    `infiniband` and `roce` go past the host's TCP; `ethernet` does not.
    """

    INFINIBAND = "infiniband"
    ROCE = "roce"
    ETHERNET = "ethernet"


class RdmaPlugin(StrEnum):
    """Who hands out the network adapters: NVIDIA's Network Operator, or the RDMA device plugin alone."""

    NETWORK_OPERATOR = "network-operator"
    DEVICE_PLUGIN = "rdma-device-plugin"


class FabricSpec(SpecModel):
    """The network between the nodes of a pool of your own; on aws and gcp the machine says it."""

    kind: FabricKind
    """infiniband, roce or ethernet."""
    hcas: Annotated[tuple[Text, ...], Field(max_length=64)] = ()
    """Names of the network adapters next to the GPUs, as NCCL has them: mlx5_0, mlx5_1."""
    gbps: Annotated[float, Field(strict=True, gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """Bandwidth of one node in gigabit a second, all adapters together."""
    plugin: RdmaPlugin = RdmaPlugin.NETWORK_OPERATOR
    """network-operator or rdma-device-plugin. Default network-operator."""


class Provisioning(StrEnum):
    """How the nodes of an autoscaled pool are asked for before a job is admitted.

    `check-capacity` looks for room on nodes that run, `atomic` adds all nodes or none, `queued` is GKE's
    queued provisioning of flex-start nodes.
    """

    CHECK = "check-capacity"
    ATOMIC = "atomic"
    QUEUED = "queued"


class PoolStop(StrEnum):
    """A brake for one pool: `hold` starts no new job in it."""

    HOLD = "hold"


class Numa(StrEnum):
    """The kubelet's topology policy.

    `best-effort` tries to keep a pod in one NUMA node, `restricted` refuses pods that could have been and
    are not, `single-numa-node` refuses every pod that needs two: also one with all GPUs of a node.
    """

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE = "single-numa-node"


def parse_consent(value: object) -> object:
    """A digest as `gpuyard plan` prints it."""
    if not isinstance(value, str) or not value.startswith("sha256:"):
        raise wrong(
            "consent_form",
            "not a digest of a plan",
            allowed="sha256:… as `gpuyard plan` prints it",
        )
    return value


Consent = Annotated[
    Text, BeforeValidator(parse_consent), WithJsonSchema({"type": "string", "pattern": "^sha256:"})
]
