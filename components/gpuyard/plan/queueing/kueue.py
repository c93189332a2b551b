"""Kueue settings that the plan and the rendered configuration share."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.draft import Draft
from gpuyard.plan.queueing.multikueue import FRAMEWORKS as SENT
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.queueing import MigQuota
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info
from gpuyard_core.manifests.queued import OPTIONAL, QUEUED_KINDS
from gpuyard_core.names import GPU_CLAIM, MIG_SLICES

WITHOUT_QUOTA = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "hugepages-",
    "vpc.amazonaws.com/",
    "rdma/",
    "networking.gke.io.networks/",
)
"""Prefixes of resource names that queues do not count, see docs/decisions/0008. Network adapters belong to
the GPUs of a node; if they were counted, a job that requests them would have no quota and never start."""
GATES: Mapping[str, bool] = {"ReclaimablePods": False}
"""Feature gates of Kueue. With this one, finished pods of a job release their quota before the job ends: a
JobSet or a TrainJob that restarts runs them again, and Kueue (v0.19.2, `validateReclaimablePodsUpdate`)
does not charge that quota again."""
_QUEUED: Mapping[str, str] = {
    kind: found.plural for kind, found in QUEUED_KINDS.items() if found.by_default
}
"""Kinds of Kueue's chart (v0.19.2), by group and kind, with their plural. Kueue skips kinds whose CRD is not
installed, until it is."""


def integrated_kinds(spec: PlatformSpec) -> tuple[str, ...]:
    """Kinds that the platform queues besides those of Kueue's chart, by group and kind."""
    return tuple(dict.fromkeys(OPTIONAL[each.value] for each in spec.queueing.integrations))


def queued_kinds(spec: PlatformSpec) -> dict[str, str]:
    """Kinds that can be queued, by group and kind, with their plural."""
    more = {kind: QUEUED_KINDS[kind].plural for kind in integrated_kinds(spec)}
    return {**_QUEUED, **more}


def frameworks(spec: PlatformSpec) -> list[str]:
    """The names of these kinds in Kueue's configuration."""
    return [kind.removeprefix("apps/").lower() for kind in queued_kinds(spec)]


def queued_by_group(spec: PlatformSpec) -> dict[str, list[str]]:
    """Plurals of the queued kinds, by API group."""
    results: dict[str, list[str]] = {}
    for kind, plural in sorted(queued_kinds(spec).items()):
        results.setdefault(kind.rpartition("/")[0], []).append(plural)
    return results


START_MINUTES = 30
"""The default time that an admitted gang may wait for its last pod. It is enough for nodes to start, drivers
and large images (the same as in Kueue v0.19)."""
SIMULATED_START_MINUTES = 5
"""The same on simulated nodes: a pod with a node is ready at once, so only a gang without nodes reaches this
limit; half an hour would hide it."""
FIRST_REQUEUE_SECONDS = 60
LONGEST_REQUEUE_SECONDS = 3600
"""How long an evicted gang waits before it is queued again: doubled each time, up to the maximum. It goes to
the end of the queue, so that others can start, and is never given up: that is the decision of its user."""


def start_minutes(spec: PlatformSpec) -> int:
    """How long an admitted gang has until all its pods run."""
    default = SIMULATED_START_MINUTES if spec.cloud is Cloud.SIMULATED else START_MINUTES
    return spec.queueing.start_within_minutes or default


def format_duration(seconds: int) -> str:
    """`1 minute`, `30 minutes`, `1 hour`, `90 minutes`."""
    size, unit = (3600, "hour") if seconds % 3600 == 0 else (60, "minute")
    count = seconds // size
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


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


def check_kueue(draft: Draft) -> Iterator[Diagnostic]:
    """Reject a second Kueue in one cluster; list the settings that an existing Kueue needs."""
    spec = draft.spec
    if uses_volcano(spec):
        return
    simulated, installs = spec.cloud is Cloud.SIMULATED, installs_kueue(spec)
    if simulated and installs:
        yield error(
            "kueue.simulated",
            _PATH,
            "a simulated cluster installs Kueue, and a cluster can have only one Kueue",
            given="true",
            allowed="false, or no field",
            fix=Fix.remove(_PATH),
        )
    elif not simulated and not installs:
        yield _needed_of_another(spec)


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
    else:  # those that the chart of another version or another admin may have left out
        kinds = ["pod", *(kind.lower() for kind in integrated_kinds(spec))]
        needs.append(f"integrations.frameworks with {', '.join(kinds)}")
    if spec.queueing.fair_sharing:
        needs.append("fairSharing.preemptionStrategies")
    return info(
        "kueue.existing",
        _PATH,
        "gpuyard does not change the configuration of an existing Kueue. Without these settings, jobs wait"
        f" forever or get the wrong quota: {'; '.join(needs)}",
    )
