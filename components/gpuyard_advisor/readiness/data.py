"""Storage: shared datasets, a checkpoint bucket, and data access of GPUs."""

from collections.abc import Iterator, Mapping

from gpuyard_advisor.readiness.evidence import Observation, failing, observe, passing, unknown
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    Subject,
    at,
    listed,
    missing_object,
    not_applicable_if_simulated,
    planned_objects,
)

_NO_VOLUMES = "they have no volumes"
_MANY = ("ReadWriteMany", "ReadOnlyMany")


def _datasets(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, _NO_VOLUMES)
    result = subject.plan.storage.datasets
    if not result:
        yield failing(
            "plan.storage.datasets", "none", "no shared datasets: each job must bring its own data"
        )
    zones = {zone for pool in subject.plan.pools for zone in pool.zones}
    for each in result:
        far = each.zone is not None and zones and each.zone not in zones
        value = f"{each.kind.value} in {each.zone or 'every zone'}"
        wrong = f"pools are in {', '.join(sorted(zones))}" if far else ""
        yield observe(f"plan.storage.datasets.{each.name}", value, wrong)


def _claims(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    for where, each in planned_objects(subject, cluster, "PersistentVolumeClaim"):
        if each is None:
            yield missing_object(where)
            continue
        phase, modes = at(each, "status", "phase"), listed(each, "spec", "accessModes")
        wrong = "" if phase == "Bound" else "no volume is bound"
        if not set(modes) & set(_MANY):
            wrong = "only one node can mount it at a time"
        yield observe(where, f"{phase}, {', '.join(map(str, modes))}", wrong)


def _checkpoints(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, _NO_VOLUMES)
    checkpoints = subject.plan.storage.checkpoints
    where = "plan.storage.checkpoints"
    if checkpoints is None:
        yield failing(where, "none", "work is lost with its node")
    elif checkpoints.bucket is not None:
        yield unknown(
            "gpuyard does not manage this bucket and cannot see its settings",
            where,
            checkpoints.bucket,
        )
    else:
        yield passing(
            where, f"noncurrent and deleted versions kept for {checkpoints.retention_days} days"
        )
        protect = subject.plan.storage.protect
        yield observe("plan.storage.protect", protect, "" if protect else "a destroy deletes it")


def _streams(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, _NO_VOLUMES)
    for pool in subject.plan.pools:
        yield passing(f"plan.pools.{pool.name}.machine", f"{pool.machine.nvme_gb} GB of local NVMe")
    slow = [pool.name for pool in subject.plan.pools if not pool.machine.nvme_gb]
    if slow and not subject.plan.storage.datasets:
        yield failing(
            "plan.storage.datasets", "none", f"{', '.join(slow)} has no local disk either"
        )
    yield unknown("whether GPUs wait for data requires a test run")


PLANNED: Mapping[str, ClusterCheck] = {
    "STO-01": _datasets,
    "STO-02": _checkpoints,
    "STO-04": _streams,
}
LIVE: Mapping[str, ClusterCheck] = {"STO-01": _claims}
