"""A real API server labels workloads by class, as `gpuyard classify` decides."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard.job_classes import signals
from gpuyard.job_classes.signals import JobClass
from gpuyard.render.admission.classes import LEAST_POINTS
from gpuyard.render.admission.objects import admission_objects
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard_advisor.job_classes.classify import classify
from gpuyard_advisor.workloads import read_job
from gpuyard_core.manifests.templates import templates_of, workload_kind
from gpuyard_core.names import CLASS_LABEL, CLASS_OF_POD, PLATFORM_LABEL, TEAM_LABEL
from gpuyard_core.yaml_tree import parse_yaml
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError, connect
from gpuyard_simulate.kueue import manager as kueue
from kit.cluster import lab as reality
from kit.cluster.classes import GPU, completed, definition, kind_of
from kit.cluster.lab import path_of
from kit.cluster.queues import kueue_with
from kit.cluster.twins import owners, patience, takes_pods
from kit.stacks import plan_of, platform, team

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
SPACE = "classes"
TABLE = Path(__file__).parents[2] / "advice" / "classify" / "jobs" / "labelled.yaml"
LABELLED = parse_yaml(TABLE.read_bytes(), TABLE.name).value
PLAN = plan_of(
    platform(
        teams=[team(SPACE, guarantee={"train": 8})],
        kubernetes="1.36",
        admission={"enforce": "warn"},
    )
)
"""Only the tests of one requirement deny: cases of classes violate others."""
KINDS = sorted(
    {kind for row in LABELLED if "." in (kind := kind_of(row["job"])).partition("/")[0]}
    | {"ray.io/RayCluster", "batch.volcano.sh/Job"}
)
UNDECIDED = {
    "no containers": "the API server rejects it",
    "nothing but a kind": "the API server rejects it",
    "an exporter on every node": "a DaemonSet has no class",
    "a label that is no class is set aside": "the label of its author is kept",
    "a priority that it names": "no pod template shows that it requests GPUs",
}
"""Labelled jobs for which the policy and `gpuyard classify` differ, and why."""
RANDOM = 300


def pod(*command: str, labels: Value | None = None, **container: Any) -> Value:
    main = {"command": list(command), **container}
    metadata = {"name": "x", "labels": labels or {}}
    return completed({"kind": "Pod", "metadata": metadata, "spec": {"containers": [main]}})


@pytest.fixture(scope="module")
def classes(started: cluster.Outcome) -> Iterator[Api]:
    """A namespace of a team with the platform's policies, and definitions of kinds of other projects."""
    with kueue_with(
        started.status.name, kueue.default_configuration(["batch/job", "pod"])
    ):  # it would restart for each kind
        yield from _with_policies(connect(Path(started.status.kubeconfig)))


def _with_policies(api: Api) -> Iterator[Api]:
    annotations = parameters_of(PLAN, PLAN.teams[0]).annotations()
    labels = {PLATFORM_LABEL: PLAN.name, TEAM_LABEL: SPACE}
    metadata = {"name": SPACE, "labels": labels, "annotations": annotations}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    takes_pods(api, SPACE)
    existing = {kind for kind in KINDS if api.get(at(kind)) is not None}
    definitions = [definition(kind) for kind in KINDS if kind not in existing]
    for value in definitions:
        api.apply(value)
    policies = admission_objects(PLAN)
    for value in policies:
        query = "?fieldManager=test&force=true"
        api.call("PATCH", path_of(value) + query, value, "application/apply-patch+yaml")
    for owner in (*owners(), *OWNERS):  # Kueue looks them up
        value = {**owner, "metadata": {"name": "o", "labels": {CLASS_LABEL: "other"}}}
        reality.create(api, at(value["kind"], value["apiVersion"]), value)
    patience(lambda: class_of(asked(api, pod("torchrun", "x.py"))))
    for kind in KINDS:
        # the policy patches a kind only once the server has its schema
        case = {"kind": kind.rpartition("/")[2], "apiVersion": completed_version(kind)}
        probe = {**case, "metadata": {"name": "x", "labels": {CLASS_LABEL: "batch"}}, "spec": {}}
        patience(lambda probe=probe: is_served(api, probe))
    yield api
    for owner in (*owners(), *OWNERS):
        reality.delete(api, f"{at(owner['kind'], owner['apiVersion'])}/o")
    for value in reversed(policies):
        reality.delete(api, path_of(value))
    for value in definitions:
        reality.delete(api, f"{DEFINITIONS}/{value['metadata']['name']}")


