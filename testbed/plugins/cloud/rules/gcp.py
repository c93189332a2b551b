"""Checks of the gcp provider across fields, beyond the conflicts of its tables."""

import re
from collections.abc import Iterator, Mapping, Sequence

from testbed.plugins.cloud.rules.looking import Inputs, Rule, at, has, items, text, unsure

ZONE = re.compile(r"^[a-z]+-[a-z]+\d+-[a-z]$")


def firewall(inputs: Inputs) -> Iterator[str]:
    """[tf] An ingress rule needs a source."""
    sources = ("sourceTags", "sourceRanges", "sourceServiceAccounts")
    ingress = text(inputs, "direction") in {"", "INGRESS"} and not unsure(inputs, "direction")
    if ingress and not any(has(inputs, each) for each in sources):
        yield f"one of {', '.join(sources)} is needed for direction INGRESS"


def versions(inputs: Inputs) -> Iterator[str]:
    """[tf] A node version applies to the default pool."""
    nodes, least = text(inputs, "nodeVersion"), text(inputs, "minMasterVersion")
    if not has(inputs, "nodeVersion"):
        return
    if at(inputs, "removeDefaultNodePool") is True:
        yield "nodeVersion cannot be given with removeDefaultNodePool true"
    if nodes and least and nodes != least:
        yield f"nodeVersion is {nodes}; allowed: minMasterVersion's {least}"


def locations(inputs: Inputs) -> Iterator[str]:
    """[tf] A zonal cluster's own zone is not repeated."""
    own = text(inputs, "location")
    if ZONE.match(own) and own in items(inputs, "nodeLocations"):
        yield f"nodeLocations holds {own}, the cluster's own zone; leave it out"


def pools_once(inputs: Inputs) -> Iterator[str]:
    """[tf] Pools defined in the cluster must be refreshed."""
    if at(inputs, "skipNodePoolRefresh") is True and has(inputs, "nodePools"):
        yield "skipNodePoolRefresh cannot be given with nodePools"


def upgrade_of_new_pools(inputs: Inputs) -> Iterator[str]:
    """[tf] Surge has its own numbers, also for auto-provisioned pools."""
    path = "clusterAutoscaling.autoProvisioningDefaults.upgradeSettings"
    yield from _surge(at(inputs, path), path)


def upgrade(inputs: Inputs) -> Iterator[str]:
    """[tf] Surge and blue-green have separate numbers."""
    settings = at(inputs, "upgradeSettings")
    yield from _surge(settings, "upgradeSettings")
    if has(settings, "blueGreenSettings") and text(settings, "strategy") == "SURGE":
        yield "upgradeSettings.blueGreenSettings is for strategy BLUE_GREEN"
    both = ("standardRolloutPolicy", "autoscaledRolloutPolicy")
    if all(has(settings, f"blueGreenSettings.{each}") for each in both):
        yield f"upgradeSettings.blueGreenSettings.{both[0]} and {both[1]} exclude each other"


def _surge(settings: object, path: str) -> Iterator[str]:
    strategy = text(settings, "strategy") or "SURGE"
    for name in ("maxSurge", "maxUnavailable"):
        if has(settings, name) and strategy != "SURGE" and not unsure(settings, "strategy"):
            yield f"{path}.{name} is for strategy SURGE; it is {strategy}"


RULES: Mapping[str, Sequence[Rule]] = {
    "gcp:compute/firewall:Firewall": (firewall,),
    "gcp:container/cluster:Cluster": (versions, locations, pools_once, upgrade_of_new_pools),
    "gcp:container/nodePool:NodePool": (upgrade,),
}
