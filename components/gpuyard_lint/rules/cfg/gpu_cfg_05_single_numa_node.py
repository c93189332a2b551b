"""GPU-CFG-05: the kubelet does not reject pods that use a whole GPU node."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from gpuyard_core.catalogue.machines import find_machine
from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Stack, Violation, at, text
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES
from gpuyard_lint.rules.subjects.pools import NODE_POOL, POOL_KINDS, gpu_pools

KUBELET = "kubelet.config.k8s.io/KubeletConfiguration"
NODE_CONFIG = "node.eks.aws/NodeConfig"
_NODE_CLASS = "karpenter.k8s.aws/EC2NodeClass"
_TEMPLATE = "aws:ec2/LaunchTemplate"
_STRICT = "single-numa-node"
_SAID = re.compile(r"topologyManagerPolicy[\"']?\s*[:=]\s*[\"']?single-numa-node")
_AT: dict[str, Path] = {
    KUBELET: ("topologyManagerPolicy",),
    NODE_CONFIG: ("spec", "kubelet", "config", "topologyManagerPolicy"),
}
_USER_DATA: dict[str, Path] = {_NODE_CLASS: ("spec", "userData"), _TEMPLATE: ("userData",)}
_GKE: Path = ("nodeConfig", "kubeletConfig", "topologyManager", "policy")


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    pools = list(gpu_pools(stack.resources_of_kinds(*POOL_KINDS)))
    for pool in pools:
        gke = pool.resource.group_kind == NODE_POOL and _several(pool.machines)
        if gke and text(at(pool.resource.properties, *_GKE)) == _STRICT:
            yield _violation(pool.resource, _GKE, pool.machines[0])
    operators = stack.resources_of_kinds(OPERATOR_VALUES, CLUSTER_POLICY)
    machine = next((name for pool in pools for name in pool.machines if _several((name,))), "")
    if machine or operators or any(not pool.machines for pool in pools):
        for resource, path in _strict(stack):
            yield _violation(resource, path, machine)


def _strict(stack: Stack) -> Iterator[tuple[Resource, Path]]:
    for kind, path in _AT.items():
        for resource in stack.resources_of_kinds(kind):
            if text(at(resource.properties, *path)) == _STRICT:
                yield resource, path
    for kind, path in _USER_DATA.items():
        for resource in stack.resources_of_kinds(kind):
            if _SAID.search(_plain(text(at(resource.properties, *path)))):
                yield resource, path


def _several(machines: tuple[str, ...]) -> bool:
    """True unless all machines are known to have one GPU or one NUMA node, where the policy has no effect."""
    results = [find_machine(name) for name in machines]
    return not results or any(m is None or (m.gpus > 1 and m.numa_nodes != 1) for m in results)


def _plain(data: str) -> str:
    """User data, decoded from base64 if needed."""
    try:
        return b64decode(data, validate=True).decode()
    except (Error, ValueError):
        return data


def _violation(resource: Resource, path: Path, machine: str) -> Violation:
    of = f" of {machine}" if machine else ""
    return Violation(
        path,
        f"a pod with all GPUs{of} never fits one NUMA node: it fails with TopologyAffinityError",
        "use best-effort, or restricted",
        resource,
    )


RULE = Rule(
    id="GPU-CFG-05",
    title="GPU nodes do not require a single NUMA node",
    severity=Severity.ERROR,
    why="The kubelet rejects the pod after scheduling, again for every replacement by its controller.",
    fix="Set the topology manager to best-effort or restricted on GPU nodes.",
    sources=("Kubernetes documentation, topology manager policies",),
    kinds=(NODE_POOL, KUBELET, NODE_CONFIG, _NODE_CLASS, _TEMPLATE),
    check_stack=_check,
)
