"""The pods that try whether sharing shares: for each resource of a pool one in each share, all at once.

Together they fill the pool's nodes, so they show how many shares there are; one more than that is to wait.
They go through the queue of `queue.py`, unprivileged, and each sees what a pod of a team would see.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.names import (
    CHECKS_LABEL,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    WORK_LABEL,
    shares_name,
    system_namespace,
    work_name,
)
from gpuyard.plan.records import Advertised, PlatformPlan, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.plan.records.late import Late
from gpuyard.render.access import granted
from gpuyard.render.cloud.spelling import fit
from gpuyard.render.objects import (
    Object,
    managed_object,
    on_nodes,
    service_account,
    toleration_object,
)
from gpuyard.render.programs import package_source
from gpuyard.render.validation.jobs import (
    FIGURES,
    FIGURES_KEY,
    VERDICT,
    digest_of,
    node_inputs,
    node_ready_terms,
    validation_job,
)
from gpuyard.render.validation.pods import PACKAGE, container, mounted
from gpuyard.render.validation.queue import SHARE

SCHEMA = "gpuyard.dev/share/v2"
SHARE_FILE = "share.json"
_NAME = 50
_MIB = 1024


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """One resource of a pool, of which all shares are tried."""

    pool: PoolPlan
    check: PoolCheck
    share: Advertised

    @property
    def pods(self) -> int:
        """One in each share of all nodes, and what is to wait."""
        return self.in_all + self.check.spare

    @property
    def in_all(self) -> int:
        """Shares of all nodes together."""
        return self.pool.start_nodes * self.share.per_node


def share_checks(plan: PlatformPlan) -> list[ShareCheck]:
    """By pool and resource; nothing where none is tried."""
    validation = plan.validation
    if validation is None or not validation.image:
        return []
    return [
        ShareCheck(pool, check, share)
        for check in validation.pools
        if check.tried
        for pool in [plan.pool(check.pool)]
        for share in pool.advertised
    ]


def share_objects(plan: PlatformPlan) -> list[Object]:
    """An account that may look at its Jobs, and what each resource's pods need, and their Job."""
    validation, tried = plan.validation, share_checks(plan)
    if validation is None or not tried:
        return []
    name, space = shares_name(plan.name), system_namespace(plan.name)
    account = {"kind": "ServiceAccount", "name": name, "namespace": space}
    names = [share_job_name(plan, each) for each in tried]
    rule = {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": names, "verbs": ["get"]}
    return [
        service_account(plan.name, name, space),
        *granted(plan.name, space, name, [rule], [account]),
        *(obj for each in tried for obj in _of_share(plan, validation, each)),
    ]


def share_job_name(plan: PlatformPlan, tried: ShareCheck) -> str:
    """Of the Job: another one when anything is that the verdict rests on."""
    unit = (tried.share.unit or "whole").replace(".", "-").replace("+", "-").lower()
    image = plan.validation.image if plan.validation else ""
    rests = (
        share_text(tried),
        image,
        dict(package_source(PACKAGE)),
        *node_inputs(plan, tried.pool),
    )
    called = fit(f"gpuyard-{plan.name}-share-{tried.pool.stable_name}-{unit}", _NAME)
    return f"{called}-{digest_of(*rests, tried.pods)}"


def share_text(tried: ShareCheck) -> str:
    """What a share is held to, as the program reads it."""
    pool, gpu = tried.pool, tried.pool.machine.gpu
    has_memory_limit = pool.sharing is SharingMethod.MPS and gpu is not None
    document = {
        "schema": SCHEMA,
        "pool": pool.name,
        "resource": tried.share.resource,
        "at_once": tried.in_all,
        "spare": tried.check.spare,
        "memory_mib": gpu.memory_gib * _MIB // pool.replicas if has_memory_limit and gpu else None,
    }
    return json.dumps(document, indent=2) + "\n"


def shared_object(plan: PlatformPlan, tried: ShareCheck) -> Object:
    """What is made when every share has passed, or could not be tried because teams use them."""
    name, space = f"{share_job_name(plan, tried)}-passed", system_namespace(plan.name)
    data = {
        "pool": tried.pool.name,
        "resource": tried.share.resource,
        "shares": str(tried.in_all),
        "verdict": Late(VERDICT),
        FIGURES_KEY: Late(FIGURES),
    }
    return managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=data)


def _of_share(
    plan: PlatformPlan, validation: ValidationPlan, tried: ShareCheck
) -> Iterator[Object]:
    name, space = share_job_name(plan, tried), system_namespace(plan.name)
    files = {SHARE_FILE: share_text(tried)}
    yield managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=files)
    queued = {QUEUE_LABEL: work_name(plan.name), PRIORITY_LABEL: work_name(plan.name)}
    labels = {CHECKS_LABEL: name, WORK_LABEL: shares_name(plan.name)}
    pod = {"metadata": {"labels": labels}, "spec": _pod(plan, validation, tried, name)}
    job = managed_object(plan.name, "batch/v1", "Job", name, namespace=space, labels=queued)
    yield validation_job(validation, job, tried.pods, pod)


def _pod(plan: PlatformPlan, validation: ValidationPlan, tried: ShareCheck, name: str) -> Object:
    return {
        "serviceAccountName": shares_name(plan.name),
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "nodeSelector": dict(tried.pool.node_selector),
        "tolerations": [toleration_object(taint) for taint in plan.initial_taints(tried.pool)],
        "affinity": on_nodes(node_ready_terms(plan, tried.pool)),
        "containers": [_container(plan, validation, tried, name)],
        "volumes": mounted(work_name(plan.name), name),
    }


def _container(
    plan: PlatformPlan, validation: ValidationPlan, tried: ShareCheck, name: str
) -> Object:
    # Kueue takes a job back whose pods do not all run in time: those that do must have spoken before.
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
