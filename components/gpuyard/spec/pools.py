"""Pools of identical nodes: machine type, number, capacity options, and GPU sharing."""

from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from gpuyard.spec.sections import (
    DisruptionWindow,
    FabricSpec,
    KeepWarmWindow,
    MachineInventoryRef,
    Numa,
    PoolStopPolicy,
    Provisioning,
    Upgrade,
)
from gpuyard.spec.sharing import Sharing
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.models.values import (
    MemoryGib,
    Name,
    NodeRange,
    Positive,
    SpecModel,
    Switch,
    Text,
    Usd,
    ValueChange,
    value_error,
)
from gpuyard_core.suggestions import nearest_name

MAX_POOLS = 1000
MAX_OWNERS = 1000


class Scaling(StrEnum):
    """What adds and removes nodes."""

    KARPENTER = "karpenter"
    AUTOSCALER = "autoscaler"
    FIXED = "fixed"


class BlockPurchase(SpecModel):
    """Approval to buy a capacity block at the terms that AWS offers."""

    hours: Annotated[int, Field(strict=True, ge=1, le=10_000)]
    """Duration of the block in hours; EC2 sells whole days."""
    starts: date
    """Start date of the block in UTC, for example 2026-12-01."""
    usd: Usd
    """Total price of the block in US dollars, as AWS offers it. By writing it you approve the purchase:
    AWS charges it at once and does not refund it."""


