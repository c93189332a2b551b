"""Kueue installation: one that we install, the simulated cluster's, or one that is there already."""

from gpuyard.findings import Finding, Fix, Path, error, info
from gpuyard.names import GPU_CLAIM, MIG_SLICES
from gpuyard.plan.draft import Draft
from gpuyard.plan.queueing.kueue import GATES, WITHOUT_QUOTA
from gpuyard.plan.queueing.multikueue import FRAMEWORKS as SENT
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.queueing import MigQuota

_PATH: Path = ("queueing", "install")


def installs_kueue(spec: PlatformSpec) -> bool:
    """Whether Kueue's chart is ours to install: everywhere but on a simulated cluster, which brings it."""
    if spec.queueing.install is None:
        return spec.cloud is not Cloud.SIMULATED
    return spec.queueing.install


def check_kueue(draft: Draft) -> list[Finding]:
    """A second Kueue in one cluster is refused; what another's must be told is said."""
    spec = draft.spec
    if spec.cloud is Cloud.SIMULATED:
        return [_second()] if installs_kueue(spec) else []
    return [] if installs_kueue(spec) else [_needed_of_another(spec)]


def _second() -> Finding:
    return error(
        "kueue.simulated",
        _PATH,
        "a simulated cluster brings Kueue itself, and one cluster has one Kueue",
        value="true",
        allowed="false, or nothing",
        fix=Fix(message="remove it", at=_PATH),
    )


def _needed_of_another(spec: PlatformSpec) -> Finding:
    """Quotas that count GPUs alone need a Kueue that counts no CPU: by default it counts everything."""
    needs = [f"resources.excludeResourcePrefixes with {', '.join(WITHOUT_QUOTA)}"]
    needs += [f"featureGates.{gate} {str(on).lower()}" for gate, on in GATES.items()]
    if any(pool.sharing.dra for pool in spec.pools):
        needs.append(f"resources.deviceClassMappings for {GPU_CLAIM}")
    if spec.queueing.mig_quota is MigQuota.SLICES:
        needs.append(f"resources.transformations of MIG profiles to {MIG_SLICES}")
    if spec.queueing.clusters:
        needs.append(
            f"multiKueue.origin {spec.name}, integrations.frameworks of {', '.join(SENT)} alone"
        )
    else:
        needs.append("integrations.frameworks with pod")
    if spec.queueing.fair_sharing:
        needs.append("fairSharing.preemptionStrategies")
    return info(
        "kueue.existing",
        _PATH,
        "Kueue keeps the configuration it has, and without these settings in it jobs of this platform wait"
        f" for ever, or share and are counted by other rules: {'; '.join(needs)}",
    )
