"""The machine of an inventory: what the plan takes from it, and where the stack file disagrees."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cmp_to_key

from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import MachineShape, Pool
from gpuyard.spec.sections import FabricKind, FabricSpec, MachineInventory
from gpuyard.spec.sections.inventory import InventoryAdapter, unread_inventory
from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.topology import place_rank
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning

KERNEL_SHARE = 0.9
"""The kernel reports less memory than the machine has; below this share it is another machine."""
_MIB_PER_GIB = 1024
_LINKS = {FabricKind.INFINIBAND: "InfiniBand", FabricKind.ROCE: "Ethernet"}


def inventory_of(pool: Pool) -> MachineInventory | None:
    """The pool's inventory, if its file has been read."""
    return pool.inventory if isinstance(pool.inventory, MachineInventory) else None


def with_numa_nodes(machine: Machine, inventory: MachineInventory | None) -> Machine:
    """The machine with the NUMA nodes that its inventory lists."""
    if inventory is None or not inventory.numa:
        return machine
    count = len(inventory.numa)
    gpus_by_numa = Counter(gpu.numa for gpu in inventory.gpus if gpu.numa is not None)
    most = max(gpus_by_numa.values(), default=0)
    uneven = most if most * count != machine.gpus else 0
    return replace(machine, numa_nodes=count, gpus_in_numa=uneven or None)


def with_fabric_adapters(pool: Pool) -> Pool:
    """The pool with the adapters of its fabric, taken from the inventory if the stack file has none."""
    inventory, fabric = inventory_of(pool), pool.fabric
    if inventory is None or fabric is None or fabric.kind is FabricKind.ETHERNET:
        return pool
    adapters = _in_use(inventory, fabric)
    if not adapters:
        return pool
    known = {
        "hcas": tuple(each.name for each in adapters),
        "gbps": sum(each.gbps for each in adapters),
    }
    missing = {name: value for name, value in known.items() if not getattr(fabric, name)}
    return pool.model_copy(update={"fabric": fabric.model_copy(update=missing)})


def _usable(inventory: MachineInventory, kind: FabricKind) -> list[InventoryAdapter]:
    """Active adapters of a fabric. Those near GPUs are the fastest; slower ones are for storage."""
    up = [each for each in inventory.adapters if each.active and each.link == _LINKS[kind]]
    most = max((each.gbps for each in up), default=0.0)
    return [each for each in up if each.gbps == most]


def _in_use(inventory: MachineInventory, fabric: FabricSpec) -> list[InventoryAdapter]:
    """The adapters that the stack file names, else all usable ones."""
    if not fabric.hcas:
        return _usable(inventory, fabric.kind)
    named = {name.partition(":")[0] for name in fabric.hcas}
    return [each for each in inventory.adapters if each.name in named]


def check_inventory(
    spec: PlatformSpec, pool: Pool, machine: Machine, path: Path
) -> Iterator[Diagnostic]:
    """Every difference between the stack file and the inventory."""
    here = (*path, "inventory")
    if pool.inventory is None:
        return
    if spec.cloud is not Cloud.NONE:
        yield error(
            "pool.dump_cloud",
            here,
            "an inventory describes your own machines;"
            f" on {spec.cloud.value} the catalogue describes machines",
            allowed="inventory with cloud: none",
            fix=Fix(message="remove `inventory`", at=here),
        )
        return
    inventory = inventory_of(pool)
    if inventory is None:
        yield unread_inventory(here, str(pool.inventory))
        return
    yield from _check_gpus(pool, machine, inventory, path)
    yield from _check_links(machine, inventory, (*path, "inventory"))
    yield from _check_host(pool, inventory, path)
    yield from _check_fabric(pool, inventory, path)
    yield from check_node_labels(pool, inventory, here)


