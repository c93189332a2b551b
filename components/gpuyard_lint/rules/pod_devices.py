"""Rules on how pods get GPUs and devices."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.admission.bypass import check_pod_bypass, containers_given_all_gpus
from gpuyard_core.admission.requirement import new_violation
from gpuyard_core.admission.requirements import BYPASS
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import (
    at,
    is_true,
    items,
    known_value,
    mapping,
    mappings,
    number,
    text,
)
from gpuyard_core.manifests.placeholders import is_placeholder, repository_of
from gpuyard_core.manifests.pods import Pod, container_name, gpu_requests
from gpuyard_lint.rules.rule import (
    ContextEffect,
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
    once_per_stack,
    read_table,
)
from gpuyard_lint.rules.subjects.claims import claims_only_other_devices
from gpuyard_lint.rules.subjects.components import components_in
from gpuyard_lint.rules.subjects.device_counts import (
    MAX_GPUS_PER_NODE,
    gpus_of_selected_nodes,
    has_gpu_requests,
    max_gpus_per_node,
    requests_all_gpus,
    uses_time_slicing,
)
from gpuyard_lint.rules.subjects.installed_versions import injects_by_cdi_only
from gpuyard_lint.rules.subjects.pods import (
    POD_KINDS,
    is_fabric_daemon,
    is_gpu_monitor,
    is_gpu_pod,
    is_node_agent,
    pod_at,
    pods_of,
)
from gpuyard_lint.rules.subjects.pools import GPU

_WORDS = re.compile(r"(?<![a-z])(?:cuda|gpu|nvidia|cu\d{2,3}|cublas|tensorrt)(?![a-z])")
"""In a name or a tag: projects with two image variants mark the CUDA one so."""
_OTHERS = re.compile(r"(?<![a-z])(?:cpu|rocm|amd|intel|xpu|hpu|vulkan|tpu|neuron)(?![a-z])")
"""The marks of the other variant."""
_REGISTRY = "nvcr.io/"
_SETS_IT_ELSE = frozenset(read_table("cuda_images"))
"""Images that set the variable, unless the tag names other hardware."""
_PLAIN = frozenset(read_table("images_without_cuda"))
"""Well-known images without CUDA, by the last part of their names."""


def is_cuda_image(image: str) -> bool | None:
    """Whether an image sets the variable, by its name; None if the name does not tell."""
    reference = image.partition("@")[0].lower()
    if not reference:
        return None
    repository = repository_of(reference)
    if _OTHERS.search(reference.rpartition("/")[2]):
        return False
    if reference.startswith(_REGISTRY) or _WORDS.search(reference):
        return True
    short = "/".join(repository.split("/")[-2:])
    if short in _SETS_IT_ELSE:
        return True
    return False if repository.rpartition("/")[2] in _PLAIN else None


# GPU-POD-01
_SOCKETS = "/var/lib/kubelet/device-plugins"
_CLASS = "runtimeClassName"
_OF_CONTAINER = frozenset({"env", "volumeMounts"})
_OF_NODES = frozenset({"apps/DaemonSet", "apps/Deployment"})
"""Kinds that run exporters: also a Deployment, on a single machine."""
_WATCHES = re.compile(r"gpu[-_]?(?:monitor|metrics|stats?\b|watch|top\b)|nvitop", re.IGNORECASE)
_ELSEWHERE = {"configMapKeyRef", "secretKeyRef"}


def _check_bypass(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"] or is_placeholder(resource.namespace):
        return
    for pod in pods_of(resource):
        exporters = _monitors(pod) if resource.group_kind in _OF_NODES else set[Path]()
        alone = bool(exporters) and len(exporters) == len(list(pod.containers()))
        paths = (_path(volume) for _, volume in pod.volumes())
        if alone or (
            resource.group_kind == "apps/DaemonSet" and any(p.startswith(_SOCKETS) for p in paths)
        ):
            continue  # device plugins and monitoring agents access all GPUs of a node
        agent = is_node_agent(resource, pod)
        for violation in check_pod_bypass(pod):
            if (
                _is_unknown(resource, violation.path)
                or violation.path[: len(pod.field_path("containers", 0))] in exporters
            ):
                continue
            if violation.path != pod.field_path(_CLASS):
                less = Severity.WARNING if _requests_gpus(resource, violation.path) else None
                mine = agent or _watches(resource, violation.path)
                yield replace(violation, severity=less, is_advisory=mine)
        # next to a monitoring container, the class is for that container
        yield from _by_class(pod, agent=agent or bool(exporters))


def _monitors(pod: Pod) -> set[Path]:
    """Containers that monitor all GPUs of a node and may request none, from any registry."""
    return {path for path, container in pod.containers() if is_gpu_monitor(container)}


def _by_class(pod: Pod, *, agent: bool) -> Iterator[Violation]:
    """The runtime class gives GPUs to an image by the image's own variable, which no file contains."""
    slips = [
        violation for violation in check_pod_bypass(pod) if violation.path == pod.field_path(_CLASS)
    ]
    are_cuda = [is_cuda_image(text(each, "image")) for _, each in containers_given_all_gpus(pod)]
    if not slips or not any(each is not False for each in are_cuda):
        return
    runtime = text(pod.spec.get(_CLASS))
    one = slips[0] if len(slips) == 1 else None
    yield Violation(
        pod.field_path(_CLASS),
        f"uncounted GPUs: the runtime class {runtime} gives every GPU of the node to a container"
        " without a GPU request whose image asks for them, as CUDA images do",
        one.fix if one else "request nvidia.com/gpu, or omit runtimeClassName",
        severity=Severity.WARNING,
        # next to a container that requests GPUs, the class is for that container
        is_advisory=agent or any(pod.gpus().values()) or pod.claims_devices or True not in are_cuda,
    )


