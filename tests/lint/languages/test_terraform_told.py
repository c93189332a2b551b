"""What is said of Terraform's files that are not judged: no HCL, or modules that only Terraform can fetch."""

import pytest

from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.languages.terraform_files import NOTHING, UNRESOLVED_MODULES
from gpuyard_lint.read import read_module, read_modules

GROUP = 'resource "aws_eks_node_group" "gpus" {\n  instance_types = ["p5.48xlarge"]\n}\n# gpu\n'
OTHERS = 'resource "%s" "x" {'
MODULE = 'module "eks" {\n  source = "%s"\n  types = ["%s"]\n}\n'
EKS = "terraform-aws-modules/eks/aws"
GKE = "terraform-google-modules/kubernetes-engine/google//modules/private-cluster"


@pytest.mark.parametrize(
    ("text", "named", "foreign"),
    [
        (OTHERS % "aws_vpc", False, False),
        (OTHERS % "kubernetes_namespace", False, False),
        ('module "x" {', False, False),
        (OTHERS % "random_id", False, True),
        (OTHERS % "random_id", True, False),
        ('resource "aws_vpc" "x" {}', True, True),
    ],
)
def test_what_is_no_hcl_is_told_of_the_clouds_and_of_what_is_named(text, named, foreign):
    reading = read_modules(
        {"": {"a.tf": text.encode(), "main.tf": GROUP.encode()}}, named=["a.tf"] if named else ()
    )
    (unread,) = reading.skipped
    assert (unread.file, unread.is_unrecognized) == ("a.tf", foreign)
    assert unread.reason == (NOTHING if foreign else "not HCL: line 1: `}` was expected")


@pytest.mark.parametrize(
    ("source", "machine", "told"),
    [
        (EKS, "p5.48xlarge", True),
        (f"git::https://example.org/{EKS}.git?ref=v1", "g4dn.metal", True),
        (GKE, "g2-standard-4", True),
        (GKE, "e2-standard-4", False),
        (EKS, "m5.large", False),
        ("./eks", "p5.48xlarge", False),
        ("../modules/eks", "p5.48xlarge", False),
        ("terraform-aws-modules/vpc/aws", "p5.48xlarge", False),
    ],
)
def test_a_cluster_with_gpus_of_a_module_from_elsewhere_asks_for_its_plan(source, machine, told):
    reading = read_module({"main.tf": (MODULE % (source, machine)).encode(), "b.tf": b"# x"})
    said = {u.file: (u.reason, u.is_unrecognized) for u in reading.skipped}
    assert said["b.tf"] == (NOTHING, True)
    assert said["main.tf"] == ((UNRESOLVED_MODULES, False) if told else (NOTHING, True))


def test_a_file_in_which_something_is_judged_asks_for_no_plan():
    text = GROUP + MODULE % (EKS, "p5.48xlarge")
    assert read_module({"main.tf": text.encode()}).skipped == ()


def test_a_file_that_no_hand_wrote_is_not_read():
    large = b"# gpu\n" * (MAX_BYTES // 6 + 1)
    reading = read_module({"a.tf": large, "main.tf": GROUP.encode()})
    assert len(reading.items) == 1
    assert reading.files == ("main.tf", "a.tf")
    assert [(u.file, u.is_unrecognized) for u in reading.skipped] == [("a.tf", False)]
