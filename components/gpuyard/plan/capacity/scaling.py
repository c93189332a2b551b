"""Autoscaling of pools: which component adds nodes, and what it knows before a node runs."""

from gpuyard.catalogue.gke.classes import STAYS
from gpuyard.catalogue.kubernetes.autoscalers import TEMPLATE_TAG
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.pins import PINS
from gpuyard.findings import Finding, Fix, Path, error, format_list, info, warning
from gpuyard.names import GPU, GPU_CLAIM
from gpuyard.plan.records import AdvertisedResource, AutoscalerHints, Taint
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.values import Range


def scaling_of(cloud: Cloud, pool: Pool) -> Scaling:
    """Which component adds nodes. Nothing scales simulated nodes: all exist from the start."""
    if cloud is Cloud.SIMULATED or pool.select:
        return Scaling.FIXED
    if pool.scaling is not None:
        return pool.scaling
    if pool.nodes.low == pool.nodes.high:
        return Scaling.FIXED
    return Scaling.AUTOSCALER


def plan_scaling(
    cloud: Cloud,
    scaling: Scaling,
    labels: dict[str, str],
    taints: tuple[Taint, ...],
    advertised: tuple[AdvertisedResource, ...],
) -> AutoscalerHints:
    """What the autoscaler knows about nodes at zero, and what must be configured for that.

    Karpenter knows whole GPUs of EC2 instance types; an overlay adds resources to them, and
    replaces none. Cluster Autoscaler on EC2 reads tags. GKE's knows the GPUs of its node pools, not
    what a device plugin makes of them. gpuyard does not check an autoscaler of your own.
    """
    by = "none"
    hidden: tuple[str, ...] = ()
    overlay: dict[str, int] = {}
    tags: dict[str, str] = {}
    added = {a.resource: a.per_node for a in advertised if a.resource != GPU}
    if scaling is not Scaling.FIXED:
        by = "own"
        if cloud is Cloud.AWS and scaling is Scaling.KARPENTER:
            by, overlay = "overlay" if added else "cloud", added
        elif cloud is Cloud.AWS:
            by, tags = "tags", _tags(labels, taints, advertised)
            hidden = (GPU_CLAIM,) if GPU_CLAIM in added else ()
        elif cloud is Cloud.GCP:
            by, hidden = "cloud", tuple(a.resource for a in advertised) if added else ()
    return AutoscalerHints(source=by, overlay=overlay, tags=tags, undiscovered_resources=hidden)


def _tags(
    labels: dict[str, str], taints: tuple[Taint, ...], advertised: tuple[AdvertisedResource, ...]
) -> dict[str, str]:
    return {
        **{f"{TEMPLATE_TAG}/label/{key}": value for key, value in labels.items()},
        **{f"{TEMPLATE_TAG}/taint/{t.key}": f"{t.value}:{t.effect}" for t in taints},
        **{
            f"{TEMPLATE_TAG}/resources/{a.resource}": str(a.per_node)
            for a in advertised
            if a.resource != GPU_CLAIM  # no node advertises it; only queues count it
        },
    }


def check_scaling(
    spec: PlatformSpec,
    pool: Pool,
    machine: Machine,
    advertised: tuple[AdvertisedResource, ...],
    path: Path,
) -> list[Finding]:
    """Check that the autoscaler counts the resources of nodes correctly."""
    scaling = scaling_of(spec.cloud, pool)
    has_whole_gpus = any(a.resource == GPU for a in advertised)
    if scaling is Scaling.KARPENTER and spec.cloud is Cloud.GCP:
        return [
            _autoscaler(
                "GKE scales its own node pools; Karpenter is for aws only", "karpenter", path
            )
        ]
    if scaling is Scaling.KARPENTER and spec.cloud is Cloud.AWS:
        if machine.gpu_fraction != 1:
            why = (
                f"EC2 reports no whole GPU for {machine.name}, so Karpenter never launches one for a pod that"
                " requests a GPU"
            )
            return [_autoscaler(why, f"karpenter with {machine.name}", path)]
        if pool.sharing.dra:
            why = (
                f"Karpenter {PINS['karpenter'].version} ignores pods with resource claims unless an unfinished"
                " feature is enabled"
            )
            return [_autoscaler(why, "karpenter with dra", path)]
        if has_whole_gpus and len(advertised) > 1:
            whole_gpus = next(a.per_node for a in advertised if a.resource == GPU)
            why = (
                f"Karpenter counts {machine.gpus} whole GPUs in {machine.name}, but {whole_gpus} are not partitioned,"
                " and no NodeOverlay can lower the count: pods would wait for GPUs that do not exist"
            )
            return [_autoscaler(why, "karpenter with some GPUs partitioned", path)]
    if scaling is Scaling.AUTOSCALER and (
        spec.cloud is Cloud.GCP or (spec.cloud is Cloud.AWS and pool.sharing.dra)
    ):
        unseen = _unobserved(advertised, path) if spec.cloud is Cloud.GCP else []
        return [*_check_blind(pool, advertised, path), *unseen]
    return []


def _autoscaler(why: str, value: str, path: Path) -> Finding:
    return error(
        "scaling.miscounts",
        (*path, "scaling"),
        why,
        value=value,
        allowed="scaling: autoscaler, or a fixed number of nodes",
        fix=Fix(message="write scaling: autoscaler", at=(*path, "scaling"), value="autoscaler"),
    )


def _unobserved(advertised: tuple[AdvertisedResource, ...], path: Path) -> list[Finding]:
    """GKE's autoscaler drains a node whose GPUs are unused, and counts whole GPUs only."""
    hidden = [a.resource for a in advertised if a.resource != GPU]
    if not hidden:
        return []
    stays = f'{STAYS}: "false"'
    return [
        info(
            "scaling.unseen",
            (*path, "sharing"),
            f"GKE's autoscaler measures a node's use by {GPU} only: a node whose pods use {format_list(hidden)}"
            " counts as unused, and is drained if its pods fit elsewhere",
            value=", ".join(hidden),
            allowed="a fixed number of nodes, of which none is removed",
            fix=Fix(message=f"add the annotation {stays} to pods that must not move"),
        )
    ]


def _check_blind(
    pool: Pool, advertised: tuple[AdvertisedResource, ...], path: Path
) -> list[Finding]:
    hidden = [a.resource for a in advertised if a.resource != GPU]
    if pool.nodes.low or not pool.nodes.high or not hidden:
        return []
    nodes = Range(1, pool.nodes.high)
    return [
        warning(
            "scaling.blind",
            (*path, "nodes"),
            f"the autoscaler reads {', '.join(hidden)} from a running node: it cannot scale up from zero",
            value=str(pool.nodes),
            allowed=f"{nodes}, so that one node always runs",
            fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
        )
    ]
