"""How nodes of a pool are made anew: what each cloud can be told, and what that comes to."""

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
    """With what nobody wrote filled in; None where no cloud makes nodes anew."""
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
    """How many nodes at once, and whether any beyond the pool's own."""
    if _by_karpenter(spec, pool):
        if pool.disruption_window:
            return f"by Karpenter, {_nodes(pool.disruption_window.nodes)} at once in the hours of upkeep"
        return "by Karpenter, never while anything runs on them"
    if pool.upgrade.blue_green:
        return "all new nodes beside all old ones"
    out = "a tenth of a group" if unavailable is None else _nodes(unavailable)
    if not pool.upgrade.max_surge:
        return f"{out} out of work at once, none beyond the pool's own"
    beyond = _nodes(pool.upgrade.max_surge)
    if spec.cloud is Cloud.AWS:
        beyond = "so many, and two for each zone at least,"
    return f"{out} out of work at once, {beyond} made before"


def _nodes(count: int) -> str:
    return f"{count or 'no'} node{'' if count == 1 else 's'}"


def _drained(spec: PlatformSpec, pool: Pool, minutes: int) -> str:
    pods = f"pods have {minutes} minute{'' if minutes == 1 else 's'} to end"
    if spec.cloud is Cloud.GCP or _by_karpenter(spec, pool) or pool.upgrade.force:
        return f"{pods}, and then go with their node"
    return f"{pods}; where one is not out by then, EKS stops the update"


# ── proofs ────────────────────────────────────────────────────────────────────────────────────────
def check_upgrade(
    spec: PlatformSpec, pool: Pool, machine: Machine, path: Path
) -> Iterator[Finding]:
    """Words that the pool's cloud has none for, more than it takes, and room for nodes beyond the pool."""
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
    """The word, why it says nothing, and what can be said."""
    upgrade = pool.upgrade
    if _by_karpenter(spec, pool):
        for word in ("max_unavailable", "max_surge", "blue_green", "force"):
            if getattr(upgrade, word):
                why = "Karpenter makes nodes anew when nothing runs on them, so there are none at once"
                yield word, why, "drain_minutes"
    elif spec.cloud is Cloud.AWS:
        yield from _on_eks(pool)
    else:
        yield from _on_gke(spec, pool, machine)


def _on_eks(pool: Pool) -> Iterator[tuple[str, str, str]]:
    upgrade = pool.upgrade
    if upgrade.blue_green:
        yield "blue_green", "EKS has no second set of nodes for a node group", "max_surge: 1"
    if upgrade.drain_minutes not in {None, EKS_DRAIN}:
        why = f"EKS gives pods {EKS_DRAIN} minutes, and no field says another time"
        yield (
            "drain_minutes",
            why,
            f"{EKS_DRAIN}, or scaling: karpenter, which has a time of its own",
        )
    if (upgrade.max_unavailable or 0) > EKS_MOST:
        yield "max_unavailable", f"EKS takes at most {EKS_MOST} at once", f"1 to {EKS_MOST}"


def _on_gke(spec: PlatformSpec, pool: Pool, machine: Machine) -> Iterator[tuple[str, str, str]]:
    upgrade = pool.upgrade
    if upgrade.force:
        yield "force", "GKE always goes on when the time is over", "drain_minutes"
    ladder = plan_capacity_options(spec, pool, machine)
    if upgrade.blue_green:
        for word in ("max_unavailable", "max_surge"):
            if getattr(upgrade, word):
                yield word, "all nodes are made at once beside the old ones", "blue_green alone"
        if any(option.placement != "none" for option in ladder):
            why = "nodes that stand close together are not made twice"
            yield "blue_green", why, "unavailable, or a pool without a place of its own"
    elif (upgrade.max_unavailable or 0) + upgrade.max_surge > GKE_MOST:
        word = "max_surge" if upgrade.max_surge else "max_unavailable"
        yield word, f"GKE makes at most {GKE_MOST} anew at once", f"{GKE_MOST} together"
    if all(option.mode is Capacity.FLEX_START for option in pool.capacity):
        for word in ("max_unavailable", "max_surge", "blue_green"):
            if getattr(upgrade, word):
                why = "GKE makes flex-start nodes anew in a way of its own: when they have ended"
                yield word, why, "drain_minutes"


def _no_spare(pool: Pool, where: Path) -> Iterator[Finding]:
    """Nodes beyond the pool's own, and a reservation that holds none."""
    upgrade = pool.upgrade
    prepaid = [option for option in pool.capacity if option.mode in PREPAID]
    if not prepaid or not (upgrade.max_surge or upgrade.blue_green):
        return
    word = "blue_green" if upgrade.blue_green else "max_surge"
    yield warning(
        "upgrade.no_spare",
        (*where, word),
        f"new nodes are to come before old ones go, and {prepaid[0].mode.value} {prepaid[0].reservation} holds"
        f" {prepaid[0].nodes}: where all of them run, none is left for it, and the update waits",
        value=f"{word}: {str(getattr(upgrade, word)).lower()}",
        allowed="unavailable alone, or a reservation with nodes to spare",
        fix=Fix(message=f"remove {word}", at=(*where, word)),
    )
