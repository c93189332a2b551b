"""Topology levels from the node labels in an inventory: which labels name a location, and their order."""

from functools import cmp_to_key

from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import InventoryNode, MachineInventory
from gpuyard_core.catalogue.topology import place_rank
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info


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


def check_node_labels(pool: Pool, inventory: MachineInventory, path: Path) -> list[Diagnostic]:
    """Nodes that the pool does not select, and location labels that some of its nodes lack."""
    strangers = [node for node in inventory.nodes if not pool.select.items() <= node.labels.items()]
    if strangers:
        return [_label_mismatch(pool, strangers, path)]
    lacking = {
        key: [node.name for node in inventory.nodes if key not in node.labels]
        for key in sorted(_places(inventory))
    }
    return [
        info(
            "pool.dump_levels",
            path,
            f"{key} cannot be a topology level: {format_list(names)} {'has' if len(names) == 1 else 'have'} no"
            " such label, and queues ignore nodes without it",
            given=f"{key} on {len(inventory.nodes) - len(names)} of {len(inventory.nodes)} nodes",
            allowed="labels that every node of the pool has",
        )
        for key, names in lacking.items()
        if names
    ]


def _label_mismatch(pool: Pool, nodes: list[InventoryNode], path: Path) -> Diagnostic:
    pairs = [f"{key}={value}" for key, value in sorted(pool.select.items())]
    labels = ", ".join(pairs)
    return error(
        "pool.dump_levels",
        path,
        f"the inventory has nodes that are not in {pool.name}: {format_list(node.name for node in nodes)}",
        given=f"{len(nodes)} nodes without {labels}",
        allowed=f"nodes with {labels}",
        fix=Fix(
            message=f"create it again, with --nodes of `kubectl get nodes -l {','.join(pairs)} -o json`"
        ),
    )
