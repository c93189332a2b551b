"""A platform that runs in a fake account and is in no Pulumi state."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place

from gpuyard.adopting.resource_search import SearchResult, search
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudGraph, platform_resource_name
from gpuyard.spec.read import read_platform
from gpuyard.stack_validation import validate
from kit.clouds.shown import shown
from kit.stacks import platform, pool, team

REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}
PROJECT = "my-project"
COMPONENT = "platform"
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": PROJECT}
POOLS = {
    "aws": [pool(nodes="1..4", capacity=["spot", "on-demand"])],
    "gcp": [
        pool(
            machine="a3-megagpu-8g",
            nodes="1..4",
            zones=["us-central1-a"],
            capacity=["on-demand"],
        )
    ],
}


@dataclass(frozen=True)
class Running:
    """Its stack file, its plan, and the account."""

    raw: Mapping[str, Any]
    plan: PlatformPlan
    graph: CloudGraph
    account: Account

    def search(
        self, inputs: Mapping[str, str] | None = None, *, ask: bool = True, **more: Any
    ) -> SearchResult:
        """Search like the command; for Google the project is always given."""
        known = {"client.project": PROJECT} if self.plan.cloud.value == "gcp" else {}
        asks = more.get("asks", partial(shown, self.account)) if ask else None
        return search(self.plan, self.graph, {**known, **(inputs or {})}, asks, COMPONENT)


def running(cloud: str, folder: Path | None = None, *, region: bool = True, **rest: Any) -> Running:
    """A platform whose resources were all created, under the engine's names.

    Without a region the stack file does not set one.
    """
    raw = platform(
        rest.pop("pools", POOLS[cloud]), [team()], cloud=cloud, queueing={"install": False}, **rest
    )
    result = validate(read_platform(raw, {f"{cloud}:region": REGIONS[cloud]} if region else {}))
    assert result.plan is not None, [str(each) for each in result.findings]
    graph, account = result.plan.provider.graph(result.plan), Account(folder, cloud)
    assert graph is not None
    place = Place(cloud, REGIONS[cloud], PROJECT if cloud == "gcp" else "")
    assert judged(graph, place, account, partial(platform_resource_name, COMPONENT)) == []
    return Running(raw, result.plan, graph, account)
