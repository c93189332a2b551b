"""What a queue has counted is what runs, and what is there already can be stopped and never made worse."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpuyard_core.admission.queued import ELASTIC
from gpuyard_core.admission.requirement import new_violation
from gpuyard_core.names import QUEUE_GATE, QUEUE_LABEL
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from gpuyard_simulate.crds import stand_in
from kit import waiting
from kit.cluster import lab as reality
from kit.cluster.queues import kueue_as_rendered
from kit.cluster.twins import (
    GPU,
    HELD,
    LATER,
    OPERATORS,
    PLAN,
    USUAL,
    Value,
    account,
    apply,
    change,
    expected,
    head,
    job,
    limited,
    path_of,
    patience,
    person,
    pod,
    server_of,
    takes_pods,
    try_out,
    written,
)

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Until = Callable[..., Any]

# ── what a queue has counted ──────────────────────────────────────────────────────────────────────


def grown(value: Value, *containers: Value, init: tuple[Value, ...] = (), **spec: Any) -> Value:
    """The same with other containers."""
    found = copy.deepcopy(value)
    found["spec"].update(spec)
    pod_spec = found["spec"]["template"]["spec"]
    pod_spec["containers"] = list(containers)
    pod_spec["initContainers"] = list(init)
    return found


def test_both_twins_say_the_same_of_what_was_counted_and_grows(held: Api):
    """Nobody runs a Kueue that looks at it here: kinds that serve are none of its own by default."""
    one, eight, none = limited(1), limited(8), limited(0)
    beside = {**limited(1, "i"), "restartPolicy": "Always"}
    first, after = limited(1, "i"), limited(1, "b")
    changes: list[tuple[tuple[Value, ...], dict[str, Any], tuple[Value, ...], dict[str, Any]]] = [
        ((one,), {}, (eight,), {}),
        ((one,), {}, (none,), {}),
        ((none,), {}, (eight,), {}),
        ((one,), {"replicas": 0}, (eight,), {"replicas": 0}),
        ((one,), {"init": (first,)}, (one,), {"init": (beside,)}),
        ((one,), {"init": (first,)}, (one, first), {}),
        ((one,), {}, (one, after), {}),
        ((one,), {}, ({**one, "image": "nvcr.io/b:1"},), {}),
        ((none,), {}, (none, limited(0, "b")), {}),
        ((one,), {}, (one,), {"replicas": 0}),
    ]
    base = server_of("StatefulSet", **{QUEUE_LABEL: "main"})
    path = path_of(base, HELD)
    refused = 0
    for before, had, now, has in changes:
        made = held.call("POST", path, grown(base, *before, **{"replicas": 0, **had}))
        try:
            later = grown(made, *now, **{"replicas": 0, **has})
            del later["metadata"]["resourceVersion"]  # its status is written meanwhile
            for asker in (person(held), account(held, OPERATORS)):
                known = {"by_controller": asker is not held, "previous": workload(resource(made))}
                ours = expected(later, **known)
                said = written(asker, "PUT", f"{path}/serve?dryRun=All", later)
                assert said == ours
            refused += bool(ours)
        finally:
            held.call("DELETE", f"{path}/serve", {"propagationPolicy": "Background"})
            patience(lambda: held.get(f"{path}/serve") is None)
    assert refused == 7


def test_what_waits_in_a_queue_is_started_by_nobody_in_the_team(held: Api):
    value = job("mine", labels={QUEUE_LABEL: "main"})
    value["metadata"]["namespace"] = HELD
    del value["spec"]["template"]["spec"]["hostPID"]
    path = f"{path_of(value, HELD)}/mine"
    held.call("POST", path_of(value, HELD), value)
    start = {"spec": {"suspend": False}}
    try:
        said = change(person(held), path, start)
        was = held.get(path)
        after = {**was, "spec": {**was["spec"], **start["spec"]}}
        assert said == expected(after, by_controller=False, previous=workload(resource(was)))
        assert said.startswith("GPU-ADM-01: this Job is queued")
        assert change(account(held, HELD), path, start) == said
        assert change(account(held, OPERATORS), f"{path}?dryRun=All", start) == ""
    finally:
        held.call("DELETE", path, {"propagationPolicy": "Background"})


def elastic(name: str) -> Value:
    """A Job that Kueue counts as slices, as it makes one of what a team has written."""
    value = job(name, labels={QUEUE_LABEL: "main"}, annotations={ELASTIC: "true"})
    value["metadata"]["namespace"] = HELD
    of_pods = value["spec"]["template"]["spec"]
    del of_pods["hostPID"]
    of_pods["schedulingGates"] = [{"name": ELASTIC}]
    value["spec"] |= {"parallelism": 1, "completions": 8}
    return value


def test_both_twins_say_the_same_of_what_is_elastic_and_waits(held: Api):
    """Nobody has its queue here, so it waits; the API server lets such a template change."""
    value = elastic("grows")
    path = f"{path_of(value, HELD)}/grows"
    held.call("POST", path_of(value, HELD), value)

    def larger(was: Value) -> None:
        was["spec"]["template"]["spec"]["containers"] = [limited(8)]

    def ungated(was: Value) -> None:
        del was["spec"]["template"]["spec"]["schedulingGates"]

    def more(was: Value) -> None:
        was["spec"]["parallelism"] = 8

    said = []
    try:
        for edit in (larger, ungated, more):
            for asker in (person(held), account(held, OPERATORS)):
                was = held.get(path)
                after = copy.deepcopy(was)
                edit(after)
                by_controller = len(said) % 2 == 1
                ours = expected(
                    after, by_controller=by_controller, previous=workload(resource(was))
                )
                del after["metadata"]["resourceVersion"]
                assert written(asker, "PUT", f"{path}?dryRun=All", after) == ours
                said.append(ours)
    finally:
        held.call("DELETE", path, {"propagationPolicy": "Background"})
    assert [bool(each) for each in said] == [True, True, True, False, False, False]


def test_an_elastic_job_whose_name_has_just_gone_is_counted_and_grows_no_more(held: Api):
    """Kueue takes the workload of that name for the new one's, and writes the old template into this."""
    for name in ("again", "and-again", "once-more"):
        was = job(name, labels={QUEUE_LABEL: "main"})
        was["metadata"]["namespace"] = HELD
        del was["spec"]["template"]["spec"]["hostPID"]
        path = f"{path_of(was, HELD)}/{name}"
        held.call("POST", path_of(was, HELD), was)
        try:
            patience(lambda name=name: counted(held, name))
            held.call("DELETE", path, {"propagationPolicy": "Background"})
            new = held.call("POST", path_of(was, HELD), elastic(name))["metadata"]["uid"]
            # the workload of before may stay, finished, where Kueue saw the deletion and the new job at once
            waiting.until(lambda name=name: counted(held, name), lambda seen, new=new: new in seen)
            now = held.get(path)
            assert now["metadata"]["uid"] == new
            more = copy.deepcopy(now)
            more["spec"]["parallelism"] = 8
            ours = expected(more, by_controller=False, previous=workload(resource(now)))
            del more["metadata"]["resourceVersion"]
            assert written(person(held), "PUT", f"{path}?dryRun=All", more) == ours
            assert bool(ours) == ("schedulingGates" not in now["spec"]["template"]["spec"])
        finally:
            held.call("DELETE", path, {"propagationPolicy": "Background"})


