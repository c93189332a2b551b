"""The whole vocabulary of a stack file in one model. Start here."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from gpuyard.spec.base import SpecModel
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
from gpuyard.spec.values import Day, MemoryGib, Name, Positive, Text, Usd, value_error

HOURS_PER_MONTH = 730
"""What the clouds count as a month."""


class Cloud(StrEnum):
    """Where the nodes come from; `none` is a cluster of your own, `simulated` needs no GPU at all."""

    AWS = "aws"
    GCP = "gcp"
    NONE = "none"
    SIMULATED = "simulated"


class Latency(StrEnum):
    """Whether a pod may wait for its turn on a GPU.

    `relaxed` pods may take turns; `strict` ones need compute of their own whenever they want it.
    """

    RELAXED = "relaxed"
    STRICT = "strict"


class PerPod(SpecModel):
    """What each pod of a fractional shape asks for: a slice, a share, or what it needs of a GPU."""

    slice: Text | None = None
    """A MIG profile, for example 3g.20gb."""
    shares: Positive | None = None
    """Shares of a time-sliced or MPS GPU."""
    gpu_memory_gib: MemoryGib | None = None
    """GPU memory it needs, in GiB: the plan picks the smallest slice or share that has it."""
    compute_percent: Annotated[float, Field(strict=True, gt=0, le=100)] | None = None
    """Percent of one GPU's compute it needs, alone or beside gpu_memory_gib."""
    latency: Latency = Latency.RELAXED
    """relaxed or strict, with gpu_memory_gib or compute_percent. Default relaxed."""
    cpu: Positive = 1
    """CPU threads per pod."""
    memory_gib: MemoryGib = 1
    """Main memory per pod in GiB."""

    @property
    def needs(self) -> bool:
        """True when it says what it needs of a GPU, and the plan picks the slice or share."""
        return self.gpu_memory_gib is not None or self.compute_percent is not None

    @model_validator(mode="after")
    def _one_way(self) -> "PerPod":
        ways = [("slice", self.slice is not None), ("shares", self.shares is not None)]
        named = [name for name, value in ways if value]
        given_needs = [
            ("gpu_memory_gib", self.gpu_memory_gib is not None),
            ("compute_percent", self.compute_percent is not None),
            ("latency", self.latency is Latency.STRICT),
        ]
        needs = [name for name, value in given_needs if value]
        if named and needs:
            extra, problem = needs, f"a pod that names its {named[0]} needs nothing picked for it"
        elif len(named) == 1 or (self.needs and not named):
            return self
        else:
            extra, problem = (
                named[1:],
                "a pod asks for one slice, for shares, or says what it needs",
            )
        one = extra[0] if len(extra) == 1 else ""
        raise value_error(
            "per_pod_form",
            problem,
            allowed="slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
            fix=f"remove `{one}`" if one else "",
            change=((one,), None) if one else None,
        )


class Shape(SpecModel):
    """A kind of workload that must be able to start, from zero nodes too."""

    name: Name
    """What people call this workload."""
    pool: Name | None = None
    """The pool it must start in. Default: any pool that can hold it."""
    nodes: Positive = 1
    """Nodes it needs at the same time."""
    gpus_per_node: Positive | None = None
    """Whole GPUs it takes on each of these nodes."""
    per_pod: PerPod | None = None
    """For pods that take less than a GPU: what each asks for."""

    @model_validator(mode="after")
    def _whole_or_fraction(self) -> "Shape":
        if (self.gpus_per_node is None) == (self.per_pod is None):
            raise value_error(
                "shape_form",
                "a shape takes whole GPUs or a fraction, one of them",
                allowed="gpus_per_node: N, or per_pod: {…}",
                fix="remove `per_pod`" if self.per_pod else "add gpus_per_node: 1",
                change=(("per_pod",), None) if self.per_pod else (("gpus_per_node",), 1),
            )
        return self


class Profile(StrEnum):
    """How thoroughly hardware is checked."""

    QUICK = "quick"
    """What it says of itself, beside work."""
    FULL = "full"
    """Then its GPUs at work, one by one and together."""
    SOAK = "soak"
    """The same for long."""


class Gate(StrEnum):
    """What a node waits for that comes, now or later."""

    TAINT = "taint"
    """It takes no jobs before its check has passed."""
    LABEL = "label"
    """It is checked and labelled, and takes jobs meanwhile."""
    NONE = "none"
    """Only nodes that run from the beginning are checked."""


_FOLDER = r"^(/[A-Za-z0-9_][-A-Za-z0-9._]*)+$"
"""From the root on, with no way back up."""


class RecurringCheckSpec(SpecModel):
    """Nodes that have passed are checked again, each when it is idle."""

    cron: Text
    """When it begins, as cron has it: `0 3 * * 0`."""
    time_zone: Text = "UTC"
    """Whose clock: an IANA name such as Europe/Paris. Default UTC."""
    hours: Annotated[float, Field(strict=True, gt=0, le=24, allow_inf_nan=False)] = 2
    """For so long it waits for nodes to be idle; one that works all the time is not looked at."""


class AcceptedThresholdSpec(SpecModel):
    """A floor of the check that the nodes of a pool need not reach for a while."""

    pool: Name
    """Whose nodes."""
    check: Text
    """Which check, for example nccl.all_reduce."""
    value: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
    """What is enough meanwhile, in the unit of the check; what is lower still fails."""
    reason: Text
    """Why. Whoever reads it in a year should understand."""
    until: Day
    """The last day that it holds, as 2027-03-31."""


