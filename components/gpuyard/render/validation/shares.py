"""The pods that test GPU sharing: one in each share of every resource of a pool, all at once.

Together they fill the pool's nodes, which shows how many shares there are; one more pod must stay
pending. They use the queue of `queue.py`, unprivileged, and each sees what a pod of a team would
see.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.plan.records import (
    AdvertisedResource,
    PlatformPlan,
    PoolCheck,
    PoolPlan,
    ValidationPlan,
)
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.access import account_subject, role_with_binding
from gpuyard.render.objects import (
    Object,
    managed_object,
    service_account,
)
from gpuyard.render.validation.jobs import (
    VERDICT,
    job_name,
    pool_checks,
    result_object,
    validation_job,
    validation_pod,
    verdict_digest,
)
from gpuyard.render.validation.pods import PACKAGE, container, validator_volumes
from gpuyard.render.validation.queue import SHARE, queue_labels
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.names import (
    CHECKS_LABEL,
    WORK_LABEL,
    load_validation_name,
    share_validation_name,
    system_namespace,
)

SCHEMA = "gpuyard.dev/share/v2"
SHARE_FILE = "share.json"
_MIB = 1024


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """One resource of a pool, all shares of which are tested."""

    pool: PoolPlan
    check: PoolCheck
    share: AdvertisedResource

    @property
    def pods(self) -> int:
        """One in each share of all nodes, and those that must stay pending."""
        return self.total_shares + self.check.spare

    @property
    def total_shares(self) -> int:
        """The number of shares of all nodes."""
        return self.pool.start_nodes * self.share.per_node


def share_checks(plan: PlatformPlan) -> list[ShareCheck]:
    """By pool and resource; none if none is tested."""
    return [
        ShareCheck(pool, check, share)
        for check in pool_checks(plan)
        if check.runs_share_checks
        for pool in [plan.pool(check.pool)]
        for share in pool.advertised
    ]


def share_objects(plan: PlatformPlan) -> list[Object]:
    """An account that may read its Jobs, then the inputs of each resource's pods, and their Job."""
    validation, tried = plan.validation, share_checks(plan)
    if validation is None or not tried:
        return []
    name, space = share_validation_name(plan.name), system_namespace(plan.name)
    account = account_subject(name, space)
    names = [share_job_name(plan, each) for each in tried]
    rule = {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": names, "verbs": ["get"]}
    return [
        service_account(plan.name, name, space),
        *role_with_binding(plan.name, space, name, [rule], [account]),
        *(obj for each in tried for obj in _of_share(plan, validation, each)),
    ]


def share_job_name(plan: PlatformPlan, tried: ShareCheck) -> str:
    """The name of the Job: it changes with every input of the verdict."""
    unit = (tried.share.unit or "whole").replace(".", "-").replace("+", "-").lower()
    digest = verdict_digest(plan, tried.pool, [share_text(tried)], tried.pods)
    return job_name(plan, f"share-{tried.pool.stable_name}-{unit}", digest)


def share_text(tried: ShareCheck) -> str:
    """The expectations of a share, in the validator's format."""
    pool, gpu = tried.pool, tried.pool.machine.gpu
    has_memory_limit = pool.sharing is SharingMethod.MPS and gpu is not None
    document = {
        "schema": SCHEMA,
        "pool": pool.name,
        "resource": tried.share.resource,
        "at_once": tried.total_shares,
        "spare": tried.check.spare,
        "memory_mib": gpu.memory_gib * _MIB // pool.replicas if has_memory_limit and gpu else None,
    }
    return json.dumps(document, indent=2) + "\n"


def share_result_object(plan: PlatformPlan, tried: ShareCheck) -> Object:
    """Created when every share has passed, or could not be tested because teams use them."""
    return result_object(
        plan,
        share_job_name(plan, tried),
        system_namespace(plan.name),
        pool=tried.pool.name,
        resource=tried.share.resource,
        shares=str(tried.total_shares),
        verdict=UnresolvedOutput(VERDICT),
    )


def _of_share(
    plan: PlatformPlan, validation: ValidationPlan, tried: ShareCheck
) -> Iterator[Object]:
    name, space = share_job_name(plan, tried), system_namespace(plan.name)
    files = {SHARE_FILE: share_text(tried)}
    yield managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=files)
    queued = queue_labels(plan)
    labels = {CHECKS_LABEL: name, WORK_LABEL: share_validation_name(plan.name)}
    pod = {"metadata": {"labels": labels}, "spec": _pod(plan, validation, tried, name)}
    job = managed_object(plan.name, "batch/v1", "Job", name, namespace=space, labels=queued)
    yield validation_job(validation, job, tried.pods, pod)


def _pod(plan: PlatformPlan, validation: ValidationPlan, tried: ShareCheck, name: str) -> Object:
    return validation_pod(
        plan,
        tried.pool,
        share_validation_name(plan.name),
        _container(plan, validation, tried, name),
        validator_volumes(load_validation_name(plan.name), name),
        {"automountServiceAccountToken": True, "restartPolicy": "Never"},
    )


def _container(
    plan: PlatformPlan, validation: ValidationPlan, tried: ShareCheck, name: str
) -> Object:
    # Kueue evicts a job whose pods do not all run in time: those that run must report earlier.
    most = min(validation.deadline_seconds, plan.queueing.start_minutes * 60)
    return container(
        validation,
        f"{PACKAGE}.shares",
        SHARE_FILE,
        ("--job", name, "--seconds", str(int(most * SHARE))),
        variables={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
        resources={
            "requests": {"cpu": "10m", "memory": "256Mi", tried.share.resource: "1"},
            "limits": {"memory": "1Gi", tried.share.resource: "1"},
        },
    )
