"""A machine type that has GPUs is a word of GPUs in Terraform's files and in Pulumi's programs."""

from gpuyard_lint.read import read, read_module
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.every import every

NODES = """resource "aws_eks_node_group" "g" {
  cluster_name   = "x"
  instance_types = ["TYPE"]
}
resource "google_container_node_pool" "g" {
  node_config { machine_type = "TYPE" }
}
"""


@every(
    "machine",
    ["p5.48xlarge", "p4d.24xlarge", "g6.xlarge", "g5.2xlarge", "g7e.2xlarge", "g2-standard-8"],
)
def test_a_machine_type_is_a_word_of_gpus(machine):
    reading = read_module({"main.tf": NODES.replace("TYPE", machine).encode()})
    assert [item.resource.kind for item in reading.items] == [
        "aws:eks/NodeGroup",
        "gcp:container/NodePool",
    ]
    assert "GPU-CAP-01" in {hit.rule.id for hit in build_report(reading, RULES).hits}


@every("machine", ["m5.large", "c7g.xlarge", "n2-standard-8", "trn1.32xlarge"])
def test_a_machine_without_gpus_of_nvidia_is_none(machine):
    assert read_module({"main.tf": NODES.replace("TYPE", machine).encode()}).items == ()


def test_a_machine_type_alone_is_a_word_of_gpus():
    program = (
        "name: lab\nruntime: yaml\n"
        "resources:\n  a:\n    type: aws:eks:NodeGroup\n    properties: {instanceTypes: [TYPE]}\n"
    )
    gpus, others = (
        read(program.replace("TYPE", each).encode(), "Pulumi.yaml")
        for each in ("g6.xlarge", "m5.large")
    )
    assert [item.resource.kind for item in gpus.items] == ["aws:eks/NodeGroup"]
    assert others.items == ()
