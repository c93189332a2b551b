"""Infrastructure: operator and driver, node labels, fabric, and placement of system pods."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.records import PoolPlan
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    by_node,
    label,
    listed,
    name_of,
    nodes_of,
    not_applicable_if_simulated,
    not_applicable_without_teams,
    place_of,
    space_of,
)
from gpuyard_core.catalogue.gke.nodes import GPU_DRIVER_LABEL, GPU_MODEL_LABEL
from gpuyard_core.catalogue.software.images import SoftwarePart
from gpuyard_core.names import (
    COUNT_LABEL,
    DRIVER_VERSION_LABEL,
    DRIVER_WAITS_LABEL,
    GPU,
    GPU_OPERATOR_NAMESPACE,
    KUBE_SYSTEM,
    KUEUE_NAMESPACE,
    MIG_CONFIG_LABEL,
    OPERANDS_LABEL,
    SKIP_UPGRADE_LABEL,
    UPGRADE_LABEL,
    admission_name,
    nccl_name,
)

_OLD = (
    *("software.vulnerable", "software.kubernetes", "software.ended", "software.branch_ended"),
    *("software.deprecated", "software.unknown"),
)
_DRIVER = ("driver.too_old", "driver.too_new", "driver.pools_disagree")
_EXPORTER = "dcgm-exporter"
MONITORS = ("ServiceMonitor", "PodMonitor", "PodMonitoring", "ClusterPodMonitoring")
"""Kinds that tell Prometheus, or the managed Prometheus of Google Cloud, what to scrape."""
_NO_PROGRAM = "they run no NVIDIA software"
_WAITS = (
    "it waits for the driver rollout of another pool; if no `up` is running, deploy again or remove the labels"
    f" {DRIVER_WAITS_LABEL} and {SKIP_UPGRADE_LABEL}"
)
_NOT_EXCHANGED = "upgrade-failed"
"""The operator's state of a node whose driver upgrade failed; it counts as in progress, and only one node is
upgraded at a time (NVIDIA/k8s-operator-libs, pkg/upgrade/common_manager.go)."""


def _operator(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, _NO_PROGRAM)
    yield from subject.found(*_OLD)
    parts = subject.plan.operator
    if parts is not None and parts.install:
        yield passing("plan.software.gpu-operator", subject.plan.software["gpu-operator"])
    elif not _needs_none(subject):
        yield unknown(
            "the stack does not install the operator: add --live", "plan.operator.install"
        )
        return
    for pool in subject.plan.pools:
        owners = pool.node_software.owners if pool.node_software else {}
        owner_list = ", ".join(f"{part}: {who}" for part, who in owners.items())
        yield passing(f"plan.pools.{pool.name}.node_software.owners", owner_list)


def _needs_none(subject: Subject) -> bool:
    """Whether the cloud provides all GPU software of the nodes."""
    parts, operator = subject.plan.operator, subject.plan.spec.gpu_operator
    return operator.install and parts is not None and not parts.install


def _operator_ready(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    results = [*cluster.all("ClusterPolicy"), *cluster.all("GPUCluster")]
    for each in results:
        state = str(at(each, "status", "state") or "none")
        wrong = "" if state == "ready" else "the GPU Operator does not report it as ready"
        yield observe(place_of(each), f"state {state}", wrong)
    if not results and _needs_none(subject):
        yield passing("plan.operator", "no pool needs the GPU Operator")
    elif len(results) != 1:
        yield failing(
            "clusterpolicies.nvidia.com", len(results), "the GPU Operator supports exactly one"
        )


def _drivers(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from subject.found(*_DRIVER)
    for pool in subject.plan.pools:
        version = pool.node_software.driver if pool.node_software else None
        where = f"plan.pools.{pool.name}.node_software.driver"
        if version is None:
            yield unknown("the plan does not set the driver: add --live", where)
        else:
            yield passing(where, version)


def _drivers_of_nodes(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    for pool in subject.plan.pools:
        off = _is_off(pool)
        key = GPU_DRIVER_LABEL if off else DRIVER_VERSION_LABEL
        first = next((label(n, key) for n in nodes_of(pool, cluster)), "")
        if off and not first:
            yield unknown("no node label reports the driver version", f"nodes of pool {pool.name}")
            continue
        software, parts = pool.node_software, subject.plan.operator
        brings = parts is not None and parts.enabled[SoftwarePart.DRIVER.value]
        expected = software.driver if software and brings and not off else None
        yield from _of_one_driver(pool, cluster, key, expected or first)


def _of_one_driver(
    pool: PoolPlan, cluster: ClusterObjects, key: str, as_all: str
) -> Iterator[Observation]:
    def judge(_: PoolPlan, node: K8sObject) -> tuple[str, str]:
        version, state = label(node, key), label(node, UPGRADE_LABEL)
        if state == _NOT_EXCHANGED:
            return (
                f"{version or 'none'}, {state}",
                "the driver rollout stops until this node is fixed",
            )
        if label(node, DRIVER_WAITS_LABEL):
            return f"{version or 'none'}, waits", _WAITS
        wrong = "" if version == as_all else f"its pool has version {as_all or 'none'}"
        return version or "none", wrong if version else "no driver is reported"

    yield from by_node([pool], cluster, judge)


def _is_off(pool: PoolPlan) -> bool:
    """Whether no operator agent that writes labels runs on its nodes."""
    return pool.labels.get(OPERANDS_LABEL) == "false"


def _exporters(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    pods = [pod for pod in cluster.all("Pod") if is_exporter(pod)]
    running = {at(p, "spec", "nodeName") for p in pods if at(p, "status", "phase") == "Running"}

    def judge(_: PoolPlan, node: K8sObject) -> tuple[str, str]:
        exists = name_of(node) in running
        return "exporter runs" if exists else "none", "" if exists else "no exporter runs on it"

    yield from by_node(subject.plan.pools, cluster, judge)
    lists = [any(at(v, "configMap") for v in listed(pod, "spec", "volumes")) for pod in pods]
    if pods:
        wrong = "" if all(lists) else "not all use the platform's counter list"
        yield observe("volumes of exporters", f"{sum(lists)} of {len(pods)} with a list", wrong)
    result = monitors(cluster, _EXPORTER)
    for each in result:
        yield passing(place_of(each), "scrapes it")
    if not result:
        yield failing(
            "servicemonitors, podmonitors", 0, "none selects the exporter, so it is not scraped"
        )


def is_exporter(pod: K8sObject) -> bool:
    """Whether a pod is the DCGM exporter, by the label of the operator or of its own chart.

    A GPUCluster of the operator calls it nvidia-dcgm-exporter-dra.
    """
    keys = ("app", "app.kubernetes.io/name")
    return any(_EXPORTER in label(pod, key) for key in keys)


def monitors(objects: ClusterObjects, of: str) -> list[K8sObject]:
    """Monitors whose name or selector contains the name."""
    results = [each for kind in MONITORS for each in objects.all(kind)]
    return [m for m in results if of in f"{name_of(m)} {at(m, 'spec', 'selector')}"]


def _labels(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    def judge(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        gpu = pool.machine.gpu
        product, count = label(node, f"{GPU}.product"), label(node, COUNT_LABEL)
        cut = label(node, MIG_CONFIG_LABEL)
        value = f"{product or 'no product'}, count {count or 'none'}"
        expected = gpu.product if gpu else ""
        if not product.startswith(expected) or not product:
            return value, f"the plan expects {expected}"
        if count != str(pool.machine.gpus):
            return value, f"the plan expects {pool.machine.gpus} GPUs"
        if pool.mig_config and cut != pool.mig_config:
            return f"{value}, {cut or 'not partitioned'}", f"the plan expects {pool.mig_config}"
        return value, ""

    def judge_gke(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        model, expected = label(node, GPU_MODEL_LABEL), pool.machine.accelerator
        return model or "no model", "" if model == expected else f"the plan expects {expected}"

    pools = subject.plan.pools
    yield from by_node([pool for pool in pools if not _is_off(pool)], cluster, judge)
    yield from by_node([pool for pool in pools if _is_off(pool)], cluster, judge_gke)


def _numa(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, "they have no kubelet")
    yield from subject.found("numa.single_node")
    asked = {pool.name for pool in subject.plan.spec.pools if pool.numa}
    for pool in subject.plan.pools:
        where = f"plan.pools.{pool.name}.numa"
        if subject.plan.cloud.value == "none":
            yield unknown("you configure the kubelets of your own nodes", where, pool.numa.value)
        elif not pool.machine.numa_nodes and pool.gpus_per_node > 1 and pool.name not in asked:
            why = f"the NUMA nodes of {pool.machine.name} are unknown: its kubelet aligns no pods"
            yield unknown(
                f"{why}; set numa: best-effort to align pods where possible", where, pool.numa.value
            )
        else:
            yield passing(where, pool.numa.value)


def _nccl(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """For rendered and for live objects."""
    if not subject.wide_pools:
        yield not_applicable("no shape needs several nodes")
    config_maps = {(space_of(c), name_of(c)) for c in objects.all("ConfigMap")}
    for pool in subject.wide_pools:
        where = f"plan.pools.{pool.name}.nccl"
        if pool.nccl is None:
            yield unknown("its fabric is unknown: NCCL uses TCP", where, "none")
            continue
        if not pool.nccl.variables:
            yield passing(where, f"{pool.nccl.fabric}, which needs no variables")
            continue
        lack = [s for _, s in subject.team_spaces if (s, nccl_name(pool.name)) not in config_maps]
        wrong = f"no ConfigMap {nccl_name(pool.name)} in {', '.join(lack)}" if lack else ""
        yield observe(where, f"{pool.nccl.fabric}, {len(pool.nccl.variables)} variables", wrong)


def _devices(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, "no container is started")
    yield from not_applicable_without_teams(subject)
    release = gpu_operator_release(subject.plan)
    if release is not None:
        on = release.values["cdi"]["enabled"]
        wrong = "" if on else "pods can reach devices without it"
        yield observe(f"values of {release.name}: cdi.enabled", on, wrong)
    elif not _needs_none(subject):
        yield unknown("the stack does not install the operator", "plan.operator.install")
        return
    yield from _admission(subject, subject.rendered)


def _admission(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """Whether pod admission rejects violations."""
    name = admission_name(subject.plan.name)
    result = objects.all("ValidatingAdmissionPolicyBinding")
    actions = [listed(b, "spec", "validationActions") for b in result if name_of(b) == name]
    for each in actions:
        wrong = "" if "Deny" in each else "violating pods are still admitted"
        yield observe(f"ValidatingAdmissionPolicyBinding {name}", ", ".join(map(str, each)), wrong)
    if not actions:
        yield failing(
            f"ValidatingAdmissionPolicyBinding {name}", "none", "no policy applies to team pods"
        )


def _system_nodes(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, "they run no controllers")
    system = subject.plan.system
    if system is not None:
        yield passing("plan.system", f"{system.nodes} × {system.machine}")
    else:
        yield unknown("the stack does not manage the controllers' nodes: add --live", "plan.system")


def _who_stands_where(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    ours = {name_of(n) for pool in subject.plan.pools for n in nodes_of(pool, cluster)}
    rest = [n for n in cluster.all("Node") if name_of(n) not in ours]
    without_gpus = [n for n in rest if not at(n, "status", "capacity", GPU)]
    wrong = "" if without_gpus else "every node has GPUs: controllers must run on GPU nodes"
    yield observe("nodes without GPUs", len(without_gpus), wrong)
    for pod in cluster.all("Pod"):
        system = space_of(pod) in {KUBE_SYSTEM, KUEUE_NAMESPACE, GPU_OPERATOR_NAMESPACE}
        owners = {at(owner, "kind") for owner in listed(pod, "metadata", "ownerReferences")}
        node = at(pod, "spec", "nodeName")
        if system and node in ours and not owners & {"DaemonSet", "Node", "Job"}:
            yield failing(place_of(pod), f"on {node}", "a controller uses capacity of a GPU node")


PLANNED: Mapping[str, ClusterCheck] = {
    "INF-01": _operator,
    "INF-02": _drivers,
    "INF-05": _numa,
    "INF-06": _nccl,
    "INF-08": _devices,
    "INF-09": _system_nodes,
}
LIVE: Mapping[str, ClusterCheck] = {
    "INF-01": _operator_ready,
    "INF-02": _drivers_of_nodes,
    "INF-03": _exporters,
    "INF-04": _labels,
    "INF-06": _nccl,
    "INF-08": _admission,
    "INF-09": _who_stands_where,
}
