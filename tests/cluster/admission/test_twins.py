"""What the API server refuses by CEL is what the Python twins find, word for word, on made-up pods."""

import copy
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.render.admission.objects import LONGEST, admission_objects
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard_core.admission.parameters import (
    ACCOUNTS,
    CSI_DRIVERS,
    PRIORITIES,
    PRIORITY_CLASSES,
    SHARES,
)
from gpuyard_core.admission.requirements import REQUIREMENTS, denials
from gpuyard_core.names import GPU as GPU_NAME
from gpuyard_core.names import PRIORITY_LABEL, QUEUE_LABEL
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from gpuyard_simulate import cluster, tools
from gpuyard_simulate.api import Api, ApiError
from gpuyard_simulate.definitions import read_manifests
from gpuyard_simulate.parts import TYPE_CHECKER
from kit.cluster.twins import (
    CLASSES,
    GPU,
    HELD,
    MANAGER,
    OPERATORS,
    OUTSIDE,
    PIPELINES,
    PLAN,
    SPACES,
    USUAL,
    Value,
    account,
    acting,
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
    try_out,
    warnings,
)
from kit.generated.pods import Maker
from kit.levels import upstream

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Until = Callable[..., Any]
PODS = 400
WORKLOADS = 400
JOBSETS = 100


@pytest.fixture
def typed(started: cluster.Outcome, tmp_path: Path) -> Iterator[None]:
    """The one controller that a simulated cluster goes without."""
    command = [
        tools.find_tools(Path(__file__).parent).program("kube-controller-manager"),
        f"--kubeconfig={started.status.kubeconfig}",
        f"--controllers={TYPE_CHECKER}",
        "--leader-elect=false",
        "--secure-port=0",
    ]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()


@pytest.mark.usefixtures("typed")
def test_the_server_finds_nothing_wrong_with_the_types(held: Api, until: Until):
    for plan in SPACES.values():
        for policy in admission_objects(plan):
            if policy["kind"] != "ValidatingAdmissionPolicy":
                continue
            path = f"{path_of(policy)}/{policy['metadata']['name']}"
            status = until(
                lambda path=path: held.get(path)["status"], lambda s: "typeChecking" in s
            )
            assert status["typeChecking"] == {}, path


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
    folder = tools.find_tools(Path(__file__).parent).share / "jobset" / "crds"
    (crd,) = read_manifests(folder, "*.y*ml")
    held.apply(crd)
    cluster.up(started.status.name)
    until(lambda: held.get("/apis/jobset.x-k8s.io/v1alpha2"))
    yield held
    definition = (
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
    )
    held.call("DELETE", definition)
    # while it goes it is there, and Kueue would be started without it later, in the middle of a test
    until(lambda: held.get(definition) is None)
    cluster.up(started.status.name)


def test_both_twins_say_the_same_of_jobsets(with_jobsets: Api):
    compare(with_jobsets, "jobset", JOBSETS, least=3)


def test_a_part_of_a_jobset_stays_as_it_was_made(with_jobsets: Api):
    """Nobody runs the controller of JobSets here: an admin makes its job."""
    version, labels = "jobset.x-k8s.io/v1alpha2", {QUEUE_LABEL: "main"}
    spec = {**pod(container=GPU)["spec"], "restartPolicy": "Never"}
    body = {"suspend": True, "template": {"spec": spec}}
    whole = {
        "apiVersion": version,
        "kind": "JobSet",
        "metadata": {"name": "whole", "labels": labels},
        "spec": {
            "suspend": True,
            "replicatedJobs": [{"name": "a", "replicas": 1, "template": {"spec": body}}],
        },
    }
    sets = path_of(whole, HELD)
    made = with_jobsets.call("POST", sets, whole)
    owner = {
        "apiVersion": version,
        "kind": "JobSet",
        "name": "whole",
        "uid": made["metadata"]["uid"],
    }
    part = job("whole-a-0", namespace=HELD, ownerReferences=[{**owner, "controller": True}])
    path = path_of(part, HELD)
    try:
        was = with_jobsets.call("POST", path, {**part, "spec": body})
        more = {"spec": {"parallelism": 8}}
        after = {**was, "spec": {**was["spec"], **more["spec"]}}
        said = change(person(with_jobsets), f"{path}/whole-a-0?dryRun=All", more)
        assert said == expected(after, by_controller=False, previous=workload(resource(was)))
        assert said.startswith(
            "GPU-ADM-01: this Job is part of JobSet whole, which Kueue counted as"
        )
        note = {"metadata": {"annotations": {"seen": "true"}}}
        assert change(person(with_jobsets), f"{path}/whole-a-0?dryRun=All", note) == ""
        assert change(account(with_jobsets, OPERATORS), f"{path}/whole-a-0?dryRun=All", more) == ""
    finally:
        for one in (f"{path}/whole-a-0", f"{sets}/whole"):
            with_jobsets.call("DELETE", one, {"propagationPolicy": "Background"})


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
        "spec": {"runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": specs},
    }


@pytest.fixture
def with_operators(held: Api, until: Until) -> Iterator[Api]:
    """The cluster with kinds of other projects, which nobody runs there."""
    files = [
        upstream("crds", "mpi-operator", "kubeflow.org_mpijobs.yaml"),
        upstream("crds", "trainer", "trainer.kubeflow.org_trainjobs.yaml"),
    ]
    crds = [each for file in files for each in read_manifests(file.parent, file.name)]
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
        "GPU-ADM-02: with hostIPC the pod shares memory with every pod on the node, including MPS "
        "clients of other teams; remove hostIPC. GPU-ADM-05: image quay.io/x:1 of container a is "
        "not from an allowed registry; use one of registry.example.org/team, nvcr.io, "
        "docker.io/library/nginx, localhost:5000/x"
    )


