"""Levels of topology from the labels of nodes in a dump: which say where a node stands, and in what order."""

from functools import cmp_to_key

from gpuyard.catalogue.topology import place_rank
from gpuyard.findings import Finding, Fix, Path, error, format_list, info
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import InventoryNode, MachineInventory


def topology_levels(dump: MachineInventory) -> tuple[str, ...]:
    """Labels of places that every node of the dump carries, the widest first.

    The words in the labels rank them. Where the nodes themselves say otherwise, they are believed: a place
    that always lies in the same one of several others is the narrower of the two.
    """
    keys = sorted(_places(dump))
    common = [key for key in keys if all(key in node.labels for node in dump.nodes)]

    def order(one: str, other: str) -> int:
        within, contains = _lies_in(dump, one, other), _lies_in(dump, other, one)
        if within != contains:
            return 1 if within else -1
        return (place_rank(one) or 0) - (place_rank(other) or 0)

    return tuple(sorted(common, key=cmp_to_key(order)))


def _places(dump: MachineInventory) -> set[str]:
    return {key for node in dump.nodes for key in node.labels if place_rank(key) is not None}


def _lies_in(dump: MachineInventory, one: str, other: str) -> bool:
    """Whether nodes with the same value of the one always have the same of the other, which has several."""
    pairs = {(node.labels[one], node.labels[other]) for node in dump.nodes}
    return len(pairs) == len({value for value, _ in pairs}) and len({v for _, v in pairs}) > 1


def check_levels(pool: Pool, dump: MachineInventory, path: Path) -> list[Finding]:
    """Nodes that the pool does not select, and labels that some of its nodes lack."""
    strangers = [node for node in dump.nodes if not pool.select.items() <= node.labels.items()]
    if strangers:
        return [_label_mismatch(pool, strangers, path)]
    lacking = {
        key: [node.name for node in dump.nodes if key not in node.labels]
        for key in sorted(_places(dump))
    }
    return [
        info(
            "pool.dump_levels",
            path,
            f"{key} is no level of the topology: {format_list(names)} {'has' if len(names) == 1 else 'have'} no"
            " such label, and queues count a node without it for nothing",
            value=f"{key} on {len(dump.nodes) - len(names)} of {len(dump.nodes)} nodes",
            allowed="labels that every node of the pool has",
        )
        for key, names in lacking.items()
        if names
    ]


def _label_mismatch(pool: Pool, nodes: list[InventoryNode], path: Path) -> Finding:
    pairs = [f"{key}={value}" for key, value in sorted(pool.select.items())]
    labels = ", ".join(pairs)
    return error(
        "pool.dump_levels",
        path,
        f"the dump is of nodes that are not in {pool.name}: {format_list(node.name for node in nodes)}",
        value=f"{len(nodes)} nodes without {labels}",
        allowed=f"nodes with {labels}",
        fix=Fix(
            message=f"write it again, with --nodes of `kubectl get nodes -l {','.join(pairs)} -o json`"
        ),
    )
