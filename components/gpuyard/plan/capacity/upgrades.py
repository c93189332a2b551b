"""Node upgrades of a pool: what each cloud lets you configure, and the result."""

from collections.abc import Iterator

from gpuyard.catalogue.gke.maintenance import DRAIN_MINUTES as GKE_DRAIN
from gpuyard.catalogue.gke.maintenance import MOST_AT_ONCE as GKE_MOST
from gpuyard.catalogue.kubernetes.eks_nodes import DRAIN_MINUTES as EKS_DRAIN
from gpuyard.catalogue.kubernetes.eks_nodes import MOST_UNAVAILABLE as EKS_MOST
from gpuyard.catalogue.kubernetes.karpenter import DRAIN_MINUTES as KARPENTER_DRAIN
from gpuyard.catalogue.machines import Capacity, Machine
from gpuyard.findings import Finding, Fix, Path, error, warning
from gpuyard.plan.capacity.capacity_options import PREPAID, plan_capacity_options
from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.records.nodes import UpgradePlan
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling

_CLOUDS = frozenset({Cloud.AWS, Cloud.GCP})


def plan_upgrade(spec: PlatformSpec, pool: Pool) -> UpgradePlan | None:
    """The upgrade settings with defaults filled in; None where no cloud replaces nodes."""
    if spec.cloud not in _CLOUDS:
        return None
    upgrade, by_karpenter = pool.upgrade, _by_karpenter(spec, pool)
    google = spec.cloud is Cloud.GCP
    usual = GKE_DRAIN if google else KARPENTER_DRAIN if by_karpenter else EKS_DRAIN
    one = 0 if upgrade.max_surge else 1
    unavailable = upgrade.max_unavailable or (one if google else None)
    drain = upgrade.drain_minutes or usual
    return UpgradePlan(
        max_unavailable=unavailable,
        max_surge=upgrade.max_surge,
        blue_green=upgrade.blue_green,
        drain_minutes=drain,
        force=upgrade.force,
        description=f"{_at_once(spec, pool, unavailable)}; {_drained(spec, pool, drain)}",
    )


def _by_karpenter(spec: PlatformSpec, pool: Pool) -> bool:
    return spec.cloud is Cloud.AWS and scaling_of(spec.cloud, pool) is Scaling.KARPENTER


def _at_once(spec: PlatformSpec, pool: Pool, unavailable: int | None) -> str:
    """How many nodes at once, and whether any are created in addition to the pool's."""
    if _by_karpenter(spec, pool):
        if pool.disruption_window:
            return f"by Karpenter, {_nodes(pool.disruption_window.nodes)} at once in the disruption window"
        return "by Karpenter, only when empty"
    if pool.upgrade.blue_green:
        return "all new nodes alongside all old ones"
    out = "a tenth of a group" if unavailable is None else _nodes(unavailable)
    if not pool.upgrade.max_surge:
        return f"{out} unavailable at once, no additional nodes"
    beyond = _nodes(pool.upgrade.max_surge)
    if spec.cloud is Cloud.AWS:
        beyond = "as many nodes (at least two for each zone)"
    return f"{out} unavailable at once, {beyond} created first"


def _nodes(count: int) -> str:
    return f"{count or 'no'} node{'' if count == 1 else 's'}"


def _drained(spec: PlatformSpec, pool: Pool, minutes: int) -> str:
    pods = f"pods have {minutes} minute{'' if minutes == 1 else 's'} to terminate"
    if spec.cloud is Cloud.GCP or _by_karpenter(spec, pool) or pool.upgrade.force:
        return f"{pods}, and are then deleted with their node"
    return f"{pods}; if one still runs, EKS stops the update"


