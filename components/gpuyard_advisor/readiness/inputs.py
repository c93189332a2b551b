"""Inputs of checks: a plan with its rendered objects, and the objects of a cluster."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.platform import platform_objects
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    passing,
    unknown,
)
from gpuyard_core.findings import Diagnostic, Severity

K8sObject = Mapping[str, Any]
_EVERYWHERE = "--all-namespaces"
_WRITES = "--show-managed-fields"
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
    "ServiceMonitor": ("servicemonitors.monitoring.coreos.com", _EVERYWHERE, _WRITES),
    "PodMonitor": ("podmonitors.monitoring.coreos.com", _EVERYWHERE, _WRITES),
    "PrometheusRule": ("prometheusrules.monitoring.coreos.com", _EVERYWHERE, _WRITES),
    "AlertmanagerConfig": ("alertmanagerconfigs.monitoring.coreos.com", _EVERYWHERE, _WRITES),
    "Prometheus": ("prometheuses.monitoring.coreos.com", _EVERYWHERE),
    "PrometheusAgent": ("prometheusagents.monitoring.coreos.com", _EVERYWHERE),
    "ThanosRuler": ("thanosrulers.monitoring.coreos.com", _EVERYWHERE),
    "Alertmanager": ("alertmanagers.monitoring.coreos.com", _EVERYWHERE),
    "PodMonitoring": ("podmonitorings.monitoring.googleapis.com", _EVERYWHERE),
    "ClusterPodMonitoring": ("clusterpodmonitorings.monitoring.googleapis.com",),
    "ClusterRules": ("clusterrules.monitoring.googleapis.com",),
    "RuleFile": ("configmaps", _EVERYWHERE, "--selector=prometheus-name"),
    "Event": ("events", _EVERYWHERE, "--field-selector=reason=InvalidConfiguration"),
    "ScaledObject": ("scaledobjects.keda.sh", _EVERYWHERE),
    "ClusterTrainingRuntime": ("clustertrainingruntimes.trainer.kubeflow.org",),
    "InferenceService": ("inferenceservices.serving.kserve.io", _EVERYWHERE),
    "WorkflowTemplate": ("workflowtemplates.argoproj.io", _EVERYWHERE),
    "Application": ("applications.argoproj.io", _EVERYWHERE),
    "ScheduledWorkflow": ("scheduledworkflows.kubeflow.org", _EVERYWHERE),
    "Pipeline": ("pipelines.tekton.dev", _EVERYWHERE),
}
"""Kinds queried with `kubectl get`. Secrets are not among them."""
_OTHERS = {"Secret": "secrets", "Target": "targets", "RuleGroup": "rules"}
"""Kinds read in other ways: names of Secrets, and answers of Prometheus."""


class NotRead(Exception):
    """A list of the cluster could not be read; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterObjects:
    """Objects by kind, of a cluster or rendered from a plan."""

    objects: Mapping[str, Sequence[K8sObject]]
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kinds that could not be read, and why."""
    absent: frozenset[str] = frozenset()
    """Kinds that the cluster does not have."""

    def all(self, kind: str) -> Sequence[K8sObject]:
        """All objects of a kind."""
        if kind in self.unreadable:
            name = LISTED_KINDS[kind][0] if kind in LISTED_KINDS else _OTHERS[kind]
            raise NotRead(f"{name} could not be read: {self.unreadable[kind]}")
        return self.objects.get(kind, ())

    def was_asked(self, kind: str) -> bool:
        """Whether a kind was read, or could not be."""
        return kind in self.objects or kind in self.unreadable

    def has(self, kind: str) -> bool:
        """Whether the cluster has the kind."""
        self.all(kind)
        return kind not in self.absent


@dataclass(frozen=True)
class Subject:
    """The planned platform that the checks assess."""

    plan: PlatformPlan
    findings: tuple[Diagnostic, ...] = ()

    @cached_property
    def rendered(self) -> "ClusterObjects":
        """Objects that the plan renders, without charts."""
        kinds: dict[str, list[K8sObject]] = {}
        for each in platform_objects(self.plan):
            kinds.setdefault(each["kind"], []).append(each)
        return ClusterObjects(objects=kinds)

    @cached_property
    def graph(self) -> CloudGraph | None:
        """Cloud resources of the plan; None when it creates no cluster."""
        return None if self.plan.spec.cluster_exists else self.plan.provider.graph(self.plan)

    def found(self, *ids: str) -> Iterator[Observation]:
        """Findings of the plan with these ids."""
        for each in self.findings:
            if each.id in ids and each.severity is not Severity.INFO:
                yield failing(each.where, each.given or each.id, each.problem)

    @property
    def wide_pools(self) -> list[PoolPlan]:
        """Pools with a multi-node shape."""
        names = {shape.pool for shape in self.plan.shapes if shape.nodes > 1}
        return [pool for pool in self.plan.pools if pool.name in names]

    @property
    def team_spaces(self) -> list[tuple[TeamPlan, str]]:
        """Each namespace with its team."""
        return [(team, space.name) for team in self.plan.teams for space in team.namespaces]


ClusterCheck = Callable[[Subject, ClusterObjects], Iterable[Observation]]
"""Answers a check from rendered objects or from a cluster."""


def at(value: Any, *path: str) -> Any:
    """The value at a path of an object; None if absent."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def listed(value: Any, *path: str) -> list[Any]:
    """The list at a path; empty if there is none."""
    result = at(value, *path)
    return list(result) if isinstance(result, list | tuple) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping; empty if not."""
    return value if isinstance(value, Mapping) else {}


def label(obj: K8sObject, key: str) -> str:
    """The value of a label; empty if absent."""
    result = at(obj, "metadata", "labels", key)
    return result if isinstance(result, str) else ""


def name_of(obj: K8sObject) -> str:
    """The name of an object."""
    return str(at(obj, "metadata", "name") or "")


def space_of(obj: K8sObject) -> str:
    """The namespace of an object; empty if cluster-scoped."""
    return str(at(obj, "metadata", "namespace") or "")


def place_of(obj: K8sObject) -> str:
    """Display name: kind, namespace, name."""
    return f"{obj.get('kind')} {'/'.join(filter(None, (space_of(obj), name_of(obj))))}"


def is_true(obj: K8sObject, condition: str) -> bool:
    """Whether a status condition is True."""
    result = listed(obj, "status", "conditions")
    return any(at(c, "type") == condition and at(c, "status") == "True" for c in result)


def nodes_of(pool: PoolPlan, objects: ClusterObjects) -> list[K8sObject]:
    """The existing nodes of a pool."""
    selector = pool.node_selector.items()
    return [n for n in objects.all("Node") if all(label(n, key) == v for key, v in selector)]


def planned_objects(
    subject: Subject, objects: ClusterObjects, kind: str
) -> Iterator[tuple[str, K8sObject | None]]:
    """Each planned object of a kind: its display name, and the live object."""
    live = {place_of(each): each for each in objects.all(kind)}
    for each in subject.rendered.all(kind):
        yield place_of(each), live.get(place_of(each))


def missing_object(where: str) -> Observation:
    """The failure for a planned object that the cluster lacks."""
    return failing(where, "none", "it does not exist")


def by_node(
    pools: Iterable[PoolPlan],
    objects: ClusterObjects,
    judge: Callable[[PoolPlan, K8sObject], tuple[str, str]],
) -> Iterator[Observation]:
    """A failure for each non-compliant node, and the number of the others.

    `judge` returns the observed value, and what is wrong or "".
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
            yield unknown("it has no running node", f"pool {pool.name}")


def by_namespace(
    subject: Subject, objects: ClusterObjects, kind: str
) -> Iterator[tuple[TeamPlan, str, list[K8sObject]]]:
    """Objects of a kind in each team namespace."""
    for team, space in subject.team_spaces:
        yield team, space, [each for each in objects.all(kind) if space_of(each) == space]


def not_applicable_without_teams(subject: Subject) -> Iterator[Observation]:
    """The observation when the stack has no team."""
    if not subject.plan.teams:
        yield not_applicable("the stack has no team")


def not_applicable_if_simulated(subject: Subject, what: str) -> Iterator[Observation]:
    """The observation for simulated nodes."""
    if subject.plan.simulated:
        yield not_applicable(f"nodes are simulated: {what}")
