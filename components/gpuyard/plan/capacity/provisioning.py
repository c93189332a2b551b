"""Capacity requests before a job is admitted: ProvisioningRequest, by Kueue's admission checks.

No policy merges pod sets: Kueue v0.19.2 marks only the pods of the first merged pod set as
provisioned, and the autoscaler would start nodes for the others again.
"""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.plan.capacity.scaling import installs_autoscaler, scaling_of
from gpuyard.plan.records import AdmissionCheckPlan, PoolPlan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.sections import Provisioning
from gpuyard_core.catalogue.kubernetes.autoscalers import (
    GKE_NODE_LABEL,
    NO_RETRY,
    PROVISIONING_CLASSES,
    REQUESTS_FLAG,
    VALID_SECONDS,
)
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.purchasing import FLEX_START
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info, warning
from gpuyard_core.names import GPU_CLAIM

PARAMETERS: Mapping[Provisioning, Mapping[str, str]] = {
    Provisioning.CHECK: {NO_RETRY: "true"},
    Provisioning.ATOMIC: {VALID_SECONDS: "900"},
    Provisioning.QUEUED: {},
}
"""A job whose nodes are not available releases its quota and retries: at once where nodes only had
to be free, after 15 minutes where they had to be created. By default the autoscaler would keep
trying while the job holds quota that others could use."""
RETRIES = {Provisioning.CHECK: 10, Provisioning.ATOMIC: 10, Provisioning.QUEUED: 3}
"""How often Kueue retries before it gives up on the job. GKE itself keeps a request waiting, so its
failure is final; for the others a failure means "not now", and ten retries take about four
hours."""
FIRST_WAIT, LONGEST_WAIT = 60, 1800
"""Seconds before a retry: doubled each time, up to the longest (the defaults of Kueue v0.19)."""
SIMULATED_RETRIES, SIMULATED_WAIT = 2, 5
SIMULATED_PARAMETERS = {**PARAMETERS, Provisioning.ATOMIC: {VALID_SECONDS: "5"}}
"""On fake nodes the whole sequence takes less than a minute."""


def plan_admission_checks(
    spec: PlatformSpec, pools: Iterable[PoolPlan]
) -> tuple[AdmissionCheckPlan, ...]:
    """One admission check for each provisioning class that a pool uses."""
    pools_by_class: dict[Provisioning, list[PoolPlan]] = {}
    for pool in pools:
        if pool.provisioning:
            pools_by_class.setdefault(pool.provisioning, []).append(pool)
    return tuple(
        _check(spec, word, pools_by_class[word]) for word in Provisioning if word in pools_by_class
    )


def _check(spec: PlatformSpec, word: Provisioning, pools: list[PoolPlan]) -> AdmissionCheckPlan:
    fake = spec.cloud is Cloud.SIMULATED
    resources = sorted({a.resource for pool in pools for a in pool.advertised})
    return AdmissionCheckPlan(
        name=f"{spec.name}-{word}",
        provisioning=word,
        provisioning_class=PROVISIONING_CLASSES[word],
        parameters=(SIMULATED_PARAMETERS if fake else PARAMETERS)[word],
        # no container requests claims: with a list, Kueue would request nothing
        resources=() if GPU_CLAIM in resources else tuple(resources),
        node_label=GKE_NODE_LABEL if word is Provisioning.QUEUED else None,
        retries=SIMULATED_RETRIES if fake else RETRIES[word],
        first_wait_seconds=SIMULATED_WAIT if fake else FIRST_WAIT,
        longest_wait_seconds=LONGEST_WAIT,
    )


def check_provisioning(spec: PlatformSpec, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Check that the autoscaler supports the requests, and can provide the nodes."""
    if pool.provisioning is None:
        yield from _flex_start(spec, pool, path)
        return
    word, at, scaling = (
        pool.provisioning.value,
        (*path, "provisioning"),
        scaling_of(spec.cloud, pool),
    )
    if spec.queueing.clusters:
        yield error(
            "provisioning.clusters",
            at,
            "jobs run on other clusters, and a Kueue queue cannot both dispatch jobs to other clusters"
            " and request nodes here",
            given=word,
            allowed="provisioning in the stack files of those clusters",
            fix=Fix.remove(at),
        )
    elif scaling is Scaling.KARPENTER:
        yield error(
            "provisioning.karpenter",
            at,
            "Karpenter does not support ProvisioningRequest: every job would wait forever",
            given=f"{word} with scaling karpenter",
            allowed="scaling: autoscaler",
            fix=Fix.remove(at),
        )
    elif pool.provisioning is Provisioning.QUEUED and not _sells_queued(spec, pool):
        yield _not_queued(spec, pool, at, scaling)
    elif spec.cloud is Cloud.SIMULATED:
        return
    elif scaling is Scaling.FIXED:
        yield warning(
            "provisioning.fixed",
            at,
            "the pool does not scale: its queue knows the free capacity without a request",
            given=word,
            allowed="a pool that scales",
            fix=Fix.remove(at),
        )
    elif not provider_of(spec.cloud).has_queued_provisioning:
        flag = f"Cluster Autoscaler must run with {REQUESTS_FLAG}; "
        yield info(
            "provisioning.flag",
            at,
            f"{'' if installs_autoscaler(spec) else flag}Kueue sends requests only if the ProvisioningRequest CRD"
            " existed when it started, and gpuyard does not install that CRD",
            given=word,
        )


def _sells_queued(spec: PlatformSpec, pool: Pool) -> bool:
    """Pods of a request run on the nodes that GKE creates for it: others would stay empty."""
    flex = all(r.mode is Capacity.FLEX_START for r in pool.capacity)
    return provider_of(spec.cloud).has_queued_provisioning and flex


def _not_queued(spec: PlatformSpec, pool: Pool, at: Path, scaling: Scaling) -> Diagnostic:
    why = (
        f"queued provisioning exists on GKE only, not on {spec.cloud.value}"
        if not provider_of(spec.cloud).has_queued_provisioning
        else "GKE queues requests for flex-start nodes only, and pods of a request run on no other nodes"
    )
    suggestion = Provisioning.CHECK if scaling is Scaling.FIXED else Provisioning.ATOMIC
    fix = Fix.write(suggestion.value, at)
    if scaling is Scaling.FIXED and spec.cloud is not Cloud.SIMULATED:
        fix = Fix.remove(at)
    return error(
        "provisioning.queued",
        at,
        why,
        given=", ".join(r.mode.value for r in pool.capacity),
        allowed="capacity: [flex-start] on gcp, with other nodes in a separate pool",
        fix=fix,
    )


def _flex_start(spec: PlatformSpec, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Nodes of a gang that start one by one are billed while they wait for the rest."""
    gang = next((s for s in spec.shapes if s.nodes > 1 and s.pool in {None, pool.name}), None)
    flex = any(r.mode is Capacity.FLEX_START for r in pool.capacity)
    if gang is None or not provider_of(spec.cloud).has_queued_provisioning or not flex:
        return
    fix = Fix(message="move the flex-start nodes to a separate pool with provisioning: queued")
    if _sells_queued(spec, pool):
        at = (*path, "provisioning")
        fix = Fix(message="write provisioning: queued", at=at, value=Provisioning.QUEUED.value)
    yield warning(
        "provisioning.flex_start",
        path,
        f"shape {gang.name} needs {gang.nodes} nodes, and flex-start nodes start one by one:"
        f" each is billed, and its time ({FLEX_START.description}) runs, while it waits for the others",
        allowed="provisioning: queued, which starts all nodes of a job at once",
        fix=fix,
    )
