"""HCL is read whole, with a line for each thing; what it would take Terraform to say has no known value."""

import random

import pytest

from gpuyard_core.manifests.fields import at, mapping
from gpuyard_lint.languages.hcl import MAX_DEPTH, HclError, HclForm, parse_hcl
from gpuyard_lint.languages.hcl_values import Module, Places, merge_overlays, without_unknowns
from gpuyard_lint.rules.rule import UNKNOWN, NotEvaluatedError

LOCALS = """
locals {
  name   = "gpus"
  count_ = 4
  tags   = { owner = "ml", "cost-center" = local.name }
  list   = ["a", "b"]
  round  = local.about
  about  = local.round
  text   = "a: 1"
}
"""


def value(written, local=LOCALS):
    """Of the expression, in a module with these locals."""
    top = parse_hcl(f"{local}\nx = {written}\n")
    attributes = {}
    for block in top.blocks:
        attributes |= block.attributes
    return without_unknowns(Module(attributes).value(top.attributes["x"].value))


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("1", 1),
        ("-1.5", -1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ('"a b"', "a b"),
        (r'"\"q\" \\ \n \t \u00e9 \U0001F600 \x"', '"q" \\ \n \t é 😀 x'),
        ('"$${a} %%{b} $ % 5%"', "${a} %{b} $ % 5%"),
        ("[1, 2,]", [1, 2]),
        ("[\n  1, # one\n  2 // two\n]", [1, 2]),
        ("{}", {}),
        ('{ a = 1, "b" : 2 }', {"a": 1, "b": 2}),
        ("{\n a = 1\n /* c */ b = [\n 2\n ]\n}", {"a": 1, "b": [2]}),
        ('{ (local.name) = 1, "${local.name}-b" = 2 }', {"gpus": 1, "gpus-b": 2}),
        ("(1)", 1),
        ("local.name", "gpus"),
        ("local.tags.cost-center", "gpus"),
        ('local.tags["owner"]', "ml"),
        ("local.list[1]", "b"),
        ("local.list.0", "a"),
        ('"${local.name}-${local.count_}-${true}"', "gpus-4-true"),
        ('"${ local.list }"', ["a", "b"]),
        ('"a${~ local.name ~}b"', "agpusb"),
        ("<<EOT\na: 1\n  b\nEOT", "a: 1\n  b\n"),
        ("<<-EOT\n    a: 1\n      b: ${local.name}\n\n    EOT", "a: 1\n  b: gpus\n\n"),
        ("<<EOT\nEOT", ""),
        ("<<EOT\n$${a} 5% %%{ if }\nEOT", "${a} 5% %{ if }\n"),
        ("yamlencode({ a = 1 })", {"a": 1}),
        ("tolist(toset([1]))", [1]),
        ("yamldecode(local.text)", {"a": 1}),
        ('jsondecode("{\\"a\\": [1]}")', {"a": [1]}),
        ("merge({ a = 1, b = 1 }, null, { b = 2 })", {"a": 1, "b": 2}),
        ('base64encode("x")', "x"),
    ],
)
def test_what_is_written_out_is_known(written, wanted):
    assert value(written) == wanted


@pytest.mark.parametrize(
    "written",
    [
        "var.size",
        "local.nothing",
        "local",
        "local.round",
        "local.tags.none",
        "local.list[9]",
        "local.list[var.i]",
        "local.list[*]",
        "local.list.*.id",
        "local.name.x",
        "aws_launch_template.gpus.id",
        "data.aws_ami.x[0].id",
        "1 + 2",
        "-local.count_",
        "!true",
        "a == b",
        "a && b || c",
        'a == "x}" || b != <<EOT\n}\nEOT',
        "[for a in f(<<EOT\n]\nEOT\n) : a]",
        '{ for a in "}" : a => "{" }',
        "var.a ? 1 : 2",
        'var.a ? { b = "}" } : { b = [")"] }',
        "var.a ? provider::x::y(1) : 2",
        "(var.a) ? 1 : 2",
        "[for a in b : a]",
        "{ for k, v in b : k => v... if v != null }",
        'file("x.yaml")',
        'templatefile("x", { a = 1 })',
        "max(local.list...)",
        "provider::aws::arn_parse(1)",
        "f().x[0]",
        'yamldecode("a: [")',
        'yamldecode("a: 1\\n---\\nb: 1")',
        "yamldecode(var.x)",
        "yamlencode({}, 1)",
        '"${var.x}"',
        '"a-${var.x}"',
        '"a-${[1]}"',
        '"%{ if a }b%{ else }"',
        "<<EOT\n%{ for a in b ~}\nx\n%{ endfor }\nEOT",
        "<<EOT\n${var.x}\nEOT",
        "<<EOT\n  ${local.lines}\nEOT",
        "<<EOT\nx\nEOT\n == 1",
    ],
)
def test_what_terraform_would_have_to_say_is_unknown(written):
    local = f'{LOCALS}\nlocals {{\n  lines = "a\\nb"\n}}'
    if "== 1" in written:
        written = f"({written})"
    assert value(written, local) is UNKNOWN


