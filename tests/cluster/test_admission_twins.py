"""What the API server refuses by CEL is what the Python twins find, word for word, on made-up pods.

Every pod is sent to a real API server with `dryRun=All`. The namespace enforces no Pod Security level, so
that nobody answers before our policy does.
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.admission.parameters import parameters_of
from gpuyard.admission.requirements import REQUIREMENTS, refusals
from gpuyard.lint.kubernetes import resource
from gpuyard.names import PLATFORM_LABEL, QUEUE_GATE, QUEUE_LABEL, TEAM_LABEL
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.objects import LONGEST, admission_objects
from gpuyard.rules.subjects.admission import workload
from gpuyard.simulate import cluster, tools
from gpuyard.simulate.api import Api, ApiError, connect
from kit import waiting
from kit.cluster.queues import kueue_as_it_was, kueue_as_rendered
from kit.generated.pods import Maker
from kit.levels import upstream
from kit.stacks import plan_of

pytestmark = [pytest.mark.cluster]

Until = Callable[..., Any]
Value = dict[str, Any]
HELD, WARNED, USUAL, OUTSIDE = "held", "warned", "usual", "outside"
PEOPLE, OPERATORS, PIPELINES = "twin-people", "operators", "pipelines"
ACCOUNTS = "system:serviceaccounts"
CLASSES = {"twins-low": -5, "twins-fine": 50}
MANAGER = "system:kube-controller-manager"
PODS = 400
WORKLOADS = 250
JOBSETS = 100
CREATED = 201
INVALID = 422
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {
    "ConfigMap": "configmaps",
    "PriorityClass": "priorityclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def platform(name: str, team: str, queue: str = "main", **admission: Any) -> PlatformPlan:
    """One team with one queue, beside pools that others own."""
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
            "admission": admission,
        }
    )


PLAN = platform(
    "twins",
    HELD,
    images_from=["registry.example.org/team/", "nvcr.io", "nginx", "localhost:5000/x"],
    priority_classes=["twins-fine"],
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


def acting(api: Api, user: str, **more: str) -> Api:
    """The API as somebody else."""
    found = copy.copy(api)
    found._headers = {**api._headers, "Impersonate-User": user, **more}
    return found


def person(api: Api) -> Api:
    """Somebody who may do everything here, and is no administrator by name."""
    return acting(api, "somebody", **{"Impersonate-Group": PEOPLE})


def account(api: Api, namespace: str) -> Api:
    """A service account of a namespace, which may do everything as well."""
    return acting(api, f"system:serviceaccount:{namespace}:maker")


def everything() -> Value:
    """What lets these do everything: admission has the only say."""
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
    """What the Python twins have against it, in the same words; an administrator asks unless it is said."""
    asked = replace(workload(resource(value)), **{"by_controller": True, **known})
    said = refusals(asked, parameters_of(plan, plan.teams[0]))
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
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {**selected, "serviceName": "o"}},
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "spec": replicas | {"selector": labels},
        },
    ]


OPEN = {"pod-security.kubernetes.io/enforce": "privileged"}


def head(team: str) -> Value:
    """Labels and annotations of a team's namespace, which lets Pod Security pass everything."""
    plan = SPACES[team]
    labels = {PLATFORM_LABEL: plan.name, TEAM_LABEL: team, **OPEN}
    return {"labels": labels, "annotations": parameters_of(plan, plan.teams[0]).annotations()}


@pytest.fixture(scope="module")
def server(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with three platforms of ours, of which one only warns."""
    kueue_as_it_was(started.status.name)
    api = connect(Path(started.status.kubeconfig))
    objects = [obj for plan in SPACES.values() for obj in admission_objects(plan)] + [everything()]
    for name in (OUTSIDE, *SPACES):
        metadata = {"name": name, **(head(name) if name in SPACES else {"labels": OPEN})}
        apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
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
        api.call("DELETE", f"{path_of(value, HELD)}/o")
    for value in reversed(objects):
        namespace = value["metadata"].get("namespace", "")
        api.call("DELETE", f"{path_of(value, namespace)}/{value['metadata']['name']}")


@pytest.fixture(scope="module")
def held(server: Api) -> Api:
    """The same once the policies are in force: a server takes a moment to read them."""
    for namespace in (HELD, USUAL):
        patience(lambda namespace=namespace: try_out(server, pod(hostPID=True), namespace))
    patience(lambda: warnings(server, pod(hostPID=True)))
    return server


def patience(look: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until it is so."""
    return waiting.until(look, seconds=seconds)


def warnings(api: Api, value: Value) -> str:
    """What the server warns of where the policy only warns; the object itself it takes."""
    answer = api._pool.request(
        "POST",
        f"{api._server}{path_of(value, WARNED)}?dryRun=All",
        json=value,
        headers=api._headers,
    )
    assert answer.status == CREATED, answer.data
    return answer.headers.get("Warning", "")


def test_the_server_finds_nothing_wrong_with_the_types(held: Api, until: Until):
    for plan in SPACES.values():
        path = f"{_ADMISSION}/validatingadmissionpolicies/gpuyard-{plan.name}"
        status = until(lambda path=path: held.get(path)["status"], lambda s: "typeChecking" in s)
        assert status["typeChecking"] == {}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("what", "count"), [("pod", PODS), ("workload", WORKLOADS)])
