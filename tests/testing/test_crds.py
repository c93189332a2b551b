"""Custom resources are checked against the CRD files of a folder."""

from pathlib import Path

import pytest
import yaml

from gpuyard_testing import CrdFolder
from kit.levels import upstream

CRDS = Path(__file__).parent / "fixtures" / "crds"


def widget(spec, **metadata):
    return {
        "apiVersion": "toys.example/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "toys", **metadata},
        "spec": spec,
    }


def test_a_valid_object_has_no_violations():
    assert CrdFolder(CRDS).violations(widget({"size": 1}, labels={"a": "b"})) == []


def test_a_field_of_the_wrong_type_is_a_violation():
    assert CrdFolder(CRDS).violations(widget({"size": "1"})) == [
        ("spec.size", 'given "1", allowed: integer')
    ]


def test_an_unknown_top_level_field_is_a_violation():
    assert CrdFolder(CRDS).violations({**widget({}), "value": 3}) == [
        ("value", "no such field; allowed: apiVersion, kind, metadata, spec")
    ]


def test_a_top_level_field_of_the_schema_is_allowed():
    grade = {"apiVersion": "toys.example/v1", "kind": "Grade", "metadata": {"name": "g"}}
    assert CrdFolder(CRDS).violations({**grade, "value": 3}) == []
    assert CrdFolder(CRDS).violations(grade) == [("value", "missing, and required")]


def test_a_namespaced_object_must_name_its_namespace():
    assert CrdFolder(CRDS).violations(widget({}, namespace=None)) == [
        ("metadata.namespace", "missing, and Widget is namespaced; name the namespace")
    ]


def test_a_cluster_wide_object_must_not_name_one():
    grade = {
        "apiVersion": "toys.example/v1",
        "kind": "Grade",
        "metadata": {"name": "g", "namespace": "toys"},
        "value": 1,
    }
    assert CrdFolder(CRDS).violations(grade) == [
        ("metadata.namespace", "given 'toys', but Grade is cluster-wide; leave it out")
    ]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("toys.example/v2", "Widget"),
        ("toys.example/v1alpha1", "Widget"),  # in the file, but not served
        ("other.example/v1", "Widget"),
        ("toys.example/v1", "Gadget"),
    ],
)
def test_a_kind_no_file_serves_is_not_judged(api_version, kind):
    assert CrdFolder(CRDS).violations({"apiVersion": api_version, "kind": kind}) is None


def crd_of_two_versions():
    def version(name, field):
        schema = {"type": "object", "properties": {field: {"type": "integer"}}}
        served = {"name": name, "served": True, "storage": name == "v2"}
        return {**served, "schema": {"openAPIV3Schema": schema}}

    names = {"kind": "Cog", "plural": "cogs"}
    versions = [version("v1", "teeth"), version("v2", "toothCount")]
    spec = {"group": "toys.example", "scope": "Cluster", "names": names, "versions": versions}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": spec,
    }


def cog(version, **fields):
    return {
        "apiVersion": f"toys.example/{version}",
        "kind": "Cog",
        "metadata": {"name": "c"},
        **fields,
    }


@pytest.mark.parametrize("listed", [False, True], ids=["alone", "in a list"])
def test_an_object_is_held_to_the_schema_of_its_own_version(tmp_path, listed):
    crd = crd_of_two_versions()
    shown = {"apiVersion": "v1", "kind": "List", "items": [crd]} if listed else crd
    (tmp_path / "cogs.yaml").write_text(yaml.safe_dump(shown))
    folder = CrdFolder(tmp_path)
    assert folder.violations(cog("v1", teeth=8)) == []
    assert folder.violations(cog("v2", toothCount=8)) == []
    for version, field in (("v1", "toothCount"), ("v2", "teeth")):
        ((path, said),) = folder.violations(cog(version, **{field: 8}))
        assert path == field
        assert said.startswith("no such field")


def test_a_missing_folder_is_named():
    with pytest.raises(NotADirectoryError, match="nowhere is not a folder of CRD files"):
        CrdFolder("nowhere")


def test_files_that_are_no_crds_are_passed_over(tmp_path):
    (tmp_path / "list.yml").write_text("# CustomResourceDefinition\n  kind: Widget\n---\n- 1\n")
    assert CrdFolder(tmp_path).definition("toys.example/v1", "Widget") is None


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("kueue.x-k8s.io/v1beta1", "ClusterQueue"),
        ("kueue.x-k8s.io/v1beta1", "WorkloadPriorityClass"),
        ("karpenter.sh/v1", "NodePool"),
    ],
)
def test_the_real_crds_are_found(api_version, kind):
    assert CrdFolder(upstream("crds")).definition(api_version, kind) is not None


def test_a_real_priority_class_has_a_top_level_value():
    priority = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"},
    }
    crds = CrdFolder(upstream("crds"))
    assert crds.violations({**priority, "value": 100}) == []
    assert crds.violations({**priority, "spec": {"value": 100}}) == [
        ("value", "missing, and required"),
        ("spec", "no such field; allowed: apiVersion, description, kind, metadata, value"),
    ]


def test_a_bare_equals_sign_is_text(tmp_path: Path):
    """As in the CRDs of prometheus-operator; YAML 1.1 has a type for it, which PyYAML has no constructor for."""
    text = (CRDS / "widgets.yaml").read_text()
    op = 'op: {type: string, enum: [=, "!="]}'
    (tmp_path / "widgets.yaml").write_text(
        text.replace("size: {", f"{op}\n                size: {{")
    )
    folder = CrdFolder(tmp_path)
    assert folder.violations(widget({"op": "="})) == []
    assert folder.violations(widget({"op": "=="}))
