"""Objects that Terraform's provider for Kubernetes has in blocks: what Kubernetes has, at those lines."""

import json

from gpuyard_core.findings import Severity
from gpuyard_lint.languages.terraform_objects import OBJECTS
from gpuyard_lint.read import read, read_module
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.rules.run import FindingState
from kit.every import every

DEPLOYMENT = """# GPUs
resource "kubernetes_deployment_v1" "serve" {
  metadata {
    name      = "serve"
    namespace = "llm"
    labels    = { my_label = "x" }
  }
  spec {
    replicas = 2
    selector {
      match_labels = { app = "serve" }
    }
    template {
      metadata {
        labels = { app = "serve" }
      }
      spec {
        host_ipc      = true
        node_selector = { "a/my_gpu" = "yes" }
        affinity {
          node_affinity {
            required_during_scheduling_ignored_during_execution {
              node_selector_term {
                match_expressions {
                  key      = "a/gpu"
                  operator = "In"
                  values   = ["h100"]
                }
              }
            }
          }
          pod_anti_affinity {
            required_during_scheduling_ignored_during_execution {
              topology_key = "kubernetes.io/hostname"
            }
          }
        }
        container {
          name    = "a"
          image   = "r.example.org/a:latest"
          command = ["serve"]
          port {
            container_port = 8000
          }
          liveness_probe {
            http_get {
              path = "/health"
              port = 8000
            }
          }
          security_context {
            privileged = true
          }
          resources {
            limits = { "nvidia.com/gpu" = "1" }
          }
          volume_mount {
            name       = "shm"
            mount_path = "/dev/shm"
          }
        }
        volume {
          name = "shm"
          empty_dir {
            medium = "Memory"
          }
        }
      }
    }
  }
}
"""


def items(text):
    reading = read_module({"main.tf": text.encode()})
    assert [each for each in reading.skipped if not each.is_unrecognized] == []
    return reading.items


