"""Comments that say that a thing is meant so: what they are about is a choice."""

import pytest

from gpuyard_lint.ignores import parse_ignores
from gpuyard_lint.languages.comments import justifying_comments, parse_comments
from gpuyard_lint.read import read
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import RuleConfiguration
from kit.every import every


def told(text, file, **settings):
    """By rule: whether each thing that is said is open, or what else."""
    data = text.encode()
    made = build_report(
        read(data, file), RULES, RuleConfiguration(**settings), parse_ignores(data, file)
    )
    return {(hit.rule.id, hit.diagnostic.location): hit.state for hit in made.hits}


CLUSTER = """# for GPUs of nvidia
{above}
resource "google_container_cluster" "c" {{
  name = "c"
  {inside}
  node_config {{
    machine_type = "a3-highgpu-8g"
  }}
  private_cluster_config {{
    enable_private_nodes = true
  }}
}}

{below}
resource "google_compute_network" "n" {{}}
"""


def cluster(above="", inside="", below=""):
    said = told(CLUSTER.format(above=above, inside=inside, below=below), "main.tf")
    return {state for (rule, _), state in said.items() if rule == "GPU-GCP-01"}


@every(
    "place",
    [
        {"above": "#tfsec:ignore:google-gke-enable-master-networks We keep it simple"},
        {
            "above": "#tfsec:ignore:a-b\n#tfsec:ignore:google-gke-enable-master-networks\n#tfsec:ignore:c-d"
        },
        {"above": "# trivy:ignore:AVD-GCP-0061"},
        {"above": "# trivy:ignore:gcp-0061[x=y]"},
        {"above": "// kics-scan ignore-block"},
        {"inside": "# checkov:skip=CKV_GCP_20:it is a demo"},
        {"inside": "# nosec CKV_GCP_20"},
        {
            "inside": "#tfsec:ignore:google-gke-enable-network-policy,google-gke-enable-master-networks"
        },
    ],
)
def test_what_another_scanner_is_told_to_pass_over_is_a_choice(place):
    assert cluster(**place) == {HitState.ADVISORY}


@every(
    "place",
    [
        {},
        {"above": "#tfsec:ignore:google-gke-enable-network-policy"},
        {"below": "#tfsec:ignore:google-gke-enable-master-networks"},
        {"inside": "# checkov:skip=CKV_GCP_26:no logs of flows"},
        {"inside": "# nosec"},
    ],
)
def test_another_matter_or_another_block_changes_nothing(place):
    assert cluster(**place) == {HitState.OPEN}


JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      containers:
        - name: a
          %s
          image: vision/train:latest%s
          securityContext:
            privileged: true
          resources:
            limits:
              nvidia.com/gpu: 3%s
"""
IMAGE = ("GPU-POD-03", "spec.template.spec.containers[0].image")
PRIVILEGED = ("GPU-POD-02", "spec.template.spec.containers[0].securityContext.privileged")


@every(
    ("above", "beside", "state"),
    [
        ("", "", HitState.OPEN),
        ("# the trainer of the team", "", HitState.OPEN),
        (
            "# logical name: kustomize edit set\n          #   image train=REGISTRY/train:TAG",
            "",
            HitState.ADVISORY,
        ),
        ("# replaced by the pipeline at each push", "", HitState.ADVISORY),
        ("# the tag is set in CI", "", HitState.ADVISORY),
        ("", ' # {"$imagepolicy": "flux-system:train"}', HitState.ADVISORY),
        ("", "  # intentionally not pinned", HitState.ADVISORY),
        ("", "  # pin me", HitState.ADVISORY),
        ("# placeholder\n          imagePullPolicy: Always", "", HitState.OPEN),
    ],
)
def test_an_image_that_a_comment_says_is_set_elsewhere_is_a_choice(above, beside, state):
    assert told(JOB % (above, beside, ""), "job.yaml")[IMAGE] is state


@every(
    ("above", "state"),
    [
        (
            "# Pin it to ONE card (by UUID): a model\n          # that is split crashes",
            HitState.ADVISORY,
        ),
        ("# pinned to GPU 2", HitState.ADVISORY),
        ("# GPU configuration", HitState.OPEN),
        ("# the image is pinned", HitState.OPEN),
    ],
)
def test_a_gpu_to_which_a_comment_pins_a_container_is_a_choice(above, state):
    env = f"env:\n          {above}\n          - {{name: NVIDIA_VISIBLE_DEVICES, value: GPU-8655}}"
    where = "spec.template.spec.containers[0].env[0]"
    assert told(JOB % (env, "", ""), "job.yaml")["GPU-POD-01", where] is state


def test_a_comment_on_a_registry_that_is_filled_in_says_nothing_of_the_tag():
    text = (JOB % ("", "  # replaced by scripts/setup.sh", "")).replace("vision/", "REGISTRY/")
    assert told(text, "job.yaml")[IMAGE] is HitState.OPEN
    assert told(text.replace("REGISTRY/", "vision/"), "job.yaml")[IMAGE] is HitState.ADVISORY


def test_a_pod_that_a_comment_gives_every_gpu_of_its_node():
    said = told(JOB % ("", "", "  # All 3 GPUs on node-02"), "job.yaml")
    assert (said[PRIVILEGED], said[IMAGE]) == (HitState.ADVISORY, HitState.OPEN)


NODES = """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: n}
spec:
  metadataOptions:
    httpTokens: optional
    httpPutResponseHopLimit: 2%s
