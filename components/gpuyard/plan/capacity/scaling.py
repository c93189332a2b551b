"""Autoscaling of pools: who adds nodes, and what they can know of a node that does not run yet."""

from gpuyard.catalogue.gke.classes import STAYS
from gpuyard.catalogue.kubernetes.autoscalers import TEMPLATE_TAG
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.pins import PINS
from gpuyard.findings import Finding, Fix, Path, error, format_list, info, warning
from gpuyard.names import GPU, GPU_CLAIM
from gpuyard.plan.records import Advertised, AutoscalerHints, Taint
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.values import Range


def scaling_of(cloud: Cloud, pool: Pool) -> Scaling:
    """Who adds nodes. Simulated nodes exist from the beginning, all of them: nothing scales there."""
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
    advertised: tuple[Advertised, ...],
) -> AutoscalerHints:
    """What is known of a node at zero, and what must be said for it to be known.

    Karpenter knows whole GPUs of EC2 machine types; an overlay adds resources beside them, and replaces none.
    Cluster Autoscaler on EC2 believes tags. GKE's knows the GPUs of its node pools, not what a device plugin
    makes of them. What an autoscaler of your own knows is not ours to judge.
    """
    by = "nobody"
    hidden: tuple[str, ...] = ()
    overlay: dict[str, int] = {}
    tags: dict[str, str] = {}
    ours = {a.resource: a.per_node for a in advertised if a.resource != GPU}
    if scaling is not Scaling.FIXED:
        by = "yours"
        if cloud is Cloud.AWS and scaling is Scaling.KARPENTER:
            by, overlay = "overlay" if ours else "cloud", ours
        elif cloud is Cloud.AWS:
            by, tags = "tags", _tags(labels, taints, advertised)
            hidden = (GPU_CLAIM,) if GPU_CLAIM in ours else ()
        elif cloud is Cloud.GCP:
            by, hidden = "cloud", tuple(a.resource for a in advertised) if ours else ()
    return AutoscalerHints(source=by, overlay=overlay, tags=tags, undiscovered_resources=hidden)


def _tags(
    labels: dict[str, str], taints: tuple[Taint, ...], advertised: tuple[Advertised, ...]
) -> dict[str, str]:
    return {
        **{f"{TEMPLATE_TAG}/label/{key}": value for key, value in labels.items()},
        **{f"{TEMPLATE_TAG}/taint/{t.key}": f"{t.value}:{t.effect}" for t in taints},
        **{
            f"{TEMPLATE_TAG}/resources/{a.resource}": str(a.per_node)
            for a in advertised
            if a.resource != GPU_CLAIM  # no node advertises it; queues alone count it
        },
    }


def check_scaling(
    spec: PlatformSpec,
    pool: Pool,
    machine: Machine,
    advertised: tuple[Advertised, ...],
    path: Path,
) -> list[Finding]:
    """Whoever adds nodes must count right what they hold."""
    scaling = scaling_of(spec.cloud, pool)
    has_whole_gpus = any(a.resource == GPU for a in advertised)
    if scaling is Scaling.KARPENTER and spec.cloud is Cloud.GCP:
        return [
            _autoscaler("GKE adds nodes to its own pools; Karpenter is for aws", "karpenter", path)
        ]
    if scaling is Scaling.KARPENTER and spec.cloud is Cloud.AWS:
        if machine.gpu_fraction != 1:
            why = (
                f"EC2 reports no whole GPU for {machine.name}, so Karpenter never starts one for a pod that"
                " asks for a GPU"
            )
            return [_autoscaler(why, f"karpenter with {machine.name}", path)]
        if pool.sharing.dra:
            why = (
                f"Karpenter {PINS['karpenter'].version} passes over pods with claims, unless told to try"
                " what is not finished"
            )
            return [_autoscaler(why, "karpenter with dra", path)]
        if has_whole_gpus and len(advertised) > 1:
            whole_gpus = next(a.per_node for a in advertised if a.resource == GPU)
            why = (
                f"Karpenter counts {machine.gpus} whole GPUs in {machine.name}, {whole_gpus} are left whole,"
                " and no overlay can lower that: pods would wait for GPUs that are not there"
            )
            return [_autoscaler(why, "karpenter with some GPUs cut", path)]
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
        allowed="scaling: autoscaler, or one number of nodes",
        fix=Fix(message="write autoscaler", at=(*path, "scaling"), value="autoscaler"),
    )


def _unobserved(advertised: tuple[Advertised, ...], path: Path) -> list[Finding]:
    """GKE's autoscaler empties a node whose GPUs nobody uses, and knows of whole ones alone."""
    hidden = [a.resource for a in advertised if a.resource != GPU]
    if not hidden:
        return []
    stays = f'{STAYS}: "false"'
    return [
        info(
            "scaling.unseen",
            (*path, "sharing"),
            f"GKE's autoscaler reckons the use of a node by {GPU} alone: one of which only {format_list(hidden)}"
            " is asked for counts as unused, and is emptied where its pods find room elsewhere",
            value=", ".join(hidden),
            allowed="one number of nodes, from which none is taken away",
            fix=Fix(message=f"give pods that must stay the annotation {stays}"),
        )
    ]


def _check_blind(pool: Pool, advertised: tuple[Advertised, ...], path: Path) -> list[Finding]:
    hidden = [a.resource for a in advertised if a.resource != GPU]
    if pool.nodes.low or not pool.nodes.high or not hidden:
        return []
    nodes = Range(1, pool.nodes.high)
    return [
        warning(
            "scaling.blind",
            (*path, "nodes"),
            f"the autoscaler learns of {', '.join(hidden)} from a node that runs: from zero it starts none",
            value=str(pool.nodes),
            allowed=f"{nodes}: one node that always runs",
            fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
        )
    ]