def _adjust_bypass(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """Without GPU accounting in the input, or with all GPUs of the node, the pod takes nothing from others.

    With time-slicing of an unknown number of GPUs, it may be the GPU that all pods share anyway.
    """
    if max_gpus_per_node(stack) == 1 or not has_gpu_requests(stack):
        return ContextEffect.CHOICE
    pod = pod_at(resource, path)
    if (
        "env" in path
        and pod is not None
        and not pod.spec.get(_CLASS)
        and injects_by_cdi_only(stack)
    ):
        return ContextEffect.CHOICE  # the variable has no effect there
    if pod is not None and requests_all_gpus(stack, pod):
        return ContextEffect.CHOICE
    if max_gpus_per_node(stack) is None and uses_time_slicing(stack):
        return ContextEffect.CHOICE if _requests_gpus(resource, path) else ContextEffect.UNSURE
    return ContextEffect.FULL


def _container(resource: Resource, path: Path) -> Mapping[str, Any]:
    """The container at a path."""
    end = next((i for i, step in enumerate(path) if step in _OF_CONTAINER), None)
    return mapping(at(resource.properties, *path[:end])) if end else {}


def _watches(resource: Resource, path: Path) -> bool:
    """Whether the container name says that it monitors GPUs and runs no workload on them."""
    container = _container(resource, path)
    return any(_WATCHES.search(text(container.get(field))) for field in ("name", "image"))


def _requests_gpus(resource: Resource, path: Path) -> bool:
    """Whether the container at a path requests GPUs: on a node with one GPU it gets that one anyway."""
    return any(gpu_requests(_container(resource, path)).values())


def _is_unknown(resource: Resource, path: Path) -> bool:
    """A variable with a value from another object, or a placeholder, may have any value."""
    variable = mapping(at(resource.properties, *path))
    elsewhere = mapping(variable, "valueFrom").keys() & _ELSEWHERE
    return bool(elsewhere) or is_placeholder(variable.get("value"))


# GPU-POD-02
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


def _check_host_access(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
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
    is_agent = resource.group_kind == "apps/DaemonSet"
    # NVIDIA's own containers on every node, in any namespace, which manage every GPU
    agents = {each.path[:-1] for each in components_in(resource)} if is_agent else set[Path]()
    for pod in pods_of(resource):
        # a graphics card without a request may be of any vendor
        paths = (_path(volume) for _, volume in pod.volumes())
        if not (is_gpu_pod(pod) or any(path.startswith(_DEVICES[0]) for path in paths)):
            continue
        has_whole_node, keeper = _has_the_node(pod), is_node_agent(resource, pod)
        monitors = _monitors(pod) if is_agent else set[Path]()
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
                    or violation.path[: -len(_PRIVILEGE)] in monitors
                    or (
                        _only_prepares(resource, violation.path)
                        if _FIRST in violation.path
                        else keeper
                    )
                )
                yield replace(violation, severity=severity, is_advisory=mine)
        yield from _volumes(pod, keeper=keeper, whole=has_whole_node)


def _on_a_fabric(pod: Pod) -> bool:
    """Whether it manages network cards of the host, for which vendors' guides require privileges."""
    containers = [container for _, container in pod.containers()]
    mounted = [
        text(mount, "mountPath")
        for container in containers
        for mount in items(container, "volumeMounts")
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
    images = [text(container, "image") for _, container in pod.containers()]
    return bool(images) and all(map(_SAMPLES.search, images))


def _is_in_a_rack(pod: Pod) -> bool:
    fields = (pod.spec.get(each) for each in ("resourceClaims", "nodeSelector", "affinity"))
    return any(_RACK.search(str(each)) for each in fields)


def _only_prepares(resource: Resource, path: Path) -> bool:
    """Init containers that configure the network, as meshes and JupyterHub do, or set kernel parameters."""
    container = mapping(at(resource.properties, *path[: -len(_PRIVILEGE)]))
    added = mapping(at(resource.properties, *path[:-1])).get("capabilities")
    return _NETWORK in items(added, "add") or _sets_the_kernel(container)


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
        if mapping(limit, "default").get("memory") is not None
    }


def _adjust_host_access(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
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
    return text(volume, "hostPath", "path")


def _host(pod: Pod) -> Iterator[Violation]:
    for field in _SHARED:
        if is_true(pod.spec.get(field)):
            yield new_violation(f"host.SHARES_HOST.{field}", pod.field_path(field))


def _privileged(pod: Pod) -> Iterator[Violation]:
    for path, container in pod.containers():
        if is_true(mapping(container, "securityContext").get("privileged")):
            where = (*path, *_PRIVILEGE)
            yield new_violation("host.PRIVILEGED", where, container=container_name(path, container))


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
        for mount in items(container, "volumeMounts"):
            if text(mount, "mountPath").rstrip("/") == _SHM:
                name = text(mount, "name")
                results[name] = results.get(name, True) and bounded
    return results


def _shared_memory(volume: object, where: Path, shm: Mapping[str, bool]) -> Iterator[Violation]:
    """Data in shared memory counts against the memory limit of the container that writes it."""
    bounded = shm.get(text(volume, "name"))
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


RULES = (
    load_rule(
        "GPU-POD-01",
        title=BYPASS.title,
        kinds=POD_KINDS,
        check=_check_bypass,
        adjust=_adjust_bypass,
    ),
    load_rule("GPU-POD-02", kinds=POD_KINDS, check=_check_host_access, adjust=_adjust_host_access),
)
