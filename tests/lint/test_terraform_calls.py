"""A module that is called by its path knows what every call of it says, and nothing else."""

import pytest

from gpuyard_core.manifests.fields import PartlyKnown
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.cli.files import read_all
from gpuyard_lint.languages.terraform_calls import ModuleCalls
from gpuyard_lint.read import read_module, read_modules
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from kit.every import every

VARIABLES = """
variable "machine" {}
variable "mode" { default = "ON_DEMAND" }
variable "taints" { default = [] }
"""
GROUP = """
resource "aws_eks_node_group" "gpus" {
  instance_types = [var.machine]
  capacity_type  = var.mode
  labels         = { "nvidia.com/gpu.present" = var.labelled }
  dynamic "taint" {
    for_each = var.taints
    content {}
  }
}
"""


def call(source, arguments="", name="gpus"):
    return f'module "{name}" {{\n  source = {source}\n{arguments}\n}}\n'


def folders(**files):
    """By the path of each, with `__` for a slash: `infra__main` is infra/main.tf."""
    found = {}
    for name, text in files.items():
        folder, _, file = name.replace("__", "/").rpartition("/")
        found.setdefault(folder, {})[f"{folder}/{file}.tf".lstrip("/")] = text.encode()
    return found


def given(folder, samples=(), **files):
    return dict(ModuleCalls(folders(**files), samples).module_inputs(folder))


ONE = call('"./pool"', 'machine = "p5.48xlarge"')


@every(
    ("files", "known"),
    [
        ({"main": ONE}, {"machine": "p5.48xlarge", "mode": "ON_DEMAND", "taints": []}),
        (
            {"main": ONE + call('"./pool"', 'machine = "p5.48xlarge"\nmode = "SPOT"', "b")},
            {"machine": "p5.48xlarge", "taints": []},
        ),
        (
            {"main": ONE, "prod__main": call('"../pool"', 'machine = "g6.xlarge"')},
            {"mode": "ON_DEMAND", "taints": []},
        ),
        ({"main": call('"./pool"', "machine = var.machine")}, {"mode": "ON_DEMAND", "taints": []}),
        (
            {"main": 'locals { m = "g6.xlarge" }\n' + call('"./pool"', "machine = local.m")},
            {"machine": "g6.xlarge", "mode": "ON_DEMAND", "taints": []},
        ),
        ({"main": call('"./pool"', "machine = null\nmode = null")}, {"taints": []}),
        (
            {"main": call('"./pool"', 'machine = "a"\ncount = 2\nfoo = 1')},
            {"machine": "a", "mode": "ON_DEMAND", "taints": []},
        ),
        ({"main": call('"terraform-aws-modules/eks/aws"', 'machine = "a"')}, {}),
        ({"main": call('"./other"', 'machine = "a"')}, {}),
        ({"main": call("var.where", 'machine = "a"') + call('"./x"')}, {}),
        ({"main": 'module "none" {}\n' + call('"./x"')}, {}),
        ({"main": "nothing = here"}, {}),
        ({"main": ONE + "{{ a template }}"}, {}),
        ({"main": ONE + "# " + "x" * MAX_BYTES}, {}),
    ],
    ids=[
        *("one call", "two that differ in one", "two that differ", "a variable", "a local"),
        *("null", "words of Terraform's", "from elsewhere", "another folder", "unknown source"),
        *("no source", "no call", "no HCL", "too large"),
    ],
)
def test_what_every_call_gives_and_what_none_gives_is_known(files, known):
    assert given("pool", pool__variables=VARIABLES, **files) == known


def test_what_is_given_is_handed_down_and_a_folder_at_the_top_can_be_called():
    outer = 'variable "m" {}\n' + call('"../pool"', "machine = var.m")
    files = {"main": call('"./eks"', 'm = "p5.48xlarge"'), "eks__main": outer}
    assert given("pool", pool__variables=VARIABLES, **files)["machine"] == "p5.48xlarge"
    above = {"main": VARIABLES, "stacks__main": call('"../"', 'machine = "g6.xlarge"')}
    assert given("", **above)["machine"] == "g6.xlarge"