def counted(api: Api, name: str) -> list[str]:
    """UIDs of jobs of this name of which Kueue has a workload."""
    workloads = api.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{HELD}/workloads")["items"]
    owners = [owner for each in workloads for owner in each["metadata"]["ownerReferences"]]
    return [owner["uid"] for owner in owners if owner["name"] == name]


# ── what is there already ─────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def older(held: Api) -> Iterator[Api]:
    """A namespace that became a team's when pods and jobs were in it that a team may not have."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LATER}}
    apply(held, space)
    takes_pods(held, LATER)
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod(hostPID=True)["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    for value in (
        pod(hostPID=True, metadata={"name": "old", "finalizers": ["example.org/kept"]}),
        job("waits"),
        job("starts"),
        job("counted", labels={"kueue.x-k8s.io/queue-name": "main"}),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "old"}, "spec": spec},
    ):
        apply(held, {**value, "metadata": {**value["metadata"], "namespace": LATER}})
    held.patch(f"/api/v1/namespaces/{LATER}", {"metadata": head(HELD)})
    patience(lambda: try_out(held, pod(hostPID=True), LATER))
    yield held
    held.patch(f"/api/v1/namespaces/{LATER}/pods/old", {"metadata": {"finalizers": None}})
    held.call("DELETE", f"/api/v1/namespaces/{LATER}")


def test_what_is_there_can_be_stopped_scaled_and_removed(older: Api):
    pods, jobs = f"/api/v1/namespaces/{LATER}/pods/old", f"/apis/batch/v1/namespaces/{LATER}/jobs"
    assert change(older, pods, {"metadata": {"annotations": {"a": "b"}}}) == ""
    assert change(older, pods, {"metadata": {"finalizers": None}}) == ""
    deployment = f"/apis/apps/v1/namespaces/{LATER}/deployments/old"
    assert change(older, deployment, {"spec": {"replicas": 1}}) == ""
    assert change(older, deployment, {"spec": {"replicas": 0}}) == ""
    assert change(older, f"{jobs}/waits", {"spec": {"parallelism": 0}}) == ""
    older.call("DELETE", f"{jobs}/waits", {"propagationPolicy": "Foreground"})
    patience(lambda: older.get(f"{jobs}/waits") is None)


def test_what_is_there_cannot_be_made_worse(older: Api):
    jobs = f"/apis/batch/v1/namespaces/{LATER}/jobs"
    no_queue = (
        "GPU-ADM-01: this Job requests GPUs but names no queue; label it "
        "kueue.x-k8s.io/queue-name: main"
    )
    assert change(older, f"{jobs}/starts", {"spec": {"suspend": False}}) == no_queue
    unlabelled = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}}
    assert change(older, f"{jobs}/counted", unlabelled) == no_queue
    deployment = f"/apis/apps/v1/namespaces/{LATER}/deployments/old"
    again = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    assert change(older, deployment, again).startswith("GPU-ADM-02: with hostPID")


def test_a_pod_that_runs_gets_no_other_image_toleration_or_debugger(held: Api):
    space = f"/api/v1/namespaces/{HELD}/pods"
    held.call("POST", space, pod(metadata={"name": "runs"}))
    one = f"{space}/runs"
    try:
        elsewhere = {"spec": {"containers": [{"name": "a", "image": "quay.io/x"}]}}
        assert change(held, one, elsewhere, "strategic-merge-patch").startswith("GPU-ADM-05: ")
        allowed = {"spec": {"containers": [{"name": "a", "image": "nvcr.io/b:2"}]}}
        assert change(held, one, allowed, "strategic-merge-patch") == ""
        everything = [{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}]
        assert change(held, one, everything, "json-patch").startswith("GPU-ADM-04: ")

        def debug(**container: Any) -> str:
            patch = {"spec": {"ephemeralContainers": [{"name": "d", **container}]}}
            return change(held, f"{one}/ephemeralcontainers", patch, "strategic-merge-patch")

        assert debug(image="busybox").startswith("GPU-ADM-05: image ")
        all_gpus = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
        assert debug(image="nvcr.io/tools", env=all_gpus).startswith("GPU-POD-01: ")
        assert debug(image="nvcr.io/tools") == ""
    finally:
        held.call("DELETE", one, {"gracePeriodSeconds": 0})


# ── what controllers make ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def queue(held: Api, until: Until) -> Iterator[Api]:
    """A queue called default for the team that has one by that name, main for another; room for two GPUs."""
    version, name = "kueue.x-k8s.io/v1beta2", "twins"
    cover = {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "2"}]}],
    }
    made = [
        (
            f"/apis/{version}/resourceflavors",
            {"kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}},
        ),
        (
            f"/apis/{version}/clusterqueues",
            {
                "kind": "ClusterQueue",
                "metadata": {"name": name},
                "spec": {"namespaceSelector": {}, "resourceGroups": [cover]},
            },
        ),
        (
            f"/apis/{version}/namespaces/{USUAL}/localqueues",
            {"kind": "LocalQueue", "metadata": {"name": "default"}, "spec": {"clusterQueue": name}},
        ),
        (
            f"/apis/{version}/namespaces/{HELD}/localqueues",
            {"kind": "LocalQueue", "metadata": {"name": "main"}, "spec": {"clusterQueue": name}},
        ),
    ]
    for path, value in made:
        reality.create(held, path, {"apiVersion": version, **value})

    def defaulted() -> bool:
        return try_out(held, pod(container=GPU), USUAL) == ""

    try:
        until(defaulted)
        yield held
    finally:
        gone = [f"{path}/{value['metadata']['name']}" for path, value in reversed(made)]
        for one in gone:
            held.call("DELETE", one)
        until(lambda: not any(held.get(one) for one in gone))


def test_pods_of_jobs_and_deployments_that_name_no_queue_get_the_default_one_and_pass(
    queue: Api, until: Until
):
    spec = pod(container=GPU)["spec"]
    work = {"template": {"spec": {**spec, "restartPolicy": "Never"}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    serve = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": work},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": serve},
    ]
    paths = [path_of(value, USUAL) for value in made]
    try:
        for path, value in zip(paths, made, strict=True):
            queue.call("POST", path, value)

        def owners_of_pods() -> dict[str, str]:
            found = queue.call("GET", f"/api/v1/namespaces/{USUAL}/pods")["items"]
            return {
                p["metadata"]["ownerReferences"][0]["kind"]: p["metadata"]["labels"].get(
                    "kueue.x-k8s.io/queue-name", ""
                )
                for p in found
            }

        until(lambda: set(owners_of_pods()) == {"Job", "ReplicaSet"})
        assert owners_of_pods() == {"Job": "", "ReplicaSet": "default"}
    finally:
        for path, value in zip(paths, made, strict=True):
            reality.delete(queue, f"{path}/{value['metadata']['name']}", "Foreground")
        until(lambda: not queue.call("GET", f"/api/v1/namespaces/{USUAL}/pods")["items"])


@pytest.fixture
def serving(queue: Api, started: cluster.Outcome, until: Until) -> Iterator[Api]:
    """The same with a Kueue as a platform sets it up: it also looks at kinds that serve."""

    def in_force() -> bool:
        """The queue is known again, and a webhook that was not there before answers."""
        made = queue.call("POST", f"{path_of(server_of(), USUAL)}?dryRun=All", server_of())
        return QUEUE_LABEL in made["metadata"].get("labels", {})

    with kueue_as_rendered(
        started.status.name, PLAN.spec.model_dump(mode="json", exclude_unset=True)
    ):
        until(in_force)
        yield queue


def test_what_serves_and_names_its_queue_itself_gets_pods_that_are_labelled_before_they_start(
    serving: Api, until: Until
):
    for kind in ("StatefulSet", "Deployment"):
        for team, name, own in ((HELD, "main", {QUEUE_LABEL: "main"}), (USUAL, "default", {})):
            path = path_of(server_of(kind), team)
            try:
                serving.call("POST", path, server_of(kind, **own))

                def pods(team: str = team) -> list[Value]:
                    return serving.call("GET", f"/api/v1/namespaces/{team}/pods")["items"]

                def gates() -> list[Any]:
                    return [p["spec"].get("schedulingGates", []) for p in pods()]

                until(gates, lambda found: len(found) == 1 and {"name": QUEUE_GATE} not in found[0])
                assert [p["metadata"]["labels"][QUEUE_LABEL] for p in pods()] == [name]
            finally:
                reality.delete(serving, f"{path}/serve", "Foreground")
                until(lambda pods=pods: not pods())
                until(lambda path=path: serving.get(f"{path}/serve") is None)


def test_a_stateful_set_that_runs_asks_for_no_more_than_was_counted(serving: Api, until: Until):
    path, value = path_of(server_of(), HELD), server_of(**{QUEUE_LABEL: "main"})
    space = f"/api/v1/namespaces/{HELD}/pods"

    workloads = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{HELD}/workloads"

    def gates() -> list[Any]:
        found = serving.call("GET", space)["items"]
        return [QUEUE_GATE in str(p["spec"].get("schedulingGates")) for p in found]

    try:
        serving.call("POST", path, value)
        until(gates, lambda found: found == [False])
        more = [
            {
                "op": "replace",
                "path": "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu",
                "value": "8",
            }
        ]
        # by the subresource, which Kueue does not see; the server reads a moment later what Kueue has counted
        two, tried = {"spec": {"replicas": 2}}, f"{path}/serve/scale?dryRun=All"
        past = new_violation("queued.SCALED", (), name="serve", counted="1", wanted="2")
        words = f"GPU-ADM-01: {past.problem}; {past.fix}"
        until(lambda: change(person(serving), tried, two), lambda said: said == words)
        for asker in (person(serving), account(serving, OPERATORS), serving):
            assert change(asker, f"{path}/serve/scale", two) == words
        an_autoscaler_is_told_the_same(serving, until, words)
        assert gates() == [False]
        said = change(person(serving), f"{path}/serve", more, "json-patch")
        assert said.startswith("GPU-ADM-01: Kueue counted the GPUs of this StatefulSet")
        assert change(person(serving), f"{path}/serve/scale", {"spec": {"replicas": 0}}) == ""
        until(lambda: not gates())
        assert change(person(serving), f"{path}/serve", more, "json-patch") == said
        until(lambda: serving.get(f"{path}/serve")["status"].get("replicas", 0) == 0)
        change(person(serving), f"{path}/serve", {"spec": {"replicas": 3}})
        # Kueue does not count other replicas anew, and starts none of them
        until(lambda: "out of sync" in str(serving.get(workloads)))
        assert set(until(gates)) == {True}
        sets_of_a_leader_worker_set_are_scaled_by_it_alone(serving, until)
    finally:
        reality.delete(serving, f"{path}/serve", "Foreground")
        until(lambda: not serving.call("GET", space)["items"])
        until(lambda: serving.get(f"{path}/serve") is None)


def an_autoscaler_is_told_the_same(serving: Api, until: Until, words: str) -> None:
    """The cluster's own: below its least number it asks for more without any metric."""
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "serve"},
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "serve"},
        },
    }
    path = path_of(scaler, HELD)
    person(serving).call("POST", path, scaler)
    try:
        said = until(lambda: reality.condition(serving.get(f"{path}/serve"), "AbleToScale"))
        assert (said["status"], said["reason"]) == ("False", "FailedUpdateScale")
        assert words in said["message"]
    finally:
        serving.call("DELETE", f"{path}/serve")


