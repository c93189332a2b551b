"""The capacity option of nodes, by label: for the agent that reports later options."""

from typing import Any

from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan


def expander_settings(plan: PlatformPlan, pools: list[PoolPlan]) -> list[dict[str, Any]]:
    """Settings of those pools that have several capacity options."""
    settings: list[dict[str, Any]] = []
    for pool in pools:
        label, options = plan.provider.nodes_by_option(pool)
        settings.append(
            {"pool": pool.name, "selector": selector_of(pool), "label": label, "options": options}
        )
    return settings


def selector_of(pool: PoolPlan) -> str:
    """The label selector for nodes of a pool."""
    return ",".join(f"{key}={value}" for key, value in sorted(pool.node_selector.items()))


def option_text(option: CapacityOption) -> str:
    """The mode of a capacity option, and its reservation."""
    return f"{option.mode} {option.reservation}" if option.reservation else option.mode
