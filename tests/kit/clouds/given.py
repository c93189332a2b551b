"""An existing cluster: the first of two stacks, in a separate account."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.judging import judged
from testbed.yard.first import first_of_two

from gpuyard.render.cloud.graph import platform_resource_name
from gpuyard.spec.read import read_platform
from gpuyard.stack_validation import validate
from gpuyard_core.names import SYSTEM_POOL
from kit.clouds.answers import PLACES


def account_with(second: Mapping[str, Any], folder: Path | None = None) -> Account:
    """The account after the first stack was deployed, without an engine."""
    place = PLACES[second["cloud"]]
    config = {f"{place.cloud}:region": place.region}
    result = validate(read_platform(first_of_two(second) or {}, config))
    assert result.plan is not None, [str(each) for each in result.findings]
    graph, account = result.plan.provider.graph(result.plan), Account(folder, place.cloud)
    assert graph is not None
    complete = tuple(each for each in graph.resources if each.part in {"", SYSTEM_POOL})
    created = judged(
        replace(graph, resources=complete), place, account, partial(platform_resource_name, "first")
    )
    assert created == []
    return account


def unprotected(raw: dict[str, Any]) -> dict[str, Any]:
    """The same platform without deletion protection."""
    storage = {"storage": {**raw["storage"], "protect": False}} if "storage" in raw else {}
    return {
        **storage,
        "cluster": {**raw.get("cluster", {}), "protect": False},
        "teams": [{**each, "protect": False} for each in raw["teams"]],
    }
