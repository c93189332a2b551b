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
        ("GPU-TEN-02", "examples/quota.yaml", "example"),
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
    said = "charts/team/templates/quota.yaml:1: a chart template: use --render to render it"
    assert said in " ".join(ended.err.split())
    assert ended.out.startswith("empty   0 resources in 3 files")


@pytest.mark.parametrize("name", ["text", "sarif", "junit", "github"])
def test_every_format_has_the_same_findings(gpuyard, repository, name):
    ended = gpuyard("lint", ".", "--format", name)
    assert ended.code == 0  # warnings, and a sample
    assert ended.out.count("base/train.yaml") >= 1
    assert ended.out.count("base/tune.yaml") >= 1
    assert gpuyard("lint", ".", "--format", name, "--fail-on", "warning").code == 3
    sample = "examples/quota.yaml" in ended.out
    assert sample is (name != "github")  # annotations are of what counts
    assert "no known format" not in ended.err


TERRAFORM = {
    "infra/main.tf": """\
resource "aws_eks_node_group" "gpus" {
  ami_type       = "AL2_x86_64_GPU"
  capacity_type  = var.mode
  instance_types = ["p5.48xlarge"]
}
resource "aws_eks_node_group" "known" {
  ami_type       = local.image
  capacity_type  = "SPOT"
  instance_types = ["p5.48xlarge"] # gpuyard: ignore GPU-AWS-09 because nodes live for a day
}
""",
    "infra/locals.tf": 'locals {\n  image = "AL2_x86_64_GPU"\n}\n',
    "infra/broken.tf": 'resource "aws_eks_cluster" "x" {\n',
    "other/main.tf": 'module "eks" {\n  source = "x"\n}\n',
}


@pytest.fixture
def infra(tmp_path, monkeypatch):
    for name, text in TERRAFORM.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("infra")
def test_terraform_is_read_folder_by_folder_and_what_a_plan_would_say_is_one_line(gpuyard):
    done = gpuyard("lint", ".")
    out = " ".join(done.out.split())
    assert done.code == 3
    assert "at infra/main.tf:7:3" in out
    assert out.count("unknown") == 1
    assert "times a rule needs a value that only a plan has, first at infra/" in out
    assert "`terraform show -json plan.out`" in out
    err = " ".join(done.err.split())
    assert "infra/broken.tf:1: not HCL: line 1: `}` was expected" in err
    assert "2 files without resources for these rules: infra/locals.tf, other/main.tf" in err
    made = json.loads(gpuyard("lint", ".", "--format", "json").out)
    assert made["resources"] == made["known"] == 2
    assert {"GPU-AWS-08"} <= {hit["rule"] for hit in made["hits"] if hit["state"] == "open"}
    assert made["counts"]["not-evaluated"] > 1


OLD = "toolkit: {version: v1.17.4}\ndevicePlugin: {enabled: true}\ndcgmExporter: {enabled: true}\n"


VENDORS = "apiVersion: v2\nname: gpu-operator\nversion: v24.9.0\nhome: https://docs.nvidia.com/x\n"


@pytest.mark.parametrize(
    ("folder", "chart", "state"),
    [
        ("charts/gpu-operator", VENDORS, "open"),
        (".archive/gpu", "", "example"),
        ("apps/disabled/gpu", "", "example"),
        ("apps-disabled/gpu", "", "example"),
        ("apps/disabled-by-default/gpu", "", "open"),
        ("clusters/gpu", "", "open"),
    ],
)
def test_what_is_put_away_is_a_sample(gpuyard, tmp_path, monkeypatch, folder, chart, state):
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "values.yaml").write_text(OLD)
    (tmp_path / folder / "values-prod.yaml").write_text("devicePlugin: {enabled: true}\nmig: {}\n")
    if chart:
        (tmp_path / folder / "Chart.yaml").write_text(chart)
    monkeypatch.chdir(tmp_path)
    options = ("--no-render", "--only", "GPU-STK-01", "--format", "json")
    made = json.loads(gpuyard("lint", ".", *options).out)
    assert {hit["state"] for hit in made["hits"]} == {state}
    monkeypatch.chdir(tmp_path / folder)
    named = json.loads(gpuyard("lint", ".", *options).out)
    assert {hit["state"] for hit in named["hits"]} == {"open"}, "who names it means it"


