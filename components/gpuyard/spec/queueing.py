"""Queueing in a stack file: the engine, preemption, cohorts and stop policies."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.teams import Shares, StopPolicy, Weight
from gpuyard_core.models.values import Name, Positive, SpecModel, Switch

MAX_COHORTS = 200
MAX_CLUSTERS = 20
"""Clusters that one MultiKueueConfig may name (Kueue v1beta2 CRD)."""


class Engine(StrEnum):
    """The queueing engine.

    `kueue` admits whole jobs to queues with quota in each pool. `volcano` schedules pods with GPUs itself, and its
    queues count each resource in all pools together; fields that it does not implement are errors.
    """

    KUEUE = "kueue"
    VOLCANO = "volcano"


class Preemption(StrEnum):
    """Whether jobs are evicted to give a team its guarantee back.

    `reclaim` evicts borrowers, and jobs of lower priority in the same team; `never` waits until
    borrowers finish.
    """

    RECLAIM = "reclaim"
    NEVER = "never"


class PoolChoice(StrEnum):
    """Which of its pools a team's queue tries first.

    `guarantee` uses the first pool in which the team's own guarantee is free, and borrows if there is
    none; `order` uses the first pool that has enough capacity, borrowed or not.
    """

    GUARANTEE = "guarantee"
    ORDER = "order"


class MigQuota(StrEnum):
    """The unit in which quota of partitioned GPUs is counted.

    `profiles` counts the slices of each profile; `slices` counts compute slices, so that one guarantee
    serves every profile.
    """

    PROFILES = "profiles"
    SLICES = "slices"


class Integration(StrEnum):
    """Kinds of Kubeflow's earlier training operator, which Kueue queues only if told to."""

    PYTORCHJOB = "pytorchjob"
    TFJOB = "tfjob"
    XGBOOSTJOB = "xgboostjob"
    PADDLEJOB = "paddlejob"
    JAXJOB = "jaxjob"


class CohortSpec(SpecModel):
    """Teams that share among themselves first: a department, or a site."""

    name: Name
    """Name of the cohort; teams refer to it in `cohort`."""
    parent: Name | None = None
    """Parent cohort. Default: the platform's root cohort."""
    weight: Weight = 1.0
    """Share of borrowed capacity relative to sibling cohorts. Default: 1."""
    borrow: Shares | None = None
    """Borrowing limit of all its teams together from outside the cohort, by pool. Default: the limits
    of its teams."""
    lend: Shares | None = None
    """Lending limit of its teams' guarantees to others, by pool. Default: all that its teams lend."""


class WorkerCluster(SpecModel):
    """A worker cluster that this one dispatches jobs to (MultiKueue)."""

    name: Name
    """Name of the worker cluster on this platform."""
    secret: Name
    """Name of the Secret in kueue-system whose key `kubeconfig` holds the kubeconfig of the worker
    cluster."""


class InterruptionSpec(SpecModel):
    """How jobs save their work; the plan estimates what an interruption notice loses."""

    checkpoint_interval_minutes: Positive
    """Minutes between two checkpoints."""
    checkpoint_seconds: Positive = 60
    """Seconds that one checkpoint takes to write. Default: 60."""
    checkpoint_on_notice: Switch = False
    """Whether jobs write a checkpoint when they are terminated, if time allows. Default: off."""
    max_lost_minutes: Positive = 60
    """Maximum minutes of work that one interruption notice may lose; above it `gpuyard check` reports a
    finding. Default: 60."""


class QueueingSpec(SpecModel):
    """How jobs wait for GPUs."""

    engine: Engine = Engine.KUEUE
    """Queueing engine: kueue or volcano. Default: kueue."""
    install: Switch | None = None
    """Whether to install the engine; false if the cluster already has it. Default: true, except on simulated
    platforms."""
    integrations: Annotated[tuple[Integration, ...], Field(max_length=5)] = ()
    """Integrations of Kueue to enable besides those of its chart: pytorchjob, tfjob, xgboostjob, paddlejob,
    jaxjob. Default: none."""
    preemption: Preemption = Preemption.RECLAIM
    """Preemption to give a guarantee back: reclaim or never. Default: reclaim."""
    fair_sharing: Switch = True
    """Whether borrowed capacity is divided by the weights of teams. Default: on."""
    pool_choice: PoolChoice | None = None
    """Which pool a queue tries first: guarantee or order. Default: guarantee; order for teams that have a pool
    with `topology`."""
    start_within_minutes: Annotated[int, Field(strict=True, ge=1, le=10_080)] | None = None
    """Minutes in which all pods of an admitted job must run; otherwise Kueue evicts and requeues it.
    Default: 30; 5 on simulated platforms."""
    cohorts: Annotated[tuple[CohortSpec, ...], Field(max_length=MAX_COHORTS)] = ()
    """Groups of teams that share among themselves first. Default: none; all teams share with each other."""
    usage_half_life_hours: Positive | None = None
    """Half-life in hours of past usage, by which queues of a team are ordered: less usage goes first.
    Default: off."""
    mig_quota: MigQuota = MigQuota.PROFILES
    """Unit of the quota of MIG slices: profiles or slices. Default: profiles, which nodes advertise."""
    interruption: InterruptionSpec | None = None
    """Checkpointing of jobs on spot nodes. Default: unknown."""
    stop_policy: StopPolicy | None = None
    """Stop policy of every queue of the platform, for emergencies: hold or drain. Default: none."""
    clusters: Annotated[tuple[WorkerCluster, ...], Field(max_length=MAX_CLUSTERS)] = ()
    """Worker clusters that run the jobs, while this cluster only queues and dispatches them.
    Default: none; jobs run in this cluster."""
