"""The machine of a dump: what the plan takes from it, and where it is another than the stack file says."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuyard.catalogue.gpus import find_gpu
from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path, error, format_list, info, warning
from gpuyard.plan.pools.inventories.levels import check_levels
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import MachineShape, Pool
from gpuyard.spec.sections import FabricKind, FabricSpec, MachineInventory
from gpuyard.spec.sections.inventory import InventoryAdapter, unread_inventory

KERNEL_SHARE = 0.9
"""A kernel shows less memory than is in the machine; less than this much of it is another machine."""
_MIB_PER_GIB = 1024
_LINKS = {FabricKind.INFINIBAND: "InfiniBand", FabricKind.ROCE: "Ethernet"}


def inventory_of(pool: Pool) -> MachineInventory | None:
    """What stands in the pool's dump, where somebody has read it."""
    return pool.inventory if isinstance(pool.inventory, MachineInventory) else None


def with_numa_nodes(machine: Machine, dump: MachineInventory | None) -> Machine:
    """The machine with the NUMA nodes that its dump lists."""
    if dump is None or not dump.numa:
        return machine
    count = len(dump.numa)
    gpus_by_numa = Counter(gpu.numa for gpu in dump.gpus if gpu.numa is not None)
    most = max(gpus_by_numa.values(), default=0)
    uneven = most if most * count != machine.gpus else 0
    return replace(machine, numa_nodes=count, gpus_in_numa=uneven or None)


def complete_pool(pool: Pool) -> Pool:
    """The pool with the adapters of its fabric, where only the dump says them."""
    dump, fabric = inventory_of(pool), pool.fabric
    if dump is None or fabric is None or fabric.kind is FabricKind.ETHERNET:
        return pool
    adapters = _in_use(dump, fabric)
    if not adapters:
        return pool
    known = {
        "hcas": tuple(each.name for each in adapters),
        "gbps": sum(each.gbps for each in adapters),
    }
    missing = {name: value for name, value in known.items() if not getattr(fabric, name)}
    return pool.model_copy(update={"fabric": fabric.model_copy(update=missing)})


def _usable(dump: MachineInventory, kind: FabricKind) -> list[InventoryAdapter]:
    """Adapters of a fabric that are up. Those beside GPUs are the fastest; slower ones are for storage."""
    up = [each for each in dump.adapters if each.active and each.link == _LINKS[kind]]
    most = max((each.gbps for each in up), default=0.0)
    return [each for each in up if each.gbps == most]


def _in_use(dump: MachineInventory, fabric: FabricSpec) -> list[InventoryAdapter]:
    """Those that the stack file names, else all that are usable."""
    if not fabric.hcas:
        return _usable(dump, fabric.kind)
    named = {name.partition(":")[0] for name in fabric.hcas}
    return [each for each in dump.adapters if each.name in named]


def check_inventory(spec: PlatformSpec, pool: Pool, machine: Machine, path: Path) -> list[Finding]:
    """Everything in which the stack file and the dump are not of one mind."""
    here = (*path, "inventory")
    if pool.inventory is None:
        return []
    if spec.cloud is not Cloud.NONE:
        return [
            error(
                "pool.dump_cloud",
                here,
                "a dump is of a machine of your own;"
                f" on {spec.cloud.value} the catalogue says what a machine has",
                allowed="dump with cloud: none",
                fix=Fix(message="remove `inventory`", at=here),
            )
        ]
    dump = inventory_of(pool)
    if dump is None:
        return [unread_inventory(here, str(pool.inventory))]
    return [
        *_check_gpus(pool, machine, dump, path),
        *_check_links(machine, dump, (*path, "inventory")),
        *_check_host(pool, dump, path),
        *_check_fabric(pool, dump, path),
        *check_levels(pool, dump, here),
    ]


def _check_gpus(
    pool: Pool, machine: Machine, dump: MachineInventory, path: Path
) -> Iterator[Finding]:
    """The product, and how many. `machine.gpus` stands in the file only where the machine is described."""
    described = isinstance(pool.machine, MachineShape)
    names = sorted({gpu.name for gpu in dump.gpus})
    result = find_gpu(names[0])
    expected = machine.gpu.name if machine.gpu else "none"
    at = (*path, "machine", "gpu") if described else (*path, "machine")
    if len(names) > 1:
        yield error(
            "pool.dump_machine",
            (*path, "inventory"),
            f"the GPUs of {dump.node} are not alike: {format_list(names)}",
            value=format_list(names),
            allowed="GPUs of one kind in a machine",
            fix=Fix(message="plan machines with another kind of GPU as a pool of their own"),
        )
    elif result is None:
        yield warning(
            "pool.dump_machine",
            (*path, "inventory"),
            f"the catalogue does not know {names[0]}: whether {dump.node} is what the pool says is unknown",
            value=names[0],
            allowed=f"a machine with {expected}",
        )
    elif result.name != expected:
        yield error(
            "pool.dump_machine",
            at,
            f"{dump.node} has {names[0]}",
            value=expected,
            allowed=result.name,
            fix=Fix(message=f"write {result.name}", at=at, value=result.name)
            if described
            else Fix(
                message=f"describe the machine: {{gpu: {result.name}, gpus: {len(dump.gpus)}, …}}"
            ),
        )
    if len(dump.gpus) != machine.gpus:
        yield _other_number(
            (*path, "machine", "gpus") if described else at,
            f"{dump.node} has {len(dump.gpus)} GPUs",
            machine.gpus,
            len(dump.gpus),
            described=described,
        )


