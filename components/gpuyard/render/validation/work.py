"""Pods that test GPUs under load before a deployment ends: a Job for each pool, in a queue.

They run in the platform's own namespace, which admits no privileged pod: they hold their GPUs like
pods of teams. Their queue has no guarantee and borrows idle capacity. A team with a guarantee
reclaims it at once, and the check starts again later; its priority is the lowest. So no guarantee
waits for a check.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.objects import (
    SKIP_AWAIT,
    Object,
    managed_object,
    service_account,
)
from gpuyard.render.validation.expectations import work_expectations_text
from gpuyard.render.validation.jobs import (
    EXPECTATIONS_FILE,
    VERDICT,
    job_name,
    pool_checks,
    result_object,
    validation_job,
    validation_pod,
    verdict_digest,
)
from gpuyard.render.validation.pods import PACKAGE, container, program_text, validator_volumes
from gpuyard.render.validation.queue import SHARE, queue_labels, queue_objects
from gpuyard.render.validation.shares import (
    share_checks,
    share_job_name,
    share_objects,
    share_result_object,
)
from gpuyard.render.validation.volumes import (
    reading_pools,
    volume_objects,
    volumes_job_name,
    volumes_result_object,
)
from gpuyard_core.names import (
    CHECKS_LABEL,
    EFA,
    RDMA,
    TOKEN_OF,
    WORK_LABEL,
    load_validation_name,
    system_namespace,
)

PORT = 29500


def work_objects(plan: PlatformPlan) -> list[Object]:
    """Queue, account and token, then the inputs and Job of each pool; none without load tests."""
    validation, working = plan.validation, load_test_checks(plan)
    holding, reading = working or share_checks(plan), reading_pools(plan)
    if validation is None or not (holding or reading):
        return []
    name, space = load_validation_name(plan.name), system_namespace(plan.name)
    return [
        *(queue_objects(plan) if holding else []),
        managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=program_text()),
        *(_account(plan) if working else []),
        *(
            obj
            for each in working
            for obj in _of_pool(plan, validation, plan.pool(each.pool), each)
        ),
        *share_objects(plan),
        *volume_objects(plan),
    ]


def load_test_checks(plan: PlatformPlan) -> list[PoolCheck]:
    """The checks of pools whose GPUs are tested under load."""
    return [each for each in pool_checks(plan) if each.runs_load_checks]


def work_job_name(plan: PlatformPlan, pool: PoolPlan, check: PoolCheck) -> str:
    """The name of the Job: it changes with every input of the verdict."""
    expects = [work_expectations_text(plan, pool, check)]
    digest = verdict_digest(plan, pool, expects, check.nodes)
    return job_name(plan, f"work-{pool.stable_name}", digest)


def work_result_object(plan: PlatformPlan, pool: PoolPlan, check: PoolCheck) -> Object:
    """Created when the GPUs of every node have passed, or are in use by teams and untested."""
    return result_object(
        plan,
        work_job_name(plan, pool, check),
        system_namespace(plan.name),
        pool=pool.name,
        nodes=str(check.nodes),
        verdict=UnresolvedOutput(VERDICT),
    )


@dataclass(frozen=True, slots=True)
class DeferredJob:
    """A Job of the check that starts when teams have what they need, and is awaited last."""

    pool: PoolPlan
    name: str
    nodes: int
    """The number of nodes that its verdict covers."""
    verdict_object: Object
    """Created when it has passed."""
    pending_pod_count: int | None = None
    """The number of its pods that must stay pending; None if no queue admits it."""


def deferred_jobs(plan: PlatformPlan) -> Iterator[DeferredJob]:
    """All late Jobs: load tests, shares, volumes."""
    for each in load_test_checks(plan):
        pool = plan.pool(each.pool)
        result_object = work_result_object(plan, pool, each)
        yield DeferredJob(pool, work_job_name(plan, pool, each), pool.start_nodes, result_object, 0)
    for tried in share_checks(plan):
        pool, result_object = tried.pool, share_result_object(plan, tried)
        name, spare = share_job_name(plan, tried), tried.check.spare
        yield DeferredJob(pool, name, pool.start_nodes, result_object, spare)
    for pool in reading_pools(plan):
        yield DeferredJob(pool, volumes_job_name(plan, pool), 1, volumes_result_object(plan, pool))


def _account(plan: PlatformPlan) -> list[Object]:
    """An account without permissions, and a token that the cluster issues for it.

    The token is the shared secret of the ranks: gpuyard generates none, and no file contains it.
    """
    name, space = load_validation_name(plan.name), system_namespace(plan.name)
    token: Object = {"annotations": {TOKEN_OF: name}, "type": "kubernetes.io/service-account-token"}
    peers = {"matchLabels": {WORK_LABEL: name}}
    # All ports: NCCL picks its own. No other pod reaches these pods, by IPv4 or IPv6.
    spec = {
        "podSelector": peers,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": peers}]}],
    }
    return [
        service_account(plan.name, name, space),
        managed_object(plan.name, "v1", "Secret", name, namespace=space, **token),
        managed_object(
            plan.name, "networking.k8s.io/v1", "NetworkPolicy", name, namespace=space, spec=spec
        ),
    ]


def _of_pool(
    plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan, check: PoolCheck
) -> Iterator[Object]:
    name, space = work_job_name(plan, pool, check), system_namespace(plan.name)
    expects = {EXPECTATIONS_FILE: work_expectations_text(plan, pool, check)}
    yield managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=expects)
    labels = {CHECKS_LABEL: name, WORK_LABEL: load_validation_name(plan.name)}
    # It has endpoints only once its Job has pods.
    spec = {
        "clusterIP": "None",
        "ipFamilyPolicy": "PreferDualStack",
        "publishNotReadyAddresses": True,
        "selector": {CHECKS_LABEL: name},
    }
    yield managed_object(
        plan.name, "v1", "Service", name, namespace=space, annotations=SKIP_AWAIT, spec=spec
    )
    queued = queue_labels(plan)
    pod = {"metadata": {"labels": labels}, "spec": _pod(plan, validation, pool, check, name)}
    job = managed_object(plan.name, "batch/v1", "Job", name, namespace=space, labels=queued)
    yield validation_job(validation, job, check.nodes, pod)


def _pod(
    plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan, check: PoolCheck, name: str
) -> Object:
    """It holds all GPUs of a node, so each pod has its own node, without other GPU pods."""
    account = load_validation_name(plan.name)
    token = {"secretName": account, "items": [{"key": "token", "path": "token"}]}
    volumes = [
        *validator_volumes(account, name),
        {"name": "token", "secret": token},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    checks = _container(validation, pool, check, name)
    runs = {"restartPolicy": "Never", "subdomain": name}
    return validation_pod(plan, pool, account, checks, volumes, runs)


def _container(validation: ValidationPlan, pool: PoolPlan, check: PoolCheck, name: str) -> Object:
    seconds = str(int(validation.deadline_seconds * SHARE))
    alone = ["--first", f"localhost:{PORT}", "--index", "0"]
    first = (
        alone
        if check.single_node_reason or check.nodes == 1
        else ["--first", f"{name}-0.{name}:{PORT}"]
    )
    devices = {advertised.resource: str(advertised.per_node) for advertised in pool.advertised}
    if check.transport == "efa":
        devices[EFA] = str(pool.machine.efa_interfaces)
    elif check.transport != "tcp":
        devices[RDMA] = (
            "1"  # gpuyard's plugin shares: a requesting pod gets every adapter of the fabric
        )
    memory = f"{2 + 2 * pool.machine.gpus}Gi"
    variables = pool.nccl.variables if pool.nccl and not check.single_node_reason else {}
    return container(
        validation,
        PACKAGE,
        EXPECTATIONS_FILE,
        (*first, "--token-file", "/token/token", "--deadline", seconds),
        variables={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", **variables},
        resources={
            "requests": {"cpu": str(pool.machine.gpus), "memory": memory, **devices},
            "limits": {"memory": memory, **devices},
        },
        mounts=[
            {"name": "token", "mountPath": "/token", "readOnly": True},
            {"name": "memory", "mountPath": "/dev/shm"},  # noqa: S108  the path that NCCL uses
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108  only in this container
        ],
    )
