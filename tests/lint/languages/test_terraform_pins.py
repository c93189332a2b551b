"""Which versions of a provider a folder admits, and what is then not asked of its clusters."""

from gpuyard_lint.languages.terraform_pins import admits_before
from gpuyard_lint.read import read_module
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.rules.run import RuleConfiguration
from kit.every import every

CLUSTER = """
resource "aws_eks_cluster" "gpus" {
  name     = "gpus"
  role_arn = aws_iam_role.c.arn
  vpc_config { subnet_ids = [] }
}
"""


@every(
    ("constraint", "before"),
    [
        ("3.63.0", True),
        ("= 5.32.1", True),
        ("5.33.0", False),
        ("~> 4.0", True),
        ("~> 4", False),
        ("~> 5.0", False),
        ("~> 5.31.0", True),
        ("~> 5.32.1", True),
        ("~> 5.33.0", False),
        (">= 3.72, < 5.0", True),
        ("< 5.33", True),
        ("<= 5.33", False),
        ("<= 5.32.9", True),
        (">= 3.0", False),
        ("> 4.1, != 5.2.0", False),
        ("", False),
        ("whatever", False),
    ],
)
def test_a_constraint_admits_nothing_from_a_version_on(constraint, before):
    assert admits_before(constraint, (5, 33)) is before


def pinned(said):
    return f'terraform {{\n  required_version = ">= 1.0"\n  required_providers {{\n    {said}\n  }}\n}}\n'


def cluster(*beside, text=CLUSTER):
    files = {"main.tf": text, **{f"{n}.tf": each for n, each in enumerate(beside)}}
    reading = read_module({name: each.encode() for name, each in files.items()})
    (item,) = reading.items
    return item.resource


@every(
    ("said", "left_open"),
    [
        ('aws = { source = "hashicorp/aws", version = "3.63.0" }', True),
        ('aws = "~> 3.0"', True),
        ('aws = { source = "hashicorp/aws", version = "~> 5.80" }', False),
        ('aws = { source = "hashicorp/aws" }', False),
        ('google = "~> 3.0"', False),
        ("aws = { version = var.v }", False),
    ],
)
def test_of_a_provider_that_knows_no_access_entries_nobody_says_who_enters(said, left_open):
    made = cluster('locals { about = "gpu" }', pinned(said))
    assert (made.properties.get("accessConfig") is UNKNOWN) is left_open


def test_what_is_written_all_the_same_is_read():
    written = CLUSTER.replace(
        "name     =", 'access_config { authentication_mode = "API" }\n  name ='
    )
    made = cluster('locals { about = "gpu" }', pinned('aws = "~> 3.0"'), text=written)
    assert made.properties["accessConfig"] == [{"authenticationMode": "API"}]


@every(("version", "said"), [("~> 4.67", 0), ("~> 5.33", 2)])
def test_access_entries_are_asked_of_who_can_write_them(version, said):
    files = {
        "main.tf": CLUSTER,
        "gpus.tf": 'locals { a = "gpu" }',
        "v.tf": pinned(f'aws = "{version}"'),
    }
    reading = read_module({name: each.encode() for name, each in files.items()})
    found = build_report(reading, [r for r in RULES if r.id == "GPU-AWS-06"], RuleConfiguration())
    assert len([each for each in found.hits if each.state is HitState.OPEN]) == said