OWNERS: tuple[Value, ...] = (
    {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}},
    {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {}},
)
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def completed_version(kind: str) -> str:
    return completed(
        {"kind": kind.rpartition("/")[2], "apiVersion": f"{kind.partition('/')[0]}/v1"}
    )["apiVersion"]


def at(kind: str, version: str = "") -> str:
    version = version or completed_version(kind)
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{SPACE}/{kind.rpartition('/')[2].lower()}s"


def is_served(api: Api, value: Value) -> bool:
    try:
        asked(api, value)
    except ApiError as problem:
        return problem.status not in {404, 503}
    return True


def asked(api: Api, value: Value) -> Value:
    """What the API server would store."""
    return api.call("POST", f"{at(value['kind'], value['apiVersion'])}?dryRun=All", value)


def class_of(value: Value) -> str | None:
    return value["metadata"].get("labels", {}).get(CLASS_LABEL)


def expected(value: Value) -> str | None:
    """The class that `gpuyard classify` gives with enough points."""
    job = read_job(value)
    assert job is not None
    result = classify(job)
    points = max(result.scores.values(), default=0)
    decided = CLASS_LABEL in job.labels or points >= LEAST_POINTS
    return result.job_class.value if decided else None


def test_labelled_jobs_get_the_class_of_gpuyard_classify(classes: Api):
    seen: Counter[str | None] = Counter()
    wrong = {}
    for row in LABELLED:
        value = completed(row["job"])
        if row["case"] in UNDECIDED:
            continue
        found, wanted = class_of(asked(classes, value)), expected(value)
        seen[found] += 1
        if found != wanted:
            wrong[row["case"]] = (found, wanted)
    assert wrong == {}
    assert set(seen) >= {each.value for each in JobClass} - {JobClass.OTHER.value}
    assert sum(seen.values()) - seen[None] >= 45, seen


WORDS = (
    *("train", "fineTune", "fine-tune", "trainee", "serve", "chat", "offline", "etl", "hpc", "x"),
    *("batch", "Notebook", "jupyter_lab", "model7", "eval-run", "services"),
)
PIECES = (
    *("python", "python3.11", "-m", "train", "train.py", "src/serve.py", "--data", "train.csv"),
    *("torchrun", "--nproc=8", "vllm", "serve", "mpirun", "-np", "8", "gmx", "jupyter", "lab"),
    *("papermill", "notebook.ipynb", "env", "A=b", "time", "/opt/bin/vllm", "nbconvert", ""),
)
SCRIPTS = (
    "set -e; pip install vllm && python train.py",
    "cd /app\n# torchrun x.py\npython \\\n  serve.py --port 80",
    'exec "vllm" serve; echo done',
    "if test -f x; then torchrun a.py; fi",
    "python 'my train.py' | tee log",
    "(gmx mdrun) & wait",
    "for i in 1 2; do python eval.py; done > /dev/null 2>&1",
    "echo 'unclosed; torchrun x.py",
)
IMAGES = (
    *("vllm/vllm-openai:v0.9", "nvcr.io/nvidia/tritonserver:25.01", "localhost/jupyter", "app"),
    *("quay.io:443/a/gromacs@sha256:" + "0" * 64, "x/codeServer", "trainer/train:1"),
)


