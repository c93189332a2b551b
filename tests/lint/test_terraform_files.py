"""Terraform's own files: what they write out is a resource with its lines; what they do not is unknown."""

import re

import pytest

from case_files import load
from gpuyard_core.findings import Severity, show_path
from gpuyard_core.manifests.fields import at
from gpuyard_lint.cli.files import read_all
from gpuyard_lint.languages.terraform_files import CLOUD_DEFAULTED_FIELDS, NOTHING
from gpuyard_lint.read import read, read_module
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, NotEvaluatedError
from gpuyard_lint.rules.run import FindingState, RuleConfiguration
from gpuyard_lint.terraform import KINDS, terraform_name
from kit.cases.front_ends import hcl
from sizes import ROOT

GROUP = """# GPUs
resource "aws_eks_node_group" "gpus" {
  ami_type       = "AL2_x86_64_GPU"
  capacity_type  = local.mode
  instance_types = ["p5.48xlarge"]
  disk_size      = null
  node_role_arn  = aws_iam_role.nodes.arn
  scaling_config {
    max_size = 4
    min_size = var.least
  }
  labels = { my_label = "x" }
  taint {
    key    = "nvidia.com/gpu"
    effect = "NO_SCHEDULE"
  }
  timeouts {}
}
"""


def items(text, **files):
    written = {"main.tf": text, **{f"{name}.tf": each for name, each in files.items()}}
    reading = read_module({name: each.encode() for name, each in written.items()})
    assert [each for each in reading.skipped if not each.is_unrecognized] == []
    return reading.items


def the(text, **files):
    (item,) = items(text, **files)
    return item


def line(text, item, *path):
    return text.splitlines()[item.place.position(path)[0] - 1].strip()


def test_a_node_group_is_what_a_plan_makes_of_it():
    item = the(GROUP, other='locals { mode = "SPOT" }')
    assert (item.resource.kind, item.resource.name) == (
        "aws:eks/NodeGroup",
        "aws_eks_node_group.gpus",
    )
    assert item.resource.properties == {
        "amiType": "AL2_x86_64_GPU",
        "capacityType": "SPOT",
        "instanceTypes": ["p5.48xlarge"],
        "nodeRoleArn": "aws_iam_role.nodes",
        "scalingConfig": [{"maxSize": 4, "minSize": UNKNOWN}],
        "labels": {"my_label": "x"},
        "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        "tags": UNKNOWN,
    }


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (("amiType",), 'ami_type       = "AL2_x86_64_GPU"'),
        (("capacityType",), "capacity_type  = local.mode"),
        (("instanceTypes", 0), 'instance_types = ["p5.48xlarge"]'),
        (("scalingConfig", "maxSize"), "max_size = 4"),
        (("scalingConfig", "desiredSize"), "scaling_config {"),
        (("taints", 0, "effect"), 'effect = "NO_SCHEDULE"'),
        (("taints", 7), "taint {"),
        (("labels", "my_label"), 'labels = { my_label = "x" }'),
        (("nodeRepairConfig",), 'resource "aws_eks_node_group" "gpus" {'),
    ],
)
def test_a_field_is_found_where_it_is_written(path, wanted):
    assert line(GROUP, the(GROUP), *path) == wanted


def test_a_field_is_named_as_terraform_has_it():
    assert show_path(the(GROUP).place.document_path(("taints", 0, "effect"))) == "taint[0].effect"


def test_what_a_dynamic_block_makes_is_unknown_also_beside_one_that_is_written():
    text = GROUP.replace("timeouts {}", 'dynamic "taint" { for_each = var.taints }')
    item = the(text)
    assert item.resource.properties["taints"] is UNKNOWN
    assert line(text, item, "taints") == "taint {"


@pytest.mark.parametrize("times", ["count = 0", "for_each = {}", "for_each = toset([])"])
def test_what_is_there_no_time_is_not_looked_at(times):
    assert items(GROUP.replace("ami_type ", f"{times}\n  ami_type ")) == ()


@pytest.mark.parametrize(
    ("times", "maybe"),
    [
        ("", False),
        ("count = var.on ? 1 : 0", True),
        ("for_each = var.all", True),
        ("count = 2", True),
    ],
)
def test_what_a_variable_decides_may_not_be_there(times, maybe):
    assert the(GROUP.replace("ami_type ", f"{times}\n  ami_type ")).is_uncertain is maybe


