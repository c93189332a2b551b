"""Node upgrades of a pool: settings, and checks of fields and spare nodes."""

from collections.abc import Iterator

from gpuyard.plan.capacity.capacity_options import PREPAID
from gpuyard.plan.records.nodes import UpgradePlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

DELETED = ", and are then deleted with their node"
"""What happens to pods that do not terminate in time."""


def upgrade_settings(
    pool: Pool, unavailable: int | None, drain: int, at_once: str, afterwards: str = DELETED
) -> UpgradePlan:
    """The upgrade settings of a pool, with the default drain time of its cloud."""
    upgrade = pool.upgrade
    minutes = upgrade.drain_minutes or drain
    pods = f"pods have {minutes} minute{'' if minutes == 1 else 's'} to terminate"
    return UpgradePlan(
        max_unavailable=unavailable,
        max_surge=upgrade.max_surge,
        blue_green=upgrade.blue_green,
        drain_minutes=minutes,
        force=upgrade.force,
        description=f"{at_once}; {pods}{afterwards}",
    )


def format_batch(pool: Pool, unavailable: str, added: str) -> str:
    """How many nodes are replaced at once, and how many are created before."""
    first = f"{added} created first" if pool.upgrade.max_surge else "no additional nodes"
    return f"{unavailable} unavailable at once, {first}"


def node_count(count: int) -> str:
    """`no nodes`, `1 node`, `2 nodes`."""
    return f"{count or 'no'} node{'' if count == 1 else 's'}"


def check_upgrade(
    spec: PlatformSpec, pool: Pool, machine: Machine, path: Path
) -> Iterator[Diagnostic]:
    """Check for unsupported fields, values above the cloud's limits, and missing spare nodes."""
    provider = provider_of(spec.cloud)
    where = (*path, "upgrade")
    wrong = list(provider.unsupported_upgrade_fields(pool, machine))
    for word, problem, allowed in wrong:
        yield error(
            "upgrade.word",
            (*where, word),
            problem,
            given=f"{word}: {str(getattr(pool.upgrade, word)).lower()}",
            allowed=allowed,
            fix=Fix(message=f"remove {word}", at=(*where, word)),
        )
    if provider.sells_machines and not wrong:
        yield from _no_spare(pool, where)


def _no_spare(pool: Pool, where: Path) -> Iterator[Diagnostic]:
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
        given=f"{word}: {str(getattr(upgrade, word)).lower()}",
        allowed="max_unavailable only, or a reservation with spare nodes",
        fix=Fix(message=f"remove {word}", at=(*where, word)),
    )
