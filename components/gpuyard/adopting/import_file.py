"""The file that `pulumi import --file` takes, with the names and parents that the program has."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.catalogue.cloud_fields import DEFAULTS, cloud_kind
from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.names import SYSTEM_POOL
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CLUSTER, CloudGraph, CloudResource, platform_resource_name

_CLUSTERS = {"aws": "EksCluster", "gcp": "GkeCluster"}


def import_file(
    plan: PlatformPlan, graph: CloudGraph, ids: Mapping[str, str], component: str
) -> dict[str, Any]:
    """Parents first: the platform, its cluster and pools, and below them what has an id.

    `ids` are what import takes, by the names in the graph; `component` is the name that the Platform has in
    the program.
    """
    imported = [each for each in graph.resources if each.name in ids]
    top = _component("Platform", component)
    above: dict[str, dict[str, Any]] = {}
    resources: list[dict[str, Any]] = []
    for each in imported:
        kind = "GpuNodePool" if _in_pool(each) else _CLUSTERS[plan.cloud.value]
        name = f"{component}-{each.part if _in_pool(each) else CLUSTER}"
        parent = above.setdefault(name, {**_component(kind, name), "parent": top["name"]})
        resources.append(
            {
                "type": each.kind,
                # keys of the file must be unique, which names in a program need not be
                "name": f"{each.kind.rpartition(':')[2]} {each.name}",
                "logicalName": platform_resource_name(component, each),
                "id": ids[each.name],
                "parent": parent["name"],
                "version": PROVIDERS[each.kind.partition(":")[0]].version,
            }
        )
    return {"nameTable": {}, "resources": [top, *above.values(), *resources]}


def _in_pool(each: CloudResource) -> bool:
    return each.part not in {"", SYSTEM_POOL}


def _component(kind: str, name: str) -> dict[str, Any]:
    return {
        "type": f"gpuyard:index:{kind}",
        "name": f"{kind} {name}",
        "logicalName": name,
        "component": True,
    }


def with_explicit_names(deployment: Mapping[str, Any], adopted: Iterable[str]) -> dict[str, Any]:
    """A deployment as the engine exports it, in which names of what was adopted count as given by the engine.

    An import takes them for the program's own. A program that gives no name would then ask for a new one,
    and the resource would be made anew. `adopted` are names in the program.
    """
    adopted_names = set(adopted)
    resources: list[Any] = []
    for each in deployment.get("resources") or []:
        inputs = each.get("inputs") or {}
        ours = each["urn"].rpartition("::")[2] in adopted_names and each.get("custom") is True
        named = cloud_kind(each["type"]).named if ours else ""
        if named in inputs:
            defaults = sorted({*inputs.get(DEFAULTS, ()), named})
            resources.append({**each, "inputs": {**inputs, DEFAULTS: defaults}})
        else:
            resources.append(each)
    return {**deployment, "resources": resources}
