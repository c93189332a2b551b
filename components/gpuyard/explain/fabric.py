"""Pods of several whole nodes that leave the fabric between them aside: NCCL takes TCP, and tells nobody."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.explain.messages import cautions
from gpuyard.explain.outcome import JobOutcome
from gpuyard.explain.records import Verdict
from gpuyard.manifests.fields import is_true, mapping, mappings, text
from gpuyard.manifests.workloads import JobRead
from gpuyard.names import EFA, GPU, RDMA
from gpuyard.plan.pools.fabrics import has_device_plugin
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.requests import PodSet, Request
from gpuyard.spec.platform import Cloud

_SEVERAL = 2
_ADAPTERS = "/dev/infiniband"
_DEVICES = frozenset({"/dev", _ADAPTERS})


def fabric_cautions(
    plan: PlatformPlan, job: JobRead, request: Request, outcome: JobOutcome
) -> Iterator[str]:
    """For each pool that may take the job: whether its pods ask for what carries them across nodes.

    Only of pods that take every GPU of their node: smaller ones may have nothing to say to each other.
    """
    if outcome.verdict is Verdict.NEVER or not request.together:
        return
    by_host = [_has_the_hosts_devices(pod.spec) for pod in job.pods]
    for pool in map(plan.pool, outcome.pools):
        adapter, per_pod = _adapter(plan, pool)
        large = [
            (pods, host)
            for pods, host in zip(request.pod_sets, by_host, strict=True)
            if _takes_a_node(pods, pool)
        ]
        if not adapter or sum(pods.count for pods, _ in large) < _SEVERAL:
            continue
        without = (p for p, host in large if not host and not p.requests.get(adapter))
        if lacking := sum(pods.count for pods in without):
            yield cautions.past_the_fabric(pool.name, lacking, adapter, per_pod)


def _adapter(plan: PlatformPlan, pool: PoolPlan) -> tuple[str, int]:
    """What a pod asks for to have the pool's fabric, and how many of it; "" where no pod has to."""
    if plan.cloud is Cloud.AWS and pool.machine.efa_interfaces:
        return EFA, pool.machine.efa_interfaces
    return (RDMA, 1) if has_device_plugin(pool.fabric) else ("", 0)


def _takes_a_node(pods: PodSet, pool: PoolPlan) -> bool:
    gpus_per_node = next((a.per_node for a in pool.advertised if a.resource == GPU), None)
    return gpus_per_node is not None and pods.requests.get(GPU) == gpus_per_node


def _has_the_hosts_devices(spec: Mapping[Any, Any]) -> bool:
    """Whether it reaches the adapters without being given one."""
    containers = mappings(spec, "containers")
    paths = (text(each, "hostPath", "path").rstrip("/") for each in mappings(spec, "volumes"))
    privileged = any(is_true(mapping(c, "securityContext").get("privileged")) for c in containers)
    return privileged or any(path in _DEVICES or path.startswith(f"{_ADAPTERS}/") for path in paths)
