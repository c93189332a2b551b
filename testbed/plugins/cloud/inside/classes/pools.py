"""Node pools of a GKE cluster as its autoscaler sees them, in the order of ComputeClasses.

It knows a pool at zero from the pool itself. A pool with a class grows only by a rule of that class. A pod
selects a class with the class's node label; the taint keeps other pods off.

Source: GoogleCloudPlatform/cluster-autoscaler at 7d250507 (2026-08-21), pkg/computeclass: matcher.go, and
processors/node_group_list_processor.go: pools of a later rule are considered if no earlier one fits a pod.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuyard_simulate.api import ApiError
from testbed.plugins.cloud.inside import gke
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Resize, Scalable
from testbed.plugins.cloud.inside.classes.definition import PATH
from testbed.plugins.cloud.inside.classes.health import LABEL, PoolSeen, conditions, named, rank
from testbed.plugins.cloud.inside.classes.migration import Leaving, Seen, migrate
from testbed.plugins.cloud.inside.joining import GROUP
from testbed.plugins.cloud.inside.scaling import (
    Asked,
    Cloud,
    begun,
    needs_a_node,
    starts,
    without_room,
)
from testbed.plugins.cloud.rules.looking import at, items
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource

_GONE = 404
_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
_GPU = "nvidia.com/gpu"


class ClassServer(Asked):
    """The calls to the API server."""

    def patch(self, path: str, change: dict[str, Any], /) -> Any: ...


def order(api: Asked) -> dict[int, list[str]]:
    """Rules of all classes for the expander: the highest number first, any pool of the same number."""
    results: dict[int, list[str]] = {}
    for each in _classes(api):
        rules = named(each["spec"])
        for place, names in enumerate(rules):
            results.setdefault(len(rules) - place, []).extend(f"^{name}$" for name in names)
    return results


def step(cloud: Cloud, api: ClassServer, autoscaler: Autoscaler, now: float) -> list[Resize]:
    """One iteration of the autoscaler: it writes the classes' status, and enlarges a pool."""
    cloud.settle()
    blocked = cloud.all()
    pools = {str(each.inputs["name"]): each for each in blocked if _scales(each)}
    classes = {each["metadata"]["name"]: each for each in _classes(api)}
    seen = {name: _seen(pool) for name, pool in pools.items()}
    own = _own(seen, classes)
    _tell(api, classes.values(), seen)
    nodes = [begun(each) for each in api.call("GET", "/api/v1/nodes")["items"]]
    pods = api.call("GET", "/api/v1/pods")["items"]
    used = {each["spec"].get("nodeName") for each in pods if needs_a_node(each)}
    all_ = {name: _scalable(pool, blocked, nodes, cloud, used) for name, pool in pools.items()}
    groups = [each for name, each in all_.items() if _may_grow(name, own)]
    message = autoscaler.look(groups, without_room(pods, nodes), now)
    if not message and (leaving := list(_leaving(all_, pools, blocked, own))):
        begun_ones = [each for each in nodes if not starts(each)]
        existing = Seen(begun_ones, pods, api.call("GET", _BUDGETS)["items"])
        message = migrate(leaving, existing, autoscaler, now)
    for each in message:
        cloud.scale(pools[each.group].id, each.size)
    return message


def _leaving(
    by_name: Mapping[str, Scalable],
    pools: Mapping[str, Resource],
    blocked: list[Resource],
    own: Mapping[str, dict[str, Any]],
) -> Iterator[Leaving]:
    """Pools that a class would drain for an earlier rule, unless their nodes are still to come."""
    for name, group in by_name.items():
        mine = own.get(name, {})
        place = rank(mine, name)
        if not at(mine, "activeMigration.optimizeRulePriority") or place == 0:
            continue
        rules = named(mine) if place is None else named(mine)[:place]
        better = [by_name[each] for rule in rules for each in rule if each in by_name]
        if group.target == group.running > 0:
            smaller = machines.smaller(pools[name], blocked)
            yield Leaving(
                group,
                machines.size_of(smaller, blocked),
                _going(pools[name], smaller, blocked),
                tuple(better),
            )


