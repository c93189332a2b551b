"""Queueing in a stack file: the engine, who takes from whom, and the switches for a bad day."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.teams import Shares, Stop, Weight
from gpuyard.spec.values import Name, Positive, Switch

MAX_COHORTS = 200
MAX_CLUSTERS = 20
"""Clusters that one MultiKueueConfig may name (Kueue v1beta2 CRD)."""


class Engine(StrEnum):
    """The queueing engine."""

    KUEUE = "kueue"


class Preemption(StrEnum):
    """What a team may evict to get its guarantee back.

    `reclaim` takes back lent capacity, and lets higher priority evict lower inside a team; `never`
    waits until borrowers finish.
    """

    RECLAIM = "reclaim"
    NEVER = "never"


class PoolChoice(StrEnum):
    """Which of its pools a team's queue takes.

    `guarantee` takes the first where its own guarantee is free, and borrows where there is none; `order`
    takes the first that has enough, borrowed or not.
    """

    GUARANTEE = "guarantee"
    ORDER = "order"


class MigQuota(StrEnum):
    """In what the quota of cut GPUs is counted.

    `profiles` counts the slices of each profile; `slices` counts compute slices, so that one guarantee
    serves every profile.
    """

    PROFILES = "profiles"
    SLICES = "slices"


class CohortSpec(SpecModel):
    """Teams that share among themselves first: a department, or a site."""

    name: Name
    """The cohort's name; teams name it in `cohort`."""
    parent: Name | None = None
    """The cohort it belongs to. Default: the platform's own, which is the root of all."""
    weight: Weight = 1.0
    """Share of borrowed capacity relative to its siblings. Default 1."""
    borrow: Shares | None = None
    """What all its teams together may take from outside it, by pool. Default: what each of them may."""
    lend: Shares | None = None
    """What others may take of what its teams are guaranteed, by pool. Default: all that the teams lend."""


class WorkerCluster(SpecModel):
    """Another cluster that this one sends jobs to."""

    name: Name
    """What this platform calls the cluster."""
    secret: Name
    """The Secret beside Kueue, in kueue-system, whose key `kubeconfig` leads there."""


class InterruptionSpec(SpecModel):
    """How jobs meet nodes that go: by this the plan says what a spot notice loses."""

    checkpoint_interval_minutes: Positive
    """Minutes from one checkpoint to the next."""
    checkpoint_seconds: Positive = 60
    """Seconds that writing one takes. Default 60."""
    checkpoint_on_notice: Switch = False
    """Jobs write one when they are told to end, if they have the time. Default: they do not."""
    max_lost_minutes: Positive = 60
    """Of work, expected at one notice; more is told. Default 60."""


class QueueingSpec(SpecModel):
    """How jobs wait for GPUs."""

    engine: Engine = Engine.KUEUE
    """kueue."""
    install: Switch | None = None
    """Install Kueue. Default: yes, except on simulated platforms; say false where it runs already."""
    preemption: Preemption = Preemption.RECLAIM
    """reclaim or never. Default reclaim: a guarantee that cannot be had back is none."""
    fair_sharing: Switch = True
    """Divide borrowed capacity by the teams' weights. Default on."""
    pool_choice: PoolChoice | None = None
    """guarantee or order. Default guarantee, for teams of pools with a topology order."""
    start_within_minutes: Annotated[int, Field(strict=True, ge=1, le=10_080)] | None = None
    """Minutes an admitted job has until all its pods run; then it gives way. Default 30, simulated 5."""
    cohorts: Annotated[tuple[CohortSpec, ...], Field(max_length=MAX_COHORTS)] = ()
    """Groups of teams that share among themselves first. Default: all teams share with all."""
    usage_half_life_hours: Positive | None = None
    """Among a team's queues, who used less goes first; use counts half after so long. Default: off."""
    mig_quota: MigQuota = MigQuota.PROFILES
    """profiles or slices. Default profiles: what nodes advertise is what is counted."""
    interruption: InterruptionSpec | None = None
    """What jobs on spot save, and how often. Default: not known."""
    stop_policy: Stop | None = None
    """hold or drain, for every queue of the platform: a brake for emergencies. Default: none."""
    clusters: Annotated[tuple[WorkerCluster, ...], Field(max_length=MAX_CLUSTERS)] = ()
    """Clusters that run the jobs; this one only queues and sends them. Default: jobs run here."""
