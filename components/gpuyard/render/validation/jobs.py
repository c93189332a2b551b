"""The pods that check nodes before a deployment ends: a Job for each pool, for its initial nodes.

A pod that has passed stays until all pods of its Job run, so that each has its own node: for that
it may read the Job, and nothing else.

The pods hold no GPU but see all of them, so no queue and no guarantee counts them
(docs/decisions/0045). The engine waits for a Job, and detects two kinds of failure: too many failed
pods, and a deadline. So no pod is retried, and there is always a deadline.
https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/await/checker/job/check.go
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from gpuyard.plan.records import PlatformPlan, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.access import account_subject, role_with_binding
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.objects import (
    POD_FAILURE_POLICY,
    SKIP_AWAIT,
    Object,
    managed_object,
    node_affinity,
    service_account,
    toleration_object,
)
from gpuyard.render.programs import package_source
from gpuyard.render.pulled_image import PulledImage, named_image
from gpuyard.render.validation.expectations import expectations_text, pinned_driver
from gpuyard.render.validation.pods import PACKAGE, container, program_text, validator_volumes
from gpuyard_core.catalogue.kubernetes.eks_nodes import AL2023_RELEASES
from gpuyard_core.catalogue.software.images import ComponentOwner, SoftwarePart
from gpuyard_core.names import (
    CHECKS_LABEL,
    COUNT_LABEL,
    DRIVER_VERSION_LABEL,
    HOSTNAME_LABEL,
    MIG_STATE_LABEL,
    validator_name,
)

EXPECTATIONS_FILE = "expectations.json"
NOT_BESIDE_WORK = ("load.processes", "load.utilization")
"""Checks of an idle node: pods of teams may run on this one."""
WAITS_MORE_SECONDS = 120
"""The engine's timeout in addition to the Job's: it restarts with each event."""
TEXTFILE = "gpu_validation.prom"
FIGURES_KEY, FIGURES = "figures", "validation.figures"
"""Measurements of its pods: known when they have ended."""
VERDICT = "validation.verdict"
"""Passed, or why the check was deferred."""
MIXED_KEY, MIXED = "mixed", "validation.mixed"
"""Differences between its nodes, which no single pod can detect."""
_NAME = 50
"""With the digest and a pod's index appended, a name is still a valid DNS label."""


def validation_objects(plan: PlatformPlan) -> list[Object]:
    """Account and program, then expectations and Job of each pool; none if no pool is checked."""
    pools = [obj for pool in checked_pools(plan) for obj in pool_check_objects(plan, pool)]
    return [*validator_objects(plan), *pools]


def validator_images(plan: PlatformPlan) -> list[PulledImage]:
    """The image of its pods and of the gate's pods."""
    if plan.validation is None or not plan.validation.checks_any_node:
        return []
    return [named_image(plan.validation.image, "hardware validation")]


def validator_objects(plan: PlatformPlan) -> list[Object]:
    """Account and program, which the checks of all pools share."""
    validation = plan.validation
    if validation is None or not validation.checks_any_node:
        return []
    checked = checked_pools(plan)
    name, space = validator_name(plan.name), operator_namespace(plan)
    account = account_subject(name, space)
    return [
        service_account(plan.name, name, space),
        *(role_with_binding(plan.name, space, name, [_rights(plan)], [account]) if checked else []),
        managed_object(plan.name, "v1", "ConfigMap", name, namespace=space, data=program_text()),
    ]


def pool_check_objects(plan: PlatformPlan, pool: PoolPlan) -> list[Object]:
    """The expectations of a pool's nodes, and the Job that checks them."""
    return [] if plan.validation is None else list(_of_pool(plan, plan.validation, pool))


def checked_pools(plan: PlatformPlan) -> list[PoolPlan]:
    """The pools whose nodes are checked."""
    return [plan.pool(each.pool) for each in pool_checks(plan) if each.checks_any_node]


def pool_checks(plan: PlatformPlan) -> Sequence[PoolCheck]:
    """The checks of pools, if an image is set for their pods."""
    validation = plan.validation
    return validation.pools if validation and validation.image else ()


