"""Teams under the policies of their platform, on a real API server and Kueue.

with tenants(cluster, raw) as lab:
    acting(lab.api, "makers").call("POST", …)
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.objects import admission_objects
from gpuyard_simulate.api import Api, ApiError, Unreachable
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Lab
from kit.cluster.queues import kueue_as_rendered
from kit.generated.hostile import MERGE, PLURALS
from kit.stacks import Raw, plan_of

Value = dict[str, Any]
_EVERYTHING = {"tolerations": [{"operator": "Exists"}]}
_REFUSED: tuple[tuple[str, Value, str], ...] = (
    (
        "pods",
        {
            "kind": "Pod",
            "spec": {"containers": [{"name": "a", "image": "example.invalid/a:1"}], **_EVERYTHING},
        },
        "GPU-ADM-04",
    ),
    (
        "services",
        {"kind": "Service", "spec": {"ports": [{"port": 1}], "externalIPs": ["192.0.2.1"]}},
        "GPU-ADM-10",
    ),
)
"""What every policy rejects once it is in force, and its message."""

_WAITS: Value = {
    "apiVersion": KUEUE.removeprefix("/apis/"),
    "kind": "Workload",
    "metadata": {"name": "probe"},
    "spec": {
        "active": False,
        "podSets": [
            {
                "name": "main",
                "count": 1,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "a", "image": "example.invalid/a:1"}],
                    }
                },
            }
        ],
    },
}
_ADMITTED: Value = {
    "status": {
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "observedGeneration": 0,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "Probe",
                "message": "",
            }
        ]
    }
}
"""A workload without a queue, and a forbidden status: counted before it was created."""


@contextmanager
def tenants(cluster: str, raw: Raw) -> Iterator[Lab]:
    """The platform with its policies in force and its users known; their objects are removed with it."""
    with kueue_as_rendered(cluster, raw) as api, Lab(api, plan_of(raw)) as lab:
        policies = admission_objects(lab.plan)
        try:
            for value in policies:
                reality.apply(api, value)
            for namespace in sorted(reality.namespaces_of(lab.plan)):
                reality.wait(lambda n=namespace: _in_force(api, n), "the policies")
            reality.wait(lambda: _counts_are_held(lab), "the policy of what Kueue writes")
            for group, namespace in people(lab.plan).items():
                reality.wait(lambda g=group, n=namespace: _comes_in(api, g, n), "known roles")
            yield lab
        finally:
            _emptied(lab)
            for value in reversed(policies):
                reality.delete(api, reality.path_of(value))


def people(plan: PlatformPlan) -> dict[str, str]:
    """The home namespace of each group with write or read access."""
    return {
        group: team.default_namespace.name
        for team in plan.teams
        for group in (*team.groups, *team.viewers)
    }


def acting(api: Api, group: str) -> Api:
    """The API as a user of that group."""
    result = copy.copy(api)
    someone = {"Impersonate-User": f"somebody-of-{group}", "Impersonate-Group": group}
    result._headers = {**api._headers, **someone}
    return result


def cleared(api: Api, namespace: str, wholes: tuple[str, ...] = ()) -> int:
    """Delete everything of a team, as its users can; an admin removes finalizers.

    Returns how often that was needed. `wholes` are paths of installed kinds of other projects.
    """
    problems = 0
    for path in (*wholes, *PLURALS.values(), f"{KUEUE}/namespaces/{{namespace}}/workloads"):
        at = path.format(namespace=namespace)
        problems += _fails(api, "DELETE", at, {"propagationPolicy": "Background"})
        for retained in reality.patiently(lambda at=at: api.call("GET", at))["items"]:
            if "deletionTimestamp" in retained["metadata"] and retained["metadata"].get(
                "finalizers"
            ):
                one = f"{at}/{retained['metadata']['name']}"
                problems += _fails(api, "PATCH", one, {"metadata": {"finalizers": None}})
    return problems


def _fails(api: Api, verb: str, path: str, body: Value) -> bool:
    try:
        api.call(verb, path, body, MERGE if verb == "PATCH" else "application/json")
    except (ApiError, Unreachable):
        return True
    return False


def _in_force(api: Api, namespace: str) -> bool:
    """Whether each policy is in force there."""
    for plural, value, words in _REFUSED:
        path = f"/api/v1/namespaces/{namespace}/{plural}?dryRun=All"
        try:
            api.call("POST", path, {"apiVersion": "v1", "metadata": {"name": "x"}, **value})
        except ApiError as problem:
            if words in str(problem):
                continue
        return False
    return True


def _counts_are_held(lab: Lab) -> bool:
    """Whether the policy for admitted workloads is in force: it comes last, and rejects no pod by itself."""
    at = f"{KUEUE}/namespaces/{min(reality.namespaces_of(lab.plan))}/workloads"
    name = _WAITS["metadata"]["name"]
    if lab.api.get(f"{at}/{name}") is None:
        reality.create(lab.api, at, _WAITS)
    try:
        lab.api.call("PATCH", f"{at}/{name}/status?dryRun=All", _ADMITTED, MERGE)
    except ApiError as problem:
        if "GPU-ADM-01" in str(problem):
            reality.delete(lab.api, f"{at}/{name}")
            return True
    return False  # accepted, or rejected by Kueue's webhook, which is called after the policies


def _comes_in(api: Api, group: str, namespace: str) -> bool:
    """Whether the API server knows the group's permissions."""
    try:
        acting(api, group).call("GET", f"/api/v1/namespaces/{namespace}/pods")
    except ApiError:
        return False
    return True


def _emptied(lab: Lab) -> None:
    """Delete everything of all teams: queues stay while they have a workload."""
    spaces = sorted(reality.namespaces_of(lab.plan))
    kinds = [*PLURALS.values(), f"{KUEUE}/namespaces/{{namespace}}/workloads"]

    def left() -> bool:
        for namespace in spaces:
            cleared(lab.api, namespace)
        return any(lab.listed(path.format(namespace=n)) for path in kinds for n in spaces)

    reality.wait(lambda: not left(), "no workloads")
