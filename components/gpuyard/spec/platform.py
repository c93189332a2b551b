"""The root model of a stack file. Start reading here."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from gpuyard.spec.pools import MAX_POOLS, Pool, System
from gpuyard.spec.queueing import QueueingSpec
from gpuyard.spec.sections import (
    Addon,
    Admission,
    Apply,
    ClusterSpec,
    Consents,
    Mirror,
    Observability,
    OperatorSpec,
    Policies,
    Prices,
    Storage,
    Targets,
    Workloads,
)
from gpuyard.spec.teams import MAX_TEAMS, Team
from gpuyard_core.models.values import (
    Day,
    MemoryGib,
    Name,
    Positive,
    SpecModel,
    Text,
    Usd,
    value_error,
)

HOURS_PER_MONTH = 730
"""Hours that AWS and Google Cloud bill as one month."""


class Cloud(StrEnum):
    """Where nodes come from; `none` is your own cluster, `simulated` uses fake nodes without GPUs."""

    AWS = "aws"
    GCP = "gcp"
    NONE = "none"
    SIMULATED = "simulated"

    @classmethod
    def add(cls, name: str) -> None:
        """Accept the name of another cloud in stack files; `gpuyard.provider.register` calls this."""
        member = str.__new__(cls, name)
        member._name_ = member._value_ = name
        _ADDED[name] = member

    @classmethod
    def _missing_(cls, value: object) -> "Cloud | None":
        return _ADDED.get(str(value))


_ADDED: dict[str, Cloud] = {}


class TimeSliceLatency(StrEnum):
    """Whether a pod may wait for its time slice on a GPU.

    `relaxed` pods may wait for a time slice; `strict` pods need dedicated compute at any time.
    """

    RELAXED = "relaxed"
    STRICT = "strict"


class PerPod(SpecModel):
    """Request of each pod of a fractional shape: a slice, shares, or memory and compute."""

    slice: Text | None = None
    """MIG profile of the slice that each pod requests, for example 3g.20gb. Default: none."""
    shares: Positive | None = None
    """Number of shares of a time-sliced or MPS GPU that each pod requests. Default: none."""
    gpu_memory_gib: MemoryGib | None = None
    """GPU memory that each pod needs, in GiB; the plan picks the smallest slice or share with that much.
    Default: none."""
    compute_percent: Annotated[float, Field(strict=True, gt=0, le=100)] | None = None
    """Percentage of one GPU's compute that each pod needs, alone or together with gpu_memory_gib.
    Default: none."""
    latency: TimeSliceLatency = TimeSliceLatency.RELAXED
    """Whether a pod may wait for its time slice, relaxed or strict; used with gpu_memory_gib or
    compute_percent. Default: relaxed."""
    cpu: Positive = 1
    """CPU threads per pod. Default: 1."""
    memory_gib: MemoryGib = 1
    """Main memory per pod in GiB. Default: 1."""

    @property
    def has_gpu_requirements(self) -> bool:
        """True when the pod states GPU memory or compute, so that the plan picks the slice or share."""
        return self.gpu_memory_gib is not None or self.compute_percent is not None

    @model_validator(mode="after")
    def _one_way(self) -> "PerPod":
        named = [name for name in ("slice", "shares") if getattr(self, name) is not None]
        needs = [n for n in ("gpu_memory_gib", "compute_percent") if getattr(self, n) is not None]
        needs += ["latency"] if self.latency is TimeSliceLatency.STRICT else []
        if named and needs:
            extra = needs
            problem = (
                f"`{named[0]}` cannot be combined with requirements that pick a slice or share"
            )
        elif len(named) == 1 or (self.has_gpu_requirements and not named):
            return self
        else:
            extra = named[1:]
            problem = "a pod requests either a slice, shares, or GPU memory and compute"
        one = extra[0] if len(extra) == 1 else ""
        raise value_error(
            "per_pod_form",
            problem,
            allowed="slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
            fix=f"remove `{one}`" if one else "",
            change=((one,), None) if one else None,
        )


class Shape(SpecModel):
    """A kind of workload that must be able to start, even when its pool has no nodes."""

    name: Name
    """Name of this workload."""
    pool: Name | None = None
    """Pool in which it must be able to start. Default: any pool that fits it."""
    nodes: Positive = 1
    """Number of nodes that it needs at the same time. Default: 1."""
    gpus_per_node: Positive | None = None
    """Number of whole GPUs that it uses on each of these nodes. Default: none; per_pod is then required."""
    per_pod: PerPod | None = None
    """What each pod requests when it uses less than one GPU. Default: none; gpus_per_node is then
    required."""

    @model_validator(mode="after")
    def _whole_or_fraction(self) -> "Shape":
        if (self.gpus_per_node is None) == (self.per_pod is None):
            raise value_error(
                "shape_form",
                "a shape needs either whole GPUs or a fraction, not both or neither",
                allowed="gpus_per_node: N, or per_pod: {…}",
                fix="remove `per_pod`" if self.per_pod else "add gpus_per_node: 1",
                change=(("per_pod",), None) if self.per_pod else (("gpus_per_node",), 1),
            )
        return self


class ValidationProfile(StrEnum):
    """How thoroughly hardware is validated."""

    QUICK = "quick"
    """Reads what the hardware reports about itself; runs next to jobs."""
    FULL = "full"
    """Also runs load on the GPUs, one by one and together."""
    SOAK = "soak"
    """Runs the same load for a long time."""


class Gate(StrEnum):
    """What a new node waits for before it takes jobs."""

    TAINT = "taint"
    """The node takes no jobs until its validation has passed."""
    LABEL = "label"
    """The node is validated and labelled, and takes jobs in the meantime."""
    NONE = "none"
    """Only nodes that run at deployment time are validated."""


_FOLDER = r"^(/[A-Za-z0-9_][-A-Za-z0-9._]*)+$"
"""An absolute path without `..`."""


class RecurringCheckSpec(SpecModel):
    """Recurring validation of nodes that have passed, each when it is idle."""

    cron: Text
    """Start of the recurring validation as a cron expression, for example `0 3 * * 0`."""
    time_zone: Text = "UTC"
    """Time zone of cron, an IANA name such as Europe/Paris. Default: UTC."""
    hours: Annotated[float, Field(strict=True, gt=0, le=24, allow_inf_nan=False)] = 2
    """Hours for which it waits for nodes to become idle; a node that stays busy is skipped. Default: 2."""


class AcceptedThresholdSpec(SpecModel):
    """A lower validation threshold for one pool, until a given day."""

    pool: Name
    """Pool whose nodes the threshold applies to."""
    check: Text
    """Check whose threshold is lowered, for example nccl.all_reduce."""
    value: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
    """Accepted threshold in the unit of the check; lower results still fail."""
    reason: Text
    """Reason for the exception, understandable a year later."""
    until: Day
    """Last day on which the threshold applies, for example 2027-03-31."""


class ValidationSpec(SpecModel):
    """Validation of the provisioned hardware with NVML, CUDA and NCCL."""

    profile: ValidationProfile = ValidationProfile.QUICK
    """Thoroughness: quick, full or soak. full and soak run load on GPUs, which they request from a queue.
    Default: quick."""
    required: Annotated[bool, Field(strict=True)] = True
    """Whether validation is required: hardware that was not validated then does not count as passed.
    Default: true."""
    image: Text | None = None
    """Container image that runs the validation: Python 3.11 or newer with nvidia-ml-py.

    full and soak also need cuBLAS, nccl4py, cuda-core and the cloud's network plugin.
    Default: none; no node is validated.
    """
    deadline_minutes: Annotated[int, Field(strict=True, ge=1, le=24 * 60)] = 30
    """Minutes after which a validation without a verdict has failed; includes the startup of nodes.
    Default: 30."""
    gate: Gate | None = None
    """Gate for new nodes: taint, label or none. Default: taint if validation is required, otherwise
    label."""
    max_unavailable_percent: Annotated[int, Field(strict=True, ge=1, le=100)] = 20
    """Maximum percentage of a pool's nodes that failed checks may take out of service; one node is
    always allowed. Default: 20."""
    recurring: RecurringCheckSpec | None = None
    """Schedule for validating nodes again. Default: only when pool, driver, image or validator change."""
    textfile: Annotated[str, Field(strict=True, max_length=200, pattern=_FOLDER)] | None = None
    """Directory on each node that node exporter reads (textfile collector). Default: no metrics file is
    written."""
    accepted_thresholds: Annotated[tuple[AcceptedThresholdSpec, ...], Field(max_length=1000)] = ()
    """Lower thresholds that you accept for a pool, each with a reason and an end date. Default: none."""


class Budget(SpecModel):
    """Cost limits of the platform."""

    max_usd_per_hour: Usd
    """Maximum cost per hour in US dollars, with every pool at its maximum number of nodes, at list
    prices."""


PriorityValue = Annotated[int, Field(strict=True, ge=-1_000_000_000, le=1_000_000_000)]
"""Kubernetes reserves larger values (system-cluster-critical is 2,000,000,000)."""


class PlatformSpec(SpecModel):
    """One GPU platform: pools of nodes, teams that share them, workloads that must start."""

    name: Name
    """Name of the platform; the cohort and cluster-wide objects are named after it."""
    cloud: Cloud
    """Where the nodes come from: none (a cluster of your own), simulated (fake nodes), aws or gcp."""
    kubernetes: Text
    """Kubernetes minor version in quotes, for example "1.35"."""
    system: System | None = None
    """Nodes for controllers. Required on aws and gcp for a new cluster. Default: none."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1, max_length=MAX_POOLS)]
    """Pools of GPU nodes, in the order in which queues try them."""
    shapes: Annotated[tuple[Shape, ...], Field(max_length=1000)] = ()
    """Workloads that must be able to start; `gpuyard check` checks each against the pools. Default:
    none."""
    teams: Annotated[tuple[Team, ...], Field(max_length=MAX_TEAMS)] = ()
    """Teams that share the pools. Default: none; all capacity is unassigned."""
    queueing: QueueingSpec = QueueingSpec.model_construct()
    """Job queueing with Kueue. Default: the default of each field."""
    validation: ValidationSpec | None = None
    """Validation of the provisioned hardware. Default: none."""
    budget: Budget | None = None
    """Cost limits. Default: none."""
    cluster: ClusterSpec | None = None
    """Kubernetes cluster of the platform. Default: a new one on aws and gcp."""
    gpu_operator: OperatorSpec = OperatorSpec.model_construct()
    """NVIDIA GPU Operator. Default: installed with values that fit the pools."""
    software: dict[Text, Text] = Field(default_factory=dict)
    """Versions by component, for example {gpu-operator: 26.7.1}. Default: the pinned versions, tested
    together."""
    priorities: Annotated[dict[Name, PriorityValue], Field(max_length=100)] = Field(
        default_factory=dict
    )
    """Job priorities by name, larger numbers first: {production: 1000, research: 100}. Default: none."""
    prices: Prices | None = None
    """Your own prices. Default: list prices of the catalogue."""
    targets: Targets | None = None
    """Service targets of the platform. Default: none."""
    storage: Storage | None = None
    """Shared storage for datasets and checkpoints. Default: none."""
    observability: Observability | None = None
    """Metrics collection. Default: none configured by gpuyard."""
    workloads: Workloads | None = None
    """Training runtimes and inference services. Default: none."""
    addons: Annotated[tuple[Addon, ...], Field(max_length=20)] = ()
    """Add-ons: kuberay, jobset, kubeflow-trainer, leader-worker-set, keda, argo-workflows, argo-cd, tekton,
    kubeflow-pipelines, cert-manager, kserve; by name, or {name: keda, teams: [vision]}. Default: none."""
    admission: Admission | None = None
    """Admission requirements for pods of all teams. Default: the default of each field."""
    tags: dict[Text, Text] = Field(default_factory=dict)
    """Tags (labels on gcp) of every cloud resource. Default: only those that gpuyard sets."""
    mirror: Mirror | None = None
    """Registry for images and charts in an air-gapped network. Default: the public registry of each project."""
    policies: Policies | None = None
    """Rule levels of the policy pack and `gpuyard lint --stack`. Default: the level of each rule."""
    apply: Apply = Apply.CLUSTER
    """How objects reach the cluster: cluster or render. Default: cluster."""
    approved_changes: Consents = ()
    """Digests of destructive changes that you approve, as printed by `gpuyard check --against`.
    Default: none."""

    def has_addon(self, name: str) -> bool:
        """Whether the cluster has an add-on, installed by gpuyard or before."""
        return any(addon.name == name for addon in self.addons)

    @property
    def cluster_exists(self) -> bool:
        """Whether the platform uses an existing cluster that gpuyard did not create."""
        return self.cluster is not None and self.cluster.existing is not None
