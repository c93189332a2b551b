"""What dashboards.yaml has: which dashboards a platform shows, and which alerts link to them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.data_files import read_data
from gpuyard.render.observability.scope import PROFILING, metered_pools, textfile
from gpuyard.render.observability.targets import targets

_UID = 40
"""The length of a dashboard's uid that Grafana allows."""
_ROWS = 512
"""The most GPUs with a row each in a heatmap; more rows are thinner than a pixel, and slow in a browser."""
_NAMES = {"queue": "or $labels.queue $labels.cluster_queue"}
"""What an alert has for a variable of a dashboard, if it is not the label of the variable's name."""


@cache
def dashboard_templates() -> tuple[Mapping[str, Any], ...]:
    """The content of dashboards.yaml."""
    return tuple(read_data("observability/dashboards.yaml"))


def dashboard_uid(plan: PlatformPlan, name: str) -> str:
    """The uid, by which links name a dashboard."""
    return f"{name}-{plan.name}"[:_UID]


def is_large(plan: PlatformPlan) -> bool:
    """Whether the platform has too many GPUs to show all of them in one panel."""
    return sum(pool.nodes.high * pool.machine.gpus for pool in plan.pools) > _ROWS


def features(plan: PlatformPlan) -> Mapping[str, bool]:
    """What `when` may name."""
    pools = metered_pools(plan.pools)
    workloads = plan.spec.workloads
    measured = {target.name for target in targets(plan)}
    return {
        "": True,
        "teams": bool(plan.teams),
        "queues": bool(plan.teams),
        "priorities": bool(plan.spec.priorities),
        "priced": any(
            price.mean or price.high for line in plan.bill.lines for price in line.prices
        ),
        "sliced": any(pool.modes & {"mig", "shared"} for pool in pools),
        "few_gpus": not is_large(plan) and all(PROFILING in pool.products for pool in pools),
        "profiling": all(PROFILING in pool.products for pool in pools),
        "validation": bool(textfile(plan)),
        "services": bool(workloads and workloads.services),
        "target_shares": bool(measured - {"wait_p95"}),
        "target_waits": "wait_p95" in measured,
    }


def alert_links(plan: PlatformPlan) -> Mapping[str, str]:
    """The path in Grafana of the dashboard that explains an alert, by the alert's name; the alert's labels fill it."""
    has = features(plan)
    return {
        alert: f"/d/{dashboard_uid(plan, each['name'])}?refresh=1m{_selection(each['variables'])}"
        for each in dashboard_templates()
        if has[each.get("when", "")]
        for alert in each["alerts"]
    }


def _selection(variables: list[str]) -> str:
    return "".join(
        f"{{{{ with {_NAMES.get(name, f'$labels.{name}')} }}}}&var-{name}={{{{ . }}}}{{{{ end }}}}"
        for name in variables
    )