class ValidationSpec(SpecModel):
    """The check of the provisioned hardware."""

    profile: Profile = Profile.QUICK
    """quick, full or soak: full and soak put GPUs to work, which they ask a queue for."""
    required: Annotated[bool, Field(strict=True)] = True
    """When required, hardware that was not checked does not count as good."""
    image: Text | None = None
    """Image it runs in: Python 3.11 or newer with nvidia-ml-py. Default: none, and no node is checked.

    For full and soak cuBLAS, nccl4py and cuda-core too, and the cloud's network plugin.
    """
    deadline_minutes: Annotated[int, Field(strict=True, ge=1, le=24 * 60)] = 30
    """After so long without a verdict it has failed; nodes that still start need some of it."""
    gate: Gate | None = None
    """taint, label or none. Default: taint where the check is required, else label."""
    max_unavailable_percent: Annotated[int, Field(strict=True, ge=1, le=100)] = 20
    """Of a pool's nodes that take jobs at most so many are closed by failed checks; one may always be."""
    recurring: RecurringCheckSpec | None = None
    """When nodes that have passed are checked again. Default: when pool, driver, image or program change."""
    textfile: Annotated[str, Field(strict=True, max_length=200, pattern=_FOLDER)] | None = None
    """Folder of each node that its node exporter reads (textfile collector). Default: no file is written."""
    accepted_thresholds: Annotated[tuple[AcceptedThresholdSpec, ...], Field(max_length=1000)] = ()
    """Floors that somebody lives below, each for a reason and a while. Default: none."""


class Budget(SpecModel):
    """Limits on the bill of the whole platform."""

    max_usd_per_hour: Usd
    """The most the platform may cost in an hour, every pool at its maximum, at list price."""


PriorityValue = Annotated[int, Field(strict=True, ge=-1_000_000_000, le=1_000_000_000)]
"""Larger ones are Kubernetes' own (system-cluster-critical is 2,000,000,000)."""


class PlatformSpec(SpecModel):
    """One GPU platform: pools of nodes, teams that share them, and what must be able to run."""

    name: Name
    """The platform's name; the cohort and cluster-wide objects are named for it."""
    cloud: Cloud
    """none (a cluster of your own), simulated (fake nodes), aws or gcp."""
    kubernetes: Text
    """Kubernetes minor version in quotes, for example "1.35"."""
    system: System | None = None
    """Nodes for the controllers. Needed on aws and gcp, where no node exists before."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1, max_length=MAX_POOLS)]
    """Pools of GPU nodes, in the order in which queues try them."""
    shapes: Annotated[tuple[Shape, ...], Field(max_length=1000)] = ()
    """Workloads that must be able to start. Each is proved against the pools."""
    teams: Annotated[tuple[Team, ...], Field(max_length=MAX_TEAMS)] = ()
    """Who shares the pools. Default: nobody, and everything stays unassigned."""
    queueing: QueueingSpec = QueueingSpec.model_construct()
    """How jobs wait for GPUs."""
    validation: ValidationSpec | None = None
    """The check of the provisioned hardware. Default: none is asked for."""
    budget: Budget | None = None
    """Limits on the bill. Default: none."""
    cluster: ClusterSpec | None = None
    """The cluster under it all. Default: on aws and gcp, a new one."""
    gpu_operator: OperatorSpec = OperatorSpec.model_construct()
    """NVIDIA's GPU Operator. Default: one is installed, with values that fit the pools."""
    software: dict[Text, Text] = Field(default_factory=dict)
    """Versions by component, such as {gpu-operator: 26.7.1}. Default: the pinned ones, tried together."""
    priorities: Annotated[dict[Name, PriorityValue], Field(max_length=100)] = Field(
        default_factory=dict
    )
    """Priorities of jobs by name, a larger number first: {production: 1000, research: 100}. Default: none."""
    prices: Prices | None = None
    """Your prices. Default: list prices of the catalogue."""
    targets: Targets | None = None
    """What the platform is run towards. Default: nothing is promised."""
    storage: Storage | None = None
    """Storage that all teams share. Default: none is made."""
    observability: Observability | None = None
    """What is measured. Default: nothing by us."""
    workloads: Workloads | None = None
    """Training runtimes and inference services. Default: none."""
    addons: Annotated[tuple[Addon, ...], Field(max_length=10)] = ()
    """Tools: argo-workflows, argo-cd, kubeflow-pipelines, tekton, kserve. Default: none."""
    admission: Admission | None = None
    """What every pod is held to. Default: no limits of ours."""
    tags: dict[Text, Text] = Field(default_factory=dict)
    """Tags, or labels on gcp, for every cloud resource. Default: none but the platform's own."""
    mirror: Mirror | None = None
    """Where images and charts come from in a closed network. Default: from where their projects publish."""
    policies: Policies | None = None
    """How strictly the policy pack and `gpuyard lint --stack` hold rules. Default: each rule's own level."""
    apply: Apply = Apply.CLUSTER
    """cluster or render. Default cluster."""
    approved_changes: Consents = ()
    """Digests of changes that take something away, as `check --against` printed them: you saw them."""

    @property
    def cluster_exists(self) -> bool:
        """Whether it names a cluster that was there before, and that somebody else made."""
        return self.cluster is not None and self.cluster.existing is not None
