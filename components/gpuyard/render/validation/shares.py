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
from gpuyard.render.objects import Object, made, on_nodes, service_account, toleration_object
from gpuyard.render.programs import source_of
from gpuyard.render.validation.jobs import (
    FIGURES,
    FIGURES_KEY,
    VERDICT,
    awaited,
    digest_of,
    made_of,
    ready,
)
from gpuyard.render.validation.pods import PACKAGE, container, mounted
from gpuyard.render.validation.queue import SHARE

SCHEMA = "gpuyard.dev/share/v2"
SHARE_FILE = "share.json"
_NAME = 50
_MIB = 1024


@dataclass(frozen=True, slots=True)
class Tried:
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


def tried_shares(plan: PlatformPlan) -> list[Tried]:
    """By pool and resource; nothing where none is tried."""
    asked = plan.validation
    if asked is None or not asked.image:
        return []
    return [
        Tried(pool, check, share)
        for check in asked.pools
        if check.tried
        for pool in [plan.pool(check.pool)]
        for share in pool.advertised
    ]


def share_objects(plan: PlatformPlan) -> list[Object]:
    """An account that may look at its Jobs, and what each resource's pods need, and their Job."""
    asked, tried = plan.validation, tried_shares(plan)
    if asked is None or not tried:
        return []
    name, space = shares_name(plan.name), system_namespace(plan.name)
    account = {"kind": "ServiceAccount", "name": name, "namespace": space}
    names = [share_job_name(plan, each) for each in tried]
    rule = {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": names, "verbs": ["get"]}
    return [
        service_account(plan.name, name, space),
        *granted(plan.name, space, name, [rule], [account]),
        *(obj for each in tried for obj in _of_share(plan, asked, each)),
    ]


def share_job_name(plan: PlatformPlan, tried: Tried) -> str:
    """Of the Job: another one when anything is that the verdict rests on."""
    unit = (tried.share.unit or "whole").replace(".", "-").replace("+", "-").lower()
    image = plan.validation.image if plan.validation else ""
    rests = (share_text(tried), image, dict(source_of(PACKAGE)), *made_of(plan, tried.pool))
    called = fit(f"gpuyard-{plan.name}-share-{tried.pool.stable_name}-{unit}", _NAME)
    return f"{called}-{digest_of(*rests, tried.pods)}"


def share_text(tried: Tried) -> str:
    """What a share is held to, as the program reads it."""
    pool, gpu = tried.pool, tried.pool.machine.gpu
    held = pool.sharing is SharingMethod.MPS and gpu is not None
    told = {
        "schema": SCHEMA,
        "pool": pool.name,
        "resource": tried.share.resource,
        "at_once": tried.in_all,
        "spare": tried.check.spare,
        "memory_mib": gpu.memory_gib * _MIB // pool.replicas if held and gpu else None,
    }
    return json.dumps(told, indent=2) + "\n"


def shared_object(plan: PlatformPlan, tried: Tried) -> Object:
    """What is made when every share has passed, or could not be tried because teams use them."""
    name, space = f"{share_job_name(plan, tried)}-passed", system_namespace(plan.name)
    data = {
        "pool": tried.pool.name,
        "resource": tried.share.resource,
        "shares": str(tried.in_all),
        "verdict": Late(VERDICT),
        FIGURES_KEY: Late(FIGURES),
    }
    return made(plan.name, "v1", "ConfigMap", name, namespace=space, data=data)


def _of_share(plan: PlatformPlan, asked: ValidationPlan, tried: Tried) -> Iterator[Object]:
    name, space = share_job_name(plan, tried), system_namespace(plan.name)
    wanted = {SHARE_FILE: share_text(tried)}
    yield made(plan.name, "v1", "ConfigMap", name, namespace=space, data=wanted)
    queued = {QUEUE_LABEL: work_name(plan.name), PRIORITY_LABEL: work_name(plan.name)}
    labels = {CHECKS_LABEL: name, WORK_LABEL: shares_name(plan.name)}
    pod = {"metadata": {"labels": labels}, "spec": _pod(plan, asked, tried, name)}
    job = made(plan.name, "batch/v1", "Job", name, namespace=space, labels=queued)
    yield awaited(asked, job, tried.pods, pod)


def _pod(plan: PlatformPlan, asked: ValidationPlan, tried: Tried, name: str) -> Object:
    return {
        "serviceAccountName": shares_name(plan.name),
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "nodeSelector": dict(tried.pool.node_selector),
        "tolerations": [toleration_object(taint) for taint in plan.starts_with(tried.pool)],
        "affinity": on_nodes(ready(plan, tried.pool)),
        "containers": [_container(plan, asked, tried, name)],
        "volumes": mounted(work_name(plan.name), name),
    }


def _container(plan: PlatformPlan, asked: ValidationPlan, tried: Tried, name: str) -> Object:
    # Kueue takes a job back whose pods do not all run in time: those that do must have spoken before.
    most = min(asked.deadline_seconds, plan.queueing.start_minutes * 60)
    return container(
        asked,
        f"{PACKAGE}.shares",
        SHARE_FILE,
        ("--job", name, "--seconds", str(int(most * SHARE))),
        variables={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
        resources={
            "requests": {"cpu": "10m", "memory": "256Mi", tried.share.resource: "1"},
            "limits": {"memory": "1Gi", tried.share.resource: "1"},
        },
    )