# ── checks ────────────────────────────────────────────────────────────────────────────────────────
def check_upgrade(
    spec: PlatformSpec, pool: Pool, machine: Machine, path: Path
) -> Iterator[Finding]:
    """Check for unsupported fields, values above the cloud's limits, and missing spare nodes."""
    if spec.cloud not in _CLOUDS:
        return
    where = (*path, "upgrade")
    wrong = list(_without_a_word(spec, pool, machine))
    for word, problem, allowed in wrong:
        yield error(
            "upgrade.word",
            (*where, word),
            problem,
            value=f"{word}: {str(getattr(pool.upgrade, word)).lower()}",
            allowed=allowed,
            fix=Fix(message=f"remove {word}", at=(*where, word)),
        )
    if not wrong:
        yield from _no_spare(pool, where)


def _without_a_word(
    spec: PlatformSpec, pool: Pool, machine: Machine
) -> Iterator[tuple[str, str, str]]:
    """The field, why it has no effect, and what is allowed."""
    upgrade = pool.upgrade
    if _by_karpenter(spec, pool):
        for word in ("max_unavailable", "max_surge", "blue_green", "force"):
            if getattr(upgrade, word):
                why = "Karpenter replaces nodes only when they are empty: the field has no effect"
                yield word, why, "drain_minutes"
    elif spec.cloud is Cloud.AWS:
        yield from _on_eks(pool)
    else:
        yield from _on_gke(spec, pool, machine)


def _on_eks(pool: Pool) -> Iterator[tuple[str, str, str]]:
    upgrade = pool.upgrade
    if upgrade.blue_green:
        yield (
            "blue_green",
            "EKS does not support blue-green upgrades of node groups",
            "max_surge: 1",
        )
    if upgrade.drain_minutes not in {None, EKS_DRAIN}:
        why = f"EKS gives pods {EKS_DRAIN} minutes, which is not configurable"
        yield (
            "drain_minutes",
            why,
            f"{EKS_DRAIN}, or scaling: karpenter, where the time is configurable",
        )
    if (upgrade.max_unavailable or 0) > EKS_MOST:
        yield "max_unavailable", f"EKS replaces at most {EKS_MOST} at once", f"1 to {EKS_MOST}"


def _on_gke(spec: PlatformSpec, pool: Pool, machine: Machine) -> Iterator[tuple[str, str, str]]:
    upgrade = pool.upgrade
    if upgrade.force:
        yield "force", "GKE always continues after the drain time", "drain_minutes"
    options = plan_capacity_options(spec, pool, machine)
    if upgrade.blue_green:
        for word in ("max_unavailable", "max_surge"):
            if getattr(upgrade, word):
                yield word, "blue_green creates all new nodes at once", "blue_green only"
        if any(option.placement != "none" for option in options):
            why = "nodes with compact placement cannot be created twice"
            yield "blue_green", why, "max_unavailable, or a pool without compact placement"
    elif (upgrade.max_unavailable or 0) + upgrade.max_surge > GKE_MOST:
        word = "max_surge" if upgrade.max_surge else "max_unavailable"
        yield word, f"GKE replaces at most {GKE_MOST} at once", f"{GKE_MOST} together"
    if all(option.mode is Capacity.FLEX_START for option in pool.capacity):
        for word in ("max_unavailable", "max_surge", "blue_green"):
            if getattr(upgrade, word):
                why = "GKE upgrades flex-start nodes only when they end and are replaced"
                yield word, why, "drain_minutes"


def _no_spare(pool: Pool, where: Path) -> Iterator[Finding]:
    """An upgrade creates additional nodes, but a reservation may have none to spare."""
    upgrade = pool.upgrade
    prepaid = [option for option in pool.capacity if option.mode in PREPAID]
    if not prepaid or not (upgrade.max_surge or upgrade.blue_green):
        return
    word = "blue_green" if upgrade.blue_green else "max_surge"
    yield warning(
        "upgrade.no_spare",
        (*where, word),
        f"the upgrade creates new nodes before it removes old ones, but {prepaid[0].mode.value}"
        f" {prepaid[0].reservation} has {prepaid[0].nodes}: if all of them run, the update waits",
        value=f"{word}: {str(getattr(upgrade, word)).lower()}",
        allowed="max_unavailable only, or a reservation with spare nodes",
        fix=Fix(message=f"remove {word}", at=(*where, word)),
    )
