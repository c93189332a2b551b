"""Nodes of a pool: warm hours, fabric, provisioning, brakes and NUMA."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Count, Positive, Switch, Text


class KeepWarmWindow(SpecModel):
    """Hours in which a pool keeps nodes running although nothing asks for them."""

    cron: Text
    """When it begins, as cron has it: `0 7 * * 1-5`."""
    hours: Annotated[float, Field(strict=True, gt=0, le=168, allow_inf_nan=False)]
    """How long it lasts, in hours."""
    nodes: Positive
    """How many nodes run then at least."""
    time_zone: Text = "UTC"
    """Whose clock: an IANA name such as Europe/Paris. Default UTC."""


class DisruptionWindow(SpecModel):
    """Hours in which Karpenter may replace nodes that are used: for an image, or labels."""

    cron: Text
    """When they begin, as cron has it, in UTC: `0 2 * * 6`. Days are those of the week."""
    hours: Annotated[float, Field(strict=True, gt=0, le=168, allow_inf_nan=False)]
    """How long they last."""
    nodes: Positive = 1
    """How many nodes may go at a time. Default 1."""
    max_days: Annotated[int, Field(strict=True, ge=1, le=365)] | None = None
    """Age at which a node goes, at any time and whatever runs on it. Default: none is too old."""


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
    plugin: RdmaPlugin = RdmaPlugin.DEVICE_PLUGIN
    """rdma-device-plugin, or network-operator where one of yours runs. Default rdma-device-plugin."""


class Provisioning(StrEnum):
    """How the nodes of an autoscaled pool are asked for before a job is admitted.

    `check-capacity` looks for room on nodes that run, `atomic` adds all nodes or none, `queued` is GKE's
    queued provisioning of flex-start nodes.
    """

    CHECK = "check-capacity"
    ATOMIC = "atomic"
    QUEUED = "queued"


class PoolStopPolicy(StrEnum):
    """A brake for one pool: `hold` starts no new job in it."""

    HOLD = "hold"


class Upgrade(SpecModel):
    """How nodes of a pool are made anew: for another version, image, disk or setting."""

    max_unavailable: Positive | None = None
    """Nodes out of work at once. Default: on aws a tenth of a node group, on gcp one, none with a surge."""
    max_surge: Count = 0
    """Nodes made before old ones go. Default 0: a GPU is hardly had twice, and a reservation has no more."""
    blue_green: Switch = False
    """On gcp: all new nodes beside all old ones, and back where they fail. Default off."""
    drain_minutes: Annotated[int, Field(strict=True, ge=1, le=1440)] | None = None
    """How long pods have to end before their node goes. Default 15 on EKS, 60 on gcp and with Karpenter."""
    force: Switch = False
    """On EKS: go on where a pod is not out in time. Default off: the update stops, and says which."""


class Numa(StrEnum):
    """The kubelet's topology policy.

    `best-effort` tries to keep a pod in one NUMA node, `restricted` refuses pods that could have been and
    are not, `single-numa-node` refuses every pod that needs two: also one with all GPUs of a node.
    """

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE = "single-numa-node"
