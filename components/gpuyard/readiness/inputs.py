"""What checks look at: a plan with what it renders, and the objects of a cluster that was asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpuyard.findings import Finding, Severity
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.readiness.evidence import Observation, failing, not_applicable, passing, unknown
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.cloud_graph import graph_of
from gpuyard.render.platform import platform_objects

K8sObject = Mapping[str, Any]
_EVERYWHERE = "--all-namespaces"
LISTED_KINDS: Mapping[str, tuple[str, ...]] = {
    "Node": ("nodes",),
    "Namespace": ("namespaces",),
    "Pod": (
        "pods",
        _EVERYWHERE,
        "--field-selector=status.phase!=Succeeded,status.phase!=Failed",
    ),
    "DaemonSet": ("daemonsets.apps", _EVERYWHERE),
    "ConfigMap": ("configmaps", _EVERYWHERE, "--selector=gpuyard.dev/platform"),
    "Dashboard": ("configmaps", _EVERYWHERE, "--selector=grafana_dashboard"),
    "ResourceQuota": ("resourcequotas", _EVERYWHERE),
    "NetworkPolicy": ("networkpolicies.networking.k8s.io", _EVERYWHERE),
    "PersistentVolumeClaim": ("persistentvolumeclaims", _EVERYWHERE),
    "HorizontalPodAutoscaler": ("horizontalpodautoscalers.autoscaling", _EVERYWHERE),
    "ValidatingAdmissionPolicyBinding": (
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    ),
    "ClusterPolicy": ("clusterpolicies.nvidia.com",),
    "GPUCluster": ("gpuclusters.nvidia.com",),
    "ClusterQueue": ("clusterqueues.kueue.x-k8s.io",),
    "ResourceFlavor": ("resourceflavors.kueue.x-k8s.io",),
    "Workload": ("workloads.kueue.x-k8s.io", _EVERYWHERE),
    "WorkloadPriorityClass": ("workloadpriorityclasses.kueue.x-k8s.io",),
    "NodePool": ("nodepools.karpenter.sh",),
    "EC2NodeClass": ("ec2nodeclasses.karpenter.k8s.aws",),
    "ServiceMonitor": ("servicemonitors.monitoring.coreos.com", _EVERYWHERE),
    "PodMonitor": ("podmonitors.monitoring.coreos.com", _EVERYWHERE),
    "PrometheusRule": ("prometheusrules.monitoring.coreos.com", _EVERYWHERE),
    "AlertmanagerConfig": ("alertmanagerconfigs.monitoring.coreos.com", _EVERYWHERE),
    "ScaledObject": ("scaledobjects.keda.sh", _EVERYWHERE),
    "ClusterTrainingRuntime": ("clustertrainingruntimes.trainer.kubeflow.org",),
    "InferenceService": ("inferenceservices.serving.kserve.io", _EVERYWHERE),
    "WorkflowTemplate": ("workflowtemplates.argoproj.io", _EVERYWHERE),
    "Application": ("applications.argoproj.io", _EVERYWHERE),
    "ScheduledWorkflow": ("scheduledworkflows.kubeflow.org", _EVERYWHERE),
    "Pipeline": ("pipelines.tekton.dev", _EVERYWHERE),
}
"""What a cluster is asked for, as `kubectl get` takes it. No secret is among it."""


class NotRead(Exception):
    """A list of the cluster that nobody could read; its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterObjects:
    """Objects by kind: a cluster's own words, or what a plan renders."""

    objects: Mapping[str, Sequence[K8sObject]]
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kinds that could not be read, and why."""
    absent: frozenset[str] = frozenset()
    """Kinds that it does not have."""

    def all(self, kind: str) -> Sequence[K8sObject]:
        """Every one of a kind."""
        if kind in self.unreadable:
            raise NotRead(f"{LISTED_KINDS[kind][0]} could not be read: {self.unreadable[kind]}")
        return self.objects.get(kind, ())

    def has(self, kind: str) -> bool:
        """Whether it knows the kind."""
        self.all(kind)
        return kind not in self.absent


@dataclass(frozen=True)
class Subject:
    """A platform as it is planned: what all checks are about."""

    plan: PlatformPlan
    findings: tuple[Finding, ...] = ()

    @cached_property
    def rendered(self) -> "ClusterObjects":
        """What the plan puts into a cluster, without charts."""
        kinds: dict[str, list[K8sObject]] = {}
        for each in platform_objects(self.plan):
            kinds.setdefault(each["kind"], []).append(each)
        return ClusterObjects(objects=kinds)

    @cached_property
    def graph(self) -> CloudGraph | None:
        """What the plan makes in a cloud's account; None where it makes no cluster."""
        return None if self.plan.spec.cluster_exists else graph_of(self.plan)

    def found(self, *ids: str) -> Iterator[Observation]:
        """What the proofs warn of, among these."""
        for each in self.findings:
            if each.id in ids and each.severity is not Severity.INFO:
                yield failing(each.where, each.value or each.id, each.problem)

    @property
    def wide_pools(self) -> list[PoolPlan]:
        """Pools of which some shape needs several nodes at once."""
        names = {shape.pool for shape in self.plan.shapes if shape.nodes > 1}
        return [pool for pool in self.plan.pools if pool.name in names]

    @property
    def team_spaces(self) -> list[tuple[TeamPlan, str]]:
        """Each namespace with the team that has it."""
        return [(team, space.name) for team in self.plan.teams for space in team.namespaces]


