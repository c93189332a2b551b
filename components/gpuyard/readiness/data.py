"""Storage: data that many pods mount, a bucket for checkpoints, and how data comes to a GPU."""

from collections.abc import Iterator, Mapping

from gpuyard.readiness.evidence import ThingSeen, bad, good, judged, unknown
from gpuyard.readiness.subject import (
    ClusterSeen,
    Looks,
    Subject,
    at,
    listed,
    not_there,
    planned_ones,
    simulated,
)

_NO_VOLUMES = "they have no volumes"
_MANY = ("ReadWriteMany", "ReadOnlyMany")


def _datasets(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    yield from simulated(subject, _NO_VOLUMES)
    found = subject.plan.storage.datasets
    if not found:
        yield bad("plan.storage.datasets", "none", "no data is shared: each job brings its own")
    zones = {zone for pool in subject.plan.pools for zone in pool.zones}
    for each in found:
        far = each.zone is not None and zones and each.zone not in zones
        value = f"{each.kind.value} in {each.zone or 'every zone'}"
        wrong = f"pools are in {', '.join(sorted(zones))}" if far else ""
        yield judged(f"plan.storage.datasets.{each.name}", value, wrong)


def _claims(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    for where, each in planned_ones(subject, cluster, "PersistentVolumeClaim"):
        if each is None:
            yield not_there(where)
            continue
        phase, modes = at(each, "status", "phase"), listed(each, "spec", "accessModes")
        wrong = "" if phase == "Bound" else "nothing is behind it"
        if not set(modes) & set(_MANY):
            wrong = "one node at a time mounts it"
        yield judged(where, f"{phase}, {', '.join(map(str, modes))}", wrong)


def _checkpoints(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    yield from simulated(subject, _NO_VOLUMES)
    kept = subject.plan.storage.checkpoints
    where = "plan.storage.checkpoints"
    if kept is None:
        yield bad(where, "none", "a node that is lost takes its work with it")
    elif kept.bucket is not None:
        yield unknown("a bucket of yours: nobody here sees how it is kept", where, kept.bucket)
    else:
        yield good(where, f"versions and deleted ones kept for {kept.keep_days} days")
        protect = subject.plan.storage.protect
        yield judged("plan.storage.protect", protect, "" if protect else "it may be deleted")


def _streams(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    yield from simulated(subject, _NO_VOLUMES)
    for pool in subject.plan.pools:
        yield good(f"plan.pools.{pool.name}.machine", f"{pool.machine.nvme_gb} GB of local NVMe")
    slow = [pool.name for pool in subject.plan.pools if not pool.machine.nvme_gb]
    if slow and not subject.plan.storage.datasets:
        yield bad("plan.storage.datasets", "none", f"{', '.join(slow)} has no local disk either")
    yield unknown("that no GPU waits, only a run can tell")


PLANNED: Mapping[str, Looks] = {
    "STO-01": _datasets,
    "STO-02": _checkpoints,
    "STO-04": _streams,
}
LIVE: Mapping[str, Looks] = {"STO-01": _claims}
