"""GPU-POD-02: pods get devices from the device plugin, not from the host."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard_core.admission.host import PRIVILEGED, SHARES_HOST
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.pods import container_name
from gpuyard_lint.rules.rule import (
    AuditReference,
    ContextEffect,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    is_true,
    items,
    known_value,
    mapping,
    mappings,
    number,
    once_per_stack,
    text,
)
from gpuyard_lint.rules.subjects.claims import claims_only_other_devices
from gpuyard_lint.rules.subjects.components import components_in
from gpuyard_lint.rules.subjects.device_counts import (
    MAX_GPUS_PER_NODE,
    gpus_of_selected_nodes,
    max_gpus_per_node,
)
from gpuyard_lint.rules.subjects.pods import (
    POD_KINDS,
    SYSTEM_NAMESPACES,
    Pod,
    is_fabric_daemon,
    is_gpu_monitor,
    is_gpu_pod,
    is_node_agent,
    pod_at,
    pods_of,
)
from gpuyard_lint.rules.subjects.pools import GPU

_DEVICES = ("/dev/nvidia", "/dev/dri")
_ALL_DEVICES = frozenset({"", "/dev"})
"""Without a trailing slash; the first is the root. There is no device below /sys."""
_FABRIC = re.compile(r"/dev/infiniband\b|/dev/aperture_devices\b|/run/tcpx\b")
_SHM = "/dev/shm"  # noqa: S108  the path as a pod has it, not a local file
_SHARED_MEMORY = "hostIPC"
_OF_HOST = "hostPath"
_PROCESSES = "hostPID"
_SHARED = (_PROCESSES, _SHARED_MEMORY)
_SAMPLES = re.compile(
    r"(^|/)(?:cuda-sample|cuda-vector-add|dcgmproftester\d*|samples:dcgmproftester)\b"
)
"""NVIDIA images whose guides demonstrate GPU sharing: nvidia-smi then shows the processes."""
_OF_A_RACKS_NODE = 4
"""GPUs per node in a rack that is one NVLink domain; claims of the domain's channels identify it."""
_RACK = re.compile(r"compute-?domain|\bimex\b|gb[23]00", re.IGNORECASE)
_PRIVILEGE = ("securityContext", "privileged")
_FIRST, _NETWORK = "initContainers", "NET_ADMIN"
"""Init containers that only wait need no privileges."""
_SHELL = re.compile(r"(^|/)(?:ba|da)?sh$")
_STEPS = re.compile(r"&&|\|\||;")
_KERNEL = re.compile(
    r"(?:/\S*/)?sysctl\b|ulimit\b|set\s+-|(?:true|exit\s*\d*|sleep\s+\d+)$|"
    r"(?:echo|printf)\b[^>]*(?:>+\s*/(?:proc/sys|sys/kernel/mm)/\S+)?$"
)
"""One shell command that sets a kernel parameter, or does nothing."""
_EMPTY_DIR = "emptyDir"
_TAKES = frozenset({"privileged", "path", "hostPath", _SHARED_MEMORY})
_ROOT = frozenset({"/", "//"})
"""Access to the whole node includes more than its GPUs."""


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    """Each path once: steps of a workflow share its volumes."""
    results: dict[Path, Violation] = {}
    for violation in _of_pods(resource, parameters):
        before = results.get(violation.path)
        if before is None or before.is_advisory:
            results[violation.path] = violation
    yield from results.values()


