"""Which nodes are of which rung, by labels of whoever makes them: for a program that tells of lower ones."""

from typing import Any

from gpuyard.plan.records import LadderRung, PlatformPlan, PoolPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Scaling


def ladders_told(plan: PlatformPlan, pools: list[PoolPlan]) -> list[dict[str, Any]]:
    """Of these pools, which a cloud sells in several ways; each cloud loads nothing of another."""
    told: list[dict[str, Any]] = []
    for pool in pools:
        label, rungs = _on_aws(pool) if plan.cloud is Cloud.AWS else _on_gke(pool)
        told.append(
            {"pool": pool.name, "selector": selector_of(pool), "label": label, "rungs": rungs}
        )
    return told


def selector_of(pool: PoolPlan) -> str:
    """Nodes of a pool, as an API server is asked for them."""
    return ",".join(f"{key}={value}" for key, value in sorted(pool.node_selector.items()))


def _on_aws(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    from gpuyard.catalogue.kubernetes.eks_nodes import GROUP_OF_NODE
    from gpuyard.catalogue.kubernetes.karpenter import POOL_OF_NODE
    from gpuyard.render.aws.pools import group_name, group_sizes
    from gpuyard.render.cloud.spelling import fit

    label = POOL_OF_NODE if pool.scaling is Scaling.KARPENTER else GROUP_OF_NODE
    return label, [
        {
            "says": _says(size.rung),
            "names": [fit(group_name(pool, size.rung))],
            "most": size.high,
        }
        for size in group_sizes(pool)
    ]


def _on_gke(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    from gpuyard.catalogue.gke.nodes import POOL_OF_NODE
    from gpuyard.render.gcp.rungs import groups

    found: dict[str, dict[str, Any]] = {}
    for each in groups(pool):
        says = _says(each.rung)
        rung = found.setdefault(says, {"says": says, "names": [], "most": 0})
        rung["names"].append(each.name)
        rung["most"] = max(rung["most"], each.most)
    return POOL_OF_NODE, list(found.values())


def _says(rung: LadderRung) -> str:
    return f"{rung.mode} {rung.reservation}" if rung.reservation else rung.mode
