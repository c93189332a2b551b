"""Roles of AWS in Terraform: two that refer to one resource mean the same role, whatever its name is."""

import re

from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import FindingState
from kit.every import every

ROLES = """\
resource "aws_iam_role_policy_attachment" "s3" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonS3FullAccess"
  role       = %s
}
resource "aws_iam_role_policy_attachment" "more" {
  for_each   = toset(var.policies)
  policy_arn = each.value
  role       = aws_iam_role.nodes.name
}
resource "aws_eks_node_group" "gpus" {
  instance_types = [%s]
  node_role_arn  = %s
}
"""


@every(
    ("role", "machine", "of_group", "said"),
    [
        ("aws_iam_role.nodes.name", '"p5.48xlarge"', "aws_iam_role.nodes.arn", True),
        ("aws_iam_role.nodes.id", '"p5.48xlarge"', '"${aws_iam_role.nodes.arn}"', True),
        ("aws_iam_role.nodes[0].name", '"p5.48xlarge"', "aws_iam_role.nodes[0].arn", True),
        ("aws_iam_role.nodes[1].name", '"p5.48xlarge"', "aws_iam_role.nodes[0].arn", False),
        # another role, whose name is not told by what Terraform calls it
        ("aws_iam_role.gpu_node.name", '"p5.48xlarge"', "aws_iam_role.nodes.arn", False),
        ("aws_iam_role.nodes.path", '"p5.48xlarge"', "aws_iam_role.nodes.arn", False),
        ('"a-${aws_iam_role.nodes.name}"', '"p5.48xlarge"', "aws_iam_role.nodes.arn", False),
        ('"x${var.y}"', '"p5.48xlarge"', "aws_iam_role.nodes.arn", False),
        ("data.aws_iam_role.nodes.name", '"p5.48xlarge"', "data.aws_iam_role.nodes.arn", False),
        ("module.iam.role", '"p5.48xlarge"', "module.iam.role", False),
        # nodes without GPUs, or of which nobody knows
        ("aws_iam_role.nodes.name", '"m7i.large"', "aws_iam_role.nodes.arn", False),
        ("aws_iam_role.nodes.name", "var.machine", "aws_iam_role.nodes.arn", False),
    ],
)
def test_two_that_refer_to_one_role_mean_the_same(role, machine, of_group, said):
    text = "# gpus of eks\n" + ROLES % (role, machine, of_group)
    hits = build_report(read(text.encode(), "main.tf"), RULES).hits
    hits = [hit for hit in hits if hit.rule.id == "GPU-AWS-07"]
    open_ = [(hit.line, hit.diagnostic.problem) for hit in hits if hit.state is FindingState.OPEN]
    whose = ".".join(re.findall(r"\w+", role)[:-1])
    problem = f"every pod on the nodes of {whose} can use AmazonS3FullAccess"
    assert open_ == ([(3, problem)] if said else [])
    # whose policies are given by a variable is a role of these nodes, or may be
    unknown = machine != '"m7i.large"' and "[" not in of_group
    assert any(hit.state is FindingState.NOT_EVALUATED for hit in hits) is unknown
