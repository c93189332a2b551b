"""Labels that files beside the objects give to nodes, and pods that select them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.languages.node_label_hints import node_label_hints
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.every import every

TIER = "gpu.nvidia.com/tier"


def names(text, file="setup.sh"):
    return [name for said in node_label_hints(text.encode(), file) for name in said.names]


@every(
    ("text", "file"),
    [
        (f"kubectl label node gpu-01 {TIER}=premium --overwrite", "setup.sh"),
        (f"kubectl label nodes --all \\\n  {TIER}=premium", "setup.sh"),
        (f"oc label node/gpu-01 {TIER}=premium", "README.md"),
        (f'command: ["kubectl", "label", "node", "$(NODE)", "{TIER}=premium"]', "job.yaml"),
        (f"gcloud container node-pools create g --node-labels=team=a,{TIER}=premium", "up.sh"),
        (f"k3s agent --node-label '{TIER}=premium'", "up.sh"),
        (f'node-label:\n  - "team=a"\n  - "{TIER}=premium"\n', "k3s.yaml"),
        (f'nodeLabels: {{team: a, "{TIER}": premium}}', "talos.yaml"),
        (f'node_labels = {{\n  "{TIER}" = "premium"\n}}\n', "aks.tf"),
        (
            f'groups = {{\n  g = {{\n    labels = {{\n      "{TIER}" = "${{var.tier}}"\n    }}\n  }}\n}}',
            "m.tf",
        ),
        (f'labels = merge(local.tags, {{ "{TIER}" = "premium" }})', "m.tf"),
    ],
)
def test_labels_that_nodes_are_given(text, file):
    assert names(text, file) == [TIER]


@every(
    ("text", "file"),
    [
        ("kubectl label node gpu-01 team=a", "setup.sh"),
        (f"kubectl label node gpu-01 {TIER}-", "setup.sh"),
        (f"kubectl get nodes -l {TIER}=premium", "setup.sh"),
        (f"kubectl label namespace ml {TIER}=premium", "setup.sh"),
        (f"nodeSelector:\n  {TIER}: premium\n", "pod.yaml"),
        (f"labels: {{{TIER}: premium}}", "pod.yaml"),
        (f'node_selector = {{\n  "{TIER}" = "premium"\n}}', "pod.tf"),
    ],
)
def test_what_gives_nodes_no_label(text, file):
    assert names(text, file) == []


POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: b}}
spec:
  nodeSelector: {{{TIER}: premium}}
  containers: [{{name: a, image: "ghcr.io/acme/a:1.0.0"}}]
"""
GROUP = f"""\
resource "aws_eks_node_group" "g" {{
  instance_types = ["p5.48xlarge"]
  labels         = {{ "{TIER}" = "premium" }}
}}
"""


@every(
    ("name", "text", "told"),
    [
        ("x.sh", "", 1),
        ("x.sh", f"kubectl label node gpu-01 {TIER}=premium\n", 0),
        ("examples/x.sh", f"kubectl label node gpu-01 {TIER}=premium\n", 1),
        ("terraform/group.tf", GROUP, 0),
        ("terraform/group.tf", GROUP.replace("tier", "zone"), 1),
    ],
)
def test_a_pod_may_select_what_something_in_view_gives(name, text, told):
    with TemporaryDirectory() as folder:
        for each, written in {"pod.yaml": POD, name: text}.items():
            (Path(folder) / each).parent.mkdir(exist_ok=True)
            (Path(folder) / each).write_text(written)
        reading, _ = read_all([folder])
        hits = [hit for hit in build_report(reading, RULES).hits if hit.rule.id == "GPU-POD-05"]
    assert len(hits) == told