def _other_number(
    at: Path, problem: str, value: int, existing: int, *, described: bool = True
) -> Finding:
    fix = Fix(message=f"write {existing}", at=at, value=existing) if described else None
    return error(
        "pool.dump_machine",
        at,
        problem,
        value=str(value),
        allowed=str(existing),
        fix=fix or Fix(message="describe the machine: {gpu, gpus, cpu, memory_gib}"),
    )


def _check_links(machine: Machine, dump: MachineInventory, here: Path) -> Iterator[Finding]:
    """GPUs that are known to have NVLink, and of which some lack it: a machine to mend, not to plan by."""
    links = sorted({gpu.nvlinks or 0 for gpu in dump.gpus})
    if machine.gpu is None or not machine.gpu.nvlink_gbps or len(dump.gpus) == 1:
        return
    if dump.joined and len(links) == 1:
        return
    yield warning(
        "pool.dump_machine",
        here,
        f"the GPUs of {dump.node} do not reach each other by NVLink as a {machine.gpu.name} does elsewhere:"
        " collectives would be as slow as its slowest pair",
        value=f"{format_list(map(str, links))} links up, every pair joined: {'yes' if dump.joined else 'no'}",
        allowed="as many links on each GPU, and every pair joined",
        fix=Fix(message="mend it, or write the dump on a sound node"),
    )


def _check_host(pool: Pool, dump: MachineInventory, path: Path) -> Iterator[Finding]:
    """Pods that are promised more than the host has never start. Whoever promises less keeps a reserve."""
    if not isinstance(pool.machine, MachineShape) or not dump.numa:
        return
    cpus = sum(node.cpus for node in dump.numa)
    gib = sum(node.memory_mib for node in dump.numa) // _MIB_PER_GIB
    if pool.machine.cpu > cpus:
        yield _other_number(
            (*path, "machine", "cpu"), f"{dump.node} has {cpus} CPUs", pool.machine.cpu, cpus
        )
    if gib < pool.machine.memory_gib * KERNEL_SHARE:
        yield _other_number(
            (*path, "machine", "memory_gib"),
            f"the kernel of {dump.node} counts {gib} GiB of memory",
            pool.machine.memory_gib,
            gib,
        )


def _check_fabric(pool: Pool, dump: MachineInventory, path: Path) -> Iterator[Finding]:
    fabric, here = pool.fabric, (*path, "fabric")
    if fabric is None:
        if result := _usable(dump, FabricKind.INFINIBAND):
            yield info(
                "pool.dump_adapters",
                (*path, "inventory"),
                f"{dump.node} has {len(result)} adapters of InfiniBand that are up, and no job uses them:"
                " the pool has no `fabric`",
                value=_names(result),
                allowed="fabric: {kind: infiniband}",
            )
        return
    if fabric.kind is FabricKind.ETHERNET:
        return
    usable = _usable(dump, fabric.kind)
    if not usable:
        active = ", ".join(f"{a.name} ({a.link or 'no link'})" for a in dump.adapters if a.active)
        yield error(
            "pool.dump_adapters",
            (*here, "kind"),
            f"{dump.node} has no adapter of {_LINKS[fabric.kind]} that is up",
            value=fabric.kind.value,
            allowed=f"what is up there: {active or 'none'}",
            fix=Fix(
                message="bring its ports up and write the dump again, or write the fabric that is there"
            ),
        )
        return
    yield from _check_named(fabric, dump, usable, here)


def _check_named(
    fabric: FabricSpec, dump: MachineInventory, usable: list[InventoryAdapter], here: Path
) -> Iterator[Finding]:
    usable_names = {each.name for each in usable}
    wrong = [name for name in fabric.hcas if name.partition(":")[0] not in usable_names]
    if wrong:
        yield error(
            "pool.dump_adapters",
            (*here, "hcas"),
            f"{dump.node} has no such adapter beside a GPU that is up: {format_list(wrong)}",
            value=", ".join(fabric.hcas),
            allowed=_names(usable),
            fix=Fix(
                message=f"write {_names(usable)}",
                at=(*here, "hcas"),
                value=[each.name for each in usable],
            ),
        )
        return
    gbps = sum(each.gbps for each in _in_use(dump, fabric))
    if fabric.gbps is not None and fabric.gbps > gbps:
        yield error(
            "pool.dump_adapters",
            (*here, "gbps"),
            f"the adapters of {dump.node} run at {gbps:g} gigabit a second together",
            value=f"{fabric.gbps:g}",
            allowed=f"at most {gbps:g}",
            fix=Fix(message=f"write {gbps:g}", at=(*here, "gbps"), value=gbps),
        )


def _names(adapters: Iterable[InventoryAdapter]) -> str:
    return ", ".join(each.name for each in adapters)
