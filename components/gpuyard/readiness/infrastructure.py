"""Infrastructure: operator and driver, what nodes say of themselves, the fabric, and who stands where."""

from collections.abc import Iterator, Mapping

from gpuyard.catalogue.gke.nodes import GPU_DRIVER_LABEL, GPU_MODEL_LABEL
from gpuyard.catalogue.software.images import SoftwarePart
from gpuyard.names import (
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
from gpuyard.plan.records import PoolPlan
from gpuyard.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    by_node,
    label,
    listed,
    name_of,
    no_teams,
    nodes_of,
    place_of,
    simulated,
    space_of,
)
from gpuyard.render.gpu_operator.values import gpu_operator_release

_OLD = (
    *("software.vulnerable", "software.kubernetes", "software.ended", "software.branch_ended"),
    *("software.deprecated", "software.unknown"),
)
_DRIVER = ("driver.too_old", "driver.too_new", "driver.pools_disagree")
_EXPORTER = "dcgm-exporter"
_NO_PROGRAM = "no program of NVIDIA's runs on them"
_WAITS = (
    "it waits for another pool's driver; where no `up` runs, deploy again, or take the labels"
    f" {DRIVER_WAITS_LABEL} and {SKIP_UPGRADE_LABEL} off"
)
_NOT_EXCHANGED = "upgrade-failed"
"""What the operator says of a node that got another driver and is not well; it counts as one in progress, and
we let it exchange one at a time (NVIDIA/k8s-operator-libs, pkg/upgrade/common_manager.go)."""