def _check_gpus(
    pool: Pool, machine: Machine, inventory: MachineInventory, path: Path
) -> Iterator[Diagnostic]:
    """The GPU product and the number. Only a described machine has `machine.gpus` in the stack file."""
    described = isinstance(pool.machine, MachineShape)
    names = sorted({gpu.name for gpu in inventory.gpus})
    result = find_gpu(names[0])
    expected = machine.gpu.name if machine.gpu else "none"
    at = (*path, "machine", "gpu") if described else (*path, "machine")
    if len(names) > 1:
        yield error(
            "pool.dump_machine",
            (*path, "inventory"),
            f"{inventory.node} has different GPUs: {format_list(names)}",
            given=format_list(names),
            allowed="one type of GPU in a machine",
            fix=Fix(message="create a separate pool for machines with another type of GPU"),
        )
    elif result is None:
        yield warning(
            "pool.dump_machine",
            (*path, "inventory"),
            f"the catalogue has no {names[0]}, so gpuyard cannot compare {inventory.node} with the pool",
            given=names[0],
            allowed=f"a machine with {expected}",
        )
    elif result.name != expected:
        yield error(
            "pool.dump_machine",
            at,
            f"{inventory.node} has {names[0]}",
            given=expected,
            allowed=result.name,
            fix=Fix.write(result.name, at)
            if described
            else Fix(
                message=f"describe the machine: {{gpu: {result.name}, gpus: {len(inventory.gpus)}, …}}"
            ),
        )
    if len(inventory.gpus) != machine.gpus:
        yield _other_number(
            (*path, "machine", "gpus") if described else at,
            f"{inventory.node} has {len(inventory.gpus)} GPUs",
            machine.gpus,
            len(inventory.gpus),
            described=described,
        )


def _other_number(
    at: Path, problem: str, value: int, existing: int, *, described: bool = True
) -> Diagnostic:
    fix = Fix.write(existing, at) if described else None
    return error(
        "pool.dump_machine",
        at,
        problem,
        given=str(value),
        allowed=str(existing),
        fix=fix or Fix(message="describe the machine: {gpu, gpus, cpu, memory_gib}"),
    )


def _check_links(machine: Machine, inventory: MachineInventory, here: Path) -> Iterator[Diagnostic]:
    """GPUs with NVLink of which some lack links: a machine to repair, not to plan with."""
    links = sorted({gpu.nvlinks or 0 for gpu in inventory.gpus})
    if machine.gpu is None or not machine.gpu.nvlink_gbps or len(inventory.gpus) == 1:
        return
    if inventory.joined and len(links) == 1:
        return
    yield warning(
        "pool.dump_machine",
        here,
        f"the GPUs of {inventory.node} lack NVLink connections that other machines with {machine.gpu.name} have:"
        " collectives would be as slow as the slowest pair",
        given=f"{format_list(map(str, links))} links up, every pair connected: {'yes' if inventory.joined else 'no'}",
        allowed="the same number of links on each GPU, and every pair connected",
        fix=Fix(message="repair the node, or create the inventory on a healthy node"),
    )


def _check_host(pool: Pool, inventory: MachineInventory, path: Path) -> Iterator[Diagnostic]:
    """Pods planned for more than the host has never start. A stack file may plan with less."""
    if not isinstance(pool.machine, MachineShape) or not inventory.numa:
        return
    cpus = sum(node.cpus for node in inventory.numa)
    gib = sum(node.memory_mib for node in inventory.numa) // _MIB_PER_GIB
    if pool.machine.cpu > cpus:
        yield _other_number(
            (*path, "machine", "cpu"), f"{inventory.node} has {cpus} CPUs", pool.machine.cpu, cpus
        )
    if gib < pool.machine.memory_gib * KERNEL_SHARE:
        yield _other_number(
            (*path, "machine", "memory_gib"),
            f"the kernel of {inventory.node} reports {gib} GiB of memory",
            pool.machine.memory_gib,
            gib,
        )