class Maker:
    """Generates the same workload for the same number."""

    def __init__(self, number: int) -> None:
        self._dice = random.Random(number)  # noqa: S311  dice, not keys

    def maybe(self, chance: float, value: Value) -> Value:
        return value if self._dice.random() < chance else {}

    def some(self, values: tuple[str, ...], most: int) -> list[str]:
        return [self._dice.choice(values) for _ in range(self._dice.randint(0, most))]

    def command(self) -> list[str]:
        flags = self._dice.choice((["-c"], ["-lc"], ["-euo", "pipefail", "-c"], ["-x"]))
        shell = ["env", "bash", *flags, self._dice.choice(SCRIPTS)]
        return self._dice.choice((shell, self.some(PIECES, 5), self.some(PIECES, 5)))

    def container(self) -> Value:
        one = self._dice.choice
        env = {"name": one(("MASTER_ADDR", "JUPYTER_PORT", "WORLD_SIZE")), "value": "x"}
        return {
            "command": self.command(),
            "image": one(IMAGES),
            **self.maybe(0.3, {"env": [env]}),
            **self.maybe(0.3, {"ports": [{"containerPort": 80}]}),
            **self.maybe(0.3, {"readinessProbe": {"tcpSocket": {"port": 80}}}),
            **self.maybe(0.3, {"resources": {"limits": {GPU: one((1, 4, "8"))}}}),
        }

    def workload(self) -> Value:
        one = self._dice.choice
        labels: Value = {}
        for key in ("app", "app.kubernetes.io/component", "app.kubernetes.io/name"):
            labels |= self.maybe(0.2, {key: one(WORDS)})
        name = "-".join(["a", *self.some(WORDS, 2)]).lower().replace("_", "-")
        kind = one(("Pod", "Pod", "Job", "Deployment", "CronJob", "StatefulSet"))
        value: Value = {"kind": kind, "metadata": {"name": name, "labels": labels}}
        pods: Value = {"containers": [self.container() for _ in range(one((1, 2, 3)))]}
        if kind == "Pod":
            restart = {"restartPolicy": one(("Never", "Always", "OnFailure"))}
            return completed({**value, "spec": {**pods, **restart}})
        spec: Value = {"template": {"metadata": {"labels": {"app": one(WORDS)}}, "spec": pods}}
        many = {"parallelism": 2, "completions": one((2, 5)), "completionMode": "Indexed"}
        if kind in {"Job", "CronJob"}:
            spec |= self.maybe(0.5, many)
        if kind == "CronJob":
            spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": spec}}
        return completed({**value, "spec": spec})


def test_random_jobs_get_the_class_of_gpuyard_classify_or_none(classes: Api):
    seen: Counter[str | None] = Counter()
    wrong = []
    for number in range(RANDOM):
        value = Maker(number).workload()
        found, wanted = class_of(asked(classes, value)), expected(value)
        unread = found is None and "unclosed" in str(value)
        seen["unread" if unread else found] += 1
        if found != wanted and not unread:
            wrong.append((number, found, wanted))
    assert wrong == []
    assert len(seen) >= 7, seen
    assert seen[None] < RANDOM / 2, seen


WORKER = {"template": {"spec": {"containers": [{"command": ["sleep", "inf"]}]}}}
LAUNCHER = {"template": {"spec": {"containers": [{"command": ["mpirun", "python", "train.py"]}]}}}
JOBS = {"replicatedJobs": [{"name": n, "template": {"spec": LAUNCHER}} for n in ("a", "b")]}
WHOLES: dict[str, Value] = {
    "Job": LAUNCHER,
    "CronJob": {"schedule": "0 3 * * *", "jobTemplate": {"spec": LAUNCHER}},
    "JobSet": JOBS,
    "MPIJob": {"mpiReplicaSpecs": {"Launcher": LAUNCHER, "Worker": WORKER}},
    "PyTorchJob": {"pytorchReplicaSpecs": {"Master": WORKER, "Worker": WORKER}},
    "LeaderWorkerSet": {
        "leaderWorkerTemplate": {
            "leaderTemplate": LAUNCHER["template"],
            "workerTemplate": WORKER["template"],
        }
    },
    "RayCluster": {
        "headGroupSpec": LAUNCHER,
        "workerGroupSpecs": [{"groupName": "g", **WORKER}, {"groupName": "h", **WORKER}],
    },
}


@pytest.mark.parametrize("kind", WHOLES)
def test_all_pods_of_a_workload_get_its_class(classes: Api, kind: str):
    value = completed({"kind": kind, "metadata": {"name": "resnet-train"}, "spec": WHOLES[kind]})
    stored = asked(classes, value)
    assert class_of(stored) == "training"
    shape = workload_kind(stored)
    assert shape is not None
    templates = list(templates_of(shape, stored))
    assert templates
    assert {t.metadata.get("labels", {}).get(CLASS_LABEL) for t in templates} == {"training"}


def test_the_label_of_the_author_is_kept_and_its_pods_get_it(classes: Api):
    for labels in ({CLASS_LABEL: "batch"}, {CLASS_LABEL: "hpc", "app": "train"}):
        value = completed(
            {"kind": "Job", "metadata": {"name": "x", "labels": labels}, "spec": LAUNCHER}
        )
        stored = asked(classes, value)
        template = stored["spec"]["template"]["metadata"]["labels"]
        assert stored["metadata"]["labels"] == labels | {
            k: v for k, v in stored["metadata"]["labels"].items() if k not in labels
        }
        assert template[CLASS_LABEL] == labels[CLASS_LABEL]
    wrong = pod("torchrun", "x.py", labels={CLASS_LABEL: "trainning"})
    assert class_of(asked(classes, wrong)) == "trainning"


