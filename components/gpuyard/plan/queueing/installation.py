"""Installation of the queueing engine: by gpuyard, by the simulated cluster, or an existing one."""

from gpuyard.plan.draft import Draft
from gpuyard.plan.queueing.kueue import GATES, WITHOUT_QUOTA, integrated_kinds
from gpuyard.plan.queueing.multikueue import FRAMEWORKS as SENT
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.queueing import MigQuota
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info
from gpuyard_core.names import GPU_CLAIM, MIG_SLICES

_PATH: Path = ("queueing", "install")


def installs_kueue(spec: PlatformSpec) -> bool:
    """Whether gpuyard installs Kueue's chart: everywhere except on a simulated cluster, which has Kueue."""
    return not uses_volcano(spec) and _installs_engine(spec)


def installs_volcano(spec: PlatformSpec) -> bool:
    """Whether gpuyard installs Volcano's chart."""
    return uses_volcano(spec) and _installs_engine(spec)


def _installs_engine(spec: PlatformSpec) -> bool:
    if spec.queueing.install is None:
        return spec.cloud is not Cloud.SIMULATED
    return spec.queueing.install


def check_kueue(draft: Draft) -> list[Diagnostic]:
    """Reject a second Kueue in one cluster; list the settings that an existing Kueue needs."""
    spec = draft.spec
    if uses_volcano(spec):
        return []
    if spec.cloud is Cloud.SIMULATED:
        return [_second()] if installs_kueue(spec) else []
    return [] if installs_kueue(spec) else [_needed_of_another(spec)]


def _second() -> Diagnostic:
    return error(
        "kueue.simulated",
        _PATH,
        "a simulated cluster installs Kueue, and a cluster can have only one Kueue",
        given="true",
        allowed="false, or no field",
        fix=Fix(message="remove it", at=_PATH),
    )


def _frameworks(spec: PlatformSpec) -> list[str]:
    """Frameworks that the chart of another version or another admin may have left out."""
    return ["pod", *(kind.lower() for kind in integrated_kinds(spec))]


def _needed_of_another(spec: PlatformSpec) -> Diagnostic:
    """Quotas of GPUs only need a Kueue that does not count CPU: by default it counts every resource."""
    needs = [f"resources.excludeResourcePrefixes with {', '.join(WITHOUT_QUOTA)}"]
    needs += [f"featureGates.{gate} {str(on).lower()}" for gate, on in GATES.items()]
    if any(pool.sharing.dra for pool in spec.pools):
        needs.append(f"resources.deviceClassMappings for {GPU_CLAIM}")
    if spec.queueing.mig_quota is MigQuota.SLICES:
        needs.append(f"resources.transformations of MIG profiles to {MIG_SLICES}")
    if spec.queueing.clusters:
        needs.append(
            f"multiKueue.origin {spec.name}, integrations.frameworks with {', '.join(SENT)} only"
        )
    else:
        needs.append(f"integrations.frameworks with {', '.join(_frameworks(spec))}")
    if spec.queueing.fair_sharing:
        needs.append("fairSharing.preemptionStrategies")
    return info(
        "kueue.existing",
        _PATH,
        "gpuyard does not change the configuration of an existing Kueue. Without these settings, jobs wait"
        f" forever or get the wrong quota: {'; '.join(needs)}",
    )