def _of_pods(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"]:
        return
    agents = _agents(resource)
    for pod in pods_of(resource):
        if not (is_gpu_pod(pod) or _reaches_for_devices(pod)):
            continue
        has_whole_node, keeper = _has_the_node(pod), is_node_agent(resource, pod)
        measures = _measures(resource, pod)
        for violation in _host(pod):
            mine = (has_whole_node and violation.path[-1] == _SHARED_MEMORY) or (
                violation.path[-1] == _PROCESSES and _verifies(pod)
            )
            yield replace(violation, is_advisory=mine)
        severity = Severity.WARNING if has_whole_node or _on_a_fabric(pod) else None
        for violation in () if _tests_a_node(pod) else _privileged(pod):
            if violation.path[: -len(_PRIVILEGE)] not in agents:
                mine = (
                    has_whole_node
                    or (is_fabric_daemon(pod) and pod.claims_devices)
                    or violation.path[: -len(_PRIVILEGE)] in measures
                    or (
                        _only_prepares(resource, violation.path)
                        if _FIRST in violation.path
                        else keeper
                    )
                )
                yield replace(violation, severity=severity, is_advisory=mine)
        yield from _volumes(pod, keeper=keeper, whole=has_whole_node)


def _agents(resource: Resource) -> set[Path]:
    """NVIDIA's own containers on every node, in any namespace, which manage every GPU."""
    if resource.group_kind != "apps/DaemonSet":
        return set()
    return {result.path[:-1] for result in components_in(resource)}


def _measures(resource: Resource, pod: Pod) -> set[Path]:
    """Exporter containers on every node, from any registry."""
    if resource.group_kind != "apps/DaemonSet":
        return set()
    return {path for path, container in pod.containers() if is_gpu_monitor(container)}


def _reaches_for_devices(pod: Pod) -> bool:
    """Whether it mounts NVIDIA devices: a graphics card without a request may be of any vendor."""
    return any(_path(volume).startswith(_DEVICES[0]) for _, volume in pod.volumes())


def _on_a_fabric(pod: Pod) -> bool:
    """Whether it manages network cards of the host, for which vendors' guides require privileges."""
    containers = [container for _, container in pod.containers()]
    mounted = [
        text(mapping(mount).get("mountPath"))
        for container in containers
        for mount in items(container.get("volumeMounts"))
    ]
    paths = [*mounted, *(_path(volume) for _, volume in pod.volumes())]
    return any(map(_FABRIC.match, paths)) or is_fabric_daemon(pod)


def _tests_a_node(pod: Pod) -> bool:
    """Whether it belongs to a fabric and uses all GPUs of a node: it takes none from other pods.

    A pod in the host network has the node to itself: the fabric's network cards exist once.
    """
    alone = pod.gpus().get(GPU, 0) >= MAX_GPUS_PER_NODE or is_true(pod.spec.get("hostNetwork"))
    return is_fabric_daemon(pod) and alone


def _has_the_node(pod: Pod) -> bool:
    """Whether it uses every GPU of its node: privileges then give it no GPU of another pod."""
    gpus = pod.gpus().get(GPU, 0)
    if gpus >= min(MAX_GPUS_PER_NODE, gpus_of_selected_nodes(pod) or MAX_GPUS_PER_NODE):
        return True
    return gpus >= _OF_A_RACKS_NODE and _is_in_a_rack(pod)


def _asks_for_some(pod: Pod) -> bool:
    """Whether its GPU count is a placeholder, such as `$GPUS_PER_NODE`: it may be all."""
    limits = (mapping(each, "resources", "limits").get(GPU) for _, each in pod.containers())
    return any(each is not None and number(each) is None for each in limits)


def _verifies(pod: Pod) -> bool:
    """Whether it runs only NVIDIA samples."""
    images = [text(container.get("image")) for _, container in pod.containers()]
    return bool(images) and all(map(_SAMPLES.search, images))


def _is_in_a_rack(pod: Pod) -> bool:
    fields = (pod.spec.get(each) for each in ("resourceClaims", "nodeSelector", "affinity"))
    return any(_RACK.search(str(each)) for each in fields)


def _only_prepares(resource: Resource, path: Path) -> bool:
    """Init containers that configure the network, as meshes and JupyterHub do, or set kernel parameters."""
    container = mapping(at(resource.properties, *path[: -len(_PRIVILEGE)]))
    added = mapping(at(resource.properties, *path[:-1])).get("capabilities")
    return _NETWORK in items(mapping(added).get("add")) or _sets_the_kernel(container)


def _sets_the_kernel(container: Mapping[str, object]) -> bool:
    """Whether it only sets kernel parameters, as databases and servers require."""
    words = [text(each) for part in ("command", "args") for each in items(container.get(part))]
    lines = (
        words[-1].splitlines() if len(words) > 1 and _SHELL.search(words[0]) else [" ".join(words)]
    )
    steps = [step.strip() for line in lines for step in _STEPS.split(line)]
    done = [step for step in steps if step and not step.startswith("#")]
    return bool(done) and all(map(_KERNEL.match, done))


@once_per_stack
def _with_a_default(stack: Stack) -> set[str]:
    """Namespaces with a default memory limit for containers."""
    return {
        each.namespace
        for each in stack.resources_of_kinds("LimitRange")
        for limit in mappings(each.properties, "spec", "limits")
        if limit.get("type") == "Container"
        if mapping(limit.get("default")).get("memory") is not None
    }


def _context_effect(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """By GPUs per machine: a pod that requests all of them takes none from others."""
    if path[-1] == _EMPTY_DIR and resource.namespace in _with_a_default(stack):
        return ContextEffect.CHOICE
    if path[-1] not in _TAKES or text(at(resource.properties, *path)) in _ROOT:
        return ContextEffect.FULL
    pod = pod_at(resource, path)
    return ContextEffect.FULL if pod is None else _by_its_gpus(stack, pod)


def _by_its_gpus(stack: Stack, pod: Pod) -> ContextEffect:
    if claims_only_other_devices(stack, pod):
        return ContextEffect.CHOICE
    if _asks_for_some(pod):
        return ContextEffect.UNSURE
    if not any(pod.gpus().values()) or _has_the_node(pod):
        return ContextEffect.FULL
    most = max_gpus_per_node(stack)
    if most is None:
        return ContextEffect.FULL if gpus_of_selected_nodes(pod) else ContextEffect.UNSURE
    return ContextEffect.CHOICE if pod.gpus().get(GPU, 0) >= most else ContextEffect.FULL


def _path(volume: object) -> str:
    return text(mapping(mapping(volume).get("hostPath")).get("path"))


def _host(pod: Pod) -> Iterator[Violation]:
    for field in _SHARED:
        if is_true(pod.spec.get(field)):
            yield SHARES_HOST[field].fill_in(pod.field_path(field))


def _privileged(pod: Pod) -> Iterator[Violation]:
    for path, container in pod.containers():
        if is_true(mapping(container.get("securityContext")).get("privileged")):
            where = (*path, *_PRIVILEGE)
            yield PRIVILEGED.fill_in(where, container=container_name(path, container))


def _volumes(pod: Pod, *, keeper: bool, whole: bool) -> Iterator[Violation]:
    shm = _shm_volumes(pod)
    for where, volume in pod.volumes():
        path = _path(volume)
        if path.startswith(_DEVICES) or (path and path.rstrip("/") in _ALL_DEVICES):
            root = f"the host's {path} contains all files of the node, including other pods' files and keys"
            yield Violation(
                (*where, "hostPath", "path"),
                f"the host's {path} gives access to devices past the device plugin"
                if path.strip("/")
                else root,
                "remove the volume; the device plugin mounts the allocated devices",
                is_advisory=(keeper or whole) and bool(path.strip("/")),
            )
        for violation in _shared_memory(volume, where, shm):
            # like hostIPC, which is the same memory; without a limit only a fabric test is exempt
            shared = violation.path[-1] == _OF_HOST
            mine = whole or (shared and _asks_for_some(pod))
            yield replace(violation, is_advisory=mine and (shared or is_fabric_daemon(pod)))


def _shm_volumes(pod: Pod) -> dict[str, bool]:
    """Volumes at /dev/shm: whether each container that has one there has a memory limit."""
    results: dict[str, bool] = {}
    for _, container in pod.containers():
        bounded = known_value(mapping(container, "resources", "limits").get("memory")) is not None
        for mount in items(container.get("volumeMounts")):
            if text(mapping(mount).get("mountPath")).rstrip("/") == _SHM:
                name = text(mapping(mount).get("name"))
                results[name] = results.get(name, True) and bounded
    return results


def _shared_memory(volume: object, where: Path, shm: Mapping[str, bool]) -> Iterator[Violation]:
    """Data in shared memory counts against the memory limit of the container that writes it."""
    bounded = shm.get(text(mapping(volume).get("name")))
    if bounded is None:
        return
    if _path(volume):
        yield Violation(
            (*where, _OF_HOST),
            f"the host's {_SHM} is shared with every pod that mounts it, and files outlive the pod",
            "use emptyDir: {medium: Memory, sizeLimit: …}",
            severity=Severity.WARNING,  # vendor guides do so, for pods with dedicated nodes
        )
        return
    empty = mapping(volume).get(_EMPTY_DIR)
    endless = (
        isinstance(empty, dict) and empty.get("medium") == "Memory" and not empty.get("sizeLimit")
    )
    if endless and not bounded:
        yield Violation(
            (*where, _EMPTY_DIR),
            "shared memory without sizeLimit can use all memory of the node",
            "add sizeLimit, at most the pod's memory limit",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="GPU-POD-02",
    title="A GPU pod has no privileges and no host devices",
    severity=Severity.ERROR,
    why="Privileges, host devices and host shared memory bypass shares, slices and quotas.",
    fix="Remove privileged, hostPID, hostIPC and hostPath devices; mount an emptyDir with sizeLimit at /dev/shm.",
    sources=("Kubernetes Pod Security Standards, baseline and restricted",),
    references=(
        AuditReference("CIS EKS 1.8.0", "4.2.1-4.2.5"),
        AuditReference("CIS GKE 1.9.0", "4.2.1"),
    ),
    kinds=POD_KINDS,
    parameters={"namespaces": SYSTEM_NAMESPACES},
    check=_check,
    adjust=_context_effect,
)