def test_without_gpus_or_clear_evidence_no_label_is_set(classes: Api):
    for value in (
        pod("torchrun", "x.py", resources={"limits": {"cpu": 1}}),
        pod("python", "main.py"),
        pod("sh", "-c", 'echo "; torchrun x.py'),
        pod("sh", "-c", "torchrun x.py # " + "x" * signals.MAX_TEXT),
    ):
        assert class_of(asked(classes, value)) is None


@pytest.mark.parametrize(
    ("owner", "labels", "wanted"),
    [
        ("kubeflow.org/v1 PyTorchJob", {}, "training"),
        ("apps/v1 StatefulSet", {"notebook-name": "n"}, "notebook"),
        ("apps/v1 ReplicaSet", {"serving.kserve.io/inferenceservice": "s"}, "real-time-inference"),
        ("ray.io/v1 RayCluster", {"ray.io/originated-from-crd": "RayService"}, "inference"),
        ("batch/v1 Job", {}, None),
    ],
)
def test_a_pod_of_a_controller_gets_the_class_of_the_kind_it_belongs_to(
    classes: Api, owner: str, labels: Value, wanted: str | None
):
    value = pod("main", labels=labels)
    version, kind = owner.split()
    value["metadata"]["ownerReferences"] = [
        {"apiVersion": version, "kind": kind, "name": "o", "uid": "u", "controller": True}
    ]
    stored = asked(classes, value)
    assert class_of(stored) == wanted
    annotations = stored["metadata"].get("annotations", {})
    assert annotations.get(CLASS_OF_POD) == ("true" if wanted else None)
    assert CLASS_OF_POD not in asked(classes, pod("torchrun", "x.py"))["metadata"].get(
        "annotations", {}
    )


def test_pods_of_a_train_job_get_its_class_by_its_job_set(classes: Api):
    """A TrainJob has no template, and its runtime may have no label."""
    for labels in ({}, {"app": "x"}):
        template = {"metadata": {"labels": labels}} if labels else {}
        jobs = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]}
        jobs["replicatedJobs"][0]["template"]["spec"]["template"]["spec"] = {
            "containers": [{"command": ["main"]}]
        }
        value = completed({"kind": "JobSet", "metadata": {"name": "x"}, "spec": jobs})
        owner = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "o"}
        value["metadata"]["ownerReferences"] = [{**owner, "uid": "u", "controller": True}]
        stored = asked(classes, value)
        assert class_of(stored) == "training"
        pods = stored["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        assert pods["metadata"] == {
            "labels": {**labels, CLASS_LABEL: "training"},
            "annotations": {CLASS_OF_POD: "true"},
        }
        value["metadata"]["ownerReferences"][0]["kind"] = "Other"
        assert class_of(asked(classes, value)) is None


def warned(api: Api, value: Value) -> str:
    """The warnings of the platform's requirements."""
    url = f"{api.server}{at(value['kind'], value['apiVersion'])}?dryRun=All"
    answer = api._pool.request("POST", url, json=value, headers=api._headers)
    assert answer.status == 201, answer.data
    return answer.headers.get("Warning", "")


def test_requirements_of_training_hold_for_the_class_that_is_set(classes: Api):
    job = completed({"kind": "Job", "metadata": {"name": "x"}, "spec": LAUNCHER})
    text = "GPU-ADM-06: container c0 of a training pod has no limit of cpu"
    patience(lambda: text in warned(classes, job))
    assert text in warned(classes, pod("torchrun", "x.py"))
    assert "GPU-ADM-06" not in warned(classes, pod("python", "main.py"))
    owned = pod("main")
    owned["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "name": "o",
            "uid": "u",
            "controller": True,
        }
    ]
    assert class_of(asked(classes, owned)) == "training"
    assert "GPU-ADM-06" not in warned(classes, owned)


def test_the_largest_pod_that_is_read_costs_less_than_the_limit(classes: Api):
    script = "\n".join(["python prepare_data.py --some flag"] * 100) + "\ntorchrun x.py"
    assert signals.MAX_TEXT - 500 < len(script) < signals.MAX_TEXT
    containers = [{"name": f"c-{i}", "command": ["bash", "-c", script]} for i in range(10)]
    value = completed(
        {"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": containers}}
    )
    assert class_of(asked(classes, value)) == "training"
