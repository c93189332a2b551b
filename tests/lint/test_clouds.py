"""One thing told by Pulumi and by Terraform is one resource to a rule, and is found where each wrote it."""

import json

import pytest

from gpuyard_core.catalogue.software.engine_files import SECRET_KEY
from gpuyard_core.findings import show_path
from gpuyard_core.manifests.fields import at
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.items import FileLocation
from gpuyard_lint.pulumi import (
    UNKNOWN_TEXT,
    preview_resources,
    pulumi_resource,
    state_resources,
)
from gpuyard_lint.read import read
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.terraform import KINDS, PLURAL, pulumi_name, terraform_name

URN = "urn:pulumi:dev::x::aws:eks/nodeGroup:NodeGroup::gpus"
INPUTS = {
    "amiType": "AL2_x86_64_GPU",
    "scalingConfig": {"maxSize": 4},
    "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
    "labels": {"my_label": "x"},
}
VALUES = {
    "ami_type": "AL2_x86_64_GPU",
    "scaling_config": [{"max_size": 4}],
    "taint": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
    "labels": {"my_label": "x"},
}


def preview(*states, op="create"):
    return {"steps": [{"op": op, "newState": state} for state in states]}


def state(type_="aws:eks/nodeGroup:NodeGroup", inputs=INPUTS, **rest):
    return {"type": type_, "urn": URN, "inputs": inputs, **rest}


def plan(*resources, changes=(), **module):
    root = {"resources": list(resources), **module}
    return {"planned_values": {"root_module": root}, "resource_changes": list(changes)}


def managed(type_="aws_eks_node_group", values=VALUES, **rest):
    return {"type": type_, "address": f"{type_}.gpus", "values": values, **rest}


def items(document):
    reading = read(json.dumps(document, indent=1).encode(), "f.json")
    assert reading.skipped == ()
    return reading.items


def test_a_node_group_is_the_same_from_both():
    (one,) = items(preview(state()))
    (other,) = items(plan(managed()))
    assert one.resource.kind == other.resource.kind == "aws:eks/NodeGroup"
    for path in (
        ("amiType",),
        ("scalingConfig", "maxSize"),
        ("taints", 0, "effect"),
        ("labels", "my_label"),
    ):
        assert (
            at(one.resource.properties, *path) == at(other.resource.properties, *path) is not None
        )


def line(document, item, *path):
    number, column = item.place.position(path)
    return json.dumps(document, indent=1).splitlines()[number - 1][column - 1 :]


@pytest.mark.parametrize(
    ("path", "pulumi", "terraform"),
    [
        (("amiType",), '"amiType": ', '"ami_type": '),
        (("scalingConfig", "maxSize"), '"maxSize": ', '"max_size": '),
        (("taints", 0, "effect"), '"effect": ', '"effect": '),
        (("scalingConfig", "minSize"), '"scalingConfig": ', "{"),
        (("diskSize",), '"inputs": ', '"values": '),
        (("taints", 7, "effect"), '"taints": ', '"taint": '),
        (("amiType", "x", 0), '"amiType": ', '"ami_type": '),
    ],
)
def test_a_field_is_found_where_each_wrote_it(path, pulumi, terraform):
    for document, wanted in ((preview(state()), pulumi), (plan(managed()), terraform)):
        (item,) = items(document)
        assert line(document, item, *path).startswith(wanted)


@pytest.mark.parametrize(
    ("path", "terraform"),
    [
        (("scalingConfig", "maxSize"), "scaling_config[0].max_size"),
        (("taints", 0, "effect"), "taint[0].effect"),
        (("diskSize",), "disk_size"),
        (("launchTemplate", "guestAccelerators"), "launch_template.guest_accelerator"),
        (("labels", "my_label"), "labels.my_label"),
    ],
)
def test_a_field_is_named_as_its_own_language_has_it(path, terraform):
    (pulumi_item,), (item,) = items(preview(state())), items(plan(managed()))
    assert show_path(item.place.document_path(path)) == terraform
    assert pulumi_item.place.document_path(path) == path


def test_what_is_said_about_terraform_names_its_fields():
    (item,) = items(plan(managed()))
    said = "set workloadMetadataConfig: {mode: GKE_METADATA}; cloud.google.com/gkeNodepool stays"
    told = "set workload_metadata_config: {mode: GKE_METADATA}; cloud.google.com/gkeNodepool stays"
    assert item.place.with_document_names(said) == told
    (other,) = items(preview(state()))
    assert other.place.with_document_names(said) == said


