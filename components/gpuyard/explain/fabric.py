"""Multi-node pods that do not use the fabric between nodes: NCCL falls back to TCP without an error."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.explain.messages import cautions
from gpuyard.explain.outcome import JobOutcome
from gpuyard.explain.records import Verdict
from gpuyard.plan.pools.topology import uses_rdma_device_plugin
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.scheduler.requests import PodSet, Request
from gpuyard_core.manifests.fields import is_true, mapping, mappings, text
from gpuyard_core.manifests.workloads import ParsedWorkload
from gpuyard_core.names import EFA, GPU, RDMA

_SEVERAL = 2
_ADAPTERS = "/dev/infiniband"
_DEVICES = frozenset({"/dev", _ADAPTERS})


def fabric_cautions(
    plan: PlatformPlan, job: ParsedWorkload, request: Request, outcome: JobOutcome
) -> Iterator[str]:
    """For each possible pool: whether the pods request the network adapter of the fabric.

    Only for pods with every GPU of their node: smaller pods may not communicate.
    """
    if outcome.verdict is Verdict.NEVER or not request.is_gang:
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
            yield cautions.pods_without_fabric_adapter(pool.name, lacking, adapter, per_pod)


def _adapter(plan: PlatformPlan, pool: PoolPlan) -> tuple[str, int]:
    """The resource and count that a pod requests for the pool's fabric; "" when none is needed."""
    if plan.provider.network_interfaces(pool.machine):
        return EFA, pool.machine.efa_interfaces
    return (RDMA, 1) if uses_rdma_device_plugin(pool.fabric) else ("", 0)


def _takes_a_node(pods: PodSet, pool: PoolPlan) -> bool:
    gpus_per_node = next((a.per_node for a in pool.advertised if a.resource == GPU), None)
    return gpus_per_node is not None and pods.requests.get(GPU) == gpus_per_node


def _has_the_hosts_devices(spec: Mapping[Any, Any]) -> bool:
    """Whether it accesses the adapters of the host without a request."""
    containers = mappings(spec, "containers")
    paths = (text(each, "hostPath", "path").rstrip("/") for each in mappings(spec, "volumes"))
    privileged = any(is_true(mapping(c, "securityContext").get("privileged")) for c in containers)
    return privileged or any(path in _DEVICES or path.startswith(f"{_ADAPTERS}/") for path in paths)
