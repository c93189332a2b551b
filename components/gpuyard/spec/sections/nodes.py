"""Nodes of a pool: keep-warm windows, disruption windows, fabric, provisioning, upgrades and NUMA."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from gpuyard_core.models.values import (
    Count,
    Percent,
    Positive,
    SpecModel,
    Switch,
    Text,
    Usd,
    UsdOrNothing,
)


class KeepWarmWindow(SpecModel):
    """Hours in which a pool keeps nodes running although no job needs them."""

    cron: Text
    """Start of the window as a cron expression, for example `0 7 * * 1-5`."""
    hours: Annotated[float, Field(strict=True, gt=0, le=168, allow_inf_nan=False)]
    """Length of the window in hours."""
    nodes: Positive
    """Minimum number of nodes in the window."""
    time_zone: Text = "UTC"
    """Time zone of cron, an IANA name such as Europe/Paris. Default: UTC."""


class DisruptionWindow(SpecModel):
    """Hours in which Karpenter may replace nodes in use, for a new image or new labels."""

    cron: Text
    """Start of the window as a cron expression in UTC, by day of the week, for example `0 2 * * 6`."""
    hours: Annotated[float, Field(strict=True, gt=0, le=168, allow_inf_nan=False)]
    """Length of the window in hours."""
    nodes: Positive = 1
    """Maximum number of nodes disrupted at a time. Default: 1."""
    max_days: Annotated[int, Field(strict=True, ge=1, le=365)] | None = None
    """Maximum age of a node in days, after which it is replaced at any time, even in use. Default: no
    maximum."""


class FabricKind(StrEnum):
    """The type of network between the GPUs of your own nodes.

    `infiniband` and `roce` bypass the host's TCP stack; `ethernet` does not.
    """

    INFINIBAND = "infiniband"
    ROCE = "roce"
    ETHERNET = "ethernet"


class RdmaPlugin(StrEnum):
    """What advertises the network adapters: NVIDIA's Network Operator, or the RDMA device plugin alone."""

    NETWORK_OPERATOR = "network-operator"
    DEVICE_PLUGIN = "rdma-device-plugin"


class FabricSpec(SpecModel):
    """The network between nodes of your own; on aws and gcp the machine type determines it."""

    kind: FabricKind
    """Type of the network: infiniband, roce or ethernet."""
    hcas: Annotated[tuple[Text, ...], Field(max_length=64)] = ()
    """Names of the network adapters next to the GPUs, as NCCL uses them: mlx5_0, mlx5_1. Default: none."""
    gbps: Annotated[float, Field(strict=True, gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """Bandwidth of one node in Gbit/s, all adapters together. Default: unknown."""
    plugin: RdmaPlugin = RdmaPlugin.DEVICE_PLUGIN
    """Device plugin for adapters: rdma-device-plugin, or network-operator if you run it. Default:
    rdma-device-plugin."""


class Provisioning(StrEnum):
    """How the nodes of an autoscaled pool are requested before a job is admitted.

    `check-capacity` checks capacity on running nodes, `atomic` adds all nodes or none, `queued` is GKE's
    queued provisioning of flex-start nodes.
    """

    CHECK = "check-capacity"
    ATOMIC = "atomic"
    QUEUED = "queued"


class PoolStopPolicy(StrEnum):
    """Stop policy of one pool: `hold` starts no new job in it."""

    HOLD = "hold"


class Upgrade(SpecModel):
    """How nodes of a pool are replaced, for a new version, image, disk size or setting."""

    max_unavailable: Positive | None = None
    """Maximum number of unavailable nodes. Default: on aws 10% of a node group; on gcp 1, or 0 with
    max_surge."""
    max_surge: Count = 0
    """Number of additional nodes created before old ones are removed. Default: 0, because spare GPUs
    are scarce and a reservation has none."""
    blue_green: Switch = False
    """Whether to upgrade blue-green, on gcp: all new nodes run before old ones are removed, with
    rollback on failure. Default: off."""
    drain_minutes: Annotated[int, Field(strict=True, ge=1, le=1440)] | None = None
    """Minutes that pods have to terminate before their node is removed. Default: 15 on EKS, 60 on gcp
    and with Karpenter."""
    force: Switch = False
    """Whether the update continues when a pod is not evicted in time, on EKS. Default: off; it stops
    and names the pod."""


class Numa(StrEnum):
    """The topology manager policy of the kubelet.

    `best-effort` prefers one NUMA node for a pod, `restricted` rejects a pod that would
    fit in one but would span several, `single-numa-node` rejects every pod that needs two, even one with all
    GPUs of a node.
    """

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE = "single-numa-node"


class MachinePrice(SpecModel):
    """Your hourly price of one machine, where it differs from the list price."""

    on_demand: Usd | None = None
    """On-demand price in US dollars per hour. Default: the list price."""
    spot: Usd | None = None
    """Spot price in US dollars per hour, as your yearly average. Default: the catalogue's price."""
    reserved: Usd | None = None
    """Price in US dollars per hour of nodes from a reservation or commitment. Default: the catalogue's
    price."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return {"on_demand": float(value)} if plain else value


class Commitment(SpecModel):
    """Nodes that you pay for over a term, used or not."""

    machine: Text
    """Machine type of the commitment."""
    nodes: Positive
    """Number of committed nodes."""
    years: Annotated[int, Field(strict=True, ge=1, le=5)] = 1
    """Term in years, usually 1 or 3. Default: 1."""
    usd_per_hour: Usd | None = None
    """Price of one node in US dollars per hour. Default: the catalogue's price for that term."""


class Prices(SpecModel):
    """Your prices, where they differ from the catalogue's list prices."""

    discount_percent: Percent = 0
    """Discount on every on-demand list price, in percent. Default: 0."""
    machines: dict[Text, MachinePrice] = Field(default_factory=dict)
    """Price by machine type: 42.5, or {on_demand: 42.5, spot: 17, reserved: 30}; the discount does not
    apply to it. Default: none."""
    commitments: Annotated[tuple[Commitment, ...], Field(max_length=100)] = ()
    """Commitments that are paid whether used or not. Default: none."""
    cluster_usd_per_hour: UsdOrNothing | None = None
    """Cluster fee in US dollars per hour. Default: the fee of EKS or GKE; none for an existing cluster."""
