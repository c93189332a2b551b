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

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.workloads.addons import addons_of
from gpuyard.render.data_files import read_data
from gpuyard.render.objects import Object, managed_object, service_account
from gpuyard.spec.sections import AddonName
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.names import (
    DEPLOY_ACCOUNT,
    KUEUE_GROUP,
    class_reader_role_name,
)

RBAC = "rbac.authorization.k8s.io"
_API = f"{RBAC}/v1"
MEMBERS = "gpuyard-members"
VIEWERS = "gpuyard-viewers"

LOOK = ("get", "list", "watch")
_START_STOP = (*LOOK, "create", "delete", "deletecollection")
_WORK = (*_START_STOP, "patch", "update")
_Resources = Mapping[str, Sequence[str]]
"""Resources by API group."""


class _Given(TypedDict):
    claims: bool
    kinds: _Resources


def _table(name: str) -> _Resources:
    found: _Resources = read_data("access.yaml")[name]
    return found


def catalogue_objects(plan: PlatformPlan) -> list[Object]:
    """A role for all teams to read what their workloads may name; none if no team has members."""
    groups = dict.fromkeys(group for team in plan.teams for group in (*team.groups, *team.viewers))
    if not groups:
        return []
    devices = {"resource.k8s.io": ("deviceclasses",)} if any(p.dra for p in plan.pools) else {}
    rules = _rules({**_table("classes"), **devices}, LOOK)
    name = class_reader_role_name(plan.name)
    return role_with_binding(plan.name, None, name, rules, _people(groups))


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


def deployment_objects(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """The account with which pipelines of a team create what its members may create, except secrets."""
    if not _PIPELINES & set(addons_of(plan, team)):
        return []
    given = _given(plan, team)
    rules = [
        *_rules(_made_by_people(_table("own"), **given), _WORK),
        *_rules(_table("scales"), ("get", "patch", "update")),
        *_rules(_table("reports"), ("create", "patch")),
    ]
    subject = account_subject(DEPLOY_ACCOUNT, space.name)
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
    kinds = {group: list(names) for group, names in _table("workloads").items()}
    for name in listed - set(own):
        for group, names in facts[name].kinds.items():
            kinds[group] = [each for each in kinds.get(group, ()) if each not in names]
    for name in own:
        for group, names in facts[name].kinds.items():
            kinds[group] = [*kinds.get(group, ()), *names]
    return {
        "claims": any(pool.dra for pool in plan.pools),
        "kinds": {
            **{group: names for group, names in kinds.items() if names},
            **(_table("volcano") if uses_volcano(plan.spec) else {}),
        },
    }


def member_rules(*, claims: bool, kinds: _Resources | None = None) -> list[Object]:
    """Run and inspect jobs, notebooks and services of these kinds; `claims` if pods claim devices."""
    return [
        *_rules(_table("seen"), LOOK),
        *_rules(_made_by_people(_table("own_of_members"), claims=claims, kinds=kinds), _WORK),
        *_rules(_table("scales"), ("get", "patch", "update")),
        *_rules({KUEUE_GROUP: ("workloads",)}, ("delete", "deletecollection")),
        *_rules({"": ("pods",)}, _START_STOP),
        *_rules({"": ("pods/attach", "pods/exec", "pods/portforward")}, ("create", "get")),
        *_rules({"": ("pods/eviction",)}, ("create",)),
    ]


def viewer_rules(*, claims: bool, kinds: _Resources | None = None) -> list[Object]:
    """Read what members read, except secrets, and change nothing."""
    return [
        *_rules(_table("seen"), LOOK),
        *_rules(_made_by_people(_table("own"), claims=claims, kinds=kinds), LOOK),
        *_rules(_table("scales"), ("get",)),
    ]


def _made_by_people(own: _Resources, *, claims: bool, kinds: _Resources | None) -> _Resources:
    of_kinds = _table("workloads") if kinds is None else kinds
    return {**own, **of_kinds, **(_table("claims") if claims else {})}


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
    owner: str, namespace: str | None, name: str, rules: list[Object], subjects: list[Object]
) -> list[Object]:
    """A role in a namespace, or in the whole cluster, and its binding."""
    kind = "Role" if namespace else "ClusterRole"
    bound: Object = {
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": subjects,
    }
    return [
        managed_object(owner, _API, kind, name, namespace=namespace, rules=rules),
        managed_object(owner, _API, f"{kind}Binding", name, namespace=namespace, **bound),
    ]


def account_subject(name: str, namespace: str) -> Object:
    """A service account in a binding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