def test_the_rest_of_a_mapping_with_an_unknown_key_is_unknown():
    for written in (
        "{ (var.k) = 1, a = 2 }",
        '{ "${var.k}-x" = 1, a = 2 }',
        "merge(var.x, { a = 2 })",
        "merge({ a = 1, b = 1 }, { (var.k) = 1, a = 2 })",
        'yamldecode("a: 2\\n${var.k}: 1")',
    ):
        found = value(written)
        assert at(found, "a") == 2
        with pytest.raises(NotEvaluatedError):
            at(found, "b")
        assert mapping(found) is found
        assert found.get("b", 5) == 5


def test_a_part_that_is_unknown_is_unknown_alone():
    found = value('{ a = "x-${var.y}", b = ["${var.z}!", 1], c = { d = var.e } }')
    assert found == {"a": UNKNOWN, "b": [UNKNOWN, 1], "c": {"d": UNKNOWN}}


def test_helm_lays_mappings_into_each_other():
    under, over = {"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "e": {"f": 1}}
    assert merge_overlays([under, over], deep=True) == {
        "a": {"b": 1, "c": [2]},
        "d": 1,
        "e": {"f": 1},
    }
    after = merge_overlays([under, UNKNOWN, over], deep=True)
    assert after == {"a": {"c": [2]}, "e": {"f": 1}}
    for path in (("d",), ("a", "b"), ("e", "g")):
        with pytest.raises(NotEvaluatedError):
            at(after, *path)


BODY = """
# a comment with { and "
resource "aws_eks_node_group" "gpus" {
  ami_type = "AL2023" /* here
  and there */
  labels   = {
    "a/b" = 1
    c : [
      2,
    ]
  }

  taint {
    key = "x"
  }
  dynamic taint { for_each = [] }
  empty {}
}
"""


def test_blocks_have_labels_attributes_and_lines():
    (block,) = parse_hcl(BODY).blocks
    assert (block.type, block.labels, block.line, block.column) == (
        "resource",
        ("aws_eks_node_group", "gpus"),
        3,
        1,
    )
    assert {name: (a.line, a.column) for name, a in block.attributes.items()} == {
        "ami_type": (4, 3),
        "labels": (6, 3),
    }
    assert [(each.type, each.labels, each.line) for each in block.blocks] == [
        ("taint", (), 13),
        ("dynamic", ("taint",), 16),
        ("empty", (), 17),
    ]


def test_what_is_written_out_is_marked_where_it_stands():
    (block,) = parse_hcl(BODY).blocks
    into = Places()
    Module({}).value(block.attributes["labels"].value, ("l",), into)
    assert into.document.lines == {("l", "a/b"): 7, ("l", "c"): 8, ("l", "c", 0): 9}
    assert into.document.columns[("l", "c", 0)] == 7


@pytest.mark.parametrize(
    ("text", "line", "wanted"),
    [
        ("a = \n", 1, "a value was expected"),
        ("\n= 1", 2, "a name was expected"),
        ("a b", 1, "`=` or `{` was expected"),
        ("a {", 1, "`}` was expected"),
        ("a {\n}\n}", 3, "a name was expected"),
        ('a = "b\n', 1, '`"` was expected'),
        ('a = "b', 1, '`"` was expected'),
        ("a = [1 = 2]", 1, "`,` or `]` was expected"),
        ("a = [1", 1, "`,` or `]` was expected"),
        ("a = f(1", 1, "`,` or `)` was expected"),
        ("a = {b}", 1, "`=` was expected"),
        ("a = {b = 1 c = 2}", 1, "`,` or a new line was expected"),
        ("a = [for x in [1)]", 1, "`]` was expected"),
        ("a = <<EOT\nb", 1, "the line `EOT` after it was expected"),
        ("a = <<EOT\n${b\nEOT\n", 3, "`}` was expected"),
        ("a = (1", 1, "`)` was expected"),
        ('a = "${b', 1, "`}` was expected"),
    ],
)
def test_what_is_no_hcl_is_told_with_its_line(text, line, wanted):
    with pytest.raises(HclError) as caught:
        parse_hcl(text)
    assert caught.value.line == line
    assert str(caught.value) == f"not HCL: line {line}: {wanted}"


@pytest.mark.parametrize("nested", ["a = " + "[" * 500, "a {\n" * 500, "a = [for" + "(" * 500])
def test_no_text_is_nested_too_deep_for_the_reader(nested):
    with pytest.raises(HclError, match=f"nested more than {MAX_DEPTH} deep"):
        parse_hcl(nested)


def test_locals_that_lead_far_end_unknown():
    chain = "".join(f"l{i} = local.l{i + 1}\n" for i in range(90))
    assert value("local.l0", f"locals {{\n{chain}l90 = 1\n}}") is UNKNOWN
    assert value("local.l60", f"locals {{\n{chain}l90 = 1\n}}") == 1


def test_an_operator_makes_an_expression_that_is_known_as_such():
    forms = {
        "1": HclForm.LITERAL,
        "a.b": HclForm.REFERENCE,
        "f(1)": HclForm.CALL,
        "a.b != c": HclForm.OTHER,
        "a >= 1": HclForm.OTHER,
        "{ a = 1 }.a": HclForm.OTHER,
    }
    for written, form in forms.items():
        assert parse_hcl(f"x = {written}").attributes["x"].value.form is form


def test_locals_of_locals_are_made_no_larger_than_is_good():
    """Forty lines that would be a million million values, and as much text."""
    lists = "".join(f"l{i} = [local.l{i + 1}, local.l{i + 1}]\n" for i in range(40))
    assert value("local.l39", f"locals {{\n{lists}l40 = 1\n}}") == [1, 1]
    found = value("local.l0", f"locals {{\n{lists}l40 = 1\n}}")
    while isinstance(found, list):
        found = found[-1]
    assert found is UNKNOWN
    texts = "".join(f'l{i} = "${{local.l{i + 1}}}${{local.l{i + 1}}}"\n' for i in range(40))
    assert value("local.l0", f'locals {{\n{texts}l40 = "{"x" * 100}"\n}}') is UNKNOWN


SEED = f"""{BODY}
locals {{
  a = "${{var.x}}-%{{ if a }}b%{{ endif }}" # c
  b = <<-EOT
    ${{local.a}}
  EOT
  c = [for x in local.l : {{ a = x }} if x != "]"]
  d = var.a ? f(1, [2]...) : {{ (var.b) = -1 }}
}}
"""
SIGNS = ["{", "}", "[", "]", "(", ")", '"', "<<EOT\n", "${", "%{", "#", "/*", "*/", "=", ":", "?"]
SIGNS += ["\n", ",", ".", "...", "=>", "~", "\\", "-", "for ", "\x00", "\ue000", "é", " "]


def test_no_slip_of_the_hand_ends_otherwise_than_told():
    """What is read is read, what is not is told with a line that is there."""
    random_ = random.Random(19)  # noqa: S311  the same slips each time
    times, ends = 1500, {"read": 0, "told": 0}
    for _ in range(times):
        text = SEED
        for _ in range(random_.randint(1, 4)):
            at_, gone = random_.randrange(len(text)), random_.choice([0, 0, 1, 5])
            text = text[:at_] + random_.choice(SIGNS) + text[at_ + gone :]
        try:
            top = parse_hcl(text)
        except HclError as e:
            ends["told"] += 0 < e.line <= text.count("\n") + 1
            continue
        ends["read"] += 1
        attributes = {}
        for block in top.blocks:
            attributes |= block.attributes
        for each in attributes.values():
            without_unknowns(Module(attributes).value(each.value, ("x",), Places()))
    assert sum(ends.values()) == times
    assert min(ends.values()) > 100
