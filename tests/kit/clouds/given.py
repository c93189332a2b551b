"""A cluster that somebody made before: the first of two stacks, in an account of its own."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.judging import judged
from testbed.yard.first import first_of_two

from gpuyard.judging import judge
from gpuyard.names import SYSTEM_POOL
from gpuyard.render.cloud.graph import called_in
from gpuyard.render.cloud_graph import graph_of
from gpuyard.spec.read import read_platform
from kit.clouds.answers import PLACES


def account_with(second: Mapping[str, Any], folder: Path | None = None) -> Account:
    """The account after the first stack was brought up, without an engine."""
    place = PLACES[second["cloud"]]
    config = {f"{place.cloud}:region": place.region}
    found = judge(read_platform(first_of_two(second) or {}, config))
    assert found.plan is not None, [str(each) for each in found.findings]
    graph, account = graph_of(found.plan), Account(folder, place.cloud)
    assert graph is not None
    whole = tuple(each for each in graph.resources if each.part in {"", SYSTEM_POOL})
    made = judged(replace(graph, resources=whole), place, account, partial(called_in, "first"))
    assert made == []
    return account


def unprotected(raw: dict[str, Any]) -> dict[str, Any]:
    """The same platform, which a destroy may delete."""
    storage = {"storage": {**raw["storage"], "protect": False}} if "storage" in raw else {}
    return {
        **storage,
        "cluster": {**raw.get("cluster", {}), "protect": False},
        "teams": [{**each, "protect": False} for each in raw["teams"]],
    }