def test_an_object_of_kubernetes_inside_terraform_keeps_its_names():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"hostIPC": True}}
    (item,) = items(plan(managed("kubernetes_manifest", {"manifest": pod})))
    assert item.place.document_path(("spec", "hostIPC")) == ("spec", "hostIPC")
    assert item.place.with_document_names("hostNetwork") == "hostNetwork"


@pytest.mark.parametrize("name", [*PLURAL, "ami_type", "name"])
def test_a_name_of_terraforms_is_had_back_from_pulumis(name):
    assert terraform_name(pulumi_name(name)) == name


def test_a_state_is_read_like_a_preview():
    export = {"version": 3, "deployment": {"resources": [state(protect=True), state(delete=True)]}}
    (item,) = items(export)
    assert (item.resource.name, item.resource.protected) == ("gpus", True)
    assert items({"version": 3, "deployment": {}}) == ()


def test_what_goes_away_is_not_looked_at():
    assert items(preview(state(), op="delete")) == ()
    assert items({"steps": [{"op": "same"}, 5]}) == ()
    assert items(preview(state("pulumi:pulumi:Stack"))) == ()


def test_what_a_preview_does_not_know_is_unknown_not_absent():
    inputs = {"a": UNKNOWN_TEXT, "b": [{SECRET_KEY: "x", "ciphertext": "y"}], "c": {"d": 1}}
    (item,) = items(preview(state(inputs=inputs)))
    assert item.resource.properties == {"a": UNKNOWN, "b": [UNKNOWN], "c": {"d": 1}}


def test_what_a_plan_does_not_know_is_unknown_not_absent():
    change = {
        "address": "aws_eks_node_group.gpus",
        "change": {
            "after_unknown": {"arn": True, "scaling_config": [{"desired_size": True}], "x": False}
        },
    }
    (item,) = items(plan(managed(), changes=[change, 5, {}]))
    assert item.resource.properties["arn"] is UNKNOWN
    assert item.resource.properties["scalingConfig"] == [{"maxSize": 4, "desiredSize": UNKNOWN}]


def test_modules_in_modules_are_looked_into():
    inner = {"resources": [managed()], "child_modules": [{"resources": [managed()]}, 5]}
    assert len(items(plan(child_modules=[inner]))) == 2


def test_a_state_of_terraform_is_read_as_well():
    shown = {"terraform_version": "1.11.4", "values": {"root_module": {"resources": [managed()]}}}
    assert len(items(shown)) == 1
    assert items({"planned_values": {}}) == ()


@pytest.mark.parametrize(
    "resource",
    [
        managed(mode="data"),
        managed("aws_sqs_queue"),
        managed(values=None),
        managed("kubernetes_manifest", {"manifest": 5}),
        managed("kubernetes_manifest", {"manifest": {"a": "b"}}),
        5,
    ],
)
def test_what_no_rule_is_about_is_left_out(resource):
    assert items(plan(resource)) == ()


def test_a_manifest_inside_a_plan_is_an_object():
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    (item,) = items(plan(managed("kubernetes_manifest", {"manifest": manifest})))
    assert (item.resource.kind, item.resource.name) == ("v1/Pod", "x")


def test_a_field_of_a_manifest_is_found_where_it_stands_in_the_plan():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"hostIPC": True}}
    document = plan(managed("kubernetes_manifest", {"manifest": pod}))
    (item,) = items(document)
    assert line(document, item, "spec", "hostIPC") == '"hostIPC": true'


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {hostIPC: true}\n"


def test_a_manifest_of_the_other_provider_is_text_of_yaml():
    document = plan(managed("kubectl_manifest", {"yaml_body": POD}))
    (item,) = items(document)
    assert (item.resource.kind, item.resource.name) == ("v1/Pod", "x")
    assert "yaml_body" in line(document, item, "spec", "hostIPC")
    assert items(plan(managed("kubectl_manifest", {"yaml_body": "a: 1"}))) == ()
    assert items(plan(managed("kubectl_manifest", {"yaml_body": None}))) == ()


def kept(*resources):
    return {"version": 4, "terraform_version": "1.9.0", "resources": list(resources)}


def deployed(type_="aws_eks_node_group", attributes=VALUES, **rest):
    instance = {"attributes": attributes, **rest.pop("instance", {})}
    return {"mode": "managed", "type": type_, "name": "gpus", "instances": [instance], **rest}


