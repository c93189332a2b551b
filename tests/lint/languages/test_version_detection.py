"""Versions of programs that files say in passing: addresses of releases, variables, comments, texts."""

from pathlib import Path
from tempfile import TemporaryDirectory

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.languages.commands import AppliedRelease
from gpuyard_lint.languages.version_detection import detect_versions
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.every import every

KUEUE = "https://github.com/kubernetes-sigs/kueue/releases/download"
RAW = "https://raw.githubusercontent.com/aws/karpenter-provider-aws"

ADDONS = """module "addons" {
  source           = "aws-ia/eks-blueprints-addons/aws"
  version          = "~> 1.16"
  enable_karpenter = true
  karpenter = {
    repository_username = data.aws_ecrpublic_authorization_token.token.user_name
    OPTIONS
  }
}
"""
GOOGLES = (
    "https://raw.githubusercontent.com/GoogleCloudPlatform/container-engine-accelerators/master"
    "/nvidia-driver-installer"
)
INSTALLER = ("nvidia-driver-installer", "any")


CONFIGS = [("device-plugin-configs", "any")]
PATCHED = """\
oc patch clusterpolicy/gpu --type merge -p '{"spec": {"devicePlugin":
  {"config": {"name": "c",
   "default": "any"}}}}'
"""


def said(text, file="x.yaml"):
    return [(each.program, each.version) for each in detect_versions(text.encode(), file)]


@every(
    "text, expected",
    [
        (f"# kubectl apply -f {KUEUE}/v0.10.1/manifests.yaml", [("kueue", "v0.10.1")]),
        (f"#   {KUEUE}/v0.10.1/manifests.yaml\n# {KUEUE}/v0.10.1/x", [("kueue", "v0.10.1")]),
        (f"{KUEUE}/$VERSION/manifests.yaml", []),
        ("see https://github.com/kubernetes-sigs/kueue/blob/v0.10.1/README.md", []),
        ("kueue 0.10.1 is a fine release", []),
        (
            "github.com/ray-project/kuberay/ray-operator/config/default?ref=v1.0.0-rc.0&timeout=90s",
            [("kuberay", "v1.0.0-rc.0")],
        ),
        ("github.com/ray-project/kuberay.git?ref=v0.6.0", [("kuberay", "v0.6.0")]),
        (
            "github.com/kubeflow/training-operator/manifests/overlays/standalone?ref=v1.7.0",
            [("training-operator", "v1.7.0")],
        ),
        (f"curl {RAW}/v0.34.0/website/cloudformation.yaml", [("karpenter", "v0.34.0")]),
        (f"curl {RAW}/main/website/cloudformation.yaml", []),
        ("export KARPENTER_VERSION=v0.33.0", [("karpenter", "v0.33.0")]),
        ('export CLUSTER_KARPENTER_VERSION="v0.10.0"', [("karpenter", "v0.10.0")]),
        ("KUEUE_VERSION ?= v0.8.1\n", [("kueue", "v0.8.1")]),
        ("KUEUE_VERSION=${KUEUE_VERSION:-v0.8.1}\n", [("kueue", "v0.8.1")]),
        ('    kueue_version: "v0.10.1"\n', [("kueue", "v0.10.1")]),
        ('karpenter_chart_version = "0.37.0"\n', [("karpenter", "0.37.0")]),
        ("TRAINING_OPERATOR_VERSION: v1.8.1", [("training-operator", "v1.8.1")]),
        ("KUBERAY_VERSION=$(curl x)", []),
        ("KARPENTER_VERSION=latest", []),
        (
            'variable "karpenter_version" {\n  type = string\n  default = "0.36.2"\n}',
            [("karpenter", "0.36.2")],
        ),
        (ADDONS.replace("OPTIONS", ""), [("karpenter", "0.37.0")]),
        (ADDONS.replace("OPTIONS", 'chart_version = "1.0.6"'), []),
        (ADDONS.replace("OPTIONS", 'helm_config = { version = "v0.27.5" }'), []),
        (ADDONS.replace("OPTIONS", "").replace("= true", "= false"), []),
        (ADDONS.replace("OPTIONS", "").replace("enable_karpenter", "enable_keda"), []),
        (ADDONS.replace("OPTIONS", "").replace("aws-ia/eks-blueprints", "me/eks"), []),
        ('variable "karpenter_version" {\n}\nvariable "x" {\n default = "0.36.2"\n}', []),
        (
            "# helm install kuberay-operator kuberay/kuberay-operator \\\n#   --version 1.0.0\n",
            [("kuberay", "1.0.0")],
        ),
        ("red_hat_openshift_ai_self-managed/2.9/html", [("openshift-ai", "2.9")]),
        ("Needs OpenShift AI 2.16 with Kueue", [("openshift-ai", "2.16")]),
        ("RHOAI v2.9", [("openshift-ai", "2.9")]),
        (f"kubectl apply -f {GOOGLES}/cos/daemonset-preloaded-latest.yaml", [INSTALLER]),
        (f'url = "{GOOGLES}/ubuntu/daemonset.yaml"', [INSTALLER]),
        (
            "- github.com/GoogleCloudPlatform/container-engine-accelerators//nvidia-driver-installer/cos",
            [INSTALLER],
        ),
        (f"{GOOGLES}/README.md", []),
        (f"{GOOGLES}/../device-plugin-daemonset.yaml", []),
        (f"{GOOGLES}/../fast-socket-installer/fast-socket-installer.yaml", []),
        ("kubectl label node a nvidia.com/device-plugin.config=any", CONFIGS),
        ("- {path: /metadata/labels/nvidia.com~1device-plugin.config, value: any}", CONFIGS),
        (
            "helm upgrade a b --set devicePlugin.config.name=c,devicePlugin.config.default=any",
            CONFIGS,
        ),
        ('{"spec": {"devicePlugin": {"config": {"name": "c", "default": "any"}}}}', CONFIGS),
        (PATCHED, CONFIGS),
        (PATCHED.replace("patch", "get"), []),
        ("devicePlugin: {config: {name: c}}", []),
        ("devicePlugin:\n  config: {name: c, data: {default: 'version: v1'}}\n", []),
        ('{"devicePlugin": {"config": {"data": {"default": "version: v1\\n"}}}}', []),
        ("-v nvidia-device-plugin-config:/config", []),
        ("OpenShift AI 3.0", []),
        ('x = templatefile("${path.module}/local-queue.yaml.tpl", {})', [("local-queues", "any")]),
        ("kind: LocalQueue\nmetadata:\n  name: $SHAPE-queue\n", [("local-queues", "any")]),
        ("kind: LocalQueue\nmetadata:\n  name: {{ .Values.a }}\n", [("local-queues", "any")]),
        ('kind = "LocalQueue"\nmetadata = {\n  name = var.queue\n', [("local-queues", "any")]),
        ("kind: LocalQueue\nmetadata:\n  name: q\n  namespace: $A\n", []),
    ],
)
def test_a_version_is_said_by_what_is_written(text, expected):
    assert said(text) == expected


