"""One pool of a plan in detail: labels, allocatable resources, and autoscaling."""

from collections.abc import Iterator

from gpuyard.plan.capacity.capacity_options import startup_time
from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.cluster.times import GB_PULLED
from gpuyard_core.catalogue.gke.classes import STAYS
from gpuyard_core.catalogue.kubernetes.karpenter import NOT_MOVED
from gpuyard_core.names import POOL_LABEL
from gpuyard_core.terminal.console import Console
from gpuyard_core.terminal.text import pluralize

_COPIED = {"label", "select", "taint", "zone"}
"""Never wrapped, so that they can be copied."""
_PLACEMENT = {
    "cluster": "in one cluster placement group",
    "compact": "placed compactly",
    "nvlink": "in one NVLink domain, by a workload policy",
}


def show_pool(pool: PoolPlan, console: Console) -> None:
    """Show each fact on its own line, with its kind first."""
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
    each = f"{pool.cpu_per_gpu} CPUs and {pool.memory_gib_per_gpu:,} GiB per GPU"
    yield "alloc", f"{allocatable.cpu} CPUs, {allocatable.memory_gib:,} GiB for pods; {each}"
    nodes = pool.machine.numa_nodes
    yield "numa", f"{pool.numa}, {pluralize(nodes, 'NUMA node') if nodes else 'unknown NUMA nodes'}"
    placed = ", used for topology-aware scheduling" if pool.topology else ""
    yield "levels", " > ".join(pool.topology_levels) + placed
    if pool.nccl:
        words = [f"{name}={value}" for name, value in pool.nccl.variables.items()]
        words += [f"source {pool.nccl.script}"] if pool.nccl.script else []
        words += [pool.nccl.needs] if pool.nccl.needs else []
        yield "nccl", f"{pool.nccl.fabric}: {'; '.join(words)}"
    if pool.provisioning:
        yield "check", f"the autoscaler must confirm before a job is admitted: {pool.provisioning}"
    for word, where in _PLACEMENT.items():
        if modes := [option.mode for option in pool.capacity_options if option.placement == word]:
            yield "place", f"{where}: {', '.join(modes)}"
    if pool.upgrade:
        yield "update", pool.upgrade.description
    if (takes := startup_time(pool)) and pool.scaling is not Scaling.FIXED:
        ready = f"a node is ready {takes} after the request, if machines are available"
        pulls = f"{GB_PULLED.least} to {GB_PULLED.most} s more per GB of image"
        yield "start", f"{ready}; {pulls}"
    yield from _scale(pool)


def _moves(pool: PoolPlan) -> str:
    """What moves running work, and how a pod opts out."""
    begins = "work moves back to a preferred capacity option that has nodes again"
    if pool.compute_class:
        return f'{begins}, by GKE; a pod opts out with {STAYS}: "false"'
    hours = " in the disruption window" if pool.disruption_window else ""
    return (
        f"{begins}, by Karpenter{hours}, which also consolidates nodes; a pod opts out with"
        f' {NOT_MOVED}: "true"'
    )


def _scale(pool: PoolPlan) -> Iterator[tuple[str, str]]:
    """How the autoscaler discovers the resources of new nodes."""
    scale = pool.autoscaler_hints
    if scale.overlay:
        adds = ", ".join(f"{name}: {count}" for name, count in scale.overlay.items())
        yield "scale", f"Karpenter reads {adds} from a NodeOverlay, in addition to whole GPUs"
        fence = next(taint for taint in pool.taints if taint.key == POOL_LABEL)
        yield "scale", f"the taint {fence.key}={fence.value} keeps pods with whole GPUs away"
    if scale.tags:
        tags = pluralize(len(scale.tags), "tag")
        yield "scale", f"Cluster Autoscaler reads the resources of a node from {tags} of its group"
    if pool.compute_class:
        how = "GKE tries the capacity options in order"
        yield "scale", f"{how}, by ComputeClass {pool.compute_class}"
    if has_failback(pool):
        yield "moves", _moves(pool)
    if late := ", ".join(scale.undiscovered_resources):
        yield "scale", f"discovered only from a running node: {late}"