def test_a_namespace_of_nobodys_is_held_to_nothing(held: Api):
    assert try_out(held, pod(hostPID=True, container={"image": "quay.io/x"}), OUTSIDE) == ""


def test_a_platform_that_only_warns_takes_the_pod_and_tells_its_owner(held: Api):
    said = warnings(held, pod(hostPID=True))
    assert "GPU-ADM-02: with hostPID the pod sees every process on the node" in said
    assert warnings(held, pod()) == ""


def test_a_pod_with_very_much_wrong_is_still_refused_in_our_words(held: Api):
    containers = [
        {
            "name": f"c{i}",
            "image": "quay.io/x:1",
            "securityContext": {"privileged": True},
            "env": [{"name": f"V{n}", "value": "x" * 50} for n in range(100)],
        }
        for i in range(40)
    ]
    value = pod(containers=containers)
    said = try_out(held, value)
    assert said == expected(value)
    assert len(said or "") == LONGEST + len(" …")
    sound = [{**c, "image": "nvcr.io/x:1", "securityContext": {}} for c in containers]
    assert try_out(held, pod(containers=sound)) == ""


def test_a_pod_of_forty_containers_is_looked_at_in_full_and_soon(held: Api):
    """The API server gives an expression a budget; what goes beyond is refused whatever it says."""
    containers = [
        {
            "name": f"c{i}",
            "image": "nvcr.io/x:1",
            "env": [{"name": f"V{n}", "value": "x"} for n in range(30)],
            "volumeMounts": [{"name": "v0", "mountPath": f"/m{n}"} for n in range(10)],
            "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 1, "memory": "1Gi"}},
        }
        for i in range(40)
    ]
    sound = pod(
        containers=containers, volumes=[{"name": "v0", "emptyDir": {}}], runtimeClassName="nvidia"
    )
    sound["metadata"]["labels"] = {QUEUE_LABEL: "main", "gpuyard.dev/class": "training"}
    assert try_out(person(held), sound) == ""
    one_wrong = copy.deepcopy(sound)
    one_wrong["spec"]["containers"][39]["env"].append(
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
    )
    assert try_out(person(held), one_wrong) == expected(one_wrong, by_controller=False) != ""


def test_without_what_it_is_held_to_a_team_is_refused_everything(held: Api):
    path = f"/api/v1/namespaces/{HELD}"
    held.patch(path, {"metadata": {"annotations": dict.fromkeys(head(HELD)["annotations"])}})

    def refused() -> bool:
        try:
            held.call("POST", f"{path_of(pod(), HELD)}?dryRun=All", pod())
        except ApiError as problem:
            return "no such key" in str(problem)
        return False

    try:
        patience(refused)
    finally:
        held.patch(path, {"metadata": {"annotations": head(HELD)["annotations"]}})
        patience(lambda: not refused())
    assert try_out(held, pod()) == ""


def test_a_share_whose_name_does_not_say_so_is_one_where_the_namespace_says_it(held: Api):
    path = f"/api/v1/namespaces/{HELD}"

    def asks(count: int) -> Value:
        limits = {"resources": {"limits": {GPU_NAME: count}}}
        return pod(container=limits, metadata={"labels": {QUEUE_LABEL: "main"}})

    assert try_out(held, asks(2)) == ""
    held.patch(path, {"metadata": {"annotations": {SHARES: GPU_NAME}}})
    try:
        patience(lambda: "GPU-SHR-05" in (try_out(held, asks(2)) or ""))
        known = replace(parameters_of(PLAN, PLAN.teams[0]), shares=(GPU_NAME,))
        asked = replace(workload(resource(asks(2))), by_controller=True)
        (refusal,) = denials(asked, known)
        assert try_out(held, asks(2)) == refusal.summary
        assert try_out(held, asks(1)) == ""
    finally:
        held.patch(path, {"metadata": {"annotations": {SHARES: None}}})
        patience(lambda: try_out(held, asks(2)) == "")


def test_a_platform_that_is_upgraded_goes_on_taking_pods_before_its_namespaces_are(held: Api):
    """The policy comes first, so that no namespace is without it: what it reads newly is not there yet."""
    path, later = (
        f"/api/v1/namespaces/{HELD}",
        (ACCOUNTS, CSI_DRIVERS, PRIORITIES, PRIORITY_CLASSES),
    )
    first = pod(metadata={"labels": {PRIORITY_LABEL: "twins-first"}})
    assert try_out(held, first) == ""
    held.patch(path, {"metadata": {"annotations": dict.fromkeys(later)}})
    try:
        said = patience(lambda: try_out(held, first))
        assert said.startswith("GPU-ADM-08: priority twins-first is not defined by this platform")
        assert "the platform: it has none" in said
        assert try_out(person(held), pod()) == ""
        assert try_out(person(held), pod(hostPID=True)) == expected(pod(hostPID=True))
    finally:
        held.patch(path, {"metadata": {"annotations": head(HELD)["annotations"]}})
        patience(lambda: try_out(held, first) == "")


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
            assert expected(after, by_controller=False, previous=was) in said
            assert "GPU-ADM-07: the controller of this Job must not change" in said
        assert change(person(held), path, {"metadata": {"ownerReferences": [beside]}}) == ""
        assert change(account(held, OPERATORS), path, theirs) == ""
        gone = {"metadata": {"ownerReferences": None}}
        assert change(person(held), path, gone).startswith("GPU-ADM-07: ")
        assert change(account(held, OPERATORS), path, gone) == ""
    finally:
        held.call("DELETE", path, {"propagationPolicy": "Background"})