class CapacityOptionSpec(SpecModel):
    """One way to buy nodes, written `spot` or `{reserved: cr-…, nodes: 8}`."""

    mode: Capacity
    """How nodes are bought: reserved, block, flex-start, spot or on-demand."""
    reservation: Text | None = None
    """Id of the reservation or capacity block; with `purchase`, the id `cb-…` of the offer to buy.
    Required for reserved and block. Default: none."""
    nodes: Positive | None = None
    """Maximum number of nodes from this capacity option. Default: the maximum of the pool."""
    purchase: BlockPurchase | None = None
    """Purchase of the offered block: {hours: 48, starts: 2026-12-01, usd: 8000}. Default: nothing is
    bought."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"mode": value}
        if isinstance(value, dict) and "mode" not in value:
            results = [mode for mode in Capacity if mode.value in value]
            if len(results) != 1:
                fix, change = _one_way(value, results)
                raise value_error(
                    "rung_form",
                    "a capacity option needs exactly one way to buy nodes",
                    allowed=", ".join(c.value for c in Capacity) + ", or {reserved: ID, nodes: N}",
                    fix=fix,
                    change=change,
                )
            rest = {k: v for k, v in value.items() if k != results[0].value}
            given = value[results[0].value]
            if isinstance(given, int) and not isinstance(given, bool) and "nodes" not in rest:
                raise _a_count(results[0], rest | {"nodes": given})
            reservation = {} if given is True or given is None else {"reservation": given}
            return {"mode": results[0], **reservation, **rest}
        return value

    @model_validator(mode="after")
    def _reservation_where_needed(self) -> "CapacityOptionSpec":
        needs = self.mode in {Capacity.RESERVED, Capacity.BLOCK}
        if needs and (self.reservation is None or self.nodes is None):
            raise value_error(
                "rung_reservation",
                f"{self.mode.value} needs a reservation id and its number of nodes",
                allowed=f"{{{self.mode.value}: RESERVATION-ID, nodes: N}}",
            )
        if not needs and self.reservation is not None:
            instead = (
                {self.mode.value: True, "nodes": self.nodes} if self.nodes else self.mode.value
            )
            raise value_error(
                "rung_reservation",
                f"{self.mode.value} takes no reservation id",
                allowed=self.mode.value,
                fix="remove the reservation id",
                change=((), instead),
            )
        return self

    @model_serializer
    def _to_shorthand(self) -> Any:
        if self.reservation is None and self.nodes is None and self.purchase is None:
            return self.mode.value
        result: dict[str, Any] = {self.mode.value: self.reservation or True}
        if self.nodes:
            result["nodes"] = self.nodes
        if self.purchase is not None:
            result["purchase"] = self.purchase.model_dump(mode="json")
        return result


class MachineShape(SpecModel):
    """A machine of your own, described by its hardware."""

    gpu: Text
    """GPU model, by any common name: H100-80, A100-40GB, L4."""
    gpus: Annotated[int, Field(strict=True, ge=1, le=16)]
    """Number of GPUs in one machine."""
    cpu: Annotated[int, Field(strict=True, ge=1, le=4096)]
    """CPU threads in one machine."""
    memory_gib: MemoryGib
    """Main memory in GiB; 80GB is read as 80 GiB."""


def _a_count(mode: Capacity, rest: dict[str, Any]) -> PydanticCustomError:
    """The error for `{spot: 4}`, where four spot nodes are meant."""
    needs = mode in {Capacity.RESERVED, Capacity.BLOCK}
    instead = {mode.value: "RESERVATION-ID" if needs else True, **rest}
    shown = ", ".join(f"{k}: {'true' if v is True else v}" for k, v in instead.items())
    return value_error(
        "rung_form",
        f"the number of nodes belongs in `nodes`, not in `{mode.value}`",
        allowed="a reservation's id, or true" if not needs else "a reservation's id",
        fix=f"write {{{shown}}}",
        change=None if needs else ((), instead),
    )


def _one_way(value: dict[str, Any], results: list[Capacity]) -> tuple[str, ValueChange | None]:
    """The fix: a misspelled mode is corrected, a missing one becomes spot, two need two options."""
    if results:
        others = ", ".join(mode.value for mode in results[1:])
        return f"write {others} as a separate capacity option", None
    for key in value:
        if suggestion := nearest_name(str(key), [mode.value for mode in Capacity]):
            corrected = {suggestion if k == key else k: v for k, v in value.items()}
            return f"write {suggestion}", ((), corrected)
    nodes = {k: v for k, v in value.items() if k == "nodes"}
    return "write spot: true", ((), {"spot": True, **nodes})


def _machine_kind(value: Any) -> str:
    if isinstance(value, dict | SpecModel):
        return "<shape>"
    return "<names>" if isinstance(value, list | tuple) else "<name>"


MachineRef = Annotated[
    Annotated[Text, Tag("<name>")]
    | Annotated[tuple[Text, ...], Field(min_length=1, max_length=20), Tag("<names>")]
    | Annotated[MachineShape, Tag("<shape>")],
    Discriminator(_machine_kind),
]


class HostShape(SpecModel):
    """A machine without GPUs, described by its hardware."""

    cpu: Annotated[int, Field(strict=True, ge=1, le=4096)]
    """CPU threads in one machine."""
    memory_gib: MemoryGib
    """Main memory in GiB; 80GB is read as 80 GiB."""


HostRef = Annotated[
    Annotated[Text, Tag("<name>")] | Annotated[HostShape, Tag("<shape>")],
    Discriminator(_machine_kind),
]


class System(SpecModel):
    """Nodes without GPUs, on which controllers run."""

    machine: HostRef
    """Machine type of the system nodes, for example m7i.xlarge, or {cpu, memory_gib}."""
    nodes: NodeRange
    """Number of system nodes, for example 2 or 2..3. At least two keep controllers available when one
    node fails."""


class Pool(SpecModel):
    """Nodes with the same machine type, sharing mode and capacity options."""

    name: Name
    """Name of the pool; labels, flavors and quotas are named after it."""
    machine: MachineRef
    """Machine type, a list of equivalent types (the first is preferred), or {gpu, gpus, cpu,
    memory_gib}."""
    nodes: NodeRange
    """Number of nodes, for example 4 or 0..16; limits the sum over all capacity options."""
    capacity: Annotated[tuple[CapacityOptionSpec, ...], Field(min_length=1, max_length=10)] = (
        CapacityOptionSpec.model_construct(mode=Capacity.ON_DEMAND),
    )
    """Capacity options: ways to buy nodes, in order of preference. Default: on-demand, which needs no
    contract."""
    scaling: Scaling | None = None
    """What adds and removes nodes: karpenter, autoscaler or fixed. Default: fixed for a single number
    of nodes, otherwise autoscaler."""
    zones: tuple[Text, ...] = ()
    """Zones in which nodes may run. Default: any zone of the region."""
    sharing: Sharing = Sharing.model_construct()
    """GPU sharing mode. Default: none; each pod gets whole GPUs."""
    labels: dict[Text, Text] = Field(default_factory=dict)
    """Additional node labels; prefixes of gpuyard and Kubernetes are rejected. Default: none."""
    select: dict[Text, Text] = Field(default_factory=dict)
    """Labels that select existing nodes of your own cluster; gpuyard adds the pool's labels to them.
    Default: the pool's own label."""
    owners: Annotated[tuple[Name, ...], Field(max_length=MAX_OWNERS)] = ()
    """Teams that the pool is dedicated to; other teams can neither have a guarantee in it nor borrow
    from it. Default: all teams."""
    keep_warm: Annotated[tuple[KeepWarmWindow, ...], Field(max_length=50)] = ()
    """Keep-warm windows: hours in which a minimum of nodes runs. Default: none; nodes run when jobs
    need them."""
    disruption_window: DisruptionWindow | None = None
    """Hours in which Karpenter may replace nodes that are in use. Default: none; only empty nodes are
    removed."""
    failback: Switch = False
    """Whether running pods may be moved to a preferred capacity option that has nodes again. Default:
    off."""
    fabric: FabricSpec | None = None
    """Network between nodes of your own; on aws and gcp the machine type determines it. Default: none."""
    inventory: MachineInventoryRef | None = None
    """Machine inventory of your own nodes: a file written by `gpuyard validate --inventory`, or its content.
    Default: none; `machine` describes the nodes."""
    image: Text | None = None
    """Node image, by its catalogue name. Default: the cloud's image with NVIDIA's driver."""
    numa: Numa | None = None
    """Topology manager policy of the kubelet. Default: restricted, if the NUMA nodes of the machine are
    known."""
    topology: Switch = False
    """Topology-aware scheduling: places the pods of a job close together, by node labels. Default: off."""
    provisioning: Provisioning | None = None
    """Provisioning before admission, so that a job starts only with all its nodes: check-capacity,
    atomic or queued. Default: none."""
    stop_policy: PoolStopPolicy | None = None
    """Stop policy: hold starts no new job in the pool; running jobs continue. Default: none."""
    disk_gib: MemoryGib | None = None
    """Size of a node's boot disk in GiB. Default: 200, because GPU framework images are large."""
    upgrade: Upgrade = Upgrade.model_construct()
    """How nodes are replaced: {max_unavailable: 1, drain_minutes: 30}. Default: the default of each
    field."""
    previous_names: tuple[Name, ...] = ()
    """Earlier names, oldest first; a renamed pool keeps its nodes, labels and quotas under its first name.
    Default: none."""

    @property
    def machines(self) -> tuple[str, ...]:
        """Machine type names, preferred first; empty for a machine described by its parts."""
        if isinstance(self.machine, str):
            return (self.machine,)
        return () if isinstance(self.machine, MachineShape) else self.machine

    @property
    def stable_name(self) -> str:
        """The name that objects keep when the pool is renamed."""
        return self.previous_names[0] if self.previous_names else self.name