@pytest.mark.parametrize(
    ("name", "state"),
    [("policy-backup.yaml", "example"), ("policy.bak.yaml", "example"), ("backups.yaml", "open")],
)
def test_a_file_that_is_kept_to_go_back_to_is_a_sample(gpuyard, tmp_path, monkeypatch, name, state):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(OLD)
    made = json.loads(gpuyard("lint", ".", "--only", "GPU-STK-01", "--format", "json").out)
    assert {hit["state"] for hit in made["hits"]} == {state}


GPU_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: "a/b:v1", securityContext: {privileged: true}, resources: {limits: {nvidia.com/gpu: 1}}}
"""


def test_rules_over_several_files_that_met_an_unknown_value_are_one_line(
    gpuyard, tmp_path, monkeypatch
):
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
    }
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "a"}]}]
    program = {
        "name": "p",
        "runtime": "yaml",
        "resources": {
            "q": {
                "type": "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
                "properties": {"spec": "${elsewhere}"},
            }
        },
    }
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(json.dumps(program), encoding="utf-8")
    (tmp_path / "queue.yaml").write_text(
        json.dumps({**queue, "spec": {"resourceGroups": groups}}), encoding="utf-8"
    )
    out = " ".join(gpuyard("lint", ".").out.split())
    made = json.loads(gpuyard("lint", ".", "--format", "json").out)
    unknown = [hit for hit in made["hits"] if hit["state"] == "not-evaluated"]
    alone = [hit for hit in unknown if not hit["resource"]]
    assert alone, "a rule about several has met it"
    told = out.count("it needs a value that is not known yet")
    assert told == len(unknown) - len(alone)
    assert (
        "a value is unknown, so these rules over several resources report only what holds for every value"
        in out
    )
    for hit in alone[:3]:
        assert hit["rule"] in out


UNBOUNDED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  limits: {nvidia.com/gpu: "${MOST}"}
  disruption: {consolidationPolicy: "${POLICY}"}
  template:
    spec:
      requirements:
        - {key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]}
"""


def test_what_somebody_fills_in_is_one_line_and_hides_nothing_beside_it(
    tmp_path, gpuyard, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(UNBOUNDED % "a", encoding="utf-8")
    done = gpuyard("lint", "a.yaml", "--only", "GPU-CAP-01", "--only", "GPU-CAP-02")
    out = " ".join(done.out.split())
    assert "unknown a rule needs the value of an unresolved placeholder: a.yaml:5; --format" in out
    assert "no taint keeps other pods off these GPU nodes" in out
    assert "nothing bounds" not in out
    (tmp_path / "b.yaml").write_text(UNBOUNDED % "b", encoding="utf-8")
    out = " ".join(gpuyard("lint", ".", "--only", "GPU-CAP-02", "--only", "GPU-CFG-03").out.split())
    assert out.count("unknown") == 1
    assert (
        "the value of an unresolved placeholder: 4 times, first at a.yaml:5; --format json lists all"
        in out
    )
    made = json.loads(gpuyard("lint", ".", "--only", "GPU-CAP-02", "--format", "json").out)
    assert [(hit["state"], hit["file"], hit["where"]) for hit in made["hits"]] == [
        ("not-evaluated", "a.yaml", "spec.limits"),
        ("not-evaluated", "b.yaml", "spec.limits"),
    ]


@pytest.mark.usefixtures("infra")
def test_a_file_of_terraform_that_is_named_alone_knows_its_own_locals_alone(gpuyard):
    made = json.loads(gpuyard("lint", "infra/main.tf", "--format", "json").out)
    assert made["files"] == ["infra/main.tf"]
    found = [hit for hit in made["hits"] if hit["rule"] == "GPU-AWS-08" and hit["state"] == "open"]
    assert [hit["line"] for hit in found] == [2], "of the second group nobody knows the image"
    done = gpuyard("lint", "other/main.tf")
    assert done.code == 2
    assert "for variables and modules, lint a plan" in " ".join(done.err.split())
