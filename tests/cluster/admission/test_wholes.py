"""Wholes of other projects that run, on a real API server: both twins say the same of what a change runs.

Their controllers run nowhere here, and neither are they needed: what is refused never comes to them. So their
definitions take everything.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpuyard_core.manifests.queued import QUEUED_KINDS
from gpuyard_core.names import QUEUE_LABEL
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from gpuyard_simulate.api import Api
from gpuyard_simulate.cluster import Outcome
from gpuyard_simulate.kueue import manager as kueue
from kit.cluster.lab import create, delete
from kit.cluster.queues import kueue_with
from kit.cluster.twins import (
    GPU,
    HELD,
    OPERATORS,
    Value,
    account,
    change,
    expected,
    job,
    path_of,
    patience,
    person,
    pod,
    try_out,
    written,
)
from kit.generated.wholes import (
    CHANGES,
    KEPT,
    MADE,
    RECLAIMED,
    RENEWALS,
    UNCOUNTED,
    cluster,
    jobset,
    ray,
    service,
    template,
    whole,
)

pytestmark = [pytest.mark.cluster]

Until = Callable[..., Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = {
    "ray.io/RayCluster": "v1",
    "ray.io/RayJob": "v1",
    "ray.io/RayService": "v1",
    "kubeflow.org/MPIJob": "v2beta1",
    "kubeflow.org/PyTorchJob": "v1",
    "jobset.x-k8s.io/JobSet": "v1alpha2",
    "trainer.kubeflow.org/TrainJob": "v1alpha1",
    "workload.codeflare.dev/AppWrapper": "v1beta2",
}


def definition(kind: str, version: str) -> Value:
    group, _, name = kind.partition("/")
    plural = QUEUED_KINDS[kind].plural
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": name, "plural": plural, "singular": name.lower(), "listKind": f"{name}List"}
    served = {"name": version, "served": True, "storage": True}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": names,
        "versions": [{**served, "schema": {"openAPIV3Schema": anything}}],
    }
    metadata = {"name": f"{plural}.{group}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def at(value: Value) -> str:
    group = value["apiVersion"].partition("/")[0]
    plural = QUEUED_KINDS[f"{group}/{value['kind']}"].plural
    return f"/apis/{value['apiVersion']}/namespaces/{HELD}/{plural}"


@pytest.fixture(scope="module")
def nobodys(started: Outcome) -> Iterator[None]:
    """A Kueue that takes none of these kinds, whenever it is started.

    The cluster's own takes JobSets where they are defined, and is started anew some time after a file that
    had it otherwise: in the middle of these tests it would suspend what is to run.
    """
    with kueue_with(started.status.name, kueue.default_configuration(["batch/job", "pod"])):
        yield


@pytest.fixture(scope="module")
def defined(held: Api, nobodys: None) -> Iterator[Api]:
    """The cluster with these kinds, which nobody runs there."""
    made = [definition(kind, version) for kind, version in KINDS.items()]
    for each in made:
        held.apply(each)
    try:
        for kind, version in KINDS.items():
            path = f"/apis/{kind.partition('/')[0]}/{version}/{QUEUED_KINDS[kind].plural}"
            patience(lambda path=path: held.get(path))
        # the policy looks at a kind a moment after it is there
        value = whole("TrainJob", {"runtimeRef": {"name": "x"}}, queue="")
        patience(lambda: written(person(held), "POST", f"{at(value)}?dryRun=All", value))
        yield held
    finally:
        for each in made:
            path = f"{DEFINITIONS}/{each['metadata']['name']}"
            held.call("DELETE", path)
            patience(lambda path=path: held.get(path) is None)


def said_of(api: Api, before: Value, after: Value) -> list[str]:
    """What both say of the change, by a person and by a controller of the cluster."""
    path = at(before)
    made = api.call("POST", path, before)
    found: list[str] = []
    try:
        for by_controller, asker in enumerate((person(api), account(api, OPERATORS))):
            was = workload(resource(made))
            ours = expected(after, by_controller=bool(by_controller), previous=was)
            changed = copy.deepcopy(after)
            changed["metadata"]["uid"] = made["metadata"]["uid"]
            changed["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
            assert written(asker, "PUT", f"{path}/x?dryRun=All", changed) == ours, (before, after)
            found.append(ours)
    finally:
        api.call("DELETE", f"{path}/x", {"propagationPolicy": "Background"})
        patience(lambda: api.get(f"{path}/x") is None)
    return found


def test_both_twins_say_the_same_of_wholes_that_run_and_are_changed(defined: Api):
    wrong = []
    for before, after, refused in (*CHANGES, *RENEWALS, *KEPT, *RECLAIMED):
        by_person, by_controller = said_of(defined, before, after)
        if bool(refused) != ("GPU-ADM-01" in by_person) or "GPU-ADM-01" in by_controller:
            wrong.append((before, after, by_person, by_controller))
    assert wrong == []


def test_both_twins_say_the_same_of_wholes_that_are_made(defined: Api):
    clusters = cluster(workers=0, minReplicas=2)
    selector = {"clusterSelector": {"ray.io/cluster": "mine"}}
    values = [
        ray(workers=1, minReplicas=8),
        service(workers=1, minReplicas=8),
        whole("RayJob", {"rayClusterSpec": clusters}),
        whole("RayJob", {**selector, "submitterPodTemplate": template()}),
        ray(workers=8, minReplicas=8),
        ray(workers=1, minReplicas=8, gpus=0),
        whole("RayJob", {**selector, "submitterPodTemplate": template(0)}),
        *(value for value, _ in (*MADE, *UNCOUNTED)),
    ]
    said = []
    for value in values:
        path = f"{at(value)}?dryRun=All"
        ours = expected(value, by_controller=False)
        assert written(person(defined), "POST", path, value) == ours
        by_operator = written(account(defined, OPERATORS), "POST", path, value)
        assert by_operator == expected(value, by_controller=True)
        said.append(bool(ours))
    assert said == [True] * 4 + [False] * 3 + [bool(refused) for _, refused in (*MADE, *UNCOUNTED)]


def test_a_whole_whose_pods_have_forty_containers_is_looked_at_in_full(defined: Api):
    """The API server gives an expression a budget; what goes beyond is refused whatever it says."""

    def of(gpus: int, image: str = "nvcr.io/a:1") -> Value:
        found = ray(groups=7)
        each = template(1, image)["spec"]["containers"][0]
        many = [{**each, "name": f"c{i}"} for i in range(39)]
        last = {**template(gpus, image)["spec"]["containers"][0], "name": "last"}
        workers = copy.deepcopy(found["spec"]["workerGroupSpecs"])
        for index, group in enumerate(workers):
            group["groupName"] = f"g{index}"
        workers[-1]["template"]["spec"]["containers"] = [*many, last]
        return {**found, "spec": {**found["spec"], "workerGroupSpecs": workers}}

    same, _ = said_of(defined, of(1), of(1, "nvcr.io/b:1"))
    more, _ = said_of(defined, of(1), of(8))
    assert same == ""
    assert more.startswith("GPU-ADM-01: this RayCluster is running")


def test_nobody_in_a_team_gives_a_part_of_a_whole_a_second_owner(defined: Api):
    made = defined.call("POST", at(jobset()), jobset())
    owner = {**{key: made[key] for key in ("apiVersion", "kind")}, "name": "x", "controller": True}
    owners = [{**owner, "uid": made["metadata"]["uid"]}]
    value = job("part", namespace=HELD, labels={QUEUE_LABEL: "main"}, ownerReferences=owners)
    del value["spec"]["template"]["spec"]["hostPID"]
    path = path_of(value, HELD)
    try:
        found = defined.call("POST", path, value)
        beside = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "v"}
        after = {"ownerReferences": [*owners, beside]}
        changed = {**found, "metadata": {**found["metadata"], **after}}
        one = f"{path}/part?dryRun=All"
        said = change(person(defined), one, {"metadata": after})
        assert said == expected(changed, by_controller=False, previous=workload(resource(found)))
        assert said.startswith("GPU-ADM-01: with a second owner, this Job stays")
        assert change(account(defined, OPERATORS), one, {"metadata": after}) == ""
    finally:
        for gone in (f"{path}/part", f"{at(made)}/x"):
            delete(defined, gone)


def test_no_controller_makes_a_pod_that_joins_what_was_counted(held: Api):
    """A Notebook's template is looked at by nobody; its labels come to a pod by two controllers."""
    label = {"kueue.x-k8s.io/prebuilt-workload-name": "statefulset-serve-0a1b2"}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "o", "uid": "u"}
    metadata = {
        "labels": {"kueue.x-k8s.io/queue-name": "main", **label},
        "ownerReferences": [{**owner, "controller": True}],
    }
    value = pod(container=GPU, metadata=metadata)
    for asker in (held, account(held, OPERATORS)):
        assert try_out(asker, value) == expected(value) != ""