def test_both_twins_say_the_same_of_made_up_pods(held: Api, what: str, count: int):
    compare(held, what, count, least=10)


def as_stored(value: Value) -> Value:
    """With the number of its class, which the API server writes into a pod before it asks anybody."""
    name = value["spec"].get("priorityClassName")
    if value["kind"] != "Pod" or name not in CLASSES:
        return value
    return {**value, "spec": {**value["spec"], "priority": CLASSES[name]}}


def compare(held: Api, what: str, count: int, least: int) -> None:
    """Send so many, and count what was said of them."""
    seen: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        value = getattr(Maker(number), what)()
        by_controller = number // 4 % 2 == 0
        api = account(held, OPERATORS) if by_controller else person(held)
        if (said := try_out(api, value)) is None:
            seen["invalid"] += 1
            continue
        ours = expected(as_stored(value), by_controller=by_controller)
        seen.update(set(re.findall(r"GPU-[A-Z]+-\d\d(?=:)", ours)) or {"taken"})
        if said != ours:
            wrong.append(f"{number}: server {said!r}, we {ours!r}\n{yaml.safe_dump(value)}")
    assert wrong == [], "\n".join(wrong[:5])
    assert all(seen[requirement.id] >= least for requirement in REQUIREMENTS), seen
    assert seen["taken"], seen
    assert seen["invalid"] < count / 2, seen
    print(what, dict(seen))  # noqa: T201  how often each was broken


# ── jobs that another project defines ─────────────────────────────────────────────────────────────


@pytest.fixture
def with_jobsets(held: Api, started: cluster.Outcome, until: Until) -> Iterator[Api]:
    """The cluster with the definition of JobSets, which Kueue then queues."""
    files = (tools.find_tools(Path(__file__).parent).share / "jobset" / "crds").glob("*.y*ml")
    (crd,) = [each for path in files for each in yaml.safe_load_all(path.read_text()) if each]
    held.apply(crd)
    cluster.up(started.status.name)
    until(lambda: held.get("/apis/jobset.x-k8s.io/v1alpha2"))
    yield held
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    held.call("DELETE", f"{definitions}/{crd['metadata']['name']}")
    cluster.up(started.status.name)


@pytest.mark.timeout(300)
def test_both_twins_say_the_same_of_jobsets(with_jobsets: Api):
    compare(with_jobsets, "jobset", JOBSETS, least=3)


def roles(containers: dict[str, Value], **more: Any) -> Value:
    """An MPIJob with these, by role."""
    specs = {
        role: {"replicas": 1, "template": {"spec": {"containers": [container]}}}
        for role, container in containers.items()
    }
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "x", **more},
        "spec": {"mpiReplicaSpecs": specs},
    }


@pytest.fixture
def with_operators(held: Api, until: Until) -> Iterator[Api]:
    """The cluster with kinds of other projects, which nobody runs there."""
    files = [
        upstream("crds", "mpi-operator", "kubeflow.org_mpijobs.yaml"),
        upstream("crds", "trainer", "trainer.kubeflow.org_trainjobs.yaml"),
    ]
    crds = [each for file in files for each in yaml.safe_load_all(file.read_text()) if each]
    for crd in crds:
        held.apply(crd)
    for group in ("kubeflow.org/v2beta1", "trainer.kubeflow.org/v1alpha1"):
        until(lambda group=group: held.get(f"/apis/{group}"))
    yield held
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for crd in crds:
        held.call("DELETE", f"{definitions}/{crd['metadata']['name']}")