def test_who_speaks_of_the_training_operator_has_its_only_line():
    text = "- The Kubeflow Training Operator, installed"
    assert said(text, "README.md") == [("training-operator", "v1")]
    assert said(text, "x.yaml") == []
    assert detect_versions(b"nothing of them", "README.md") == []
    assert detect_versions(text.encode(), "x.sh") == [AppliedRelease("training-operator", "v1")]


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: c}
spec: {resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: a}]}]}
"""
JOB = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: a}
spec: {clusterQueue: c}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: other}}
spec: {}
"""
RAY = """\
apiVersion: ray.io/v1alpha1
kind: RayCluster
metadata: {name: r}
spec: {headGroupSpec: {template: {spec: {containers: [{name: h, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}
"""
POOL = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: gpu}
spec: {template: {spec: {nodeClassRef: {name: gpu}}}}
"""


OPERATOR = """\
# of gpus
resource "helm_release" "o" {
  name    = "o"
  chart   = "kuberay-operator"
  version = var.v
}
"""


@every(
    "text, name, more, choices",
    [
        (QUEUE, "y", "", {False}),
        (f"# {KUEUE}/v0.10.1/manifests.yaml\n{QUEUE}", "y", "", {True}),
        (f"# {KUEUE}/v0.15.0/manifests.yaml\n{QUEUE}", "y", "", {False}),
        (QUEUE, "README.md", "Needs OpenShift AI 2.9\n", set()),
        (QUEUE, "README", "Needs OpenShift AI 2.9\n", set()),
        (QUEUE, "versions.env", "KUEUE_VERSION=v0.15.0\nOLD_KUEUE_VERSION=v0.8.0\n", {True}),
        (QUEUE, "examples/README.md", "Needs OpenShift AI 2.9\n", {False}),
        (RAY, "y", "", {False}),
        (RAY, "Dockerfile", "ENV KUBERAY_VERSION=v0.5.0\n", {True}),
        (RAY, "up.sh", "helm install a kuberay/kuberay-operator --version 1.0.0\n", {True}),
        (RAY, "up.sh", "helm install a kuberay/kuberay-operator --version 1.7.0\n", {False}),
        (RAY, "main.tf", OPERATOR, {True}),
        (JOB, "y", "", {False}),
        (JOB, "main.tf", 'x = templatefile("local-queue.yaml.tpl", {})\n', set()),
        (POOL, "karpenter.conf", "export A_KARPENTER_VERSION=0.37.0\n", {True}),
    ],
)
def test_what_is_said_excuses_the_words_of_that_time(text, name, more, choices):
    with TemporaryDirectory() as folder:
        (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / "x.yaml").write_text(text)
        (Path(folder) / name).write_text(more)
        reading, _ = read_all([folder])
        found = build_report(reading, RULES).hits
    assert {
        each.state is HitState.ADVISORY
        for each in found
        if each.rule.id in {"GPU-OLD-01", "GPU-CFG-03", "GPU-QUE-01"}
    } == choices


SHARED = """\
devicePlugin:
  config:
    create: true
    name: c
    data:
      any: |-
        version: v1
        sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