def _operator(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from simulated(subject, _NO_PROGRAM)
    yield from subject.found(*_OLD)
    parts = subject.plan.operator
    if parts is not None and parts.install:
        yield passing("plan.software.gpu-operator", subject.plan.software["gpu-operator"])
    elif not _needs_none(subject):
        yield unknown("the operator is not the stack's own: add --live", "plan.operator.install")
        return
    for pool in subject.plan.pools:
        owners = pool.node_software.owners if pool.node_software else {}
        owner_list = ", ".join(f"{part}: {who}" for part, who in owners.items())
        yield passing(f"plan.pools.{pool.name}.node_software.owners", owner_list)


def _needs_none(subject: Subject) -> bool:
    """Whether the cloud brings all that nodes need."""
    parts, operator = subject.plan.operator, subject.plan.spec.gpu_operator
    return operator.install and parts is not None and not parts.install


def _operator_ready(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    results = [*cluster.all("ClusterPolicy"), *cluster.all("GPUCluster")]
    for each in results:
        state = str(at(each, "status", "state") or "none")
        wrong = "" if state == "ready" else "its operator does not say that it is ready"
        yield observe(place_of(each), f"state {state}", wrong)
    if not results and _needs_none(subject):
        yield passing("plan.operator", "no pool needs one")
    elif len(results) != 1:
        yield failing(
            "clusterpolicies.nvidia.com", len(results), "one and only one is looked after"
        )


def _drivers(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from subject.found(*_DRIVER)
    for pool in subject.plan.pools:
        version = pool.node_software.driver if pool.node_software else None
        where = f"plan.pools.{pool.name}.node_software.driver"
        if version is None:
            yield unknown("it is not the plan that chooses it: add --live", where)
        else:
            yield passing(where, version)


def _drivers_of_nodes(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    for pool in subject.plan.pools:
        off = _is_off(pool)
        key = GPU_DRIVER_LABEL if off else DRIVER_VERSION_LABEL
        first = next((label(n, key) for n in nodes_of(pool, cluster)), "")
        if off and not first:
            yield unknown("nobody writes there which driver answers", f"nodes of pool {pool.name}")
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
            return f"{version or 'none'}, {state}", "until it is mended, no other gets a new driver"
        if label(node, DRIVER_WAITS_LABEL):
            return f"{version or 'none'}, waits", _WAITS
        wrong = "" if version == as_all else f"{as_all or 'nothing'} is that of its pool"
        return version or "none", wrong if version else "no driver answers"

    yield from by_node([pool], cluster, judge)


def _is_off(pool: PoolPlan) -> bool:
    """Whether no agent of the operator is on its nodes, so that none writes labels there."""
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
        wrong = "" if all(lists) else "not all serve a list of the platform's"
        yield observe("volumes of exporters", f"{sum(lists)} of {len(pods)} with a list", wrong)
    result = monitors(cluster, _EXPORTER)
    for each in result:
        yield passing(place_of(each), "scrapes it")
    if not result:
        yield failing(
            "servicemonitors, podmonitors", 0, "none is of the exporter: nobody scrapes it"
        )


def is_exporter(pod: K8sObject) -> bool:
    """Whether a pod is DCGM's exporter, by the operator's label or by that of its own chart."""
    keys = ("app", "app.kubernetes.io/name")
    return any(label(pod, key).endswith(_EXPORTER) for key in keys)


def monitors(objects: ClusterObjects, of: str) -> list[K8sObject]:
    """What Prometheus is told to scrape by that name, or by a selector with it."""
    results = (*objects.all("ServiceMonitor"), *objects.all("PodMonitor"))
    return [m for m in results if of in f"{name_of(m)} {at(m, 'spec', 'selector')}"]


def _labels(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    def judge(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        gpu = pool.machine.gpu
        product, count = label(node, f"{GPU}.product"), label(node, COUNT_LABEL)
        cut = label(node, MIG_CONFIG_LABEL)
        value = f"{product or 'no product'}, count {count or 'none'}"
        expected = gpu.product if gpu else ""
        if not product.startswith(expected) or not product:
            return value, f"the plan says {expected}"
        if count != str(pool.machine.gpus):
            return value, f"the plan says {pool.machine.gpus} GPUs"
        if pool.mig_config and cut != pool.mig_config:
            return f"{value}, {cut or 'not cut'}", f"the plan says {pool.mig_config}"
        return value, ""

    def judge_gke(pool: PoolPlan, node: K8sObject) -> tuple[str, str]:
        model, expected = label(node, GPU_MODEL_LABEL), pool.machine.accelerator
        return model or "no model", "" if model == expected else f"the plan says {expected}"

    pools = subject.plan.pools
    yield from by_node([pool for pool in pools if not _is_off(pool)], cluster, judge)
    yield from by_node([pool for pool in pools if _is_off(pool)], cluster, judge_gke)


def _numa(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from simulated(subject, "they have no kubelet")
    yield from subject.found("numa.single_node")
    asked = {pool.name for pool in subject.plan.spec.pools if pool.numa}
    for pool in subject.plan.pools:
        where = f"plan.pools.{pool.name}.numa"
        if subject.plan.cloud.value == "none":
            yield unknown("kubelets of your own nodes are yours", where, pool.numa.value)
        elif not pool.machine.numa_nodes and pool.gpus_per_node > 1 and pool.name not in asked:
            why = f"NUMA nodes of {pool.machine.name} are unknown: its kubelet aligns no pod"
            yield unknown(f"{why}; numa: best-effort aligns what it can", where, pool.numa.value)
        else:
            yield passing(where, pool.numa.value)


def _nccl(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """The same of what is rendered and of what is there."""
    if not subject.wide_pools:
        yield not_applicable("no shape needs several nodes")
    config_maps = {(space_of(c), name_of(c)) for c in objects.all("ConfigMap")}
    for pool in subject.wide_pools:
        where = f"plan.pools.{pool.name}.nccl"
        if pool.nccl is None:
            yield unknown("no fabric of it is known: NCCL takes TCP there", where, "none")
            continue
        if not pool.nccl.variables:
            yield passing(where, f"{pool.nccl.fabric}, which needs none")
            continue
        lack = [s for _, s in subject.team_spaces if (s, nccl_name(pool.name)) not in config_maps]
        wrong = f"no ConfigMap {nccl_name(pool.name)} in {', '.join(lack)}" if lack else ""
        yield observe(where, f"{pool.nccl.fabric}, {len(pool.nccl.variables)} variables", wrong)


def _devices(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from simulated(subject, "no container is started")
    yield from no_teams(subject)
    release = gpu_operator_release(subject.plan)
    if release is not None:
        on = release.values["cdi"]["enabled"]
        wrong = "" if on else "devices reach pods without it"
        yield observe(f"values of {release.name}: cdi.enabled", on, wrong)
    elif not _needs_none(subject):
        yield unknown("the operator is not the stack's own", "plan.operator.install")
        return
    yield from _admission(subject, subject.rendered)


def _admission(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """Whether admission of pods refuses."""
    name = admission_name(subject.plan.name)
    result = objects.all("ValidatingAdmissionPolicyBinding")
    actions = [listed(b, "spec", "validationActions") for b in result if name_of(b) == name]
    for each in actions:
        wrong = "" if "Deny" in each else "pods are let in all the same"
        yield observe(f"ValidatingAdmissionPolicyBinding {name}", ", ".join(map(str, each)), wrong)
    if not actions:
        yield failing(
            f"ValidatingAdmissionPolicyBinding {name}", "none", "nothing holds pods of teams"
        )


def _system_nodes(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from simulated(subject, "controllers do not run on them")
    system = subject.plan.system
    if system is not None:
        yield passing("plan.system", f"{system.nodes} × {system.machine}")
    else:
        yield unknown("nodes of controllers are not the stack's own: add --live", "plan.system")


def _who_stands_where(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    ours = {name_of(n) for pool in subject.plan.pools for n in nodes_of(pool, cluster)}
    rest = [n for n in cluster.all("Node") if name_of(n) not in ours]
    without_gpus = [n for n in rest if not at(n, "status", "capacity", GPU)]
    wrong = "" if without_gpus else "every node has GPUs: controllers have nowhere else to be"
    yield observe("nodes without GPUs", len(without_gpus), wrong)
    for pod in cluster.all("Pod"):
        system = space_of(pod) in {KUBE_SYSTEM, KUEUE_NAMESPACE, GPU_OPERATOR_NAMESPACE}
        owners = {at(owner, "kind") for owner in listed(pod, "metadata", "ownerReferences")}
        node = at(pod, "spec", "nodeName")
        if system and node in ours and not owners & {"DaemonSet", "Node", "Job"}:
            yield failing(place_of(pod), f"on {node}", "a controller takes room of a GPU node")


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
