"""GPUs that GKE's own device plugin hands out: what a node pool can say of them, and what they are called.

It has one name for whole GPUs, shares and slices. Units keep them apart in a plan; queues count by names, so
all that a team has of them is of one kind (docs/decisions/0068).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpuyard.catalogue.gke.sharing import (
    CLIENTS_LABEL,
    PARTITION_LABEL,
    PARTITIONS,
    STRATEGIES,
    STRATEGY_LABEL,
    STRATEGY_WORDS,
)
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.mig import MigProduct
from gpuyard.catalogue.software.images import IMAGES, ComponentOwner, NodeImage, SoftwarePart
from gpuyard.findings import Finding, Fix, Path, error, format_list
from gpuyard.names import GPU
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Advertised, PoolPlan, usable_pools
from gpuyard.plan.sharing.sharing import SharedGpus, format_layout

_OURS = IMAGES["cos"]
"""The same disk with the operator's device plugin, which names what it hands out."""


# ── of a pool ─────────────────────────────────────────────────────────────────────────────────────
def gke_advertised(
    image: NodeImage | None, gpus: SharedGpus, machine: Machine, path: Path
) -> tuple[SharedGpus, list[Finding]]:
    """The same as whoever's device plugin runs hands it out, or what of it GKE does not do."""
    if image is None or image.owners[SoftwarePart.DEVICE_PLUGIN] is not ComponentOwner.GKE:
        return gpus, []
    if gpus.method.is_counted_as_whole_gpu:
        return gpus, []
    problem = _unsupported_layout(gpus, machine, path)
    named = tuple(replace(each, resource=GPU) for each in gpus.advertised)
    return replace(gpus, advertised=named, is_gke_managed=True), [problem] if problem else []


def _unsupported_layout(gpus: SharedGpus, machine: Machine, path: Path) -> Finding | None:
    """Why GKE does not cut GPUs so: it knows one size for all of a node, and makes as many as fit."""
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
        "GKE cuts all GPUs of a node pool alike, each into as many slices of one size as fit",
        value=value if cut == machine.gpus else f"{value} on {cut} of {machine.gpus} GPUs",
        allowed=", ".join(f"{size}: {count}" for size, count in sizes.items()),
        fix=Fix(
            message=f"write mig: {format_layout(layout)}, or image: {_OURS.name}",
            at=(*path, "mig"),
            value=layout,
        ),
    )


def _nearest_size(gpus: SharedGpus, product: MigProduct, sizes: Mapping[str, int]) -> str:
    """The size of which most slices were asked for, else the one with as much compute."""
    slices = {profile.name: profile.slices for profile in product.profiles}
    slices_by_name = [
        (len(x.gpus) * count, name) for x in gpus.layouts for name, count in x.counts.items()
    ]
    most = max(slices_by_name, key=lambda each: each[0])[1]
    equivalent = [size for size in sizes if slices[size] == slices[most]]
    return most if most in sizes else equivalent[0]


def is_gke_managed(pool: PoolPlan) -> bool:
    """Whether GKE's own device plugin cuts or shares the pool's GPUs."""
    software = pool.node_software
    brought = software.owners[SoftwarePart.DEVICE_PLUGIN.value] if software else ""
    return brought == ComponentOwner.GKE.value and not pool.sharing.is_counted_as_whole_gpu


def partition_of(pool: PoolPlan) -> str:
    """The size that GKE is told to cut the GPUs into; empty where it cuts none."""
    return next(iter(pool.layouts[0].counts)) if is_gke_managed(pool) and pool.layouts else ""


def strategy_of(pool: PoolPlan) -> str:
    """The way of sharing that GKE is told; empty where pods share nothing."""
    return STRATEGIES.get(pool.sharing, "") if is_gke_managed(pool) else ""


def gke_labels(pool: PoolPlan) -> dict[str, str]:
    """What GKE says on the pool's nodes of how it cuts and shares their GPUs."""
    results: dict[str, str] = {}
    if size := partition_of(pool):
        results[PARTITION_LABEL] = size
    if strategy := strategy_of(pool):
        results[STRATEGY_LABEL] = STRATEGY_WORDS[strategy]
        results[CLIENTS_LABEL] = str(pool.replicas)
    return results


def shared_names(pools: Iterable[PoolPlan]) -> frozenset[str]:
    """What a container of these pools may ask for once, though its name does not say that it is a share.

    Of a node with one GPU, or one slice, GKE gives a container several shares.
    """
    apart = (p for p in pools if strategy_of(p) and p.advertised[0].per_node > p.replicas)
    return frozenset(each.resource for pool in apart for each in pool.advertised)


# ── of a team ─────────────────────────────────────────────────────────────────────────────────────
def check_one_name(draft: Draft) -> list[Finding]:
    """Refuse a team whose pools mean different things by one name: its queue and its quota count names."""
    findings: list[Finding] = []
    valid = draft.valid_pools
    for index, team in enumerate(draft.spec.teams):
        pools = [valid[name] for name in usable_pools(draft.quotas[index])]
        gpus = {p.name: each for p in pools for each in p.advertised if each.resource == GPU}
        gke = [pool.name for pool in pools if is_gke_managed(pool)]
        if gke and len({(each.unit, each.gpu_share) for each in gpus.values()}) > 1:
            findings.append(_one_name(draft, index, team.name, gpus, gke))
    return findings


def _one_name(
    draft: Draft, index: int, team: str, gpus: Mapping[str, Advertised], gke: list[str]
) -> Finding:
    shown = [f"{name} has {_shown(offer)}" for name, offer in gpus.items()]
    at: Path | None = None
    if len(gke) == 1:
        place = next(n for n, pool in enumerate(draft.spec.pools) if pool.name == gke[0])
        at = ("pools", place, "image")
    return error(
        "sharing.one_name",
        ("teams", index),
        f"the queue of {team} counts {GPU}, and its pools mean different things by it ({'; '.join(shown)}):"
        " it would take a pod for either",
        value=format_list(gpus),
        allowed="pools of one kind for each team where GKE shares GPUs, or the GPU Operator, which names"
        " shares and slices",
        fix=Fix(
            message=f"write image: {_OURS.name} for {format_list(gke)}",
            at=at,
            value=_OURS.name if at else None,
        ),
    )


def _shown(offer: Advertised) -> str:
    return f"{offer.gpu_share} of a GPU ({offer.unit})" if offer.unit else "whole GPUs"
