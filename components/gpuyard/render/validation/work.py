"""The pods that put GPUs to work before a deployment ends: a Job for each pool, through the checks' queue.

They stand in the platform's own namespace, which admits no privileged pod: these hold their GPUs as those of
teams do. Their queue owns nothing and borrows what nobody uses. Whoever is guaranteed it gets it back at
once, and the check begins anew later; its priority is the least there is. So no guarantee waits for a check.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.names import (
    CHECKS_LABEL,
    EFA,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    RDMA,
    TOKEN_OF,
    WORK_LABEL,
    system_namespace,
    work_name,
)
from gpuyard.plan.records import PlatformPlan, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.spelling import fit
from gpuyard.render.objects import (
    Object,
    managed_object,
    on_nodes,
    service_account,
    toleration_object,
)
from gpuyard.render.programs import package_source
from gpuyard.render.validation.expectations import work_expectations_text
from gpuyard.render.validation.jobs import (
    EXPECTATIONS_FILE,
    FIGURES,
    FIGURES_KEY,
    VERDICT,
    digest_of,
    node_inputs,
    node_ready_terms,
    validation_job,
)
from gpuyard.render.validation.pods import PACKAGE, container, mounted, program_text
from gpuyard.render.validation.queue import SHARE, queue_objects
from gpuyard.render.validation.shares import (
    share_checks,
    share_job_name,
    share_objects,
    shared_object,
)
from gpuyard.render.validation.volumes import (
    read_object,
    reading_pools,
    volume_objects,
    volumes_job_name,
)

PORT = 29500
_NAME = 50
_IDS = ("compute", "utility")


def work_objects(plan: PlatformPlan) -> list[Object]:
    """Queue, account and token, then what each pool's pods need, and their Job; nothing where none works."""
    validation, working = plan.validation, working_pools(plan)
    holding, reading = working or share_checks(plan), reading_pools(plan)
    if validation is None or not (holding or reading):
        return []
    name, space = work_name(plan.name), system_namespace(plan.name)
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


def working_pools(plan: PlatformPlan) -> list[PoolCheck]:
    """What becomes of the check on pools whose GPUs are put to work."""
    validation = plan.validation
    return (
        []
        if validation is None or not validation.image
        else [p for p in validation.pools if p.works]
    )


def work_job_name(plan: PlatformPlan, pool: PoolPlan, check: PoolCheck) -> str:
    """Of the Job: another one when anything is that the verdict rests on."""
    return (
        f"{fit(f'gpuyard-{plan.name}-work-{pool.stable_name}', _NAME)}-{_digest(plan, pool, check)}"
    )


def _digest(plan: PlatformPlan, pool: PoolPlan, check: PoolCheck) -> str:
    image = plan.validation.image if plan.validation else ""
    expects = work_expectations_text(plan, pool, check)
    return digest_of(
        expects, image, dict(package_source(PACKAGE)), *node_inputs(plan, pool), check.nodes
    )


def work_result_object(plan: PlatformPlan, pool: PoolPlan, check: PoolCheck) -> Object:
    """What is made when every node's GPUs have worked well, or could not because teams use them."""
    name, space = f"{work_job_name(plan, pool, check)}-passed", system_namespace(plan.name)
    data = {
        "pool": pool.name,
        "nodes": str(check.nodes),
        "verdict": Late(VERDICT),
        FIGURES_KEY: Late(FIGURES),
    }
    return managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=data)


@dataclass(frozen=True, slots=True)
class LateJob:
    """A Job of the check that begins when teams have what they need, and is awaited last."""

    pool: PoolPlan
    name: str
    nodes: int
    """Of how many nodes it says something."""
    verdict_object: Object
    """What is made when it has passed."""
    spare: int | None = None
    """How many of its pods have to wait for a node; None where no queue admits it."""


def late_jobs(plan: PlatformPlan) -> Iterator[LateJob]:
    """All of them: GPUs at work, shares, volumes."""
    for each in working_pools(plan):
        pool = plan.pool(each.pool)
        result_object = work_result_object(plan, pool, each)
        yield LateJob(pool, work_job_name(plan, pool, each), pool.start_nodes, result_object, 0)
    for tried in share_checks(plan):
        pool, result_object = tried.pool, shared_object(plan, tried)
        name, spare = share_job_name(plan, tried), tried.check.spare
        yield LateJob(pool, name, pool.start_nodes, result_object, spare)
    for pool in reading_pools(plan):
        yield LateJob(pool, volumes_job_name(plan, pool), 1, read_object(plan, pool))


