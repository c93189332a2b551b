"""Topology levels of a pool: labels from wide to narrow, zones, and what a fabric requires of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.own_nodes import GRAMMAR, is_name
from gpuyard.plan.records import NcclPlan, PoolPlan, TopologyPlan
from gpuyard.plan.renames import short_digest
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.region import Region, unknown_region
from gpuyard.spec.sections import FabricKind, FabricSpec, RdmaPlugin
from gpuyard_core.catalogue.cluster.nccl import ADAPTERS, RECORDS
from gpuyard_core.catalogue.fabric import direct_fabric
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.purchasing import ZONES, IdFormat
from gpuyard_core.catalogue.topology import network_labels, with_clique
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import HOSTNAME_LABEL, RDMA, ZONE_LABEL


def plan_topology(
    cloud: Cloud, machine: Machine, zones: tuple[str, ...], inventory_levels: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Labels that describe the location of nodes, the widest first, the node itself last.

    Only labels that every node of the pool has: queues ignore nodes without one of them.
    """
    levels = network_labels(machine) if provider_of(cloud).sells_machines else inventory_levels
    if cloud is not Cloud.NONE and zones:
        levels = levels or (ZONE_LABEL,)
    if cloud is not Cloud.SIMULATED:
        levels = with_clique(levels, machine)
    return (*levels, HOSTNAME_LABEL)


