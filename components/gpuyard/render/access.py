"""Roles and bindings of team members, in their team's namespaces and for cluster-scoped classes.

Kubernetes' own ClusterRole `edit` allows too much: members could delete network policies and
impersonate any service account. These rules have what jobs, notebooks and services need, and
nothing that lets a team loosen its own limits. Excluded are:

- changes to quotas, limits, network policies, roles, queues, and the namespace itself;
- changes to existing pods: an edit could remove the scheduling gate of pods that wait for Kueue;
- changes to Kueue's workloads, which could raise their priority. Members may delete them: Kueue
  then stops what they count and counts it again, and no other way removes pods of a group that were
  deleted together;
- tokens of service accounts, except in a pod; proxies to pods and services;
- ephemeral containers in running pods, daemon sets, and all other cluster-scoped resources.
"""

from collections.abc import Iterable, Mapping
from typing import TypedDict

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.workloads.addons import addons_of
from gpuyard.render.objects import Object, managed_object, service_account
from gpuyard.spec.sections import AddonName
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.names import (
    COMPUTE_DOMAINS_GROUP,
    DEPLOY_ACCOUNT,
    KUEUE_GROUP,
    VOLCANO_GROUP,
    class_reader_role_name,
)

RBAC = "rbac.authorization.k8s.io"
MEMBERS = "gpuyard-members"
VIEWERS = "gpuyard-viewers"

LOOK = ("get", "list", "watch")
_START_STOP = (*LOOK, "create", "delete", "deletecollection")
_WORK = (*_START_STOP, "patch", "update")
_Resources = Mapping[str, tuple[str, ...]]
"""Resources by API group."""


class _Given(TypedDict):
    claims: bool
    kinds: _Resources