def test_a_circle_gives_nothing_and_ends():
    both = 'variable "machine" {}\n'
    files = {
        "a__main": both + call('"../b"', "machine = var.machine"),
        "b__main": both + call('"../a"', "machine = var.machine"),
    }
    assert given("a", **files) == {}


def test_a_sample_calls_nobody():
    files = {"main": ONE, "examples__main": call('"../pool"', 'machine = "t3.micro"')}
    known = given("pool", {"examples/main.tf"}, pool__variables=VARIABLES, **files)
    assert known["machine"] == "p5.48xlarge"
    assert "machine" not in given("pool", pool__variables=VARIABLES, **files)


@pytest.mark.parametrize("optional", [False, True])
def test_an_object_of_which_a_type_fills_in_the_rest_may_have_more(optional):
    of = "optional(string)" if optional else "string"
    text = f'variable "pools" {{ type = list(object({{ a = {of} }})) }}\n'
    arguments = 'pools = [{ a = "x" }, "y"]'
    known = given("pool", main=call('"./pool"', arguments), pool__variables=text)
    assert known == {"pools": [{"a": "x"}, "y"]}
    assert isinstance(known["pools"][0], PartlyKnown) is optional


def test_a_resource_of_a_module_is_judged_by_what_its_call_says():
    files = folders(main=ONE, pool__variables=VARIABLES, pool__main=GROUP)
    (item,) = read_modules(files).items
    assert item.place.file == "pool/main.tf"
    assert item.resource.properties["instanceTypes"] == ["p5.48xlarge"]
    assert item.resource.properties["capacityType"] == "ON_DEMAND"
    assert item.resource.properties["labels"] == {"nvidia.com/gpu.present": UNKNOWN}
    alone = read_modules({"pool": files["pool"]}).items[0].resource.properties
    assert alone["instanceTypes"] == [UNKNOWN]
    assert alone["capacityType"] is UNKNOWN


def test_lint_finds_what_is_wrong_only_with_the_argument_of_a_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = (
        'resource "helm_release" "o" {\n  chart   = "gpu-operator"\n  version = var.release\n}\n'
    )
    files = {
        "modules/operator/main.tf": release,
        "modules/operator/variables.tf": 'variable "release" {}\n',
        "live/main.tf": call('"../modules/operator"', 'release = "v25.3.0"', "operator"),
        "examples/main.tf": call('"../modules/operator"', 'release = "v26.7.0"', "operator"),
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    reading, _ = read_all(["."])
    hits = build_report(reading, RULES).hits
    assert {(hit.rule.id, hit.file, hit.line) for hit in hits} == {
        ("GPU-STK-01", "modules/operator/main.tf", 3),
        ("GPU-STK-02", "modules/operator/main.tf", 3),
    }


def test_a_pattern_of_names_is_no_word_of_gpus():
    data = b"""resource "aws_eks_cluster" "cp" { name = "a" }
locals { image = length(regexall("ARM|GPU$", var.kind)) > 0 ? "amazon-eks-*" : "amazon-eks" }
"""
    assert not read_module({"main.tf": data}).items
    assert read_module({"main.tf": data.replace(b"GPU$", b"GPU")}).items


def test_words_that_explain_kinds_of_images_are_no_word_of_gpus():
    data = b"""resource "aws_eks_cluster" "cp" { name = "a" }
resource "aws_eks_node_group" "n" {
  # "AL2_x86_64_GPU" = for GPU instances
  ami_type = "AL2_x86_64"
}
"""
    assert not read_module({"main.tf": data}).items
    assert read_module({"main.tf": data.replace(b'"AL2_x86_64"', b'"AL2_x86_64_GPU"')}).items
    assert read_module({"main.tf": data.replace(b'"AL2_x86_64_GPU" =', b"nodes")}).items