dcgmExporter: {}
"""


@every(
    "name, more, told",
    [
        ("y", "", True),
        ("README.md", "kubectl label nodes --all nvidia.com/device-plugin.config=any\n", False),
        ("nodes/main.tf", 'labels = { "nvidia.com/device-plugin.config" = "any" }\n', False),
        ("nodes/cluster.yaml", "x: {nvidia.com/device-plugin.config: any}\n", False),
        ("examples/README.md", "kubectl label node a nvidia.com/device-plugin.config=any", True),
        ("up.sh", "kubectl label nodes --all nvidia.com/mig.config=any\n", True),
    ],
)
def test_a_label_that_is_set_anywhere_chooses_a_configuration(name, more, told):
    with TemporaryDirectory() as folder:
        (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / "values.yaml").write_text(SHARED)
        (Path(folder) / name).write_text(more)
        reading, _ = read_all([folder])
        found = build_report(reading, RULES).hits
    assert [h.rule.id for h in found if h.rule.id == "GPU-CFG-01"] == ["GPU-CFG-01"] * told


def test_a_large_file_is_none_that_says_what_to_install():
    said = b"KUEUE_VERSION=v0.10.1\n"
    assert detect_versions(said, "up.sh") != []
    assert detect_versions(said + b"#" * 128 * 1024, "up.sh") == []


OLD_POOL = """\
resource "google_container_node_pool" "t4" {
  version = "1.28.9-gke.1289000"
  node_config {
    machine_type = "n1-standard-8"
    guest_accelerator {
      type  = "nvidia-tesla-t4"
      count = 1
    }
  }
}
"""


@every(
    ("more", "told"),
    [
        ({}, True),
        (
            {"Makefile": f"drivers:\n\tkubectl apply -f {GOOGLES}/cos/daemonset-preloaded.yaml\n"},
            False,
        ),
        (
            {"drivers.tf": f'data "http" "d" {{\n  url = "{GOOGLES}/cos/daemonset.yaml"\n}}\n'},
            False,
        ),
        ({"examples/README.md": f"{GOOGLES}/cos/daemonset.yaml\n"}, True),
    ],
)
def test_who_applies_googles_installer_says_who_installs_the_driver(more, told):
    with TemporaryDirectory() as folder:
        for name, text in {"terraform/pool.tf": OLD_POOL, **more}.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(text)
        reading, _ = read_all([folder])
        hits = [hit for hit in build_report(reading, RULES).hits if hit.rule.id == "GPU-GCP-04"]
    assert [hit.line for hit in hits] == ([5] if told else [])
