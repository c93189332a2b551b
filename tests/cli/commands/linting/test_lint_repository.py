"""A repository as people keep one: bases, overlays, charts, samples; what is said of it, and where."""

import json

import pytest

REPOSITORY = {
    "clusters/prod/kustomization.yaml": """\
resources:
  - ../../base
  - queues.yaml
namespace: vision
images:
  - name: registry.example/train
    newTag: 1.4.2
patches:
  - path: more-gpus.yaml
  - target: {kind: Job, name: tune}
    patch: |-
      - op: remove
        path: /spec/template/spec/tolerations
""",
    "clusters/prod/more-gpus.yaml": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      containers:
        - name: main
          resources:
            limits:
              nvidia.com/gpu: 4
""",
    "clusters/prod/queues.yaml": """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: train
spec:
  clusterQueue: vision
""",
    "clusters/dev/kustomization.yaml": """\
resources:
  - ../../base
  - queues.yaml
namespace: vision-dev
""",
    "clusters/dev/queues.yaml": """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: scratch
spec:
  clusterQueue: dev
""",
    "base/kustomization.yaml": """\
resources:
  - train.yaml
  - tune.yaml
""",
    "base/train.yaml": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels:
    kueue.x-k8s.io/queue-name: train
spec:
  template:
    spec:
      containers:
        - name: main
          image: registry.example/train:latest
          resources:
            limits:
              nvidia.com/gpu: 1
""",
    "base/tune.yaml": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: tune
  labels:
    kueue.x-k8s.io/queue-name: train
spec:
  template:
    spec:
      tolerations:
        - operator: Exists
      containers:
        - name: main
          image: registry.example/tune:3.1.0
          resources:
            limits:
              nvidia.com/gpu: 1
""",
    "charts/team/Chart.yaml": """\
apiVersion: v2
name: team
version: 0.3.0
""",
    "charts/team/templates/quota.yaml": """\
apiVersion: v1
kind: ResourceQuota
metadata:
  name: {{ .Release.Name }}
""",
    "charts/team/values.yaml": """\
team: vision
gpus: 8
""",
    "operator/values-a100.yaml": """\
driver:
  enabled: true
devicePlugin:
  enabled: true
mig:
  strategy: mixed
""",
    "operator/values-l4.yaml": """\
driver:
  enabled: true
devicePlugin:
  enabled: true
mig:
  strategy: single
""",
    "operator/quota.yaml": """\
apiVersion: v1
kind: ResourceQuota
metadata:
  name: slices
  namespace: vision
spec:
  hard:
    requests.nvidia.com/mig-1g.10gb: 4
""",
    "examples/quota.yaml": """\
apiVersion: v1
kind: ResourceQuota
metadata:
  name: sample
spec:
  hard:
    limits.nvidia.com/gpu: 8
""",
    "tsconfig.json": "{}\n",
}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in REPOSITORY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def said(gpuyard, *options):
    document = json.loads(gpuyard("lint", ".", "--format", "json", *options).out)
    return {(hit["rule"], hit["file"], hit["state"]) for hit in document["hits"]}


def test_what_one_overlay_deploys_as_it_is_written_is_wrong_there(gpuyard, repository):
    """Of dev: no tag, no patch. In prod both are mended; a queue is looked for in each of them."""
    assert said(gpuyard) == {
        ("GPU-POD-03", "base/train.yaml", "open"),
        ("GPU-POD-03", "base/tune.yaml", "open"),
        ("GPU-TEN-02", "examples/quota.yaml", "sample"),
    }


def test_without_the_other_overlay_nothing_is_wrong(gpuyard, repository):
    assert said(gpuyard, "--exclude", "clusters/dev", "--no-samples") == set()
    (repository / "clusters" / "prod" / "queues.yaml").write_text("# none\n")
    assert said(gpuyard, "--exclude", "clusters/dev", "--no-samples") == set()  # nobody knows


def test_a_queue_that_is_in_no_overlay_is_missed_in_each(gpuyard, repository):
    for name in ("train", "tune"):
        path = repository / "base" / f"{name}.yaml"
        path.write_text(path.read_text().replace("queue-name: train", "queue-name: lost"))
    found = said(gpuyard, "--only", "GPU-QUE-01")
    assert found == {
        ("GPU-QUE-01", "base/train.yaml", "open"),
        ("GPU-QUE-01", "base/tune.yaml", "open"),
    }


def test_alternatives_are_not_held_against_each_other(gpuyard, repository):
    assert said(gpuyard, "--only", "GPU-SHR-03") == set()
    (repository / "operator" / "values-a100.yaml").unlink()
    assert said(gpuyard, "--only", "GPU-SHR-03") == {
        ("GPU-SHR-03", "operator/values-l4.yaml", "open")
    }


def test_a_chart_says_that_its_templates_have_to_be_rendered(gpuyard, repository):
    ended = gpuyard("lint", "charts")
    assert ended.code == 0
    assert "charts/team/templates/quota.yaml:4: a template, not YAML yet" in " ".join(
        ended.err.split()
    )
    assert ended.out.startswith("nothing 0 resources in 3 files")


@pytest.mark.parametrize("name", ["text", "sarif", "junit", "github"])
def test_every_format_has_the_same_findings(gpuyard, repository, name):
    ended = gpuyard("lint", ".", "--format", name)
    assert ended.code == 0  # warnings, and a sample
    assert ended.out.count("base/train.yaml") >= 1
    assert ended.out.count("base/tune.yaml") >= 1
    assert gpuyard("lint", ".", "--format", name, "--fail-on", "warn").code == 3
    sample = "examples/quota.yaml" in ended.out
    assert sample is (name != "github")  # annotations are of what counts
    assert "nothing that is known here" not in ended.err
