"""Namespaces of teams whose API server rejects with CEL what the Python twins find.

Every object is sent to a real API server with `dryRun=All`. The namespaces enforce no Pod Security level, so
that gpuyard's policy answers first.
"""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.objects import LONGEST, admission_objects
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard_core.admission.requirements import denials
from gpuyard_core.names import PLATFORM_LABEL, TEAM_LABEL
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError, Unreachable, connect
from gpuyard_simulate.kueue import manager as kueue
from kit import waiting
from kit.cluster import lab as reality
from kit.cluster.queues import kueue_with
from kit.stacks import plan_of

Value = dict[str, Any]
HELD, WARNED, USUAL, OUTSIDE = "held", "warned", "usual", "outside"
PEOPLE, OPERATORS, PIPELINES = "twin-people", "operators", "pipelines"
ACCOUNTS = "system:serviceaccounts"
CLASSES = {"twins-low": -5, "twins-fine": 50}
MANAGER = "system:kube-controller-manager"
CREATED = 201
INVALID = 422
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {
    "ConfigMap": "configmaps",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "PriorityClass": "priorityclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def platform(name: str, team: str, queue: str = "main", **admission: Any) -> PlatformPlan:
    """One team with one queue, and pools that others own."""
    return plan_of(
        {
            "name": name,
            "cloud": "simulated",
            "kubernetes": "1.36",
            "pools": [
                {"name": "open", "machine": "p5.48xlarge", "nodes": 4},
                {"name": "vip", "machine": "p5.48xlarge", "nodes": 1, "owners": ["other"]},
                {"name": "alpha", "machine": "p5.48xlarge", "nodes": 1, "owners": ["other"]},
            ],
            "teams": [
                {
                    "name": team,
                    "guarantee": {"open": 16},
                    "queues": {queue: 1.0},
                    "groups": [f"{ACCOUNTS}:{PIPELINES}"],
                },
                {"name": "other", "guarantee": {"vip": 8, "alpha": 8}},
            ],
            # the twins see the labels that the server sees
            "admission": {"set_classes": False, **admission},
            "priorities": {"twins-first": 10},
            "queueing": {"integrations": ["pytorchjob"]},
        }
    )


PLAN = platform(
    "twins",
    HELD,
    allowed_images=["registry.example.org/team/", "nvcr.io", "nginx", "localhost:5000/x"],
    priority_classes=["twins-fine"],
    csi_drivers=["known.example.org"],
)
LENIENT = platform("twins-lenient", WARNED, enforce="warn")
DEFAULT = platform("twins-default", USUAL, queue="default")
SPACES = {HELD: PLAN, WARNED: LENIENT, USUAL: DEFAULT}


def path_of(value: Value, namespace: str = "") -> str:
    version, kind = value["apiVersion"], value["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{_PLURALS.get(kind, kind.lower() + 's')}"


def apply(api: Api, value: Value) -> None:
    namespace = value["metadata"].get("namespace", "")
    path = f"{path_of(value, namespace)}/{value['metadata']['name']}"
    query = "?fieldManager=test&force=true&fieldValidation=Strict"
    kind = "application/apply-patch+yaml"
    reality.patiently(lambda: api.call("PATCH", path + query, value, kind))


def try_out(api: Api, value: Value, namespace: str = HELD) -> str | None:
    """The violation of gpuyard's policy, "" without one; None for an invalid object."""
    path = f"{path_of(value, namespace)}?dryRun=All"
    try:
        reality.patiently(lambda: api.call("POST", path, value))
    except ApiError as problem:
        match = re.search(
            r"ValidatingAdmissionPolicy '\S+' with binding '\S+' denied request: (.*)", str(problem)
        )
        if match is None and problem.status == INVALID:
            return None
        if match is None:
            raise
        return match[1]
    return ""


def acting(api: Api, user: str, **more: str) -> Api:
    """The API as another user."""
    result = copy.copy(api)
    result._headers = {**api._headers, "Impersonate-User": user, **more}
    return result


def person(api: Api) -> Api:
    """A user with all permissions who is not listed as an administrator."""
    return acting(api, "somebody", **{"Impersonate-Group": PEOPLE})


def account(api: Api, namespace: str) -> Api:
    """A service account of a namespace, with all permissions as well."""
    return acting(api, f"system:serviceaccount:{namespace}:maker")


def everything() -> Value:
    """RBAC that permits everything: only admission restricts."""
    groups = [PEOPLE, *(f"{ACCOUNTS}:{name}" for name in (OPERATORS, PIPELINES, HELD))]
    rbac = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "twins"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [
            {"apiGroup": rbac, "kind": "User", "name": MANAGER},
            *({"apiGroup": rbac, "kind": "Group", "name": group} for group in groups),
        ],
    }


def expected(value: Value, plan: PlatformPlan = PLAN, **known: Any) -> str:
    """The violation found by the Python twins, with the same text; by default an administrator asks."""
    requested = replace(workload(resource(value)), **{"by_controller": True, **known})
    message = denials(requested, parameters_of(plan, plan.teams[0]))
    text = ". ".join(refusal.summary for refusal in message)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def pod(**spec: Any) -> Value:
    container = {"name": "a", "image": "nvcr.io/a:1", **spec.pop("container", {})}
    metadata = {"name": "x", **spec.pop("metadata", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
    }


def owners() -> list[Value]:
    """Owners of pods: Kueue looks up the kinds that it knows. None of them has a pod."""
    pods = [{"name": "a", "image": "nvcr.io/a"}]
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": pods}}, "suspend": True}
    labels = {"app": "o"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": pods}}
    replicas = {"replicas": 0, "template": template}
    selected = {**replicas, "selector": {"matchLabels": labels}}
    cron = {"schedule": "0 3 1 1 *", "suspend": True, "jobTemplate": {"spec": job}}
    return [
        {"apiVersion": "batch/v1", "kind": "Job", "spec": job},
        {"apiVersion": "batch/v1", "kind": "CronJob", "spec": cron},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": selected},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {**selected, "serviceName": "o"}},
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "spec": replicas | {"selector": labels},
        },
    ]


OPEN = {"pod-security.kubernetes.io/enforce": "privileged"}


def head(team: str) -> Value:
    """Labels and annotations of a team's namespace, with which Pod Security allows everything."""
    plan = SPACES[team]
    labels = {PLATFORM_LABEL: plan.name, TEAM_LABEL: team, **OPEN}
    return {"labels": labels, "annotations": parameters_of(plan, plan.teams[0]).annotations()}


@pytest.fixture(scope="module")
def server(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with three platforms, of which one only warns; Kueue queues Jobs and pods alone."""
    with kueue_with(started.status.name, kueue.default_configuration(["batch/job", "pod"])):
        yield from _with_platforms(connect(Path(started.status.kubeconfig)))


def _with_platforms(api: Api) -> Iterator[Api]:
    objects = [obj for plan in SPACES.values() for obj in admission_objects(plan)] + [everything()]
    for name in (OUTSIDE, *SPACES):
        metadata = {"name": name, **(head(name) if name in SPACES else {"labels": OPEN})}
        apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for name in (OUTSIDE, *SPACES):
        takes_pods(api, name)
    for name in ("nvidia", "nvidia-legacy", "other"):
        kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": name}
        api.call(
            "PATCH",
            f"/apis/node.k8s.io/v1/runtimeclasses/{name}?fieldManager=test&force=true",
            {**kind, "metadata": {"name": name}},
            "application/apply-patch+yaml",
        )
    for name, number in CLASSES.items():
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": number}
        objects.append({**kind, "metadata": {"name": name}})
    for value in objects:
        apply(api, value)
    for value in owners():
        apply(api, {**value, "metadata": {"name": "o", "namespace": HELD}})
    yield api
    for value in owners():
        reality.delete(api, f"{path_of(value, HELD)}/o")
    for value in reversed(objects):
        namespace = value["metadata"].get("namespace", "")
        reality.delete(api, f"{path_of(value, namespace)}/{value['metadata']['name']}")
    # otherwise a later test could not tell whether the new or the old ones are in force
    for namespace in (HELD, USUAL):
        patience(lambda namespace=namespace: try_out(api, pod(hostPID=True), namespace) == "")


def takes_pods(api: Api, namespace: str) -> None:
    """Wait for the service account that every pod needs, which the cluster creates in a new namespace."""
    patience(lambda: api.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default"))


@pytest.fixture(scope="module")
def held(server: Api) -> Api:
    """The same once the policies are in force: a server reads them with a delay."""
    for namespace in (HELD, USUAL):
        patience(lambda namespace=namespace: try_out(server, pod(hostPID=True), namespace))
    patience(lambda: warnings(server, pod(hostPID=True)))
    for (
        name
    ) in CLASSES:  # a pod of a class that the server does not know yet is rejected without a policy
        patience(lambda name=name: knows(server, name))
    askers = (account(server, name) for name in (OPERATORS, PIPELINES, HELD))
    for asker in (person(server), acting(server, MANAGER), *askers):
        patience(lambda asker=asker: comes_in(asker))
    return server


def knows(api: Api, name: str) -> bool:
    """Whether the server has read a PriorityClass: it uses its cache when a pod is created."""
    path = f"/api/v1/namespaces/{OUTSIDE}/pods?dryRun=All"
    try:
        api.call("POST", path, pod(priorityClassName=name))
    except ApiError as problem:
        if f"no PriorityClass with name {name}" not in str(problem):
            raise
        return False
    return True


def comes_in(asker: Api) -> bool:
    """Whether the server knows the user's permissions."""
    try:
        asker.call("GET", f"/api/v1/namespaces/{HELD}/pods")
    except ApiError:
        return False
    return True


def patience(look: Callable[[], Any]) -> Any:
    """Wait until the condition is true."""
    return waiting.until(look, errors=(Unreachable,))


def warnings(api: Api, value: Value) -> str:
    """The server's warnings where the policy only warns; it accepts the object."""
    answer = api._pool.request(
        "POST",
        f"{api.server}{path_of(value, WARNED)}?dryRun=All",
        json=value,
        headers=api._headers,
    )
    assert answer.status == CREATED, answer.data
    return answer.headers.get("Warning", "")


def limited(gpus: int, name: str = "a") -> Value:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {"name": name, "image": "nvcr.io/a:1", "resources": {"limits": limits}}


GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}


LATER = "later"


def change(api: Api, path: str, patch: Any, kind: str = "merge-patch") -> str:
    """Change an object persistently; returns the violation of gpuyard's policy, or ""."""
    return written(api, "PATCH", path, patch, f"application/{kind}+json")


def written(api: Api, method: str, path: str, *body: Any) -> str:
    """Send a request; returns the violation of gpuyard's policy, or ""."""
    try:
        api.call(method, path, *body)
    except ApiError as problem:
        match = re.search(r"denied request: (.*)", str(problem))
        if match is None:
            raise
        return match[1]
    return ""


def job(name: str, **metadata: Any) -> Value:
    spec = {**pod(hostPID=True, container=GPU)["spec"], "restartPolicy": "Never"}
    meta = {"name": name, "namespace": LATER, **metadata}
    body = {"suspend": True, "template": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


def server_of(kind: str = "StatefulSet", **own: str) -> Value:
    """A workload with one GPU pod, with labels of its own and none of gpuyard's on the pod."""
    labels = {"app": "serve"}
    template = {"metadata": {"labels": labels}, "spec": pod(container=GPU)["spec"]}
    spec: Value = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "serve", "labels": own}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
