"""Node upgrades of GKE node pools."""

from collections.abc import Iterator

from gpuyard.plan.capacity.upgrades import format_batch, node_count, upgrade_settings
from gpuyard.plan.records.nodes import UpgradePlan
from gpuyard.providers.gcp.capacity import placement
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.gke.maintenance import DRAIN_MINUTES, MOST_AT_ONCE
from gpuyard_core.catalogue.machines import Capacity, Machine


def plan_upgrade(pool: Pool) -> UpgradePlan:
    """One node at a time by default, which is deleted when its pods have had their time."""
    upgrade = pool.upgrade
    unavailable = upgrade.max_unavailable or (0 if upgrade.max_surge else 1)
    at_once = format_batch(pool, node_count(unavailable), node_count(upgrade.max_surge))
    if upgrade.blue_green:
        at_once = "all new nodes alongside all old ones"
    return upgrade_settings(pool, unavailable, DRAIN_MINUTES, at_once)


def unsupported_upgrade_fields(pool: Pool, machine: Machine) -> Iterator[tuple[str, str, str]]:
    """The field, why it has no effect, and what is allowed."""
    upgrade = pool.upgrade
    if upgrade.force:
        yield "force", "GKE always continues after the drain time", "drain_minutes"
    if upgrade.blue_green:
        for word in ("max_unavailable", "max_surge"):
            if getattr(upgrade, word):
                yield word, "blue_green creates all new nodes at once", "blue_green only"
        if any(placement(pool, machine, option) != "none" for option in pool.capacity):
            why = "nodes with compact placement cannot be created twice"
            yield "blue_green", why, "max_unavailable, or a pool without compact placement"
    elif (upgrade.max_unavailable or 0) + upgrade.max_surge > MOST_AT_ONCE:
        word = "max_surge" if upgrade.max_surge else "max_unavailable"
        yield word, f"GKE replaces at most {MOST_AT_ONCE} at once", f"{MOST_AT_ONCE} together"
    if all(option.mode is Capacity.FLEX_START for option in pool.capacity):
        for word in ("max_unavailable", "max_surge", "blue_green"):
            if getattr(upgrade, word):
                why = "GKE upgrades flex-start nodes only when they end and are replaced"
                yield word, why, "drain_minutes"
