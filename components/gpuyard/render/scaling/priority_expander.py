"""Which nodes are of which rung, by labels of whoever makes them: for a program that tells of lower ones."""

from typing import Any

from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Scaling


def expander_settings(plan: PlatformPlan, pools: list[PoolPlan]) -> list[dict[str, Any]]:
    """Of these pools, which a cloud sells in several ways; each cloud loads nothing of another."""
    settings: list[dict[str, Any]] = []
    for pool in pools:
        label, rungs = _on_aws(pool) if plan.cloud is Cloud.AWS else _on_gke(pool)
        settings.append(
            {"pool": pool.name, "selector": selector_of(pool), "label": label, "rungs": rungs}
        )
    return settings


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
            "says": _option_name(size.option),
            "names": [fit(group_name(pool, size.option))],
            "most": size.high,
        }
        for size in group_sizes(pool)
    ]


def _on_gke(pool: PoolPlan) -> tuple[str, list[dict[str, Any]]]:
    from gpuyard.catalogue.gke.nodes import POOL_OF_NODE
    from gpuyard.render.gcp.capacity_options import groups

    results: dict[str, dict[str, Any]] = {}
    for each in groups(pool):
        option_text = _option_name(each.option)
        entry = results.setdefault(option_text, {"says": option_text, "names": [], "most": 0})
        entry["names"].append(each.name)
        entry["most"] = max(entry["most"], each.max_nodes)
    return POOL_OF_NODE, list(results.values())


def _option_name(option: CapacityOption) -> str:
    return f"{option.mode} {option.reservation}" if option.reservation else option.mode