def test_kinds_of_other_projects_that_queues_count_as_a_whole_are_held_themselves(
    with_operators: Api, until: Until
):
    asks, plain = limited(1), limited(0)
    loose = {**limited(1), "image": "quay.io/x:1"}
    train = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "x"},
        "spec": {"runtimeRef": {"name": "torch"}},
    }
    labels = {"labels": {QUEUE_LABEL: "main"}}
    values = [
        roles({"Launcher": plain, "Worker": asks}),
        roles({"Launcher": plain, "Worker": asks}, **labels),
        roles({"Launcher": plain, "Worker": loose}, **labels),
        roles({"Launcher": plain}),
        train,
        {**train, "metadata": {"name": "x", **labels}},
    ]
    until(lambda: try_out(person(with_operators), values[0]))
    said = [try_out(person(with_operators), value) for value in values]
    assert said == [expected(value, by_controller=False) for value in values]
    assert [bool(each) for each in said] == [True, False, True, False, True, False]


# ── what a person reads, and whom it reaches ──────────────────────────────────────────────────────


def test_everything_that_is_wrong_is_said_at_once_with_names_and_values(held: Api):
    said = try_out(held, pod(hostIPC=True, container={"image": "quay.io/x:1"}))
    assert said == (
        "GPU-ADM-02: with hostIPC the pod shares memory with every pod of the node, MPS clients of other"
        " teams among them; remove hostIPC. GPU-ADM-05: the image of container a comes from no allowed"
        " registry: quay.io/x:1; use one of registry.example.org/team, nvcr.io, docker.io/library/nginx,"
        " localhost:5000/x"
    )


def test_a_namespace_of_nobodys_is_held_to_nothing(held: Api):
    assert try_out(held, pod(hostPID=True, container={"image": "quay.io/x"}), OUTSIDE) == ""


def test_a_platform_that_only_warns_takes_the_pod_and_tells_its_owner(held: Api):
    said = warnings(held, pod(hostPID=True))
    assert "GPU-ADM-02: with hostPID the pod sees every process of the node" in said
    assert warnings(held, pod()) == ""


def test_a_pod_with_very_much_wrong_is_still_refused_in_our_words(held: Api):
    containers = [
        {
            "name": f"c{i}",
            "image": "quay.io/x:1",
            "securityContext": {"privileged": True},
            "env": [{"name": f"V{n}", "value": "x" * 50} for n in range(100)],
        }
        for i in range(80)
    ]
    value = pod(containers=containers)
    said = try_out(held, value)
    assert said == expected(value)
    assert len(said or "") == LONGEST + len(" …")
    sound = [{**c, "image": "nvcr.io/x:1", "securityContext": {}} for c in containers]
    assert try_out(held, pod(containers=sound)) == ""


def test_a_pod_of_fifty_containers_is_looked_at_in_full_and_soon(held: Api):
    """The API server gives an expression a budget; what goes beyond is refused whatever it says."""
    containers = [
        {
            "name": f"c{i}",
            "image": "nvcr.io/x:1",
            "env": [{"name": f"V{n}", "value": "x"} for n in range(30)],
            "volumeMounts": [{"name": "v0", "mountPath": f"/m{n}"} for n in range(10)],
            "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 1, "memory": "1Gi"}},
        }
        for i in range(50)
    ]
    sound = pod(
        containers=containers, volumes=[{"name": "v0", "emptyDir": {}}], runtimeClassName="nvidia"
    )
    sound["metadata"]["labels"] = {QUEUE_LABEL: "main", "gpuyard.dev/class": "training"}
    assert try_out(person(held), sound) == ""
    one_wrong = copy.deepcopy(sound)
    one_wrong["spec"]["containers"][49]["env"].append(
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
    )
    assert try_out(person(held), one_wrong) == expected(one_wrong, by_controller=False) != ""


def test_without_what_it_is_held_to_a_team_is_refused_everything(held: Api):
    path = f"/api/v1/namespaces/{HELD}"
    held.merge(path, {"metadata": {"annotations": dict.fromkeys(head(HELD)["annotations"])}})

    def refused() -> bool:
        try:
            held.call("POST", f"{path_of(pod(), HELD)}?dryRun=All", pod())
        except ApiError as problem:
            return "no such key" in str(problem)
        return False

    try:
        patience(refused)
    finally:
        held.merge(path, {"metadata": {"annotations": head(HELD)["annotations"]}})
        patience(lambda: not refused())
    assert try_out(held, pod()) == ""


