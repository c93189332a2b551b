"""Plain Kubernetes objects become resources that look like the typed classes' own."""

import json
import re
from pathlib import Path

import pulumi
import pulumi_kubernetes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Secret

from gpuyard.resources.objects import (
    child_name,
    object_token,
    register_object,
    register_objects,
)
from gpuyard.sdk_classes import sdk_version
from gpuyard_core.errors import UsageError
from gpuyard_testing import StackRunner
from kit.levels import upstream

MOCKS = StackRunner()


class Group(pulumi.ComponentResource):
    """A component that registers whatever a test gives it."""

    def __init__(self, name, build):
        super().__init__("gpuyard:index:Group", name, {})
        build(self)
        self.register_outputs({})


def registered(*objects, opts=None, mocks=MOCKS, **changes):
    """Register objects under a component `g` and return their records."""

    def build(group):
        for obj in objects:
            register_object(group, obj, opts, **changes)

    return [one for one in mocks.run(lambda: Group("g", build)) if one.custom]


def config_map(name="settings", namespace="team", **fields):
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def priority(name="high", value=100):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": "for serving",
    }


@pytest.mark.parametrize(
    ("api_version", "kind", "token"),
    [
        ("v1", "ConfigMap", "kubernetes:core/v1:ConfigMap"),
        ("apps/v1", "Deployment", "kubernetes:apps/v1:Deployment"),
        (
            "kueue.x-k8s.io/v1beta1",
            "ClusterQueue",
            "kubernetes:kueue.x-k8s.io/v1beta1:ClusterQueue",
        ),
    ],
)
def test_the_token_is_made_of_api_version_and_kind(api_version, kind, token):
    assert object_token(api_version, kind) == token


def test_the_token_rule_is_the_one_of_every_typed_class():
    # Each class sets apiVersion and kind to constants just above its token.
    source = re.compile(
        r"__dict__\[\"api_version\"\] = '([^']+)'.*?__dict__\[\"kind\"\] = '([^']+)'"
        r".*?super\(\w+, __self__\).__init__\(\s*'([^']+)'",
        re.DOTALL,
    )
    folder = pulumi_kubernetes.__path__[0]
    compared = 0
    for path in sorted(Path(folder).rglob("[A-Z]*.py")):
        match = source.search(path.read_text(encoding="utf-8"))
        if match is None or path.parts[-3:-1] == ("meta", "v1"):  # a Status is no object
            continue
        api_version, kind, token = match.groups()
        # A *Patch class patches the kind it names.
        assert token in {object_token(api_version, kind), object_token(api_version, f"{kind}Patch")}
        compared += 1
    assert compared > 250


def test_a_config_map_is_registered_as_the_typed_class_does_it():
    data = {"data": {"a": "b"}, "immutable": True}

    def build(group):
        parent = pulumi.ResourceOptions(parent=group)
        ConfigMap("typed", metadata={"name": "settings", "namespace": "team"}, **data, opts=parent)
        register_object(group, config_map(**data))

    typed, ours = (one for one in MOCKS.run(lambda: Group("g", build)) if one.custom)
    assert (ours.type, ours.inputs, ours.options) == (typed.type, typed.inputs, typed.options)
    assert (ours.id, ours.parent) == (typed.id, typed.parent)


def test_a_secret_is_registered_as_the_typed_class_does_it():
    fields = {"data": {"a": "Yg=="}, "stringData": {"c": "d"}}
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}

    def build(group):
        parent = pulumi.ResourceOptions(parent=group)
        Secret(
            "typed", metadata={"name": "s"}, data={"a": "Yg=="}, string_data={"c": "d"}, opts=parent
        )
        register_object(group, obj)

    typed, ours = (one for one in MOCKS.run(lambda: Group("g", build)) if one.custom)
    assert ours.secrets == typed.secrets == {"data", "stringData"}
    assert ours.inputs == typed.inputs
    assert ours.options == typed.options


def test_a_custom_resource_is_registered_as_the_sdks_class_does_it():
    spec = {"cohort": "all", "queueingStrategy": "BestEffortFIFO"}
    obj = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": spec,
    }

    def build(group):
        parent = pulumi.ResourceOptions(parent=group)
        arguments = {key: obj[key] for key in ("kind", "metadata", "spec")}
        CustomResource("typed", api_version=obj["apiVersion"], **arguments, opts=parent)
        register_object(group, obj)

    mocks = MOCKS.with_settings(crds=upstream("crds"))
    typed, ours = (one for one in mocks.run(lambda: Group("g", build)) if one.custom)
    assert (ours.type, ours.inputs, ours.options) == (typed.type, typed.inputs, typed.options)


def test_fields_at_top_level_are_kept():
    [one] = registered(
        priority(), mocks=MOCKS.with_settings(crds=upstream("crds"), require_checks=True)
    )
    assert one.inputs == priority()


def test_the_given_object_is_not_changed():
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b"}}
    before = json.dumps(obj)
    registered(obj)
    assert json.dumps(obj) == before


