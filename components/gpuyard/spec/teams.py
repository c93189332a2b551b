"""Teams: what each is guaranteed, what it may borrow, and how far apart it is kept from others."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Cidr, Count, ImagePrefix, Name, Text, Usd

MAX_TEAMS = 1000

Shares = Annotated[dict[Text, Count], Field(max_length=1000)]
"""Amounts by pool: `train` counts whole GPUs, `serve/3g.20gb` slices, `dev/shared` shares."""


class Isolation(StrEnum):
    """The least that must lie between this team's pods and other teams' pods.

    `shared` allows time-sliced and MPS GPUs beside other teams, `slice` at least a MIG slice of its
    own, `node` at least a node of its own.
    """

    SHARED = "shared"
    SLICE = "slice"
    NODE = "node"


class Team(SpecModel):
    """A group of people with a namespace, a queue, a guarantee and a budget."""

    name: Name
    """The team's name; its namespace and queue are named for it."""
    guarantee: Shares = Field(default_factory=dict)
    """What the team can always have, by pool: {train: 32, serve/3g.20gb: 8, dev/shared: 4}."""
    borrow: Shares = Field(default_factory=dict)
    """What it may take beyond its guarantee while others leave it idle. Default: nothing."""
    lend: Shares | None = None
    """What others may take of its guarantee while it is idle. Default: all of it."""
    weight: Annotated[float, Field(strict=True, gt=0, le=1000, allow_inf_nan=False)] = 1.0
    """Share of borrowed capacity relative to other teams, when they compete for it."""
    isolation: Isolation = Isolation.SHARED
    """The least that separates its pods from other teams': shared, slice or node."""
    priority: Name | None = None
    """The priority, of `priorities`, that its jobs have when they name none. Default: none."""
    groups: tuple[Text, ...] = ()
    """Identity groups whose members may work in the team's namespace."""
    budget_usd_per_month: Usd | None = None
    """Compared with the cost of its guarantees at full use. Default: no limit."""
    images_from: Annotated[tuple[ImagePrefix, ...], Field(max_length=100)] = ()
    """Registries or repositories its images may come from. Default: what `admission` says."""
    egress_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=100)] = ()
    """Networks its pods may reach outside the cluster. Default: what `admission` says."""
    formerly: tuple[Name, ...] = ()
    """Earlier names, oldest first: a renamed team keeps its namespace and queue under its first name."""

    @property
    def stable_name(self) -> str:
        """The name that objects keep through renames."""
        return self.formerly[0] if self.formerly else self.name