def decide_region(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The region of the stack's configuration, else that of the first zone with a known region."""
    form = ZONES.get(draft.spec.cloud.value)
    if draft.region is not None or form is None:
        return draft, []
    for pool in draft.spec.pools:
        for zone in pool.zones:
            read = form.pattern.fullmatch(zone)
            if read and not unknown_region(read["region"], draft.spec.cloud.value):
                region = Region(read["region"], f"zone {zone} of {pool.name}")
                return replace(draft, region=region), []
    return draft, []


def check_zones(draft: Draft) -> Iterator[Diagnostic]:
    """Zones must have the cloud's format and be in one region, because a cluster is in one region."""
    form = ZONES.get(draft.spec.cloud.value)
    for number, pool in enumerate(draft.spec.pools):
        path: Path = ("pools", number, "zones")
        results = [_check_zone(draft, form, zone, (*path, i)) for i, zone in enumerate(pool.zones)]
        yield from _with_zone_fixes(pool, [f for f in results if f], path)


def _check_zone(draft: Draft, form: IdFormat | None, zone: str, path: Path) -> Diagnostic | None:
    read = form.pattern.fullmatch(zone) if form else None
    fix = Fix(message="remove it, or correct the zone", at=path)
    if form is None:
        if is_name(zone):
            return None
        # on your own nodes a zone is the value of their zone label
        problem, allowed = "not a valid value of the zone label", GRAMMAR
    elif read is None:
        problem = f"not the name of a zone on {draft.spec.cloud.value}"
        allowed = f"a zone such as {form.example}"
        fix = Fix.write(zone.lower(), path) if form.pattern.fullmatch(zone.lower()) else fix
    elif draft.region and read["region"] != draft.region.name:
        where = f"{draft.region.name} ({draft.region.source})"
        problem = f"this zone is not in {where}, and a cluster is in one region"
        allowed, fix = f"zones of {draft.region.name}", Fix.remove(path)
    elif unknown := unknown_region(read["region"], draft.spec.cloud.value):
        problem, suggestion = unknown
        allowed = f"zones of an existing region{f', such as {suggestion}' if suggestion else ''}"
    else:
        return None
    return error("pool.zone", path, problem, given=zone, allowed=allowed, fix=fix)


def _with_zone_fixes(pool: Pool, results: list[Diagnostic], path: Path) -> list[Diagnostic]:
    """A fix that removes one invalid zone removes all invalid zones."""
    wrong = {f.path[-1] for f in results}
    keep = [zone for index, zone in enumerate(pool.zones) if index not in wrong]
    fix = (
        Fix(message=f"keep {', '.join(keep)}", at=path, value=keep)
        if keep
        else Fix(message="remove `zones`, or correct them", at=path)
    )
    return [replace(f, fix=fix) if f.fix and f.fix.value is None else f for f in results]


def check_fabrics(draft: Draft) -> Iterator[Diagnostic]:
    """Check the cloud's fabrics, and shapes of several nodes whose fabric works within one zone only."""
    if not draft.provider.sells_machines:
        return
    yield from draft.provider.check_fabrics(draft)
    first_wide = {s.pool: s for s in reversed(draft.shapes) if s.nodes > 1}
    for index, one in enumerate(draft.spec.pools):
        pool = draft.pools.get(one.name)
        fabric = direct_fabric(pool.machine) if pool else None
        wide = first_wide.get(one.name)
        if fabric is None or wide is None or len(one.zones) == 1:
            continue
        problem = (
            f"shape {wide.name} needs {wide.nodes} nodes of {one.name},"
            f" but {fabric.name} does not work across zones"
        )
        allowed, path = "one zone; a second zone needs a second pool", ("pools", index, "zones")
        if one.zones:
            yield error(
                "fabric.zones",
                path,
                problem,
                given=", ".join(one.zones),
                allowed=allowed,
                fix=Fix(message=f"write zones: [{one.zones[0]}]", at=path, value=[one.zones[0]]),
            )
        else:
            yield warning(
                "fabric.zones",
                path[:-1],
                f"{problem}: without `zones`, nodes may start in several",
                given="any zone of the region",
                allowed=allowed,
                fix=Fix(message="add zones: [ZONE] with the zone that has capacity"),
            )


SHARED_BY = 100
"""How many pods of a node may share its adapters: more than a node can have GPUs."""


def plan_nccl(pool: Pool, machine: Machine) -> NcclPlan | None:
    """The NCCL settings of the pool's fabric, with the adapters that the stack file names."""
    direct = direct_fabric(machine)
    name = pool.fabric.kind.value if pool.fabric else direct.name if direct else ""
    record = RECORDS.get(name)
    if record is None or pool.nodes.high == 1:
        return None
    variables = dict(record.variables)
    if pool.fabric and pool.fabric.hcas:
        variables[ADAPTERS] = f"={','.join(pool.fabric.hcas)}"
    needs = record.needs
    if uses_rdma_device_plugin(pool.fabric):
        needs = f"{needs}; {RDMA}: 1 among the limits of the container"
    return NcclPlan(fabric=record.fabric, variables=variables, script=record.script, needs=needs)


def uses_rdma_device_plugin(fabric: FabricSpec | None) -> bool:
    """Whether gpuyard's device plugin gives a pool's adapters to pods that request them, on one node too."""
    if fabric is None or fabric.kind is FabricKind.ETHERNET:
        return False
    return fabric.plugin is RdmaPlugin.DEVICE_PLUGIN


# The labels, tolerations and topology of a flavor with a topology are immutable (Kueue v0.19 CRD), and no
# flavor can be deleted while a queue uses it. So the name of such a flavor changes with its content: the
# new flavor is created next to the old one, the queues switch to it, and the old one is deleted last.


def plan_placement(spec: PlatformSpec, pool: Pool, levels: tuple[str, ...]) -> TopologyPlan | None:
    """The topology of a pool, shared by pools with the same levels; None without `topology: true`."""
    if not pool.topology:
        return None
    widest = levels[0].rpartition("/")[2].replace(".", "-")
    name = f"{spec.name}-{widest}-{short_digest(levels)}"
    return TopologyPlan(name=name, levels=levels)


def flavor_name(
    stable_name: str,
    topology: TopologyPlan | None,
    selector: Mapping[str, str],
    taints: Iterable[Taint],
) -> str:
    """The pool's name; with a topology, also a digest of the flavor's immutable fields."""
    if topology is None:
        return stable_name
    fixed = short_digest(topology.levels, dict(selector), [str(t) for t in taints])
    return f"{stable_name}-{fixed}"


def zone_of(zones: Sequence[str], index: int) -> str:
    """The zone of a simulated node: nodes are spread over the zones in turn."""
    return zones[index % len(zones)]


def topologies(pools: Iterable[PoolPlan]) -> tuple[TopologyPlan, ...]:
    """Every topology once, in the order of the pools."""
    return tuple(dict.fromkeys(p.topology for p in pools if p.topology))