def test_names_are_made_of_parent_kind_namespace_and_name():
    objects = [config_map(), config_map(namespace=None), priority()]
    objects[1]["metadata"].pop("namespace")
    assert [one.name for one in registered(*objects)] == [
        "g:ConfigMap:team/settings",
        "g:ConfigMap:settings",
        "g:WorkloadPriorityClass:high",
    ]


WORD = st.text("ab-", min_size=1, max_size=4)


@given(st.sets(st.tuples(st.sampled_from(["Role", "ConfigMap"]), WORD, WORD), max_size=8))
def test_two_objects_never_share_a_name(identities):
    class Parent:
        pulumi_resource_name = "p"

    names = {
        child_name(Parent(), {"kind": kind, "metadata": {"namespace": namespace, "name": name}})
        for kind, namespace, name in identities
    }
    assert len(names) == len(identities)


def test_options_are_merged_and_passed_through():
    def build(group):
        first = register_object(group, config_map("first"))
        opts = pulumi.ResourceOptions(
            depends_on=[first], protect=True, deleted_with=first, ignore_changes=["data"]
        )
        register_object(group, config_map("second"), opts)

    graph = MOCKS.run(lambda: Group("g", build))
    first, second = (one for one in graph if one.custom)
    assert second.dependencies == (first.urn,)
    assert second.parent == graph.one("gpuyard:index:Group").urn
    assert second.options == {
        "version": sdk_version("kubernetes"),
        "protect": True,
        "deletedWith": first.urn,
        "ignoreChanges": ["data"],
    }


def test_an_explicit_provider_and_version_win():
    def build(group):
        provider = pulumi_kubernetes.Provider("k", opts=pulumi.ResourceOptions(parent=group))
        opts = pulumi.ResourceOptions(provider=provider, version="4.30.0")
        register_object(group, config_map(), opts)

    graph = MOCKS.run(lambda: Group("g", build))
    one = graph.one("kubernetes:core/v1:ConfigMap")
    assert one.provider.startswith(graph.one("pulumi:providers:kubernetes").urn)
    assert one.options["version"] == "4.30.0"


def test_the_callers_options_are_not_changed():
    opts = pulumi.ResourceOptions(protect=True)
    registered(config_map("a"), config_map("b"), opts=opts)
    assert (opts.parent, opts.version, opts.protect) == (None, None, True)


def test_another_parent_in_the_options_is_refused():
    def build(group):
        other = pulumi.ComponentResource("gpuyard:index:Other", "other", {})
        register_object(group, config_map(), pulumi.ResourceOptions(parent=other))

    with pytest.raises(
        UsageError,
        match=r"ConfigMap 'settings': opts\.parent is 'other', but the object is registered under "
        r"'g'; leave parent out of opts",
    ):
        MOCKS.run(lambda: Group("g", build))


def test_a_former_api_version_becomes_an_alias():
    [one] = registered(priority(), former_api_versions=["kueue.x-k8s.io/v1alpha1"])
    assert one.options["aliases"] == [
        {"type": "kubernetes:kueue.x-k8s.io/v1alpha1:WorkloadPriorityClass"}
    ]


def test_late_values_may_stand_anywhere_but_in_the_name():
    def build(group):
        first = register_object(group, config_map("first"))
        register_object(group, config_map("second", data={"uid": first.id}))

    known, unknown = MOCKS.assert_same_when_unknown(lambda: Group("g", build))
    second = known.one(name="g:ConfigMap:team/second")
    assert second.inputs["data"] == {"uid": "team/first"}
    assert second.property_dependencies == {"data": (known.resources[1].urn,)}
    assert repr(unknown.one(name="g:ConfigMap:team/second").inputs["data"]) == "{'uid': <unknown>}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"apiVersion": None}, "Kubernetes object: apiVersion is given as nothing, allowed: plain"),
        ({"kind": ""}, "Kubernetes object: kind is given as nothing"),
        ({"kind": 3}, "Kubernetes object: kind is given as int"),
        ({"metadata": {}}, "ConfigMap object: metadata.name is given as nothing"),
        ({"metadata": None}, "ConfigMap object: metadata.name is given as nothing"),
        ({"metadata": {"generateName": "a-"}}, "ConfigMap object: metadata.name is given as not"),
        (
            {"metadata": {"name": "a", "namespace": 3}},
            (
                "ConfigMap 'a': metadata.namespace is given as int, allowed: plain text, because the resource's "
                "name contains it; to wait for a Namespace, add it to opts.depends_on"
            ),
        ),
    ],
)
def test_an_object_without_a_plain_identity_is_refused(change, words):
    with pytest.raises(UsageError, match=f"^{re.escape(words)}"):
        registered({**config_map(), **change})


def test_a_late_name_is_refused():
    def build(group):
        register_object(group, config_map(name=pulumi.Output.from_input("x")))

    with pytest.raises(UsageError, match=r"metadata\.name is given as Output, allowed: plain text"):
        MOCKS.run(lambda: Group("g", build))


def test_several_objects_are_registered_in_order():
    def build(group):
        made = register_objects(group, [config_map("b"), config_map("a")])
        assert [one.pulumi_resource_name[-1] for one in made] == ["b", "a"]

    graph = MOCKS.run(lambda: Group("g", build))
    assert [one.name[-1] for one in graph if one.custom] == ["b", "a"]