def check_name(plan: PlatformPlan, pool: PoolPlan) -> str:
    """The name of the Job: it changes with expectations, image, program and number of nodes."""
    return job_name(plan, f"check-{pool.stable_name}", check_digest(plan, pool))


def job_name(plan: PlatformPlan, what: str, digest: str) -> str:
    """The name of a Job, which ends with a digest of its inputs."""
    return f"{fit_name(f'gpuyard-{plan.name}-{what}', _NAME)}-{digest}"


def check_digest(plan: PlatformPlan, pool: PoolPlan) -> str:
    """Six digits of all inputs of the verdict. Minimum values are part of the program."""
    return verdict_digest(plan, pool, [expectations_text(plan, pool)], pool.start_nodes)


def node_digest(plan: PlatformPlan, pool: PoolPlan) -> str:
    """The digest for one node, which does not depend on the number of nodes."""
    return verdict_digest(plan, pool, [expectations_text(plan, pool)])


def verdict_digest(
    plan: PlatformPlan, pool: PoolPlan, expects: Iterable[object], *more: object
) -> str:
    """Six digits of expectations, image, program, nodes and other inputs of a verdict."""
    image = plan.validation.image if plan.validation else ""
    source = dict(package_source(PACKAGE))
    inputs = (*expects, image, source, *_node_inputs(plan, pool), *more)
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:6]


def _node_inputs(plan: PlatformPlan, pool: PoolPlan) -> tuple[object, ...]:
    """Inputs whose change replaces a cloud's nodes, to which earlier verdicts do not apply."""
    software = pool.node_software
    if not plan.provider.sells_machines or software is None:
        return ()
    spec = next(each for each in plan.spec.pools if each.name == pool.name)
    release = AL2023_RELEASES.get(plan.kubernetes)
    boots = (software.image, software.variant, plan.kubernetes, release)
    return (*boots, pool.machine.name, str(spec.disk_gib), pool.numa.value)


def verdict_object(plan: PlatformPlan, pool: PoolPlan) -> Object:
    """Created when every node has passed, for people and for the next deployment."""
    result = result_object(
        plan,
        check_name(plan, pool),
        operator_namespace(plan),
        pool=pool.name,
        nodes=str(pool.start_nodes),
        verdict="passed",
    )
    result["data"][MIXED_KEY] = UnresolvedOutput(MIXED)
    return result


def result_object(plan: PlatformPlan, job: str, namespace: str, **data: object) -> Object:
    """The ConfigMap that records the verdict of a Job, with the measurements of its pods."""
    data[FIGURES_KEY] = UnresolvedOutput(FIGURES)
    return managed_object(
        plan.name, "v1", "ConfigMap", f"{job}-passed", namespace=namespace, data=data
    )