@pytest.mark.parametrize(
    ("beside", "tags"),
    [
        ("", UNKNOWN),
        ('provider "aws" {\n  region = "x"\n}', None),
        ('provider "aws" {\n  default_tags {\n    tags = {}\n  }\n}', UNKNOWN),
    ],
)
def test_tags_that_a_provider_may_add_are_unknown(beside, tags):
    assert the(GROUP, providers=beside).resource.properties.get("tags") is tags


@pytest.mark.parametrize(("kind", "fields"), CLOUD_DEFAULTED_FIELDS.items())
def test_what_the_cloud_fills_in_is_unknown_where_it_is_not_said(kind, fields):
    item = the(f'resource "{kind}" "gpus" {{}}', beside="# of EKS")
    for field in fields:
        with pytest.raises(NotEvaluatedError):
            at(item.resource.properties, re.sub("_(.)", lambda m: m[1].upper(), field), "x")


def test_what_nodes_have_from_their_cluster_is_unknown():
    text = 'resource "google_container_node_pool" "gpus" {\n  node_config {\n  }\n}'
    assert the(text).resource.properties["nodeConfig"] == [
        {"workloadMetadataConfig": UNKNOWN, "resourceLabels": UNKNOWN}
    ]
    dynamic = text.replace("node_config {", 'dynamic "node_config" {')
    assert the(dynamic).resource.properties["nodeConfig"] is UNKNOWN
    other = text.replace("node_config {\n  }", "node_config = [var.x]")
    assert the(other).resource.properties["nodeConfig"] == [UNKNOWN]


@pytest.mark.parametrize(
    ("lifecycle", "protected"),
    [("prevent_destroy = true", True), ("prevent_destroy = false", None), ("", None)],
)
def test_what_terraform_refuses_to_delete_is_protected(lifecycle, protected):
    text = GROUP.replace("timeouts {}", f"lifecycle {{\n    {lifecycle}\n  }}")
    assert the(text).resource.protected is protected


def test_a_cloud_without_a_word_of_gpus_is_somebody_elses():
    text = 'resource "google_compute_firewall" "ssh" {\n  name = "ssh"\n}\n'
    reading = read(text.encode(), "main.tf")
    assert reading.items == ()
    assert [(u.reason, u.is_unrecognized) for u in reading.skipped] == [(NOTHING, True)]
    for each in ("GPUs", "runners", "nodes of karpenter", "Kubernetes"):
        assert items(text, pool=f"# {each}") == ()
    assert len(items(text, pool="# GPUs of EKS")) == 1
    assert len(items(text, pool="# GPUs by karpenter")) == 1
    assert len(items(BODY, pool="# for nodes of karpenter")) == 1


# ── Kubernetes ──