def test_a_policy_that_goes_and_comes_again_is_in_force_again(held: Api):
    # With ConfigMaps for parameters an API server would not look at them again, and refuse everything.
    again = admission_objects(SPACES[USUAL])
    plans = [plan for plan in SPACES.values() if plan is not SPACES[USUAL]]
    for plan in (*plans, SPACES[USUAL]):
        for value in reversed(admission_objects(plan)):
            held.call("DELETE", f"{path_of(value)}/{value['metadata']['name']}")
    try:
        patience(lambda: try_out(held, pod(hostPID=True), USUAL) == "")
    finally:
        for plan in plans:
            for value in admission_objects(plan):
                apply(held, value)
        for value in again:
            apply(held, value)
    patience(lambda: try_out(held, pod(hostPID=True), USUAL))
    patience(lambda: try_out(held, pod(hostPID=True), HELD))
    patience(lambda: warnings(held, pod(hostPID=True)))
    assert try_out(held, pod(), USUAL) == ""


# ── who may name a controller ─────────────────────────────────────────────────────────────────────


def owned_by(kind: str, version: str = "apps/v1", uid: str = "u", **more: Any) -> Value:
    """A pod with GPUs and a queue that names this as its controller, or only as its owner."""
    owner = {
        "apiVersion": version,
        "kind": kind,
        "name": "o",
        "uid": uid,
        "controller": True,
        **more,
    }
    metadata = {"labels": {QUEUE_LABEL: "main"}, "ownerReferences": [owner]}
    return pod(container=GPU, metadata=metadata)


def test_only_controllers_of_the_cluster_name_the_controller_of_a_pod(held: Api):
    deployment = held.call("POST", path_of(server_of("Deployment"), HELD), empty("Deployment"))
    uid = deployment["metadata"]["uid"]
    mine = owned_by("Deployment", uid=uid)
    mine["metadata"]["ownerReferences"][0]["name"] = "serve"
    try:
        for value in (
            mine,
            owned_by("X", "x.example/v1"),
            owned_by("RoleBinding", "rbac.authorization.k8s.io/v1"),
        ):
            for asker in (person(held), account(held, HELD), account(held, PIPELINES)):
                said = try_out(asker, value)
                assert said == expected(value, by_controller=False)
                assert said.startswith("GPU-ADM-07: this Pod names"), said
        kinds = (mine, owned_by("X", "x.example/v1"))
        controllers = (
            held,
            account(held, OPERATORS),
            acting(held, MANAGER),
        )
        assert [try_out(asker, value) for asker in controllers for value in kinds] == [""] * 6
    finally:
        held.call("DELETE", f"{path_of(server_of('Deployment'), HELD)}/serve")


def empty(kind: str) -> Value:
    value = server_of(kind, **{QUEUE_LABEL: "main"})
    value["spec"]["replicas"] = 0
    return value


def test_nobody_in_a_team_changes_the_controller_of_what_is_there(held: Api):
    value = job("mine", labels={QUEUE_LABEL: "main"})
    value["metadata"]["namespace"] = HELD
    del value["spec"]["template"]["spec"]["hostPID"]
    path = f"{path_of(value, HELD)}/mine"
    held.call("POST", path_of(value, HELD), value)
    beside = {"apiVersion": "x.example/v1", "kind": "X", "name": "x", "uid": "u"}
    theirs = {"metadata": {"ownerReferences": [{**beside, "controller": True}]}}
    try:
        found = held.get(path)
        for patch in (theirs, {**theirs, "spec": {"suspend": False}}):
            said = change(person(held), path, patch)
            after = {**found, "metadata": {**found["metadata"], **patch["metadata"]}}
            was = workload(resource(found))
            assert expected(after, by_controller=False, was=was) in said
            assert "GPU-ADM-07: the controller of this Job stays as it is" in said
        assert change(person(held), path, {"metadata": {"ownerReferences": [beside]}}) == ""
        assert change(account(held, OPERATORS), path, theirs) == ""
        gone = {"metadata": {"ownerReferences": None}}
        assert change(person(held), path, gone).startswith("GPU-ADM-07: ")
        assert change(account(held, OPERATORS), path, gone) == ""
    finally:
        held.call("DELETE", path, {"propagationPolicy": "Background"})