def _check_fabric(pool: Pool, inventory: MachineInventory, path: Path) -> Iterator[Diagnostic]:
    fabric, here, node = pool.fabric, (*path, "fabric"), inventory.node
    if fabric is not None and fabric.kind is FabricKind.ETHERNET:
        return
    usable = _usable(inventory, fabric.kind if fabric else FabricKind.INFINIBAND)
    names = [each.name for each in usable]
    if fabric is None:
        if usable:
            yield info(
                "pool.dump_adapters",
                (*path, "inventory"),
                f"{node} has {len(usable)} active InfiniBand adapters, but no job uses them:"
                " the pool has no `fabric`",
                given=", ".join(names),
                allowed="fabric: {kind: infiniband}",
            )
    elif not usable:
        active = ", ".join(
            f"{a.name} ({a.link or 'no link'})" for a in inventory.adapters if a.active
        )
        yield error(
            "pool.dump_adapters",
            (*here, "kind"),
            f"{node} has no active {_LINKS[fabric.kind]} adapter",
            given=fabric.kind.value,
            allowed=f"active adapters: {active or 'none'}",
            fix=Fix(
                message="activate its ports and create the inventory again, or write the existing fabric"
            ),
        )
    elif wrong := [name for name in fabric.hcas if name.partition(":")[0] not in names]:
        at = (*here, "hcas")
        yield error(
            "pool.dump_adapters",
            at,
            f"{node} has no such active adapter near a GPU: {format_list(wrong)}",
            given=", ".join(fabric.hcas),
            allowed=", ".join(names),
            fix=Fix(message=f"write {', '.join(names)}", at=at, value=names),
        )
    else:
        gbps, at = sum(each.gbps for each in _in_use(inventory, fabric)), (*here, "gbps")
        if fabric.gbps is not None and fabric.gbps > gbps:
            yield error(
                "pool.dump_adapters",
                at,
                f"the adapters of {node} have a total bandwidth of {gbps:g} Gbit/s",
                given=f"{fabric.gbps:g}",
                allowed=f"at most {gbps:g}",
                fix=Fix(message=f"write {gbps:g}", at=at, value=gbps),
            )


def topology_levels(inventory: MachineInventory) -> tuple[str, ...]:
    """Location labels that every node of the inventory has, the widest first.

    The words in the labels rank them, but the values on the nodes take precedence: a location that is always
    within the same one of several others is the narrower of the two.
    """
    keys = sorted(_places(inventory))
    common = [key for key in keys if all(key in node.labels for node in inventory.nodes)]

    def order(one: str, other: str) -> int:
        within, contains = _lies_in(inventory, one, other), _lies_in(inventory, other, one)
        if within != contains:
            return 1 if within else -1
        return (place_rank(one) or 0) - (place_rank(other) or 0)

    return tuple(sorted(common, key=cmp_to_key(order)))


def _places(inventory: MachineInventory) -> set[str]:
    return {key for node in inventory.nodes for key in node.labels if place_rank(key) is not None}


def _lies_in(inventory: MachineInventory, one: str, other: str) -> bool:
    """Whether nodes with equal values of `one` always have equal values of `other`, which has several."""
    pairs = {(node.labels[one], node.labels[other]) for node in inventory.nodes}
    return len(pairs) == len({value for value, _ in pairs}) and len({v for _, v in pairs}) > 1


def check_node_labels(pool: Pool, inventory: MachineInventory, path: Path) -> Iterator[Diagnostic]:
    """Nodes that the pool does not select, and location labels that some of its nodes lack."""
    nodes = inventory.nodes
    strangers = [node.name for node in nodes if not pool.select.items() <= node.labels.items()]
    if strangers:
        pairs = [f"{key}={value}" for key, value in sorted(pool.select.items())]
        yield error(
            "pool.dump_levels",
            path,
            f"the inventory has nodes that are not in {pool.name}: {format_list(strangers)}",
            given=f"{len(strangers)} nodes without {', '.join(pairs)}",
            allowed=f"nodes with {', '.join(pairs)}",
            fix=Fix(
                message=f"create it again, with --nodes of `kubectl get nodes -l {','.join(pairs)} -o json`"
            ),
        )
        return
    for key in sorted(_places(inventory)):
        if names := [node.name for node in nodes if key not in node.labels]:
            yield info(
                "pool.dump_levels",
                path,
                f"{key} cannot be a topology level: {format_list(names)} {'has' if len(names) == 1 else 'have'} no"
                " such label, and queues ignore nodes without it",
                given=f"{key} on {len(nodes) - len(names)} of {len(nodes)} nodes",
                allowed="labels that every node of the pool has",
            )
