"""The capacity option of nodes, by label: for the agent that reports later options."""

from typing import Any

from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Scaling


def expander_settings(plan: PlatformPlan, pools: list[PoolPlan]) -> list[dict[str, Any]]:
    """Settings of those pools that have several capacity options."""
    settings: list[dict[str, Any]] = []
    for pool in pools:
        label, options = _on_aws(pool) if plan.cloud is Cloud.AWS else _on_gke(pool)
        settings.append(
            {"pool": pool.name, "selector": selector_of(pool), "label": label, "options": options}
        )
    return settings


def selector_of(pool: PoolPlan) -> str:
    """The label selector for nodes of a pool."""
    return ",".join(f"{key}={value}" for key, value in sorted(pool.node_selector.items()))


def _on_aws(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    from gpuyard.catalogue.kubernetes.eks_nodes import GROUP_OF_NODE
    from gpuyard.catalogue.kubernetes.karpenter import POOL_OF_NODE
    from gpuyard.render.aws.pools import group_name, group_sizes
    from gpuyard.render.cloud.spelling import fit_name

    label = POOL_OF_NODE if pool.scaling is Scaling.KARPENTER else GROUP_OF_NODE
    return label, [
        {
            "description": _option_name(size.option),
            "names": [fit_name(group_name(pool, size.option))],
            "max_nodes": size.high,
        }
        for size in group_sizes(pool)
    ]


def _on_gke(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    from gpuyard.catalogue.gke.nodes import POOL_OF_NODE
    from gpuyard.render.gcp.capacity_options import option_node_pools

    results: dict[str, dict[str, Any]] = {}
    for each in option_node_pools(pool):
        option_text = _option_name(each.option)
        entry = results.setdefault(
            option_text, {"description": option_text, "names": [], "max_nodes": 0}
        )
        entry["names"].append(each.name)
        entry["max_nodes"] = max(entry["max_nodes"], each.max_nodes)
    return POOL_OF_NODE, list(results.values())


def _option_name(option: CapacityOption) -> str:
    return f"{option.mode} {option.reservation}" if option.reservation else option.mode
