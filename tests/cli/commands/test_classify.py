"""`gpuyard classify`: the class of every workload in a file, and why."""

import io
import json
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

JOB = """\
kind: Job
metadata: {name: llm-fine-tune}
spec:
  parallelism: 4
  template:
    spec:
      containers:
      - command: [torchrun, main.py]
        resources: {limits: {nvidia.com/gpu: "8"}}
"""
SERVICE = """\
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
      - image: vllm/vllm-openai
        ports: [{containerPort: 8000}]
        resources: {limits: {nvidia.com/gpu: 8000m}}
"""


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def typed(monkeypatch):
    """What somebody pipes in."""

    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def test_a_job_has_a_class_advice_and_evidence(gpuyard, write):
    ended = gpuyard("classify", write(JOB))
    assert (ended.code, ended.err) == (0, "")
    text = flat(ended.out)
    assert "Job llm-fine-tune training" in text
    assert "10 points for training, 1 for the next" in text
    assert "requests 8 nvidia.com/gpu in each of 4 pods; 32 nvidia.com/gpu in total" in text
    assert "queue default the default queue of every team namespace" in text
    assert "sharing whole it requests 8 GPUs in one pod" in text
    assert "training +6 program torchrun" in text


def test_many_documents_and_lists_are_read_and_the_rest_is_counted(gpuyard, write):
    text = f"{JOB}---\n---\nkind: List\nitems: [{{kind: ConfigMap}}, {json.dumps(yaml.safe_load(SERVICE))}]\n"
    path = write(text)
    ended = gpuyard("classify", path)
    assert ended.code == 0
    assert [line.split()[1] for line in ended.out.splitlines() if line[:1] in "JD" and line] == [
        "llm-fine-tune",
        "chat",
    ]
    assert flat(ended.err) == f"1 other object in {path} skipped: not a workload"
    found = json.loads(gpuyard("classify", path, "--format", "json").out)
    assert [j["class"] for j in found["jobs"]] == ["training", "real-time-inference"]
    assert found["skipped"] == 1


def test_a_problem_is_shown_beside_the_answer(gpuyard, write):
    text = flat(gpuyard("classify", write(SERVICE)).out)
    assert (
        "! spec.template.spec: nvidia.com/gpu: '8000m' is not a number of GPUs and is not "
        "counted; write 8" in text
    )
    assert "requests no GPU in 1 pod" in text


def test_a_pod_without_name_or_evidence_is_other(gpuyard, write):
    text = flat(gpuyard("classify", write("kind: Pod\nspec: {containers: [{image: a}]}\n")).out)
    assert text.startswith("Pod (no name) other no evidence for a class")
    assert "points" not in text


def test_standard_input_is_read(gpuyard, typed):
    typed(JOB.encode())
    found = json.loads(gpuyard("classify", "-", "--format", "json").out)
    assert found["file"] == "standard input"
    (job,) = found["jobs"]
    assert (job["class"], job["gpu_request"], job["pods"]) == ("training", {"nvidia.com/gpu": 8}, 4)
    assert job["scores"] == {"training": 10, "batch": 1}
    assert job["evidence"][0] == {"weight": 6, "message": "program torchrun", "class": "training"}
    assert job["queue"] == {"value": "default", "why": "the default queue of every team namespace"}


def test_a_key_that_stands_twice_is_named(gpuyard, write):
    path = write("kind: Pod\nkind: Job\n")
    assert (
        flat(gpuyard("classify", path).err)
        == "! line 2: kind occurs twice; the last value counts, as in kubectl"
    )
    found = json.loads(gpuyard("classify", path, "--format", "json").out)
    assert found["duplicate_keys"] == [
        "line 2: kind occurs twice; the last value counts, as in kubectl"
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("kind: ConfigMap\n---\nkind: Service\n", "has no workload, only ConfigMap, Service. Supported"),
        ("a: 1\n", "has no Kubernetes object: no document has a kind. Give the manifest of a job."),
        ("", "has no Kubernetes object"),
        ("[", "not YAML: line 1, at its end"),
        (b"\xff", "not text (byte 0 is not UTF-8)"),
        ("a: &a [*a]", "*a has no complete anchor"),
        ("[" * 99, "nested more than 60 deep"),
        (b"a" * (2**20 + 1), "at most 1,048,576 are read"),
    ],
)  # fmt: skip
def test_a_file_without_a_job_is_wrong_usage(gpuyard, write, content, says):
    ended = gpuyard("classify", write(content))
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_a_path_that_is_no_file_is_wrong_usage(gpuyard, tmp_path, typed, monkeypatch):
    assert "no such file" in gpuyard("classify", tmp_path / "x.yaml").err
    assert "a folder, not a file. Give the path of a file with Kubernetes workloads" in (
        gpuyard("classify", tmp_path).err
    )
    assert "the file name is empty or invalid" in gpuyard("classify", "").err
    typed(b"a" * (2**20 + 1))
    assert "1,048,577 bytes; at most 1,048,576" in gpuyard("classify", "-").err
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in gpuyard("classify", "-").err


def test_text_of_a_file_cannot_drive_the_terminal(gpuyard, write):
    job = {
        "kind": "Pod",
        "metadata": {"name": "\x1b[31m[red]", "labels": {"gpuyard.dev/class": "\x07"}},
    }
    for form in ("text", "json"):
        ended = gpuyard("classify", write(yaml.safe_dump(job)), "--format", form)
        assert ended.code == 0
        assert "\x1b" not in ended.out
        assert "\x07" not in ended.out
    assert "[red]" in gpuyard("classify", write(yaml.safe_dump(job))).out


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_answered(gpuyard, tmp_path_factory, data):
    path = Path(tmp_path_factory.getbasetemp(), "any.yaml")
    path.write_bytes(b"kind: Pod\nmetadata: " + data)
    ended = gpuyard("classify", path)
    assert ended.code in {0, 2}
    assert "Traceback" not in ended.err