def test_a_deployment_in_blocks_is_the_one_of_kubernetes():
    (item,) = items(DEPLOYMENT)
    assert (item.resource.kind, item.resource.name) == ("apps/v1/Deployment", "serve")
    assert item.resource.namespace == "llm"
    pod = item.resource.properties["spec"]["template"]["spec"]
    term = {"matchExpressions": [{"key": "a/gpu", "operator": "In", "values": ["h100"]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    assert pod == {
        "hostIPC": True,
        "nodeSelector": {"a/my_gpu": "yes"},
        "affinity": {
            "nodeAffinity": {required: {"nodeSelectorTerms": [term]}},
            "podAntiAffinity": {required: [{"topologyKey": "kubernetes.io/hostname"}]},
        },
        "containers": [
            {
                "name": "a",
                "image": "r.example.org/a:latest",
                "command": ["serve"],
                "ports": [{"containerPort": 8000}],
                "livenessProbe": {"httpGet": {"path": "/health", "port": 8000}},
                "securityContext": {"privileged": True},
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108  a path in a pod
            }
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    spec = item.resource.properties["spec"]
    assert (spec["selector"], spec["replicas"]) == ({"matchLabels": {"app": "serve"}}, 2)
    assert item.resource.properties["metadata"]["labels"] == {"my_label": "x"}


def test_what_is_said_stands_at_its_line_and_has_the_names_of_the_provider():
    made = build_report(read(DEPLOYMENT.encode(), "main.tf"), RULES)
    said = {
        (DEPLOYMENT.splitlines()[hit.line - 1].split()[0], hit.rule.id)
        for hit in made.open_findings
    }
    assert {
        ("image", "GPU-POD-03"),
        ("privileged", "GPU-POD-02"),
        ("host_ipc", "GPU-POD-02"),
    } <= said
    fixes = " ".join(hit.diagnostic.fix_message for hit in made.open_findings)
    assert "size_limit" in fixes
    assert "sizeLimit" not in fixes


QUOTA = """resource "kubernetes_resource_quota" "gpus" {
  metadata { name = "gpus" }
  spec { hard = { "requests.nvidia.com/gpu" = 8 } }
}
"""
KEYS = """resource "kubernetes_secret" "gpu" {
  metadata { name = "gpu" }
  data = { my_token = "x" }
}
"""
RANGE = """resource "kubernetes_limit_range_v1" "gpu" {
  metadata { name = "gpu" }
  spec {
    limit {
      type    = "Container"
      default = { memory = "1Gi" }
    }
  }
}
"""
POLICY = """resource "kubernetes_network_policy_v1" "gpu" {
  metadata { name = "gpu" }
  spec {
    pod_selector {}
    policy_types = ["Ingress"]
    ingress {
      ports { port = "9400" }
      from {
        namespace_selector {}
      }
    }
  }
}
"""
SCALER = """resource "kubernetes_horizontal_pod_autoscaler%s" "gpu" {
  metadata { name = "gpu" }
  spec { max_replicas = 4 }
}
"""
PORTS = [{"port": "9400"}]


@every(
    ("text", "kind", "below", "value"),
    [
        (QUOTA, "v1/ResourceQuota", "spec", {"hard": {"requests.nvidia.com/gpu": 8}}),
        (KEYS, "v1/Secret", "stringData", {"my_token": "x"}),
        (
            RANGE,
            "v1/LimitRange",
            "spec",
            {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]},
        ),
        (
            POLICY,
            "networking.k8s.io/v1/NetworkPolicy",
            "spec",
            {
                "podSelector": {},
                "policyTypes": ["Ingress"],
                "ingress": [{"ports": PORTS, "from": [{"namespaceSelector": {}}]}],
            },
        ),
        (SCALER % "_v1", "autoscaling/v1/HorizontalPodAutoscaler", "spec", {"maxReplicas": 4}),
        (SCALER % "_v2", "autoscaling/v2/HorizontalPodAutoscaler", "spec", {"maxReplicas": 4}),
    ],
)
def test_other_objects(text, kind, below, value):
    (item,) = items(text)
    assert (item.resource.kind, item.resource.properties[below]) == (kind, value)


def test_a_secret_stands_where_its_data_does():
    (item,) = items(KEYS)
    assert item.place.position(("stringData", "my_token"))[0] == 3
    assert item.place.position(("metadata", "name"))[0] == 2


def test_blocks_that_come_by_a_loop_are_unknown():
    text = DEPLOYMENT.replace("        volume {", '        dynamic "volume" {')
    (item,) = items(text)
    pod = item.resource.properties["spec"]["template"]["spec"]
    assert pod["volumes"] is UNKNOWN
    assert pod["containers"][0]["image"] == "r.example.org/a:latest"


def test_each_cluster_has_its_own():
    text = QUOTA.replace("{\n", "{\n  provider = kubernetes.east\n", 1) + QUOTA.replace("gpus", "b")
    assert [item.resource.source for item in items(text)] == [":kubernetes:east", ""]


VALUES = {
    "metadata": [{"name": "p", "namespace": None, "labels": {}}],
    "spec": [
        {
            "container": [
                {
                    "image": "a:latest",
                    "port": [],
                    "security_context": [],
                    "resources": [{"limits": {"nvidia.com/gpu": "1"}, "requests": None}],
                }
            ],
            "host_ipc": False,
        }
    ],
}


@every(
    "document",
    [
        {
            "terraform_version": "1.9.0",
            "planned_values": {
                "root_module": {
                    "resources": [
                        {
                            "address": "module.a.kubernetes_pod.p",
                            "type": "kubernetes_pod",
                            "mode": "managed",
                            "values": VALUES,
                        }
                    ]
                }
            },
        },
        {
            "version": 4,
            "terraform_version": "1.9.0",
            "resources": [
                {
                    "type": "kubernetes_pod",
                    "name": "p",
                    "mode": "managed",
                    "instances": [{"attributes": VALUES}],
                }
            ],
        },
    ],
)
def test_plans_and_states_have_them_too(document):
    text = json.dumps(document, indent=1)
    (item,) = read(text.encode(), "plan.json").items
    assert item.resource.kind == "v1/Pod"
    assert item.resource.properties["metadata"] == {"name": "p", "labels": {}}
    (container,) = item.resource.properties["spec"]["containers"]
    assert container == {
        "image": "a:latest",
        "ports": [],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    line = item.place.position(("spec", "containers", 0, "image"))[0]
    assert '"image"' in text.splitlines()[line - 1]


def test_every_type_is_of_the_provider():
    assert all(name.startswith("kubernetes_") for name in OBJECTS)
    assert OBJECTS["kubernetes_daemonset"] == OBJECTS["kubernetes_daemon_set_v1"]


POD_OF_VARIABLES = """resource "kubectl_manifest" "job" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Pod
    metadata: {name: t, namespace: ${var.ns}}
    spec:
      containers:
        - name: b
          image: ${var.image}
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: "${var.seen}"}]
        - name: a
          image: ${var.registry}/a:latest
          securityContext: {privileged: true}
          resources: {limits: {nvidia.com/gpu: ${var.gpus}}}
  YAML
}
"""


def test_of_a_container_that_variables_decide_the_rest_is_judged():
    made = build_report(read(POD_OF_VARIABLES.encode(), "main.tf"), RULES)
    assert [(h.line, h.rule.id, h.diagnostic.severity, h.state) for h in made.hits] == [
        (12, "GPU-POD-03", Severity.WARNING, FindingState.OPEN),
        (13, "GPU-POD-02", Severity.WARNING, FindingState.OPEN),
    ]


def test_what_stands_outside_containers_stays_unknown():
    text = """resource "kubernetes_manifest" "p" {
  manifest = {
    apiVersion = "v1"
    kind       = "Pod"
    metadata   = { name = var.name }
    spec = {
      volumes    = var.volumes
      containers = [var.one, { image = "a${var.b}", env = [var.c], resources = { limits = var.l } }]
    }
  }
}
"""
    (item,) = items(f"# GPUs\n{text}")
    properties = item.resource.properties
    assert properties["metadata"] == {"name": UNKNOWN}
    assert properties["spec"]["volumes"] is UNKNOWN
    one, other = properties["spec"]["containers"]
    assert one is UNKNOWN
    assert other == {"image": "a${unknown}", "env": [UNKNOWN], "resources": {"limits": UNKNOWN}}


def test_of_a_server_that_runs_without_gpus_too_the_cloud_is_somebody_elses():
    cluster = 'resource "aws_eks_cluster" "c" {\n  name = "c"\n}\n'
    scaler = """# vllm
resource "kubernetes_manifest" "s" {
  manifest = {
    apiVersion = "keda.sh/v1alpha1"
    kind       = "ScaledObject"
    metadata   = { name = "s" }
  }
}
"""
    (item,) = items(cluster + scaler)
    assert item.resource.kind == "keda.sh/v1alpha1/ScaledObject"