def test_the_file_of_a_terraform_state_holds_what_was_deployed():
    document = kept(
        deployed(),
        deployed(module="module.eks", instance={"index_key": "a"}),
        deployed(instance={"index_key": 0}),
        deployed(mode="data"),
        deployed(attributes=None),
        {"mode": "managed", "type": "aws_eks_node_group", "instances": [5]},
        5,
    )
    found = items(document)
    assert [item.resource.name for item in found] == [
        "aws_eks_node_group.gpus",
        'module.eks.aws_eks_node_group.gpus["a"]',
        "aws_eks_node_group.gpus[0]",
    ]
    assert line(document, found[0], "scalingConfig", "maxSize") == '"max_size": 4'


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_manifest_in_a_state_stands_beside_its_type(wrapped):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"hostIPC": True}}
    written = {"value": pod, "type": ["object", {}]} if wrapped else pod
    document = kept(deployed("kubernetes_manifest", {"manifest": written}))
    (item,) = items(document)
    assert line(document, item, "spec", "hostIPC") == '"hostIPC": true'


def manifest_of_which(unknown):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"nodeName": None}}
    planned = managed("kubernetes_manifest", {"manifest": pod})
    change = {"address": planned["address"], "change": {"after_unknown": unknown}}
    return items(plan(planned, changes=[change]))


def test_what_a_plan_does_not_know_of_a_manifest_is_unknown_not_absent():
    (item,) = manifest_of_which({"manifest": {"spec": {"nodeName": True}}})
    assert item.resource.properties["spec"] == {"nodeName": UNKNOWN}


@pytest.mark.parametrize("unknown", [True, {"manifest": True}])
def test_a_manifest_of_which_nothing_is_known_is_no_object_yet(unknown):
    assert manifest_of_which(unknown) == ()


def test_protection_is_known_only_where_the_provider_says_it():
    values = {"deletion_protection": True}
    (cluster,) = items(plan(managed("google_container_cluster", values)))
    (pool,) = items(plan(managed("google_container_node_pool", values)))
    assert (cluster.resource.protected, pool.resource.protected) == (True, None)


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("aws:eks/nodeGroup:NodeGroup", "aws:eks/NodeGroup"),
        ("gcp:container/nodePool:NodePool", "gcp:container/NodePool"),
        ("kubernetes:apps/v1:Deployment", "apps/v1/Deployment"),
        ("kubernetes:core/v1:Pod", "v1/Pod"),
        ("kubernetes:helm.sh/v3:Release", "helm:Release"),
        ("pulumi:pulumi:Stack", None),
        ("pulumi:providers:aws", None),
        ("gpuyard:index:Platform", "gpuyard:index/Platform"),
        ("kubernetes:yaml:ConfigFile", None),
        ("nothing", None),
        ("a::b", None),
        ("kubernetes::", None),
    ],
)
def test_a_token_says_the_kind(token, kind):
    found = pulumi_resource(token, "x", {})
    assert (found.kind if found else None) == kind


def test_an_object_has_the_version_and_the_name_it_was_given():
    given = {"apiVersion": "kueue.x-k8s.io/v1beta1", "metadata": {"name": "real"}}
    found = pulumi_resource("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", "shown", given)
    assert (found.kind, found.name) == ("kueue.x-k8s.io/v1beta1/ClusterQueue", "real")
    assert pulumi_resource("kubernetes:core/v1:Pod", "shown", {}).name == "shown"


def test_what_has_no_type_or_inputs_is_left_out_or_empty():
    assert items(preview({"urn": URN}, None)) == ()
    assert items(preview(state(inputs=None)))[0].resource.properties == {}


def test_every_kind_is_a_pulumi_token_without_its_file():
    assert all(kind.count(":") == 1 for kind in KINDS.values())
    assert pulumi_name("enabled_cluster_log_types") == "enabledClusterLogTypes"


def test_fields_in_an_object_of_somebody_else_are_read_as_of_that_kind():
    inputs = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}}
    found = pulumi_resource("kubernetes:core/v1:NamespacePatch", "x", inputs)
    assert found is not None
    assert (found.kind, found.name) == ("v1/Namespace", "old")


def test_a_resource_that_a_program_reads_has_another_owner():
    cluster = {"type": "aws:eks/cluster:Cluster", "inputs": {}, "urn": "urn::x"}
    states = [cluster, {**cluster, "external": True}]
    preview = {
        "steps": [
            {"op": op, "newState": state}
            for op, state in zip(("same", "read"), states, strict=True)
        ]
    }
    place = FileLocation("", Document(None, {}))
    assert len(list(state_resources({"deployment": {"resources": states}}, place))) == 1
    assert len(list(preview_resources(preview, place))) == 1
