"""One pool of a plan beyond its first screen: labels, room, and who can add nodes to it."""

from collections.abc import Iterator

from gpuyard.catalogue.cluster.times import GB_PULLED
from gpuyard.catalogue.gke.classes import STAYS
from gpuyard.catalogue.kubernetes.karpenter import NOT_MOVED
from gpuyard.cli.terminal.console import Console
from gpuyard.cli.terminal.text import pluralize
from gpuyard.names import POOL_LABEL
from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.capacity.startup_time import startup_time
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.pools import Scaling

_COPIED = {"label", "select", "taint", "zone"}
"""Never broken over lines: people copy them."""
_PLACEMENT = {
    "cluster": "in one cluster placement group",
    "compact": "placed compactly",
    "nvlink": "in one NVLink domain, by a workload policy",
}


def show_pool(pool: PoolPlan, console: Console) -> None:
    """Every fact on a line of its own, the kind of fact first."""
    console.print(f"  {pool.name}")
    for kind, text in pool_facts(pool):
        if kind in _COPIED:
            console.print(f"    {kind:<6} {text}")
        else:
            console.print_wrapped(text, first=f"{kind:<6} ", indent=4)


def pool_facts(pool: PoolPlan) -> Iterator[tuple[str, str]]:
    """The kind of a fact, and the fact."""
    yield from (("label", f"{key}={value}") for key, value in pool.labels.items())
    if POOL_LABEL not in pool.node_selector:
        chosen = ", ".join(f"{key}={value}" for key, value in pool.node_selector.items())
        yield "select", chosen
    yield from (("taint", str(taint)) for taint in pool.taints)
    yield from (("zone", zone) for zone in pool.zones)
    allocatable = pool.allocatable
    each = f"{pool.cpu_per_gpu} and {pool.memory_gib_per_gpu:,} GiB for each GPU"
    yield "room", f"{allocatable.cpu} CPUs, {allocatable.memory_gib:,} GiB for pods; {each}"
    known = pool.machine.numa_nodes
    yield (
        "numa",
        f"{pool.numa}, {pluralize(known, 'NUMA node') if known else 'NUMA nodes not known'}",
    )
    placed = ", by which queues place jobs" if pool.topology else ""
    yield "near", " > ".join(pool.topology_levels) + placed
    if pool.nccl:
        words = [f"{name}={value}" for name, value in pool.nccl.variables.items()]
        words += [f"source {pool.nccl.script}"] if pool.nccl.script else []
        words += [pool.nccl.needs] if pool.nccl.needs else []
        yield "nccl", f"{pool.nccl.fabric}: {'; '.join(words)}"
    if pool.provisioning:
        yield "asks", f"its autoscaler before a job is admitted: {pool.provisioning}"
    for word, where in _PLACEMENT.items():
        if modes := [option.mode for option in pool.capacity_options if option.placement == word]:
            yield "place", f"{where}: {', '.join(modes)}"
    if pool.upgrade:
        yield "anew", pool.upgrade.description
    if (takes := startup_time(pool)) and pool.scaling is not Scaling.FIXED:
        pulls = f"{GB_PULLED.least} to {GB_PULLED.most} s more for each GB of an image"
        yield "begins", f"of use {takes} after it is asked for, where there are machines; {pulls}"
    yield from _scale(pool)


def _moves(pool: PoolPlan) -> str:
    """Who moves what runs, and how a pod says that it stays."""
    begins = "what runs on a lower rung moves up when a better one has nodes again"
    if pool.compute_class:
        return f'{begins}, by GKE; a pod stays by {STAYS}: "false"'
    hours = " in the hours of upkeep" if pool.disruption_window else ""
    return (
        f"{begins}, by Karpenter{hours}, which also moves it to other nodes with room; a pod stays by"
        f' {NOT_MOVED}: "true"'
    )


def _scale(pool: PoolPlan) -> Iterator[tuple[str, str]]:
    """How whoever adds nodes learns what they will hold."""
    scale = pool.autoscaler_hints
    if scale.overlay:
        adds = ", ".join(f"{name}: {count}" for name, count in scale.overlay.items())
        yield "scale", f"Karpenter learns of {adds} from a NodeOverlay, beside whole GPUs"
        fence = next(taint for taint in pool.taints if taint.key == POOL_LABEL)
        yield "scale", f"pods of whole GPUs stay away by {fence.key}={fence.value}"
    if scale.tags:
        tags = pluralize(len(scale.tags), "tag")
        yield "scale", f"Cluster Autoscaler learns what a node holds from {tags} of its group"
    if pool.compute_class:
        yield (
            "scale",
            f"GKE goes down the ladder in its order, by ComputeClass {pool.compute_class}",
        )
    if has_failback(pool):
        yield "moves", _moves(pool)
    if scale.undiscovered_resources:
        yield (
            "scale",
            f"known from a node that runs only: {', '.join(scale.undiscovered_resources)}",
        )