def _rights(plan: PlatformPlan) -> Object:
    names = [check_name(plan, pool) for pool in checked_pools(plan)]
    return {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": names, "verbs": ["get"]}


def expectations_object(plan: PlatformPlan, pool: PoolPlan, name: str) -> Object:
    """The expectations that pods of this name compare a node with."""
    data = {EXPECTATIONS_FILE: expectations_text(plan, pool)}
    return managed_object(
        plan.name, "v1", "ConfigMap", name, namespace=operator_namespace(plan), data=data
    )


def _of_pool(plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan) -> Iterator[Object]:
    name, space = check_name(plan, pool), operator_namespace(plan)
    yield expectations_object(plan, pool, name)
    anti_affinity = {
        "labelSelector": {"matchLabels": {CHECKS_LABEL: name}},
        "topologyKey": HOSTNAME_LABEL,
    }
    pod = check_pod(plan, validation, pool, name, ("--together", name))
    pod |= {"automountServiceAccountToken": True, "restartPolicy": "Never"}
    pod["affinity"]["podAntiAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [anti_affinity]
    }
    template = {"metadata": {"labels": {CHECKS_LABEL: name}}, "spec": pod}
    job = managed_object(plan.name, "batch/v1", "Job", name, namespace=space)
    yield validation_job(validation, job, pool.start_nodes, template)


def validation_job(validation: ValidationPlan, job: Object, pods: int, pod: Object) -> Object:
    """A Job with this number of pods, all at once, each once; deployments wait for its verdict."""
    annotations = {
        # Otherwise a failed Job stays, and fails each later deployment.
        "pulumi.com/replaceUnready": "true",
        "pulumi.com/timeoutSeconds": str(validation.deadline_seconds + WAITS_MORE_SECONDS),
    }
    if not validation.required:
        annotations = dict(SKIP_AWAIT)
    spec = {
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "backoffLimit": 0,
        "activeDeadlineSeconds": validation.deadline_seconds,
        # The eviction of a pod or loss of a node does not show a hardware fault.
        "podFailurePolicy": POD_FAILURE_POLICY,
        "template": pod,
    }
    return job | {"metadata": job["metadata"] | {"annotations": annotations}, "spec": spec}


def check_pod(
    plan: PlatformPlan,
    validation: ValidationPlan,
    pool: PoolPlan,
    expects: str,
    words: Iterable[str] = (),
) -> Object:
    """Sees all devices of a node; no other pod of the platform does. `expects`: a ConfigMap."""
    name = validator_name(plan.name)
    volumes = [*validator_volumes(name, expects), *_textfile(validation)]
    runs = {"runtimeClassName": "nvidia"}
    return validation_pod(plan, pool, name, _container(validation, words), volumes, runs)


def validation_pod(
    plan: PlatformPlan,
    pool: PoolPlan,
    account: str,
    checks: Object,
    volumes: list[Object],
    runs: Object,
    *,
    waits: bool = True,
) -> Object:
    """A pod on a node of a pool, by default one that is ready to be checked."""
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **runs,
        "nodeSelector": dict(pool.node_selector),
        "tolerations": [toleration_object(taint) for taint in plan.initial_taints(pool)],
        **({"affinity": node_affinity(node_ready_terms(plan, pool))} if waits else {}),
        "containers": [checks],
        "volumes": volumes,
    }


def node_ready_terms(plan: PlatformPlan, pool: PoolPlan) -> list[Object]:
    """Labels of a node that is ready to be checked: its driver runs, its GPUs are partitioned."""
    results: list[Object] = [{"key": COUNT_LABEL, "operator": "Exists"}]
    if driver := _brought_driver(plan, pool):
        results.append({"key": DRIVER_VERSION_LABEL, "operator": "In", "values": [driver]})
    if pool.mig_config:
        values = ["success", "failed"]
        results.append({"key": MIG_STATE_LABEL, "operator": "In", "values": values})
    return results


def _brought_driver(plan: PlatformPlan, pool: PoolPlan) -> str | None:
    """The driver that the operator installs with a delay; that of an image is there at once."""
    software = pool.node_software
    if (
        software is not None
        and software.owners[SoftwarePart.DRIVER.value] != ComponentOwner.OPERATOR.value
    ):
        return None
    return pinned_driver(plan, pool)


def _textfile(validation: ValidationPlan) -> list[Object]:
    """A pod ends before it could be scraped: its node's exporter reads the file that it writes."""
    if not validation.textfile:
        return []
    folder = {"path": validation.textfile, "type": "DirectoryOrCreate"}
    return [{"name": "textfile", "hostPath": folder}]


def _container(validation: ValidationPlan, words: Iterable[str]) -> Object:
    textfile = ("--prometheus", f"/textfile/{TEXTFILE}") if validation.textfile else ()
    left_out = [word for check in NOT_BESIDE_WORK for word in ("--leave-out", check)]
    spec = container(
        validation,
        PACKAGE,
        EXPECTATIONS_FILE,
        (*textfile, *words, *left_out),
        variables={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"},
        resources={
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"memory": "512Mi"},
        },
        mounts=[{"name": "textfile", "mountPath": "/textfile"}] if validation.textfile else [],
    )
    # The toolkit gives a pod devices that it did not request only if it is privileged.
    privileged = {
        "privileged": True,
        "readOnlyRootFilesystem": True,
        # The image may run as an unprivileged user, which cannot write to the folder of the node exporter.
        **({"runAsUser": 0} if validation.textfile else {}),
    }
    return spec | {"securityContext": privileged}