def _going(pool: Resource, smaller: Resource, blocked: list[Resource]) -> frozenset[str]:
    before, after = ({each.name for each in gke.nodes(one, blocked)} for one in (pool, smaller))
    return frozenset(before - after)


def _classes(api: Asked) -> list[dict[str, Any]]:
    try:
        return list(api.call("GET", PATH)["items"])
    except ApiError as problem:
        if problem.status == _GONE:
            return []
        raise


def _tell(
    api: ClassServer, classes: Iterable[dict[str, Any]], pools: Mapping[str, PoolSeen]
) -> None:
    for each in classes:
        name = each["metadata"]["name"]
        fresh = conditions(name, each["spec"], pools)
        if (each.get("status") or {}).get("conditions") != fresh:
            api.patch(f"{PATH}/{name}/status", {"status": {"conditions": fresh}})


def _scales(pool: Resource) -> bool:
    queued = at(pool.inputs, "queuedProvisioning.enabled") is True
    running = pool.state.get("status") not in {"ERROR", "CREATE_FAILED"}
    return pool.kind == gke.POOL and running and not queued and bool(pool.inputs.get("autoscaling"))


def _seen(pool: Resource) -> PoolSeen:
    config: Any = pool.inputs.get("nodeConfig") or {}
    return PoolSeen(config.get("labels") or {}, tuple(items(config, "taints")))


def _own(
    seen: Mapping[str, PoolSeen], classes: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The class settings of each pool; empty without such a class."""
    carried = {name: each.labels[LABEL] for name, each in seen.items() if LABEL in each.labels}
    return {
        name: classes[each]["spec"] if each in classes else {} for name, each in carried.items()
    }


def _may_grow(name: str, own: Mapping[str, dict[str, Any]]) -> bool:
    """Whether a pool may grow: without a class always, else by the class's rules or its default."""
    if name not in own:
        return True
    return (
        rank(own[name], name) is not None or own[name].get("whenUnsatisfiable") == "ScaleUpAnyway"
    )


def _scalable(
    pool: Resource,
    blocked: list[Resource],
    nodes: Iterable[dict[str, Any]],
    cloud: Cloud,
    used: set[str | None],
) -> Scalable:
    target = machines.size_of(pool, blocked)
    missing, error = cloud.missing(pool.id)
    mine = [
        each for each in nodes if (each["metadata"].get("annotations") or {}).get(GROUP) == pool.id
    ]
    return Scalable(
        name=str(pool.inputs["name"]),
        most=int(at(pool.inputs, "autoscaling.totalMaxNodeCount")),
        target=target,
        running=target - missing - cloud.coming(pool.id),
        node=_next(pool, blocked),
        error=error,
        least=int(at(pool.inputs, "autoscaling.totalMinNodeCount") or 0),
        idle=bool(mine) and not any(each["metadata"]["name"] in used for each in mine),
        starting=sum(starts(each) for each in mine),
    )


def _next(pool: Resource, blocked: list[Resource]) -> dict[str, Any]:
    """A node of the pool: GPUs as GKE's plugin will advertise them, else from the accelerator.

    GKE cannot know what another plugin will advertise.
    """
    one = Resource(pool.kind, pool.id, pool.inputs, {**pool.state, "nodeCount": 1}, pool.imports)
    node = gke.nodes(one, blocked)[0]
    gpus = sum(int(each["count"]) for each in items(pool.inputs, "nodeConfig.guestAccelerators"))
    gpus = (node.devices or {}).get(_GPU, gpus)
    return begun(
        {
            "metadata": {"labels": dict(node.labels)},
            "spec": {"taints": [dict(each) for each in node.taints]},
            "status": {"allocatable": {**node.allocatable, _GPU: str(gpus)}},
        }
    )
