"""A Pulumi program in YAML has the resources that it writes out; what a run would tell is unknown."""

import pytest

from gpuyard_core.manifests.fields import PartlyKnown
from gpuyard_lint.languages.pulumi_yaml import PROJECT
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from kit.every import every

HEAD = "name: lab\nruntime: yaml\n"
PROGRAM = (
    HEAD
    + """variables:
  release: v25.3.0
  subnets:
    fn::invoke: {function: aws:ec2:getSubnets, return: ids}
resources:
  gpus:
    type: aws:eks:NodeGroup
    properties:
      amiType: AL2023_x86_64_NVIDIA
      instanceTypes: [p5.48xlarge]
      subnetIds: ${subnets}
      nodeRoleArn: ${role.arn}
      scalingConfig: {maxSize: 2}
      tags: {owner: a, cost-center: b}
      nodeRepairConfig: {enabled: true}
  operator:
    type: kubernetes:helm.sh/v3:Release
    properties:
      chart: gpu-operator
      version: ${release}
      values:
        mig: {config: all-1g.10gb}
  job:
    type: kubernetes:batch/v1:Job
    properties:
      metadata: {name: train}
      spec:
        template:
          spec:
            containers:
              - {name: a, image: "torch:2.9", resources: {limits: {nvidia.com/gpu: 0.5}}}
"""
)


def items(text):
    reading = read(text.encode(), "Pulumi.yaml")
    assert reading.skipped == ()
    return reading.items


def one(properties="{}", rest="", type_="gcp:container:NodePool", variables="{}"):
    text = (
        f"{HEAD}description: GPUs\nvariables: {variables}\n"
        f"resources:\n  a:\n    type: {type_}\n    properties: {properties}\n{rest}"
    )
    (item,) = items(text)
    return item.resource


def test_what_is_wrong_in_a_program_is_told_at_its_line():
    hits = build_report(read(PROGRAM.encode(), "Pulumi.yaml"), RULES).hits
    assert {(hit.rule.id, hit.line) for hit in hits} == {
        ("GPU-CAP-01", 10),
        ("GPU-STK-01", 22),
        ("GPU-STK-02", 22),
        ("GPU-CFG-02", 24),
        ("GPU-STK-04", 23),
        ("GPU-POD-04", 33),
    }


def test_resources_are_those_that_a_preview_would_show():
    assert [(i.resource.kind, i.resource.name) for i in items(PROGRAM)] == [
        ("aws:eks/NodeGroup", "gpus"),
        ("helm:Release", "operator"),
        ("values:gpu-operator", "gpu-operator"),
        ("batch/v1/Job", "train"),
    ]


@every(
    ("written", "variables", "value"),
    [
        ("x", "{}", "x"),
        ("5", "{}", 5),
        ('"${role.arn}"', "{}", UNKNOWN),
        ('"a-${role.name}"', "{}", UNKNOWN),
        ('"$${HOME}"', "{}", "${HOME}"),
        ('"${m}"', "{m: g6.xlarge}", "g6.xlarge"),
        ('"${m}"', "{m: [a, b]}", ["a", "b"]),
        ('"${m}"', "{m: {a: b}}", {"a": "b"}),
        ('"a-${m}"', "{m: g6.xlarge}", UNKNOWN),
        ('"${m}"', '{m: "${n}", n: x}', UNKNOWN),
        ('"${m}"', '{m: {"fn::invoke": {}}}', UNKNOWN),
        ('"${m}"', "5", UNKNOWN),
        ('{"fn::toJSON": {a: b}}', "{}", UNKNOWN),
        ('["${a.b}", c]', "{}", [UNKNOWN, "c"]),
    ],
)
def test_a_value_is_what_is_written_or_unknown(written, variables, value):
    found = one(f"{{field: {written}}}", variables=variables).properties["field"]
    assert found is UNKNOWN if value is UNKNOWN else found == value


def test_a_mapping_with_a_key_that_is_computed_may_have_more_in_it():
    found = one('{labels: {"${a.b}": c, d: e}}').properties["labels"]
    assert isinstance(found, PartlyKnown)
    assert dict(found) == {"d": "e"}


@every(
    ("options", "protected"),
    [
        ("", False),
        ("    options: {protect: true}\n", True),
        ("    options: {protect: false}\n", False),
        ('    options: {protect: "${kept}"}\n', None),
    ],
)
def test_whether_it_is_protected_stands_in_its_options(options, protected):
    assert one(rest=options).protected is protected


@pytest.mark.parametrize(
    "resource",
    [
        "5",
        "{}",
        "{type: 5}",
        "{type: 'aws:eks:Cluster', get: {id: x}}",
        "{type: 'aws:eks:Cluster', properties: '${all}'}",
        "{type: 'aws:eks:Cluster', options: '${all}'}",
        "{type: 'pulumi:providers:aws'}",
        "{type: 'eks:Cluster'}",
    ],
)
def test_what_is_only_read_or_no_resource_of_a_cloud_is_passed_over(resource):
    assert items(f"{HEAD}description: GPUs\nresources: {{a: {resource}}}\n") == ()


def test_a_cloud_without_a_word_of_gpus_is_somebody_elses():
    text = f"{HEAD}resources: {{a: {{type: 'aws:eks:Cluster'}}, b: {{type: 'kubernetes:core/v1:Pod'}}}}\n"
    assert [item.resource.kind for item in items(text)] == ["v1/Pod"]


@every(
    ("head", "read_so"),
    [
        (HEAD, True),
        ("name: lab\nruntime: {name: yaml, options: {}}\n", True),
        ("name: lab\nruntime: python\n", False),
        ("name: lab\n", False),
    ],
)
def test_only_a_project_of_the_runtime_yaml_has_its_program_in_it(head, read_so):
    text = head + "resources: {b: {type: 'kubernetes:core/v1:Pod'}}\n"
    reading = read(text.encode(), "Pulumi.yaml")
    assert bool(reading.items) is read_so
    assert bool(reading.skipped) is not read_so


def test_a_program_without_resources_is_none():
    assert read(f"{HEAD}resources: 5\n".encode(), "Pulumi.yaml").items == ()
    assert read(b"- runtime\n", "Pulumi.yaml").items == ()


@pytest.mark.parametrize("runtime", ["python", "{name: nodejs, options: {typescript: true}}"])
def test_of_a_program_that_has_to_be_run_it_is_said_what_shows_its_resources(runtime):
    reading = read(f"name: lab\nruntime: {runtime}\n".encode(), "Pulumi.yaml")
    assert [(u.reason, u.is_unrecognized) for u in reading.skipped] == [(PROJECT, False)]
    assert "`pulumi preview --json" in PROJECT


@pytest.mark.parametrize(
    "text", ["name: lab\nruntime: [python]\n", "runtime: python\n", "name: lab\nruntime: yaml\n"]
)
def test_what_only_looks_like_a_project_is_nobodys(text):
    reading = read(text.encode(), "settings.yaml")
    assert [u.is_unrecognized for u in reading.skipped] == [True]


def test_of_a_container_with_an_image_of_elsewhere_the_rest_is_judged():
    pod = "{spec: {containers: [{name: a, image: '${img}', resources: {limits: {nvidia.com/gpu: 1}}}]}}"
    made = one(pod, type_="kubernetes:core/v1:Pod")
    assert made.properties["spec"]["containers"][0]["image"] == "${unknown}"
