"""What the API server refuses by CEL is what the Python twins find, word for word, on made-up pods.

Every pod is sent to a real API server with `dryRun=All`. The namespace enforces no Pod Security level, so
that nobody answers before our policy does.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import plan_of
from gpuyard.lint.kubernetes import resource
from gpuyard.plan.admission.limits import limits_of
from gpuyard.plan.admission.requirements import REQUIREMENTS, refusals
from gpuyard.plan.names import PLATFORM_LABEL, TEAM_LABEL
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.objects import LONGEST, admission_objects
from gpuyard.rules.admission import workload
from gpuyard.simulate import cluster
from gpuyard.simulate.api import Api, ApiError, connect
from pod_maker import Maker

pytestmark = [pytest.mark.cluster]

Until = Callable[..., Any]
Value = dict[str, Any]
HELD, OUTSIDE, WARNED = "held", "outside", "warned"
PODS = 400
WORKLOADS = 250
INVALID = 422
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {
    "ConfigMap": "configmaps",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def platform(name: str, team: str, **admission: Any) -> PlatformPlan:
    """One team with a queue that is not the default one, beside pools that others own."""
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
                {"name": team, "guarantee": {"open": 16}, "queues": {"main": 1.0}},
                {"name": "other", "guarantee": {"vip": 8, "alpha": 8}},
            ],
            "admission": admission,
        }
    )


PLAN = platform(
    "twins",
    HELD,
    images_from=["registry.example.org/team/", "nvcr.io", "nginx", "localhost:5000/x"],
)
LENIENT = platform("twins-lenient", WARNED, enforce="warn")


def path_of(value: Value, namespace: str = "") -> str:
    version, kind = value["apiVersion"], value["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{_PLURALS.get(kind, kind.lower() + 's')}"


def apply(api: Api, value: Value) -> None:
    namespace = value["metadata"].get("namespace", "")
    path = f"{path_of(value, namespace)}/{value['metadata']['name']}"
    query = "?fieldManager=test&force=true&fieldValidation=Strict"
    api.call("PATCH", path + query, value, "application/apply-patch+yaml")


def try_out(api: Api, value: Value, namespace: str = HELD) -> str | None:
    """What our policy has against it, "" when nothing; None for what is no valid object at all."""
    try:
        api.call("POST", path_of(value, namespace) + "?dryRun=All", value)
    except ApiError as problem:
        found = re.search(
            r"ValidatingAdmissionPolicy '\S+' with binding '\S+' denied request: (.*)", str(problem)
        )
        if found is None and problem.status == INVALID:
            return None
        if found is None:
            raise
        return found[1]
    return ""


def expected(value: Value, plan: PlatformPlan = PLAN) -> str:
    """What the Python twins have against it, in the same words."""
    said = refusals(workload(resource(value)), limits_of(plan, plan.teams[0]))
    text = ". ".join(str(refusal) for refusal in said)
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
    """Owners that pods name: Kueue asks for those that it knows. None of them has a pod."""
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
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "spec": replicas | {"selector": labels},
        },
    ]


@pytest.fixture(scope="module")
def server(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with two platforms of ours, of which one only warns."""
    cluster.up(started.status.name)
    api = connect(Path(started.status.kubeconfig))
    objects = [*admission_objects(PLAN), *admission_objects(LENIENT)]
    spaces = {"gpuyard-system": {}, OUTSIDE: {}}
    for plan, space in ((PLAN, HELD), (LENIENT, WARNED)):
        spaces[space] = {PLATFORM_LABEL: plan.name, TEAM_LABEL: space}
    for name, labels in spaces.items():
        body = {
            "name": name,
            "labels": {**labels, "pod-security.kubernetes.io/enforce": "privileged"},
        }
        apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": body})
    for name in ("nvidia", "other"):
        kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": name}
        api.call(
            "PATCH",
            f"/apis/node.k8s.io/v1/runtimeclasses/{name}?fieldManager=test&force=true",
            {**kind, "metadata": {"name": name}},
            "application/apply-patch+yaml",
        )
    for value in objects:
        apply(api, value)
    for value in owners():
        apply(api, {**value, "metadata": {"name": "o", "namespace": HELD}})
    yield api
    for value in owners():
        api.call("DELETE", f"{path_of(value, HELD)}/o")
    for value in reversed(objects):
        namespace = value["metadata"].get("namespace", "")
        api.call("DELETE", f"{path_of(value, namespace)}/{value['metadata']['name']}")


@pytest.fixture(scope="module")
def held(server: Api) -> Api:
    """The same once the policies are in force: a server takes a moment to read them."""
    import time

    deadline = time.monotonic() + 60
    while not try_out(server, pod(hostPID=True)):
        assert time.monotonic() < deadline, "the policy is not in force after a minute"
        time.sleep(0.1)
    return server


def test_the_server_finds_nothing_wrong_with_the_types(held: Api, until: Until):
    for plan in (PLAN, LENIENT):
        path = f"{_ADMISSION}/validatingadmissionpolicies/gpuyard-{plan.name}"
        status = until(lambda path=path: held.get(path)["status"], lambda s: "typeChecking" in s)
        assert status["typeChecking"] == {}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("what", "count"), [("pod", PODS), ("workload", WORKLOADS)])
def test_both_twins_say_the_same_of_made_up_pods(held: Api, what: str, count: int):
    seen: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        value = getattr(Maker(number), what)()
        if (said := try_out(held, value)) is None:
            seen["invalid"] += 1
            continue
        ours = expected(value)
        seen.update(set(re.findall(r"GPU-[A-Z]+-\d\d(?=:)", ours)) or {"taken"})
        if said != ours:
            wrong.append(f"{number}: server {said!r}, we {ours!r}\n{yaml.safe_dump(value)}")
    assert wrong == [], "\n".join(wrong[:5])
    assert all(seen[requirement.id] >= 10 for requirement in REQUIREMENTS), seen
    assert seen["taken"] >= 10, seen
    assert seen["invalid"] < count / 2, seen
    print(what, dict(seen))  # noqa: T201  how often each was broken
