"""Pools of like nodes: the machine, how many, how they are bought, how their GPUs are shared."""

from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from gpuyard.catalogue.machines import Capacity
from gpuyard.spec.base import SpecModel
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
from gpuyard.spec.suggestions import nearest_name
from gpuyard.spec.values import (
    MemoryGib,
    Name,
    NodeRange,
    Positive,
    Switch,
    Text,
    Usd,
    ValueChange,
    value_error,
)

MAX_POOLS = 1000
MAX_OWNERS = 1000


class Scaling(StrEnum):
    """Who adds and removes nodes."""

    KARPENTER = "karpenter"
    AUTOSCALER = "autoscaler"
    FIXED = "fixed"


class BlockPurchase(SpecModel):
    """Consent to buy a capacity block: what AWS offers, and what it asks for it."""

    hours: Annotated[int, Field(strict=True, ge=1, le=10_000)]
    """How long the block lasts: whole days, as EC2 sells them."""
    starts: date
    """The day it begins, in UTC: 2026-12-01."""
    usd: Usd
    """What AWS asks for all of it, in US dollars. Written, it is agreed to: it is paid at once, for good."""


class CapacityOptionSpec(SpecModel):
    """One way to buy nodes; written `spot`, or `{reserved: cr-…, nodes: 8}`."""

    mode: Capacity
    """reserved, block, flex-start, spot or on-demand."""
    reservation: Text | None = None
    """The reservation or capacity block these nodes come from; `cb-…` is an offer, which `purchase` agrees to."""
    nodes: Positive | None = None
    """At most this many nodes from this rung; without it, as many as the pool may have."""
    purchase: BlockPurchase | None = None
    """Buy the block of this offer: {hours: 48, starts: 2026-12-01, usd: 8000}. Default: nothing is bought."""

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
                    "a rung names exactly one way to buy nodes",
                    allowed=", ".join(c.value for c in Capacity) + ", or {reserved: ID, nodes: N}",
                    fix=fix,
                    change=change,
                )
            rest = {k: v for k, v in value.items() if k != results[0].value}
            given = value[results[0].value]
            if isinstance(given, int) and not isinstance(given, bool) and "nodes" not in rest:
                raise _a_count(results[0], rest | {"nodes": given})
            return {
                "mode": results[0],
                **({} if given is True or given is None else {"reservation": given}),
                **rest,
            }
        return value

    @model_validator(mode="after")
    def _reservation_where_needed(self) -> "CapacityOptionSpec":
        needs = self.mode in {Capacity.RESERVED, Capacity.BLOCK}
        if needs and (self.reservation is None or self.nodes is None):
            raise value_error(
                "rung_reservation",
                f"{self.mode.value} needs the reservation and how many nodes it holds",
                allowed=f"{{{self.mode.value}: RESERVATION-ID, nodes: N}}",
            )
        if not needs and self.reservation is not None:
            instead = (
                {self.mode.value: True, "nodes": self.nodes} if self.nodes else self.mode.value
            )
            raise value_error(
                "rung_reservation",
                f"{self.mode.value} has no reservation",
                allowed=self.mode.value,
                fix="remove the reservation",
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
    """A machine of your own, described by what is in it."""

    gpu: Text
    """The GPU, by any usual name: H100-80, A100-40GB, L4."""
    gpus: Annotated[int, Field(strict=True, ge=1, le=16)]
    """GPUs in one machine."""
    cpu: Annotated[int, Field(strict=True, ge=1, le=4096)]
    """CPU threads in one machine."""
    memory_gib: MemoryGib
    """Main memory in GiB; 80GB is read as 80 GiB."""


def _a_count(mode: Capacity, rest: dict[str, Any]) -> PydanticCustomError:
    """`{spot: 4}`, where four spot nodes are meant."""
    needs = mode in {Capacity.RESERVED, Capacity.BLOCK}
    instead = {mode.value: "RESERVATION-ID" if needs else True, **rest}
    shown = ", ".join(f"{k}: {'true' if v is True else v}" for k, v in instead.items())
    return value_error(
        "rung_form",
        f"how many nodes a rung has stands under `nodes`, not under `{mode.value}`",
        allowed="a reservation's id, or true" if not needs else "a reservation's id",
        fix=f"write {{{shown}}}",
        change=None if needs else ((), instead),
    )


def _one_way(value: dict[str, Any], results: list[Capacity]) -> tuple[str, ValueChange | None]:
    """A misspelt way gets its name, a rung without one buys spot nodes; of two, nobody knows which."""
    if results:
        return f"make a rung of its own of {', '.join(mode.value for mode in results[1:])}", None
    for key in value:
        if suggestion := nearest_name(str(key), [mode.value for mode in Capacity]):
            return f"write {suggestion}", (
                (),
                {suggestion if k == key else k: v for k, v in value.items()},
            )
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
    """A machine without GPUs, described by what is in it."""

    cpu: Annotated[int, Field(strict=True, ge=1, le=4096)]
    """CPU threads in one machine."""
    memory_gib: MemoryGib
    """Main memory in GiB; 80GB is read as 80 GiB."""


HostRef = Annotated[
    Annotated[Text, Tag("<name>")] | Annotated[HostShape, Tag("<shape>")],
    Discriminator(_machine_kind),
]


class System(SpecModel):
    """Nodes without GPUs, where the controllers live."""

    machine: HostRef
    """Machine type of the system nodes, for example m7i.xlarge, or {cpu, memory_gib}."""
    nodes: NodeRange
    """How many: 2, or 2..3. Two at least keep controllers up when one node goes."""


class Pool(SpecModel):
    """Nodes that are alike: same machine, same sharing, same way of buying."""

    name: Name
    """The pool's name; labels, flavors and quotas are named for it."""
    machine: MachineRef
    """A machine type, a list of like ones (the first is preferred), or {gpu, gpus, cpu, memory_gib}."""
    nodes: NodeRange
    """How many nodes, such as 4 or 0..16; bounds the sum over the capacity ladder."""
    capacity: Annotated[tuple[CapacityOptionSpec, ...], Field(min_length=1, max_length=10)] = (
        CapacityOptionSpec.model_construct(mode=Capacity.ON_DEMAND),
    )
    """The capacity ladder: ways to buy nodes, best first. Default on-demand: it needs no contract."""
    scaling: Scaling | None = None
    """Who adds nodes. Default: fixed for one number, else autoscaler."""
    zones: tuple[Text, ...] = ()
    """Zones the nodes may be in. Default: any zone of the region."""
    sharing: Sharing = Sharing.model_construct()
    """How GPUs are shared. Default: each pod has whole GPUs."""
    labels: dict[Text, Text] = Field(default_factory=dict)
    """Further labels for the nodes; names of ours and of Kubernetes are refused."""
    select: dict[Text, Text] = Field(default_factory=dict)
    """Labels of nodes that exist already, on a cluster of your own; they get the pool's. Default: ours."""
    owners: Annotated[tuple[Name, ...], Field(max_length=MAX_OWNERS)] = ()
    """Teams the pool is dedicated to: nobody else gets a guarantee in it or borrows from it. Default: all."""
    keep_warm: Annotated[tuple[KeepWarmWindow, ...], Field(max_length=50)] = ()
    """Hours in which nodes are kept running. Default: nodes run when jobs ask for them."""
    disruption_window: DisruptionWindow | None = None
    """Hours in which Karpenter may replace nodes that are used. Default: a node goes when it is empty."""
    failback: Switch = False
    """What runs may be moved to a better rung that has nodes again, pod by pod. Default: it stays."""
    fabric: FabricSpec | None = None
    """The network between nodes of your own. On aws and gcp the machine says it."""
    inventory: MachineInventoryRef | None = None
    """A file of `gpuyard validate --inventory`: what nodes of your own are. Default: what `machine` says."""
    image: Text | None = None
    """What nodes boot from, by its catalogue name. Default: the cloud's own image with NVIDIA's driver."""
    numa: Numa | None = None
    """The kubelet's topology policy. Default restricted, where the machine's NUMA nodes are known."""
    topology: Switch = False
    """Place the pods of a job near each other, as the nodes' labels say. Default off."""
    provisioning: Provisioning | None = None
    """check-capacity, atomic or queued: admit a job when its nodes are there for sure. Default: none."""
    stop_policy: PoolStopPolicy | None = None
    """hold: no new job starts in it, what runs goes on. Default: none."""
    disk_gib: MemoryGib | None = None
    """Size of a node's own disk in GiB. Default 200: images of GPU frameworks are large."""
    upgrade: Upgrade = Upgrade.model_construct()
    """How nodes are made anew: {max_unavailable: 1, drain_minutes: 30}. Default: few at once, none further."""
    previous_names: tuple[Name, ...] = ()
    """Earlier names, oldest first: a renamed pool keeps its nodes, labels and quotas under its first name."""

    @property
    def machines(self) -> tuple[str, ...]:
        """Machine type names, preferred first; empty for a described machine."""
        if isinstance(self.machine, str):
            return (self.machine,)
        return () if isinstance(self.machine, MachineShape) else self.machine

    @property
    def stable_name(self) -> str:
        """The name that objects keep through renames."""
        return self.previous_names[0] if self.previous_names else self.name