MANIFEST = """resource "kubernetes_manifest" "queue" {
  provider = kubernetes.west
  manifest = {
    apiVersion = "kueue.x-k8s.io/v1beta2"
    kind       = "ClusterQueue"
    metadata = {
      name = "${var.name}-queue"
    }
    spec = {
      cohort   = "all"
      selector = { (var.key) = "x" }
    }
  }
}
"""
BODY = """resource "kubectl_manifest" "queue" {
  yaml_body = <<-YAML
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata:
      name: ${var.name}
    spec:
      cohort: all
  YAML
}
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (MANIFEST, 'cohort   = "all"'),
        (BODY, "cohort: all"),
        (
            MANIFEST.replace("manifest =", "manifest = merge(").replace("  }\n}\n", "  })\n}\n"),
            'cohort   = "all"',
        ),
        (
            BODY.replace("yaml_body", "manifest")
            .replace("kubectl", "kubernetes")
            .replace("<<-YAML", "yamldecode(<<-YAML")
            .replace("  YAML\n", "  YAML\n  )\n"),
            "cohort: all",
        ),
        (
            MANIFEST.replace("manifest =", "yaml_body = yamlencode(")
            .replace("kubernetes_manifest", "kubectl_manifest")
            .replace("  }\n}\n", "  })\n}\n"),
            'cohort   = "all"',
        ),
    ],
)
def test_an_object_is_found_where_it_is_written(text, wanted):
    item = the(text)
    assert item.resource.kind == "kueue.x-k8s.io/v1beta2/ClusterQueue"
    assert item.resource.name == "(no name)"
    assert item.resource.properties["metadata"] == {"name": UNKNOWN}
    assert line(text, item, "spec", "cohort") == wanted
    column = item.place.position(("spec", "cohort"))[1]
    number = item.place.position(("spec", "cohort"))[0]
    assert text.splitlines()[number - 1][column - 1 :].startswith("cohort")


def test_objects_of_two_clusters_are_not_of_one_source():
    west, none = the(MANIFEST), the(MANIFEST.replace("provider = kubernetes.west", ""))
    assert {west.resource.source, none.resource.source} == {":kubernetes:west", ""}


@pytest.mark.parametrize(
    "written",
    [
        "manifest = var.manifest",
        'manifest = yamldecode(file("x.yaml"))',
        'manifest = { apiVersion = "v1" }',
        'manifest = { apiVersion = "v1", kind = "${var.kind}-x" }',
        'manifest = { apiVersion = var.v, kind = "Pod" }',
        "other = 1",
    ],
)
def test_what_is_not_known_to_be_an_object_is_none(written):
    text = f'# about GPUs\nresource "kubernetes_manifest" "x" {{\n  {written}\n}}'
    assert items(text) == ()


def test_a_configuration_inside_an_object_inside_a_text_has_its_line():
    text = """resource "kubernetes_manifest" "c" {
  manifest = {
    apiVersion = "v1"
    kind       = "ConfigMap"
    metadata   = { name = "c", namespace = var.namespace }
    data = {
      any = <<EOT
version: v1
sharing:
  timeSlicing:
    resources: [{name: nvidia.com/gpu, replicas: ${var.replicas}}]
EOT
      coded = yamlencode({
        version = "v1"
        flags   = { migStrategy = "mixed" }
      })
    }
  }
}
"""
    config_map, shared, coded = items(text)
    assert config_map.resource.namespace == ""
    assert config_map.resource.properties["data"]["any"] is UNKNOWN
    assert shared.resource.properties["sharing"]["timeSlicing"]["resources"] == [
        {"name": "nvidia.com/gpu", "replicas": UNKNOWN}
    ]
    assert line(text, shared, "sharing", "timeSlicing") == "timeSlicing:"
    assert line(text, coded, "flags", "migStrategy") == 'flags   = { migStrategy = "mixed" }'


# ── charts ──

RELEASE = """resource "helm_release" "operator" {
  chart   = "gpu-operator"
  version = "v26.7.0"
  values = [
    %s
    yamlencode({
      driver = { enabled = true, version = "580" }
      toolkit = { enabled = true }
    }),
    <<-EOT
      driver:
        enabled: false
      cdi: {enabled: "${var.cdi}"}
    EOT
  ]
  postrender {}
  dynamic "postrender" {}
  set {
    name  = "toolkit.enabled"
    value = "false"
  }
  set {
    name  = "mig.strategy"
    value = "single"
  }
}
"""


def operator(text):
    found = [each for each in items(text) if each.resource.kind == "values:gpu-operator"]
    assert len(found) == 1
    return found[0]


def test_values_are_what_helm_makes_of_them():
    text = RELEASE % ""
    item = operator(text)
    assert item.resource.properties == {
        "driver": {"enabled": False, "version": "580"},
        "toolkit": {"enabled": False},
        "cdi": {"enabled": UNKNOWN},
        "mig": {"strategy": "single"},
    }
    assert line(text, item, "driver", "enabled") == "enabled: false"
    assert line(text, item, "driver", "version").startswith("driver = { enabled = true, version =")
    assert line(text, item, "toolkit", "enabled") == 'value = "false"'
    assert line(text, item, "mig", "strategy") == 'value = "single"'
    assert line(text, item, "dcgm") == "values = ["
    assert item.place.document_path(("dcgmExporter", "enabled")) == ("dcgmExporter", "enabled")
    assert item.place.with_document_names("set dcgmExporter") == "set dcgmExporter"


def test_what_a_file_that_is_not_here_may_set_is_unknown_but_for_what_comes_after():
    found = operator(RELEASE % 'file("values.yaml"),').resource.properties
    assert at(found, "driver", "version") == "580"
    with pytest.raises(NotEvaluatedError):
        at(found, "dcgmExporter")
    with pytest.raises(NotEvaluatedError):
        at(found, "driver", "usePrecompiled")
    text = (RELEASE % "").replace("  ]\n", "    var.more,\n  ]\n")
    after = operator(text).resource.properties
    assert at(after, "toolkit", "enabled") is False
    with pytest.raises(NotEvaluatedError):
        at(after, "driver", "enabled")


@pytest.mark.parametrize(
    ("sets", "wanted"),
    [
        ('set {\n name = "a\\\\.b.c"\n value = 4\n}', {"a.b": {"c": 4}}),
        ('set {\n name = "a"\n value = "4"\n}', {"a": 4}),
        ('set {\n name = "a"\n value = "4"\n type = "string"\n}', {"a": "4"}),
        ('set {\n name = "a"\n value = "0x"\n}', {"a": "0x"}),
        ('set {\n name = "a"\n value = "null"\n}', {"a": None}),
        ('set {\n name = "a"\n value = "{x, 1}"\n}', {"a": ["x", 1]}),
        ('set {\n name = "a"\n value = "{}"\n}', {"a": []}),
        ('set {\n name = "a[0].b"\n value = "x"\n}', {"a": UNKNOWN}),
        ('set {\n name = "a.b"\n value = var.x\n}', {"a": {"b": UNKNOWN}}),
        ('set_list {\n name = "a"\n value = ["x"]\n}', {"a": ["x"]}),
        ('set_sensitive {\n name = "a"\n}', {"a": None}),
        (
            'set = [\n { name = "a", value = true },\n { name = "a", value = false },\n]',
            {"a": False},
        ),
        ("values = local.values", {"a": 1}),
        ("values = local.one", {"a": 1}),
    ],
)
def test_single_values_are_read_as_helm_does(sets, wanted):
    text = f'resource "helm_release" "x" {{\n chart = "gpu-operator"\n {sets}\n}}\n'
    known = 'locals {\n  values = ["a: 1"]\n  one = [{ a = 1 }]\n}\n'
    found = operator(text + known).resource.properties
    assert {key: found[key] for key in wanted} == wanted
    assert at(found, "none") is None


@pytest.mark.parametrize(
    "sets",
    [
        "set {\n name = var.x\n value = 1\n}",
        'set {\n name = "a.${var.x}"\n value = 1\n}',
        'dynamic "set" {\n for_each = var.x\n}',
        "set = var.sets",
        "set = [var.one]",
        "values = var.values",
        'values = ["a: ["]',
        "values = [local.broken]",
        "values = local.lists",
    ],
)
def test_where_anything_may_be_set_nothing_is_known_to_be_absent(sets):
    text = f'resource "helm_release" "x" {{\n chart = "gpu-operator"\n {sets}\n}}\n'
    text += 'locals {\n  broken = "a: ["\n  lists = ["a: [", "a: 1\\n---\\nb: 1"]\n}\n'
    with pytest.raises(NotEvaluatedError):
        at(operator(text).resource.properties, "none")


def test_a_chart_whose_name_is_unknown_is_told_by_its_values():
    text = RELEASE.replace('"gpu-operator"', "var.chart") % "yamlencode({ devicePlugin = {} }),"
    assert operator(text).resource.name == "gpu-operator"


# ── files and folders ──


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'resource "aws_eks_cluster" "x" {', "not HCL: line 1: `}` was expected"),
        (b'resource "aws_eks_cluster" "x" { # \xff', "not text (byte 35 is not UTF-8)"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(text, reason):
    (unread,) = read(text, "main.tf").skipped
    assert (unread.reason, unread.is_unrecognized, unread.line) == (reason, False, 1)


def test_a_folder_is_one_module_and_its_neighbour_another(tmp_path):
    for name, text in {
        "a/main.tf": GROUP,
        "a/locals.tf": 'locals { mode = "SPOT" }',
        "a/outputs.tf": 'output "x" { value = 1 }',
        "b/main.tofu": GROUP,
        "b/plan.txt": "nothing",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    reading, _ = read_all([str(tmp_path)])
    assert [each.resource.properties["capacityType"] for each in reading.items] == ["SPOT", UNKNOWN]
    assert [name.removeprefix(f"{tmp_path}/") for name in reading.files] == [
        "a/locals.tf",
        "a/main.tf",
        "a/outputs.tf",
        "b/main.tofu",
    ]
    assert {u.file.removeprefix(f"{tmp_path}/"): u.is_unrecognized for u in reading.skipped} == {
        "a/locals.tf": True,
        "a/outputs.tf": True,
    }
    (named,) = read_all([str(tmp_path / "a/outputs.tf")])[0].skipped
    assert not named.is_unrecognized


def test_every_case_is_found_on_the_line_that_has_it():
    """The line of a finding has the name of the field, or of what is around the field that is missing."""
    seen = 0
    for path in sorted((ROOT / "tests/rules/cases").glob("GPU-*.yaml")):
        found = load(path.read_text(encoding="utf-8"))
        for case in found["bad"]:
            if "terraform" in {**found.get("not_as", {}), **case.get("not_as", {})}:
                continue
            text = hcl(case["resources"])
            reading = read(text.encode(), "main.tf")
            rules = [rule for rule in RULES if rule.id == path.stem]
            items_ = {id(item.resource): item for item in reading.items}
            for hit in build_report(reading, rules).hits:
                written = text.splitlines()[hit.line - 1]
                names = re.findall(r"[\w/-]{2,}", hit.diagnostic.location)
                assert any(n in written for n in names) or re.search(
                    r"resource |user_data|\{$|^ *[\"<\[]", written
                ), (path.stem, hit.diagnostic.location, written)
                seen += 1
            assert items_
    assert seen > len(KINDS)


def test_what_a_variable_decides_is_held_against_the_rest_both_ways():
    """A quota of slices is wrong beside an operator that makes none, and the operator may not be there."""
    quota = """resource "kubernetes_manifest" "quota" {
  manifest = {
    apiVersion = "v1"
    kind       = "ResourceQuota"
    metadata   = { name = "q", namespace = "a" }
    spec       = { hard = { "requests.nvidia.com/mig-1g.5gb" = 1 } }
  }
}
"""
    chart = """resource "helm_release" "o" {
  %s
  chart   = "gpu-operator"
  version = "v26.7.0"
  values  = [yamlencode({ mig = { strategy = "single" } })]
}
"""

    def hits(times, of_quota=""):
        text = quota.replace("  manifest", f"  {of_quota}\n  manifest", 1) + chart % times
        made = build_report(read(text.encode(), "main.tf"), RULES)
        return [h.diagnostic.location for h in made.hits if h.rule.id == "GPU-SHR-03"]

    assert hits("") == hits("count = var.on ? 1 : 0") == ["mig.strategy"]
    assert hits("", "count = var.on ? 1 : 0") == []


def test_what_only_a_plan_knows_is_told_apart():
    text = GROUP.replace("local.mode", '"SPOT"')
    made = build_report(read(text.encode(), "main.tf"), RULES)
    states = {hit.state for hit in made.hits}
    assert states == {FindingState.OPEN, FindingState.NOT_EVALUATED}
    (old,) = [hit for hit in made.hits if hit.rule.id == "GPU-AWS-08"]
    assert (old.line, old.diagnostic.location, old.diagnostic.severity) == (
        3,
        "ami_type",
        Severity.ERROR,
    )
    assert terraform_name("amiType") == old.diagnostic.location


@pytest.mark.parametrize(
    ("kind", "body", "rule"),
    [
        (
            "google_container_node_pool",
            'node_config {\n machine_type = "a3-highgpu-8g"\n resource_labels = %s\n }',
            "GPU-CAP-06",
        ),
        (
            "kubernetes_manifest",
            """manifest = {
              apiVersion = "v1"
              kind       = "Pod"
              metadata   = { name = "p" }
              spec = {
                containers = [{
                  name  = "a"
                  image = "x@sha256:1"
                  resources = {
                    requests = { "nvidia.com/gpu" = 1 }
                    limits   = %s
                  }
                }]
              }
            }""",
            "GPU-POD-04",
        ),
    ],
)
def test_nothing_is_missed_in_a_mapping_of_which_a_part_is_known(kind, body, rule):
    def states(mapping):
        text = f'resource "{kind}" "x" {{\n {body % mapping}\n}}\n# gpu\n'
        rules = [each for each in RULES if each.id == rule]
        asked = RuleConfiguration(parameters={"GPU-CAP-06": {"tags": ("owner",)}})
        return {
            hit.state for hit in build_report(read(text.encode(), "main.tf"), rules, asked).hits
        }

    assert states('{ a = "b" }') == {FindingState.OPEN}
    assert states('{ a = "b", (var.k) = "c" }') == {FindingState.NOT_EVALUATED}
    assert states("var.all") == {FindingState.NOT_EVALUATED}


def test_a_queue_whose_name_is_unknown_may_be_the_one_that_a_job_names():
    def queue(name):
        return f"""resource "kubernetes_manifest" "queue{len(name)}" {{
  manifest = {{
    apiVersion = "kueue.x-k8s.io/v1beta2"
    kind       = "LocalQueue"
    metadata   = {{ name = {name}, namespace = "a" }}
    spec       = {{ clusterQueue = "all" }}
  }}
}}
"""

    job = """resource "kubernetes_manifest" "job" {
  manifest = {
    apiVersion = "batch/v1"
    kind       = "Job"
    metadata = {
      name      = "j"
      namespace = "a"
      labels    = { "kueue.x-k8s.io/queue-name" = "train" }
    }
    spec = {}
  }
}
"""

    def states(text):
        made = build_report(read(text.encode(), "main.tf"), RULES)
        return [(h.line, h.state.value) for h in made.hits if h.rule.id == "GPU-QUE-01"]

    other, either = (job + queue('"other"') + more for more in ("", queue("var.queue")))
    assert states(other) == [(8, "open")]
    assert states(either) == [(25, "not-evaluated")]
    assert states(job + queue('"train"')) == []