CLAIMS = f"/apis/resource.k8s.io/v1/namespaces/{HELD}/resourceclaimtemplates"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{HELD}/workloads"


def test_a_template_of_claims_stays_while_what_was_counted_by_it_is_not_over(held: Api):
    """Made anew with more devices it would give pods of a job that waits more than Kueue has counted."""
    request = {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 1}}
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    for name in ("one", "free"):
        body = {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": [request]}}}}
        held.call("POST", CLAIMS, {**made, **body})
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "a", "image": "nvcr.io/a:1"}],
        "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "one"}],
    }
    waits = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "waits"},
        "spec": {
            "active": False,
            "queueName": "main",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": spec}}],
        },
    }
    create(held, WORKLOADS, waits)
    away = f"{CLAIMS}/one?dryRun=All"
    try:
        said = patience(lambda: written(person(held), "DELETE", away))
        assert said == (
            "GPU-ADM-01: pods of workload waits claim devices through one; Kueue counted them "
            "from its content; delete the workload that uses it first"
        )
        assert written(account(held, OPERATORS), "DELETE", away) == ""
        assert written(person(held), "DELETE", f"{CLAIMS}/free?dryRun=All") == ""
        over = {"type": "Finished", "status": "True", "reason": "x", "message": ""}
        since = {"lastTransitionTime": "2026-11-25T00:00:00Z"}
        status = {"status": {"conditions": [{**over, **since}]}}
        held.call("PATCH", f"{WORKLOADS}/waits/status", status, "application/merge-patch+json")
        patience(lambda: written(person(held), "DELETE", away) == "")
    finally:
        held.call("DELETE", f"{WORKLOADS}/waits")
        for name in ("one", "free"):
            held.call("DELETE", f"{CLAIMS}/{name}")
