"""Node upgrades of EKS node groups, and of nodes that Karpenter replaces."""

from collections.abc import Iterator

from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.capacity.upgrades import DELETED, format_batch, node_count, upgrade_settings
from gpuyard.plan.records.nodes import UpgradePlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Pool, Scaling
from gpuyard_core.catalogue.kubernetes.eks_nodes import DRAIN_MINUTES, MOST_UNAVAILABLE
from gpuyard_core.catalogue.kubernetes.karpenter import DRAIN_MINUTES as KARPENTER_DRAIN_MINUTES
from gpuyard_core.catalogue.machines import Machine


def plan_upgrade(pool: Pool) -> UpgradePlan:
    """By Karpenter when nodes are empty or in a window, else by EKS."""
    unavailable = pool.upgrade.max_unavailable
    if scaling_of(Cloud.AWS, pool) is Scaling.KARPENTER:
        window = pool.disruption_window
        when = f"{node_count(window.nodes)} at once in the disruption window" if window else ""
        at_once = f"by Karpenter, {when or 'only when empty'}"
        return upgrade_settings(pool, unavailable, KARPENTER_DRAIN_MINUTES, at_once)
    out = "a tenth of a group" if unavailable is None else node_count(unavailable)
    at_once = format_batch(pool, out, "as many nodes (at least two for each zone)")
    late = DELETED if pool.upgrade.force else "; if one still runs, EKS stops the update"
    return upgrade_settings(pool, unavailable, DRAIN_MINUTES, at_once, late)


def unsupported_upgrade_fields(pool: Pool, _machine: Machine) -> Iterator[tuple[str, str, str]]:
    """The field, why it has no effect, and what is allowed."""
    if scaling_of(Cloud.AWS, pool) is Scaling.KARPENTER:
        for word in ("max_unavailable", "max_surge", "blue_green", "force"):
            if getattr(pool.upgrade, word):
                why = "Karpenter replaces nodes only when they are empty: the field has no effect"
                yield word, why, "drain_minutes"
    else:
        yield from _on_eks(pool)


def _on_eks(pool: Pool) -> Iterator[tuple[str, str, str]]:
    upgrade = pool.upgrade
    if upgrade.blue_green:
        yield (
            "blue_green",
            "EKS does not support blue-green upgrades of node groups",
            "max_surge: 1",
        )
    if upgrade.drain_minutes not in {None, DRAIN_MINUTES}:
        why = f"EKS gives pods {DRAIN_MINUTES} minutes, which is not configurable"
        yield (
            "drain_minutes",
            why,
            f"{DRAIN_MINUTES}, or scaling: karpenter, where the time is configurable",
        )
    if (upgrade.max_unavailable or 0) > MOST_UNAVAILABLE:
        yield (
            "max_unavailable",
            f"EKS replaces at most {MOST_UNAVAILABLE} at once",
            f"1 to {MOST_UNAVAILABLE}",
        )