def sets_of_a_leader_worker_set_are_scaled_by_it_alone(serving: Api, until: Until) -> None:
    """Nobody runs its controller here: what that and Kueue would make is made by hand."""
    version, kind = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
    leader = {"apiVersion": version, "kind": kind, "metadata": {"name": "lws"}}
    groups = {"size": 1, "workerTemplate": {"spec": pod()["spec"]}}
    leader |= {"spec": {"replicas": 0, "leaderWorkerTemplate": groups}}
    leaders = f"/apis/{version}/namespaces/{HELD}/leaderworkersets"
    if serving.get(f"/apis/{version}") is None:  # other tests may have removed it
        serving.apply(stand_in(version, kind, "Namespaced"))
        until(lambda: serving.get(leaders))
    made = serving.call("POST", leaders, leader)
    owner = {"apiVersion": version, "kind": kind, "name": "lws", "uid": made["metadata"]["uid"]}
    counted = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "leaders", "ownerReferences": [owner]},
        "spec": {
            "active": False,
            "queueName": "main",
            "podSets": [
                {"name": "main", "count": 2, "template": {"spec": pod(container=GPU)["spec"]}}
            ],
        },
    }
    workloads, sets = (path_of(value, HELD) for value in (counted, server_of()))
    names = {"lws": True, "lws-0": True, "lws-0-b": False, "other": False}
    for name in names:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        value = server_of()
        serving.call("POST", sets, {**value, "metadata": {"name": name}, "spec": spec})
    serving.call("POST", workloads, counted)
    try:
        one = {"spec": {"replicas": 1}}

        def said(name: str) -> str:
            return change(person(serving), f"{sets}/{name}/scale?dryRun=All", one)

        until(lambda: said("lws"))
        for name, is_part in names.items():
            slip = new_violation("queued.OF_ANOTHER", (), name=name, owner="lws")
            assert said(name) == (f"GPU-ADM-01: {slip.problem}; {slip.fix}" if is_part else "")
    finally:
        made_here = (f"{workloads}/leaders", f"{leaders}/lws", *(f"{sets}/{n}" for n in names))
        for path in made_here:
            serving.call("DELETE", path, {"propagationPolicy": "Background"})
