"""GPUs of GKE's own device plugin: the settings of a node pool, and the resource names.

The plugin has one resource name for whole GPUs, shares and slices. A plan tells them apart by unit, but
queues count by resource name, so all of a team's GPUs there are of one kind (docs/decisions/0068).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResource, PoolPlan, usable_pools
from gpuyard.plan.sharing.sharing import SharedGpus, format_layout
from gpuyard_core.catalogue.gke.sharing import (
    CLIENTS_LABEL,
    PARTITION_LABEL,
    PARTITIONS,
    STRATEGIES,
    STRATEGY_LABEL,
    STRATEGY_WORDS,
)
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.mig import MigProduct
from gpuyard_core.catalogue.software.images import IMAGES, ComponentOwner, NodeImage, SoftwarePart
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list
from gpuyard_core.names import GPU

_OURS = IMAGES["cos"]
"""The same image with the operator's device plugin, which has distinct resource names."""


# ── of a pool ─────────────────────────────────────────────────────────────────────────────────────
def with_gke_resource_names(
    image: NodeImage | None, gpus: SharedGpus, machine: Machine, path: Path
) -> tuple[SharedGpus, list[Diagnostic]]:
    """The shared GPUs with the resource names of the node's device plugin; a finding if GKE cannot do it."""
    if image is None or image.owners[SoftwarePart.DEVICE_PLUGIN] is not ComponentOwner.GKE:
        return gpus, []
    if gpus.method.is_counted_as_whole_gpu:
        return gpus, []
    problem = _unsupported_layout(gpus, machine, path)
    named = tuple(replace(each, resource=GPU) for each in gpus.advertised)
    return replace(gpus, advertised=named, is_gke_managed=True), [problem] if problem else []


def _unsupported_layout(gpus: SharedGpus, machine: Machine, path: Path) -> Diagnostic | None:
    """Reject layouts that GKE does not support: it has one slice size per node, as many as fit."""
    product = machine.gpu.mig if machine.gpu else None
    if product is None or not gpus.layouts:
        return None
    sizes = PARTITIONS[product.gpu]
    layouts = [dict(layout.counts) for layout in gpus.layouts]
    cut = sum(len(layout.gpus) for layout in gpus.layouts)
    full = [{size: count} for size, count in sizes.items()]
    if cut == machine.gpus and layouts[0] in full and all(one == layouts[0] for one in layouts):
        return None
    value = "; ".join(map(format_layout, layouts))
    suggestion = _nearest_size(gpus, product, sizes)
    layout = {suggestion: sizes[suggestion]}
    return error(
        "mig.partition",
        (*path, "mig"),
        "GKE partitions all GPUs of a node pool into slices of one size, as many as fit",
        given=value if cut == machine.gpus else f"{value} on {cut} of {machine.gpus} GPUs",
        allowed=", ".join(f"{size}: {count}" for size, count in sizes.items()),
        fix=Fix(
            message=f"write mig: {format_layout(layout)}, or image: {_OURS.name}",
            at=(*path, "mig"),
            value=layout,
        ),
    )


def _nearest_size(gpus: SharedGpus, product: MigProduct, sizes: Mapping[str, int]) -> str:
    """The size of which most slices are requested, else the one with the same compute."""
    slices = {profile.name: profile.slices for profile in product.profiles}
    slices_by_name = [
        (len(x.gpus) * count, name) for x in gpus.layouts for name, count in x.counts.items()
    ]
    most = max(slices_by_name, key=lambda each: each[0])[1]
    equivalent = [size for size in sizes if slices[size] == slices[most]]
    return most if most in sizes else equivalent[0]


def is_gke_managed(pool: PoolPlan) -> bool:
    """Whether GKE's own device plugin partitions or shares the pool's GPUs."""
    software = pool.node_software
    brought = software.owners[SoftwarePart.DEVICE_PLUGIN.value] if software else ""
    return brought == ComponentOwner.GKE.value and not pool.sharing.is_counted_as_whole_gpu


def partition_of(pool: PoolPlan) -> str:
    """The partition size for GKE; empty if it does not partition the GPUs."""
    return next(iter(pool.layouts[0].counts)) if is_gke_managed(pool) and pool.layouts else ""


def strategy_of(pool: PoolPlan) -> str:
    """The sharing strategy for GKE; empty if pods share no GPU."""
    return STRATEGIES.get(pool.sharing, "") if is_gke_managed(pool) else ""


def gke_labels(pool: PoolPlan) -> dict[str, str]:
    """The labels by which GKE describes partitioning and sharing on the pool's nodes."""
    results: dict[str, str] = {}
    if size := partition_of(pool):
        results[PARTITION_LABEL] = size
    if strategy := strategy_of(pool):
        results[STRATEGY_LABEL] = STRATEGY_WORDS[strategy]
        results[CLIENTS_LABEL] = str(pool.replicas)
    return results


def single_request_resources(pools: Iterable[PoolPlan]) -> frozenset[str]:
    """Resources of which a container may request only one, although the name does not show a share.

    On a node with one GPU or one slice, GKE gives a container several shares.
    """
    apart = (p for p in pools if strategy_of(p) and p.advertised[0].per_node > p.replicas)
    return frozenset(each.resource for pool in apart for each in pool.advertised)


# ── of a team ─────────────────────────────────────────────────────────────────────────────────────
def check_one_name(draft: Draft) -> Iterator[Diagnostic]:
    """Reject teams whose pools use one resource name for different things: queues and quotas count names."""
    valid = draft.valid_pools
    for index, team in enumerate(draft.spec.teams):
        pools = [valid[name] for name in usable_pools(draft.quotas[index])]
        gpus = {p.name: each for p in pools for each in p.advertised if each.resource == GPU}
        gke = [pool.name for pool in pools if is_gke_managed(pool)]
        if gke and len({(each.unit, each.gpu_share) for each in gpus.values()}) > 1:
            yield _one_name(draft, index, team.name, gpus, gke)


def _one_name(
    draft: Draft, index: int, team: str, gpus: Mapping[str, AdvertisedResource], gke: list[str]
) -> Diagnostic:
    shown = [f"{name} has {_shown(offer)}" for name, offer in gpus.items()]
    at: Path | None = None
    if len(gke) == 1:
        place = next(n for n, pool in enumerate(draft.spec.pools) if pool.name == gke[0])
        at = ("pools", place, "image")
    return error(
        "sharing.one_name",
        ("teams", index),
        f"the queue of {team} counts {GPU}, which has different meanings in its pools ({'; '.join(shown)}):"
        " it would admit a pod to either",
        given=format_list(gpus),
        allowed="pools of one kind for each team where GKE shares GPUs, or the GPU Operator, whose resource"
        " names tell shares from slices",
        fix=Fix(
            message=f"write image: {_OURS.name} for {format_list(gke)}",
            at=at,
            value=_OURS.name if at else None,
        ),
    )


def _shown(offer: AdvertisedResource) -> str:
    return f"{offer.gpu_share} of a GPU ({offer.unit})" if offer.unit else "whole GPUs"