WORKLOADS: _Resources = {
    "apps": ("deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
    "autoscaling": ("horizontalpodautoscalers",),
    "jobset.x-k8s.io": ("jobsets",),
    "kubeflow.org": (
        *("jaxjobs", "mpijobs", "notebooks", "paddlejobs"),
        *("pytorchjobs", "tfjobs", "xgboostjobs"),
    ),
    "policy": ("poddisruptionbudgets",),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
    "ray.io": ("rayclusters", "rayjobs", "rayservices"),
    "serving.kserve.io": ("inferenceservices",),
    "trainer.kubeflow.org": ("trainjobs",),
}
"""Resources that jobs, notebooks and services need in addition to queued kinds
(`plan.queueing.kueue.queued_kinds`); kinds that a cluster lacks do no harm here."""
_OF_VOLCANO: _Resources = {VOLCANO_GROUP: ("podgroups",), "batch.volcano.sh": ("jobs",)}
_SCALES: _Resources = {"apps": ("deployments/scale", "replicasets/scale", "statefulsets/scale")}
_OWN: _Resources = {"": ("configmaps", "persistentvolumeclaims", "services")}
_CLAIMS: _Resources = {
    "resource.k8s.io": ("resourceclaims", "resourceclaimtemplates"),
    COMPUTE_DOMAINS_GROUP: ("computedomains",),
}
_SEEN: _Resources = {
    "": (
        "endpoints",
        "events",
        "limitranges",
        "namespaces",
        "pods",
        "pods/log",
        "pods/status",
        "resourcequotas",
        "serviceaccounts",
    ),
    "apps": ("controllerrevisions",),
    "discovery.k8s.io": ("endpointslices",),
    "events.k8s.io": ("events",),
    KUEUE_GROUP: ("localqueues", "workloads"),
    "metrics.k8s.io": ("pods",),
    "networking.k8s.io": ("networkpolicies",),
    RBAC: ("rolebindings", "roles"),
    "trainer.kubeflow.org": ("trainingruntimes",),
    "visibility.kueue.x-k8s.io": ("localqueues/pendingworkloads",),
}
"""What every member of a team may read, including its limits and its place in the queue."""


_CLASSES: _Resources = {
    KUEUE_GROUP: ("workloadpriorityclasses",),
    "scheduling.k8s.io": ("priorityclasses",),
    "storage.k8s.io": ("storageclasses",),
}
"""Cluster-scoped resources that a workload may name."""


def catalogue_objects(plan: PlatformPlan) -> list[Object]:
    """A role for all teams to read what their workloads may name; none if no team has members."""
    groups = dict.fromkeys(group for team in plan.teams for group in (*team.groups, *team.viewers))
    if not groups:
        return []
    devices = {"resource.k8s.io": ("deviceclasses",)} if any(p.dra for p in plan.pools) else {}
    name = class_reader_role_name(plan.name)
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    api = f"{RBAC}/v1"
    rules = _rules({**_CLASSES, **devices}, LOOK)
    return [
        managed_object(plan.name, api, "ClusterRole", name, rules=rules),
        managed_object(
            plan.name, api, "ClusterRoleBinding", name, roleRef=ref, subjects=_people(groups)
        ),
    ]


def _people(groups: Iterable[str]) -> list[Object]:
    return [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in dict.fromkeys(groups)]


def access_objects(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """The roles of a team's members and their bindings; a team without groups has none."""
    objects: list[Object] = []
    for name, groups, rules in (
        (MEMBERS, team.groups, member_rules(**_given(plan, team))),
        (VIEWERS, team.viewers, viewer_rules(**_given(plan, team))),
    ):
        if groups:
            objects += role_with_binding(plan.name, space.name, name, rules, _people(groups))
    return objects


_PIPELINES = {
    AddonName.ARGO_WORKFLOWS,
    AddonName.ARGO_CD,
    AddonName.TEKTON,
    AddonName.KUBEFLOW_PIPELINES,
}
_REPORTS: _Resources = {"argoproj.io": ("workflowtaskresults",)}
"""By which each pod of a workflow reports its results."""


def deployment_objects(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """The account with which pipelines of a team create what its members may create, except secrets."""
    if not _PIPELINES & set(addons_of(plan, team)):
        return []
    given = _given(plan, team)
    rules = [
        *_rules(_made_by_people(_OWN, **given), _WORK),
        *_rules(_SCALES, ("get", "patch", "update")),
        *_rules(_REPORTS, ("create", "patch")),
    ]
    subject = {"kind": "ServiceAccount", "name": DEPLOY_ACCOUNT, "namespace": space.name}
    return [
        service_account(plan.name, DEPLOY_ACCOUNT, space.name),
        *role_with_binding(plan.name, space.name, DEPLOY_ACCOUNT, rules, [subject]),
    ]


def _given(plan: PlatformPlan, team: TeamPlan) -> _Given:
    """Whether its pods claim devices, and the resources of its add-ons besides those of every team.

    A resource of an add-on that only other teams may use is left out.
    """
    facts, own = addon_facts(), addons_of(plan, team)
    listed: set[str] = {addon.name for addon in plan.spec.addons}
    kinds = {group: list(names) for group, names in WORKLOADS.items()}
    for name in listed - set(own):
        for group, names in facts[name].kinds.items():
            kinds[group] = [each for each in kinds.get(group, ()) if each not in names]
    for name in own:
        for group, names in facts[name].kinds.items():
            kinds[group] = [*kinds.get(group, ()), *names]
    return {
        "claims": any(pool.dra for pool in plan.pools),
        "kinds": {
            **{group: tuple(names) for group, names in kinds.items() if names},
            **(_OF_VOLCANO if uses_volcano(plan.spec) else {}),
        },
    }


def member_rules(*, claims: bool, kinds: _Resources = WORKLOADS) -> list[Object]:
    """Run and inspect jobs, notebooks and services of these kinds; `claims` if pods claim devices."""
    own = {**_OWN, "": (*_OWN[""], "secrets")}
    return [
        *_rules(_SEEN, LOOK),
        *_rules(_made_by_people(own, claims=claims, kinds=kinds), _WORK),
        *_rules(_SCALES, ("get", "patch", "update")),
        *_rules({KUEUE_GROUP: ("workloads",)}, ("delete", "deletecollection")),
        *_rules({"": ("pods",)}, _START_STOP),
        *_rules({"": ("pods/attach", "pods/exec", "pods/portforward")}, ("create", "get")),
        *_rules({"": ("pods/eviction",)}, ("create",)),
    ]


def viewer_rules(*, claims: bool, kinds: _Resources = WORKLOADS) -> list[Object]:
    """Read what members read, except secrets, and change nothing."""
    return [
        *_rules(_SEEN, LOOK),
        *_rules(_made_by_people(_OWN, claims=claims, kinds=kinds), LOOK),
        *_rules(_SCALES, ("get",)),
    ]


def _made_by_people(own: _Resources, *, claims: bool, kinds: _Resources) -> _Resources:
    return {**own, **kinds, **(_CLAIMS if claims else {})}


def _rules(resources: _Resources, verbs: tuple[str, ...]) -> list[Object]:
    """One rule for the core group, one for the others, which share no resource name."""
    core = resources.get("", ())
    named_groups = {group: names for group, names in resources.items() if group}
    parts = [
        ([""], core),
        (list(named_groups), [name for names in named_groups.values() for name in names]),
    ]
    return [
        {
            "apiGroups": groups,
            "resources": list(dict.fromkeys(names)),
            "verbs": list(verbs),
        }
        for groups, names in parts
        if names
    ]


def role_with_binding(
    owner: str, namespace: str, name: str, rules: list[Object], subjects: list[Object]
) -> list[Object]:
    """A role in a namespace, and its bindings."""
    ref = {"apiGroup": RBAC, "kind": "Role", "name": name}
    api = f"{RBAC}/v1"
    return [
        managed_object(owner, api, "Role", name, namespace=namespace, rules=rules),
        managed_object(
            owner, api, "RoleBinding", name, namespace=namespace, roleRef=ref, subjects=subjects
        ),
    ]