def _account(plan: PlatformPlan) -> list[Object]:
    """An account without rights, and a token that the cluster makes for it.

    By that, which nobody else knows, ranks know each other: none is drawn here, and none stands in a file.
    """
    name, space = work_name(plan.name), system_namespace(plan.name)
    peers = {"matchLabels": {WORK_LABEL: name}}
    return [
        service_account(plan.name, name, space),
        managed_object(
            plan.name,
            "v1",
            "Secret",
            name,
            namespace=space,
            annotations={TOKEN_OF: name},
            type="kubernetes.io/service-account-token",
        ),
        managed_object(
            plan.name,
            "networking.k8s.io/v1",
            "NetworkPolicy",
            name,
            namespace=space,
            # All ports: NCCL picks its own. Nobody else reaches these pods, by IPv4 or IPv6.
            spec={
                "podSelector": peers,
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [{"podSelector": peers}]}],
            },
        ),
    ]


def _of_pool(
    plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan, check: PoolCheck
) -> Iterator[Object]:
    name, space = work_job_name(plan, pool, check), system_namespace(plan.name)
    expects = {EXPECTATIONS_FILE: work_expectations_text(plan, pool, check)}
    yield managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=expects)
    labels = {CHECKS_LABEL: name, WORK_LABEL: work_name(plan.name)}
    yield managed_object(
        plan.name,
        "v1",
        "Service",
        name,
        namespace=space,
        # It has pods behind it only when its Job has: nobody waits for that.
        annotations={"pulumi.com/skipAwait": "true"},
        spec={
            "clusterIP": "None",
            "ipFamilyPolicy": "PreferDualStack",
            "publishNotReadyAddresses": True,
            "selector": {CHECKS_LABEL: name},
        },
    )
    queued = {QUEUE_LABEL: work_name(plan.name), PRIORITY_LABEL: work_name(plan.name)}
    pod = {"metadata": {"labels": labels}, "spec": _pod(plan, validation, pool, check, name)}
    job = managed_object(plan.name, "batch/v1", "Job", name, namespace=space, labels=queued)
    yield validation_job(validation, job, check.nodes, pod)


def _pod(
    plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan, check: PoolCheck, name: str
) -> Object:
    """It holds all GPUs of a node, so each has a node of its own, and nobody else works there."""
    return {
        "serviceAccountName": work_name(plan.name),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "subdomain": name,
        "nodeSelector": dict(pool.node_selector),
        "tolerations": [toleration_object(taint) for taint in plan.initial_taints(pool)],
        "affinity": on_nodes(node_ready_terms(plan, pool)),
        "containers": [_container(validation, pool, check, name)],
        "volumes": [
            *mounted(work_name(plan.name), name),
            {
                "name": "token",
                "secret": {
                    "secretName": work_name(plan.name),
                    "items": [{"key": "token", "path": "token"}],
                },
            },
            {"name": "memory", "emptyDir": {"medium": "Memory"}},
            {"name": "scratch", "emptyDir": {}},
        ],
    }


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
            "1"  # the plugin of ours shares: whoever asks has every adapter of the fabric
        )
    memory = f"{2 + 2 * pool.machine.gpus}Gi"
    variables = pool.nccl.variables if pool.nccl and not check.single_node_reason else {}
    return container(
        validation,
        PACKAGE,
        EXPECTATIONS_FILE,
        (*first, "--token-file", "/token/token", "--deadline", seconds),
        variables={"NVIDIA_DRIVER_CAPABILITIES": ",".join(_IDS), **variables},
        resources={
            "requests": {"cpu": str(pool.machine.gpus), "memory": memory, **devices},
            "limits": {"memory": memory, **devices},
        },
        mounts=[
            {"name": "token", "mountPath": "/token", "readOnly": True},
            {"name": "memory", "mountPath": "/dev/shm"},  # noqa: S108  NCCL's own place
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108  of this container alone
        ],
    )