"""
HOPS = ("GPU-AWS-05", "spec.metadataOptions.httpPutResponseHopLimit")
TOKENS = ("GPU-AWS-05", "spec.metadataOptions.httpTokens")


@every(
    ("said", "state"),
    [
        ("", HitState.OPEN),
        ("  # pods reach the metadata service", HitState.ADVISORY),
        ("  # 允许容器访问IMDS", HitState.ADVISORY),
        ("  # keeps pods from it: prevent theft", HitState.OPEN),
    ],
)
def test_hops_that_a_comment_gives_to_pods(said, state):
    found = told(NODES % said, "class.yaml")
    assert (found[HOPS], found[TOKENS]) == (state, HitState.OPEN)


GROUP = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-east-1}
managedNodeGroups:
  - name: web
    instanceType: m6i.large
  - name: gpus
    instanceType: g5.xlarge%s
    maxSize: 4
"""


@every(
    ("said", "state"),
    [
        ("", HitState.OPEN),
        ("\n    # no taint: everything here needs a GPU", HitState.ADVISORY),
        ("\n    # untainted, so that CoreDNS fits", HitState.ADVISORY),
        ("\n    # taints are not set: selectors place pods", HitState.ADVISORY),
        ("\n    # taints come next week", HitState.OPEN),
    ],
)
def test_nodes_that_a_comment_leaves_without_a_taint(said, state):
    found = told(GROUP % said, "cluster.yaml")
    assert {s for (rule, _), s in found.items() if rule == "GPU-CAP-01"} == {state}


def test_whoever_asks_for_choices_or_sets_a_level_is_told_all_the_same():
    text = JOB % ("# set by the pipeline", "", "")
    assert told(text, "job.yaml", counts_advisory=True)[IMAGE] is HitState.OPEN
    levels = {"GPU-POD-03": RULES[0].severity}
    assert told(text, "job.yaml", severities=levels)[IMAGE] is HitState.OPEN


@pytest.mark.parametrize("data", [b"a: b\n", b"# placeholder\n" * 100_000])
def test_a_file_without_comments_or_of_a_machine_is_passed_over(data):
    assert justifying_comments(parse_comments(data)) == ()


def test_a_comment_that_stands_above_nothing_speaks_for_nothing():
    assert justifying_comments(parse_comments(b"a: b\n# placeholder\n")) == ()


OPERATOR = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus}
spec:
  source:
    chart: gpu-operator
    %s
    targetRevision: v24.3.0%s
    helm:
      valuesObject:
        driver: {enabled: true}
        devicePlugin: {}
        %s
        priorityClassName: gpus
"""
LINE = ("GPU-STK-02", "spec.source.targetRevision")
UNREAD = ("GPU-CFG-02", "priorityClassName")


@every(
    ("above", "beside", "state"),
    [
        ("", "  # pinned: bundles CUDA 12.4, matches the node's driver", HitState.ADVISORY),
        ("# Keep at v24.3:\n    # newer ones crash on driver 550", "", HitState.ADVISORY),
        ("# do not upgrade, it breaks the validator", "", HitState.ADVISORY),
        ("# pinned", "", HitState.OPEN),
        ("# latest stable version, with the driver", "", HitState.OPEN),
    ],
)
def test_an_old_line_that_a_comment_gives_a_reason_for_is_a_choice(above, beside, state):
    assert told(OPERATOR % (above, beside, ""), "app.yaml")[LINE] is state


@every(
    ("above", "state"),
    [
        ("# inert in this chart, kept to match daemonsets", HitState.ADVISORY),
        ("# a no-op today", HitState.ADVISORY),
        ("# before all others", HitState.OPEN),
    ],
)
def test_a_key_that_a_comment_says_is_not_read_is_a_choice(above, state):
    said = told(OPERATOR % ("", "", above), "app.yaml")
    assert (said[UNREAD], said[LINE]) == (state, HitState.OPEN)


@every(
    ("above", "state"),
    [
        ("# Disable CDI: its mode fails on Talos", HitState.ADVISORY),
        ("# no CDI here, because the driver is older", HitState.ADVISORY),
        ("# CDI is how devices are given", HitState.OPEN),
    ],
)
def test_cdi_that_a_comment_gives_a_reason_against_is_a_choice(above, state):
    values = f"toolkit: {{version: v1.14.6}}\ndevicePlugin: {{}}\n{above}\ncdi:\n  enabled: false\n"
    assert told(values, "values.yaml")["GPU-STK-03", "cdi.enabled"] is state


EVERYBODY = """# for GPUs of nvidia
resource "aws_eks_cluster" "c" {
  vpc_config {
    ABOVE
    public_access_cidrs     = ["0.0.0.0/0"]
    endpoint_private_access = true
  }
}
"""


@every(
    ("above", "state"),
    [
        ('# "0.0.0.0/0" = accessible from anywhere (fine for learning)', HitState.ADVISORY),
        ("# Allow access from anywhere, can be restricted", HitState.ADVISORY),
        ("# accessible from anywhere: must be closed", HitState.OPEN),
        ("# the API", HitState.OPEN),
    ],
)
def test_an_endpoint_that_a_comment_opens_to_everybody_is_a_choice(above, state):
    said = told(EVERYBODY.replace("ABOVE", above), "main.tf")
    assert {s for (rule, _), s in said.items() if rule == "GPU-AWS-01"} == {state}


@every(
    ("above", "state"),
    [
        ("# This config is expected to fail as the limit is\n# 48 clients", HitState.ADVISORY),
        ("# should be rejected", HitState.ADVISORY),
        ("# 49 clients", HitState.OPEN),
    ],
)
def test_a_configuration_that_a_comment_says_fails_is_a_choice(above, state):
    text = f"""{above}
version: v1
sharing:
  mps:
    resources:
    - name: nvidia.com/gpu
      replicas: 49
"""
    assert (
        told(text, "plugin-config.yaml")["GPU-CFG-01", "sharing.mps.resources[0].replicas"] == state
    )
