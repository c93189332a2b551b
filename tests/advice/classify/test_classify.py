"""What kind of work a job is: sixty and more labelled jobs, and properties of any mapping."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.job_classes.signals import JobClass
from gpuyard_advisor.job_classes.classify import classify
from gpuyard_advisor.workloads import MAX_LIST_DEPTH, objects_of, read_job
from gpuyard_core.manifests.templates import WORKLOADS
from gpuyard_core.yaml_tree import parse_yaml
from kit.every import every

TABLE = Path(__file__).parent / "jobs" / "labelled.yaml"
LABELLED = parse_yaml(TABLE.read_bytes(), TABLE.name).value


def classified(job):
    read = read_job(job)
    assert read is not None
    return classify(read)


def pod(*containers, **spec):
    return {
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {**spec, "containers": list(containers)},
    }


@every("row", LABELLED, ids=lambda row: row["case"])
def test_a_labelled_job_is_what_it_is(row):
    found = classified(row["job"])
    assert found.job_class.value == row["class"], found.evidence
    for name in ("queue", "sharing", "priority"):
        if name in row:
            assert getattr(found, name).value == row[name]
    if "asks" in row:
        assert found.gpu_request == row["asks"]


def test_every_labelled_job_is_right_and_every_class_is_there():
    right = sum(classified(row["job"]).job_class.value == row["class"] for row in LABELLED)
    print(f"{right} of {len(LABELLED)} labelled jobs right")  # noqa: T201  the figure is the result
    assert len(LABELLED) >= 60
    assert right == len(LABELLED)
    assert {row["class"] for row in LABELLED} == {c.value for c in JobClass}
    assert len({row["case"] for row in LABELLED}) == len(LABELLED)


def test_every_decision_is_explained():
    for row in LABELLED:
        found = classified(row["job"])
        assert found.reason
        assert all(a.value and a.why for a in (found.queue, found.sharing, found.priority))
        assert sum(found.scores.values()) == sum(e.weight for e in found.evidence)


def test_the_same_said_by_many_pods_weighs_once():
    role = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"command": ["torchrun", "a.py"]}]}},
    }
    job = {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": role, "Worker": role}}}
    one = {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": role}}}
    assert classified(job).scores == classified(one).scores


def test_gpus_are_counted_in_the_largest_pod_and_in_all():
    def role(count, gpus):
        resources = {"limits": {"nvidia.com/gpu": gpus}}
        return {"replicas": count, "template": {"spec": {"containers": [{"resources": resources}]}}}

    specs = {"Master": role(1, 4), "Worker": role(3, "8"), "Wrong": "text"}
    found = classified({"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": specs}})
    assert found.gpu_request == {"nvidia.com/gpu": 8}
    assert found.gpus_in_all == {"nvidia.com/gpu": 28}
    assert found.pods == 4


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        ({"kind": "Job", "spec": {"parallelism": 7}}, 7),
        ({"kind": "Job", "spec": {"parallelism": "7"}}, 7),
        ({"kind": "Job", "spec": {"parallelism": True}}, 1),
        ({"kind": "Deployment", "spec": {"replicas": 0}}, 0),
        ({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"parallelism": 3}}}}, 3),
        ({"kind": "TrainJob", "spec": {"trainer": {"numNodes": 5}}}, 5),
        (
            {
                "kind": "LeaderWorkerSet",
                "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 4}},
            },
            8,
        ),
        (
            {
                "kind": "LeaderWorkerSet",
                "spec": {"leaderWorkerTemplate": {"size": 4, "leaderTemplate": {"spec": {}}}},
            },
            4,
        ),
        (
            {
                "kind": "JobSet",
                "spec": {
                    "replicatedJobs": [{"replicas": 2, "template": {"spec": {"parallelism": 3}}}]
                },
            },
            6,
        ),
    ],
)
def test_pods_are_counted_for_every_kind(job, pods):
    assert classified(job).pods == pods


def test_a_number_of_pods_in_quotes_is_a_problem():
    found = classified({"kind": "Job", "spec": {"parallelism": "7"}})
    assert "spec.parallelism: '7' is not a whole number" in found.problems


def test_a_label_that_is_no_class_is_a_problem_with_the_nearest():
    job = {"kind": "Pod", "metadata": {"labels": {"gpuyard.dev/class": "trainning"}}}
    assert any("did you mean training?" in p for p in classified(job).problems)
    job["metadata"]["labels"]["gpuyard.dev/class"] = "?"
    assert not any("did you mean" in p for p in classified(job).problems)


def test_a_job_without_containers_says_so_unless_its_runtime_has_them():
    assert "it has no container" in classified({"kind": "Job"}).problems
    assert classified({"kind": "TrainJob"}).problems == ()


def test_what_is_no_workload_is_not_read():
    for value in ({"kind": "ConfigMap"}, {"kind": ["Pod"]}, {}, [], None, "Pod", 3):
        assert read_job(value) is None


def test_lists_are_taken_apart_in_order():
    inner = {"kind": "PodList", "items": [{"kind": "Pod", "n": 2}, {"kind": "Pod", "n": 3}]}
    value = {"kind": "List", "items": [{"kind": "Pod", "n": 1}, inner, 4]}
    assert [o["n"] if isinstance(o, dict) else o for o in objects_of(value)] == [1, 2, 3, 4]


def test_lists_in_lists_end_somewhere():
    value = {"kind": "Pod"}
    for _ in range(MAX_LIST_DEPTH + 1):
        value = {"kind": "List", "items": [value]}
    (left,) = objects_of(value)
    assert left["kind"] == "List"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("vllm/vllm-openai:v1", JobClass.REAL_TIME),
        ("registry.corp:5000/team/vllm@sha256:abc", JobClass.REAL_TIME),
        ("localhost/vllm", JobClass.REAL_TIME),
        ("vllm.corp.example/team/app:1", JobClass.OTHER),
        ("corp/app:vllm", JobClass.OTHER),
    ],
)
def test_an_image_is_its_path_not_its_registry_or_tag(image, expected):
    job = pod({"image": image, "ports": [{}], "readinessProbe": {"exec": {}}})
    assert classified(job).job_class is expected


@every(
    ("command", "expected"),
    [
        (["bash", "-c", "cd /x && exec numactl --all python -u train.py"], JobClass.TRAINING),
        (["bash", "-euxc", "A=1 uv run python train.py | tee log"], JobClass.TRAINING),
        (["/bin/bash", "-c", "for i in 1 2; do torchrun x.py; done"], JobClass.TRAINING),
        (["sh", "-c", "echo \"it's"], JobClass.OTHER),
        (["sh", "-c", "echo 'open train.py"], JobClass.OTHER),
        (["sh", "-c", "mpirun -np 2 \\\n  gmx"], JobClass.HPC),
        (["sh", "/scripts/train.sh"], JobClass.TRAINING),
        (["sh", "-x", "/scripts/train.sh"], JobClass.TRAINING),
        (["sh", "train.sh", "--epochs", "3"], JobClass.TRAINING),
        (["sh", "-c", "  # python serve.py --vllm\npython train.py"], JobClass.TRAINING),
        (["python", "-m", "sglang.launch_server"], JobClass.INFERENCE),
        (["python", "main.py", "--config", "serve.py"], JobClass.OTHER),
        (["python", "main.py", "train"], JobClass.TRAINING),
        (["python"], JobClass.OTHER),
        (["sh"], JobClass.OTHER),
        (["", "-x"], JobClass.OTHER),
        (["pip", "install", "vllm"], JobClass.OTHER),
        (["echo", "vllm serve"], JobClass.OTHER),
        (["composer", "a.py", "vllm"], JobClass.TRAINING),
        (["jupyter", "lab"], JobClass.NOTEBOOK),
        (["jupyter", "nbconvert", "--execute", "a.ipynb"], JobClass.BATCH),
        (["FineTune"], JobClass.TRAINING),
    ],
)
def test_a_command_is_read_as_a_shell_would(command, expected):
    assert classified(pod({"command": command})).job_class is expected


def test_words_of_waiting_make_a_service_real_time_and_words_of_work_do_not():
    def named(name):
        gpu = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
        template = {"spec": {"containers": [{"command": ["python", "serve.py"], **gpu}]}}
        return {"kind": "Deployment", "metadata": {"name": name}, "spec": {"template": template}}

    assert classified(named("chat-model")).job_class is JobClass.REAL_TIME
    assert classified(named("model")).job_class is JobClass.INFERENCE
    assert classified(named("chat-worker")).job_class is JobClass.INFERENCE


def test_only_environment_of_known_names_is_evidence():
    env = [{"name": n} for n in ("PATH", "WORLD_SIZE", "JUPYTER_TOKEN", "JUPYTER_PORT")]
    assert classified(pod({"env": env})).scores == {JobClass.TRAINING: 2, JobClass.NOTEBOOK: 2}


def test_a_generated_name_counts_as_a_name():
    assert classified({"kind": "Pod", "metadata": {"generateName": "train-"}}).name == "train-"


TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from([
        "train", "serve", "sh", "-c", "-m", "nvidia.com/gpu", "8", "8000m", "Always", "a/b:c@d", "'",
        "mpirun",
    ]),
)  # fmt: skip
KEYS = st.one_of(
    TEXTS,
    st.sampled_from([
        "kind", "metadata", "name", "labels", "spec", "template", "containers", "initContainers", "resources",
        "limits", "requests", "command", "args", "env", "ports", "replicas", "parallelism", "completions",
        "pytorchReplicaSpecs", "jobTemplate", "replicatedJobs", "trainer", "predictor", "restartPolicy",
        "leaderWorkerTemplate", "leaderTemplate", "workerTemplate", "resourceClaims", "image", "size",
    ]),
)  # fmt: skip
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=25,
)


@given(st.sampled_from(WORKLOADS), st.dictionaries(KEYS, ANYTHING, max_size=5))
def test_any_mapping_is_classified_and_twice_the_same(kind, value):
    job = {**value, "kind": kind}
    assert classified(job) == classified(job)


@given(ANYTHING)
def test_any_value_is_taken_apart(value):
    for item in objects_of(value):
        read_job(item)


@given(
    st.sampled_from(LABELLED),
    st.text(max_size=10).map(lambda key: f"example.com/{key}"),
    st.sampled_from(["training", "serving", "notebook", "batch", "x"]),
)
def test_an_unrelated_label_changes_nothing(row, key, value):
    job = row["job"]
    metadata = job.get("metadata", {})
    labels = {**metadata.get("labels", {}), key: value}
    assert classified({**job, "metadata": {**metadata, "labels": labels}}) == classified(job)


@given(st.sampled_from(LABELLED))
def test_the_order_of_keys_changes_nothing(row):
    def turned(value):
        if isinstance(value, dict):
            return {k: turned(value[k]) for k in reversed(value)}
        return [turned(v) for v in value] if isinstance(value, list) else value

    assert classified(turned(row["job"])) == classified(row["job"])


SERVER = {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "because"),
    [
        ("ray.io/v1", "RayService", {}, ["kind RayService"]),
        ("ray.io/v1", "RayJob", {}, ["kind RayJob"]),
        ("batch.volcano.sh/v1alpha1", "Job", {}, ["kind Job.batch.volcano.sh"]),
        (
            "serving.knative.dev/v1",
            "Service",
            {"template": {"spec": SERVER}},
            ["kind Service.serving.knative.dev: long-running with a GPU"],
        ),
        (
            "v1",
            "ReplicationController",
            {"template": {"spec": SERVER}},
            ["kind ReplicationController: long-running with a GPU"],
        ),
    ],
)
def test_a_kind_of_another_project_says_what_its_pods_are_for(api_version, kind, spec, because):
    found = classified({"apiVersion": api_version, "kind": kind, "spec": spec})
    assert [each.message for each in found.evidence] == because