# ── what a queue has counted ──────────────────────────────────────────────────────────────────────


def limited(gpus: int, name: str = "a") -> Value:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {"name": name, "image": "nvcr.io/a:1", "resources": {"limits": limits}}


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
                known = {"by_controller": asker is not held, "was": workload(resource(made))}
                ours = expected(later, **known)
                said = update(asker, f"{path}/serve?dryRun=All", later)
                assert said == ours
            refused += bool(ours)
        finally:
            held.call("DELETE", f"{path}/serve", {"propagationPolicy": "Background"})
            patience(lambda: held.get(f"{path}/serve") is None)
    assert refused == 7


def update(api: Api, path: str, value: Value) -> str:
    """Put this in its place; what our policy has against it, "" when nothing."""
    try:
        api.call("PUT", path, value)
    except ApiError as problem:
        found = re.search(r"denied request: (.*)", str(problem))
        if found is None:
            raise
        return found[1]
    return ""


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
        assert said == expected(after, by_controller=False, was=workload(resource(was)))
        assert said.startswith("GPU-ADM-01: this Job stands in a queue")
        assert change(account(held, HELD), path, start) == said
        assert change(account(held, OPERATORS), f"{path}?dryRun=All", start) == ""
    finally:
        held.call("DELETE", path, {"propagationPolicy": "Background"})


# ── what is there already ─────────────────────────────────────────────────────────────────────────

GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
LATER = "later"


def change(api: Api, path: str, patch: Any, kind: str = "merge-patch") -> str:
    """Change an object for good; what our policy has against it, "" when nothing."""
    try:
        api.call("PATCH", path, patch, f"application/{kind}+json")
    except ApiError as problem:
        found = re.search(r"denied request: (.*)", str(problem))
        if found is None:
            raise
        return found[1]
    return ""


def job(name: str, **metadata: Any) -> Value:
    spec = {**pod(hostPID=True, container=GPU)["spec"], "restartPolicy": "Never"}
    meta = {"name": name, "namespace": LATER, **metadata}
    body = {"suspend": True, "template": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


@pytest.fixture(scope="module")
def older(held: Api) -> Iterator[Api]:
    """A namespace that became a team's when pods and jobs were in it that a team may not have."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LATER}}
    apply(held, space)
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
    held.merge(f"/api/v1/namespaces/{LATER}", {"metadata": head(HELD)})
    patience(lambda: try_out(held, pod(hostPID=True), LATER))
    yield held
    held.merge(f"/api/v1/namespaces/{LATER}/pods/old", {"metadata": {"finalizers": None}})
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
        "GPU-ADM-01: this Job asks for GPUs and names no queue;"
        " label it kueue.x-k8s.io/queue-name: main"
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

        assert debug(image="busybox").startswith("GPU-ADM-05: the image of container d comes")
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
        held.call("POST", path, {"apiVersion": version, **value})

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
            queue.call(
                "DELETE", f"{path}/{value['metadata']['name']}", {"propagationPolicy": "Foreground"}
            )
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


def server_of(kind: str = "StatefulSet", **own: str) -> Value:
    """Something that runs one pod with a GPU, with labels of its own and none of ours on the pod."""
    labels = {"app": "serve"}
    template = {"metadata": {"labels": labels}, "spec": pod(container=GPU)["spec"]}
    spec: Value = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "serve", "labels": own}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.timeout(300)
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
                serving.call("DELETE", f"{path}/serve", {"propagationPolicy": "Foreground"})
                until(lambda pods=pods: not pods())


@pytest.mark.timeout(300)
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
        said = change(person(serving), f"{path}/serve", more, "json-patch")
        assert said.startswith("GPU-ADM-01: what pods of this StatefulSet ask of GPUs was counted")
        change(person(serving), f"{path}/serve", {"spec": {"replicas": 0}})
        until(lambda: not gates())
        assert change(person(serving), f"{path}/serve", more, "json-patch") == said
        until(lambda: serving.get(f"{path}/serve")["status"].get("replicas", 0) == 0)
        change(person(serving), f"{path}/serve", {"spec": {"replicas": 3}})
        # Kueue does not count other replicas anew, and starts none of them
        until(lambda: "out of sync" in str(serving.get(workloads)))
        assert set(gates()) == {True}
    finally:
        serving.call("DELETE", f"{path}/serve", {"propagationPolicy": "Foreground"})
        until(lambda: not serving.call("GET", space)["items"])