ClusterCheck = Callable[[Subject, ClusterObjects], Iterable[Observation]]
"""How a check is answered: from what the plan renders, or from a cluster."""


def at(value: Any, *path: str) -> Any:
    """What stands in an object; None where nothing does, whatever else is there."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def listed(value: Any, *path: str) -> list[Any]:
    """The same, of a list; none where it is no list."""
    result = at(value, *path)
    return list(result) if isinstance(result, list | tuple) else []


def label(obj: K8sObject, key: str) -> str:
    """A label; empty where it has none."""
    result = at(obj, "metadata", "labels", key)
    return result if isinstance(result, str) else ""


def name_of(obj: K8sObject) -> str:
    """Its name."""
    return str(at(obj, "metadata", "name") or "")


def space_of(obj: K8sObject) -> str:
    """Its namespace; empty where it is in none."""
    return str(at(obj, "metadata", "namespace") or "")


def place_of(obj: K8sObject) -> str:
    """How people name it: kind, namespace, name."""
    return f"{obj.get('kind')} {'/'.join(filter(None, (space_of(obj), name_of(obj))))}"


def is_true(obj: K8sObject, condition: str) -> bool:
    """Whether a condition of its status is so."""
    result = listed(obj, "status", "conditions")
    return any(at(c, "type") == condition and at(c, "status") == "True" for c in result)


def nodes_of(pool: PoolPlan, objects: ClusterObjects) -> list[K8sObject]:
    """The nodes of a pool that are there."""
    selector = pool.node_selector.items()
    return [n for n in objects.all("Node") if all(label(n, key) == v for key, v in selector)]


def planned_objects(
    subject: Subject, objects: ClusterObjects, kind: str
) -> Iterator[tuple[str, K8sObject | None]]:
    """Each object of a kind that the plan renders: how people name it, and what is there of it."""
    live = {place_of(each): each for each in objects.all(kind)}
    for each in subject.rendered.all(kind):
        yield place_of(each), live.get(place_of(each))


def missing_object(where: str) -> Observation:
    """An object of the plan that the cluster lacks."""
    return failing(where, "none", "it is not there")


def by_node(
    pools: Iterable[PoolPlan],
    objects: ClusterObjects,
    judge: Callable[[PoolPlan, K8sObject], tuple[str, str]],
) -> Iterator[Observation]:
    """Each node that is not as it must be, and of the others how many there are.

    `judge` gives what it has seen, and what is wrong with it or nothing.
    """
    for pool in pools:
        nodes = nodes_of(pool, objects)
        fine: dict[str, int] = {}
        for node in nodes:
            value, wrong = judge(pool, node)
            if wrong:
                yield failing(f"node {name_of(node)}", value, wrong)
            else:
                fine[value] = fine.get(value, 0) + 1
        for value, count in fine.items():
            yield passing(f"{count} of {len(nodes)} nodes of {pool.name}", value)
        if not nodes:
            yield unknown("no node of it runs now", f"pool {pool.name}")


def by_namespace(
    subject: Subject, objects: ClusterObjects, kind: str
) -> Iterator[tuple[TeamPlan, str, list[K8sObject]]]:
    """What there is of a kind in each namespace of a team."""
    for team, space in subject.team_spaces:
        yield team, space, [each for each in objects.all(kind) if space_of(each) == space]


def no_teams(subject: Subject) -> Iterator[Observation]:
    """What there is to say where nobody has a namespace."""
    if not subject.plan.teams:
        yield not_applicable("the stack has no team")


def simulated(subject: Subject, what: str) -> Iterator[Observation]:
    """What there is to say of fake nodes."""
    if subject.plan.simulated:
        yield not_applicable(f"nodes are simulated: {what}")
