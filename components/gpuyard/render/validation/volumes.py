"""Pods that read datasets before a deployment ends: one on a node of each pool, with own claims.

They hold no GPU, so no queue counts them, and run in the platform's own namespace, unprivileged
like pods of teams. They mount what teams mount, read-only. One node of each pool reads at the same
time.
"""

import json
from collections.abc import Iterator

from gpuyard.plan.records import PlatformPlan, PoolPlan, ValidationPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.storage import dataset_check_volumes
from gpuyard.render.validation.jobs import (
    job_name,
    result_object,
    validation_job,
    validation_pod,
    verdict_digest,
)
from gpuyard.render.validation.pods import PACKAGE, container, validator_volumes
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.names import (
    CHECKS_LABEL,
    DATA_ACCOUNT,
    WORK_LABEL,
    load_validation_name,
    system_namespace,
    volume_validation_name,
)

SCHEMA = "gpuyard.dev/volumes/v1"
VOLUMES_FILE = "volumes.json"
_MOUNTED = "/volumes"


def reading_pools(plan: PlatformPlan) -> list[PoolPlan]:
    """The pools of which a node reads; none if there is nothing to read."""
    checks = plan.validation.pools if plan.validation else ()
    return [plan.pool(each.pool) for each in checks if each.runs_read_checks]


def volume_objects(plan: PlatformPlan) -> list[Object]:
    """Claims and their volumes, then the expectations and the Job of each pool."""
    validation = plan.validation
    if validation is None:
        return []
    pools = [obj for pool in reading_pools(plan) for obj in _of_pool(plan, validation, pool)]
    return [*dataset_check_volumes(plan), *pools]


def volumes_job_name(plan: PlatformPlan, pool: PoolPlan) -> str:
    """The name of the Job: it changes with every input of the verdict."""
    sold = [(d.kind, d.tier, d.size_gib, d.throughput) for d in plan.datasets_read_by_validation]
    digest = verdict_digest(plan, pool, [volumes_text(plan, pool), sold])
    return job_name(plan, f"volumes-{pool.stable_name}", digest)


def volumes_text(plan: PlatformPlan, pool: PoolPlan) -> str:
    """The datasets and minimum speeds of a pool's node, in the validator's format."""
    readings = [
        {
            "name": each.name,
            "path": f"{_MOUNTED}/{each.name}",
            "threshold_mb_per_s": each.mb_per_s,
            "source": each.source,
        }
        for each in (plan.validation.readings if plan.validation else ())
    ]
    document = {"schema": SCHEMA, "pool": pool.name, "readings": readings}
    return json.dumps(document, indent=2) + "\n"


def volumes_result_object(plan: PlatformPlan, pool: PoolPlan) -> Object:
    """Created when the node has read all datasets fast enough."""
    name, space = volumes_job_name(plan, pool), system_namespace(plan.name)
    return result_object(plan, name, space, pool=pool.name, nodes="1", verdict="passed")


def _of_pool(plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan) -> Iterator[Object]:
    name, space = volumes_job_name(plan, pool), system_namespace(plan.name)
    expects = {VOLUMES_FILE: volumes_text(plan, pool)}
    yield managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=expects)
    labels = {CHECKS_LABEL: name, WORK_LABEL: volume_validation_name(plan.name)}
    template = {
        "metadata": {"labels": labels, **_bucket_metadata(plan)},
        "spec": _pod(plan, validation, pool, name),
    }
    job = managed_object(plan.name, "batch/v1", "Job", name, namespace=space)
    yield validation_job(validation, job, 1, template)


def _bucket_metadata(plan: PlatformPlan) -> Object:
    """The annotations by which the cloud mounts buckets in a pod, if it needs any."""
    buckets = any(data.kind is DatasetKind.BUCKET for data in plan.datasets_read_by_validation)
    annotations = plan.provider.bucket_pod_annotations
    return {"annotations": dict(annotations)} if annotations and buckets else {}


def _pod(plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan, name: str) -> Object:
    claims = [data.name for data in plan.datasets_read_by_validation]
    volumes = [
        *validator_volumes(load_validation_name(plan.name), name),
        *(
            {"name": f"data-{n}", "persistentVolumeClaim": {"claimName": claim}}
            for n, claim in enumerate(claims)
        ),
    ]
    checks, runs = _container(validation, claims), {"restartPolicy": "Never"}
    return validation_pod(plan, pool, DATA_ACCOUNT, checks, volumes, runs, waits=False)


def _container(validation: ValidationPlan, claims: list[str]) -> Object:
    return container(
        validation,
        f"{PACKAGE}.volumes",
        VOLUMES_FILE,
        variables={},
        resources={
            "requests": {"cpu": "250m", "memory": "512Mi"},
            "limits": {"memory": "2Gi"},
        },
        mounts=(
            {"name": f"data-{n}", "mountPath": f"{_MOUNTED}/{claim}", "readOnly": True}
            for n, claim in enumerate(claims)
        ),
    )
