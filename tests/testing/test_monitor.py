"""What the record holds, and what a strict run refuses."""

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret
from pulumi_kubernetes.helm.v4 import Chart

from gpuyard_testing import UNKNOWN, Graph, StackRunner, StackViolations
from testing.yard import Yard, thing

MOCKS = StackRunner(allow_top_level=True)
STRICT = StackRunner()


def refused(program, **changes):
    with pytest.raises(StackViolations) as caught:
        STRICT.with_settings(**changes).run(program)
    return [str(one) for one in caught.value.violations]


def test_a_urn_holds_the_types_of_all_parents_as_the_engines_does():
    class Outer(pulumi.ComponentResource):
        def __init__(self, name):
            super().__init__("gpuyard:index:Outer", name, {})
            Yard("inner", opts=pulumi.ResourceOptions(parent=self))
            self.register_outputs({})

    graph = STRICT.with_settings(project="p", stack="s").run(lambda: Outer("o"))
    assert graph.one(name="inner-track").urn == (
        "urn:pulumi:s::p::gpuyard:index:Outer$gpuyard:index:Yard$plain:index:Thing::inner-track"
    )
    assert [one.name for one in graph.ancestors(graph.one(name="inner-track"))] == ["inner", "o"]
    assert [one.name for one in graph.children(graph.one(name="o"))] == ["inner"]
    assert [one.name for one in graph.children(None)] == ["o"]


def test_inputs_keep_the_wires_names_and_whole_numbers():
    def program():
        ConfigMap("c", metadata={"generate_name": "x-"}, immutable=True, data={"a": "1"})
        thing("t", {"nodes": 3, "share": 0.5, "snake_case": [1, {"a": 2}], "none": None})

    graph = MOCKS.run(program)
    assert graph.one(name="c").inputs == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"generateName": "x-"},
        "immutable": True,
        "data": {"a": "1"},
    }
    inputs = graph.one(name="t").inputs
    assert inputs == {"nodes": 3, "share": 0.5, "snake_case": [1, {"a": 2}]}
    assert isinstance(inputs["nodes"], int)


def test_dependencies_are_recorded_per_property_and_in_all():
    def program():
        first, second = thing("first"), thing("second")
        thing("third", {"a": first.id, "b": "x"}, pulumi.ResourceOptions(depends_on=[second]))

    graph = MOCKS.run(program)
    third = graph.one(name="third")
    first, second = graph.one(name="first").urn, graph.one(name="second").urn
    assert set(third.dependencies) == {first, second}
    assert third.property_dependencies == {"a": (first,)}


def test_options_are_recorded():
    def program():
        owner = thing("owner")
        thing(
            "t",
            opts=pulumi.ResourceOptions(
                protect=True,
                aliases=[pulumi.Alias(name="old"), "urn:pulumi:s::p::t::older"],
                ignore_changes=["size"],
                delete_before_replace=True,
                deleted_with=owner,
                retain_on_delete=True,
                version="1.2.3",
                import_="id-1",
                custom_timeouts=pulumi.CustomTimeouts(create="5m"),
                additional_secret_outputs=["size"],
                replace_on_changes=["a"],
            ),
        )

    graph = MOCKS.run(program)
    assert graph.one(name="t").options == {
        "protect": True,
        "aliases": [{"name": "old"}, "urn:pulumi:s::p::t::older"],
        "ignoreChanges": ["size"],
        "deleteBeforeReplace": True,
        "deletedWith": graph.one(name="owner").urn,
        "retainOnDelete": True,
        "version": "1.2.3",
        "importId": "id-1",
        "customTimeouts": {"create": "5m"},
        "additionalSecretOutputs": ["size"],
        "replaceOnChanges": ["a"],
    }
    assert graph.one(name="t").id == "id-1"
    assert graph.one(name="owner").options == {}


def test_providers_are_recorded_for_components_and_children():
    def program():
        provider = kubernetes.Provider("k", namespace="x")
        Yard("y", opts=pulumi.ResourceOptions(providers=[provider]))
        ConfigMap("c", opts=pulumi.ResourceOptions(provider=provider))

    graph = MOCKS.run(program)
    provider = graph.one("pulumi:providers:kubernetes")
    reference = f"{provider.urn}::{provider.id}"
    assert graph.one(name="y").providers == {"kubernetes": reference}
    assert graph.one(name="c").provider == reference


def test_secrets_are_unwrapped_and_their_places_kept():
    def program():
        Secret("s", string_data={"token": "t"})
        thing("t", {"a": {"b": [pulumi.Output.secret("x")]}})

    graph = MOCKS.run(program)
    assert graph.one(name="s").inputs["stringData"] == {"token": "t"}
    assert graph.one(name="s").secrets == {"stringData"}
    assert graph.one(name="t").inputs == {"a": {"b": ["x"]}}
    assert graph.one(name="t").secrets == {"a"} or graph.one(name="t").secrets == {"a.b[0]"}


def test_a_secret_input_stays_secret_in_what_is_made_of_it():
    def program():
        secret = Secret("s", string_data={"token": "t"})
        thing("t", {"copy": secret.string_data["token"]})

    assert MOCKS.run(program).one(name="t").secrets == {"copy"}


def test_components_record_inputs_and_registered_outputs():
    graph = STRICT.run(lambda: Yard("y", size=3))
    yard = graph.one(name="y")
    assert (yard.custom, yard.inputs, yard.id) == (False, {"size": 3}, None)
    assert yard.registered_outputs == {"track": graph.one(name="y-track").id}


def test_kubernetes_objects_get_the_name_and_id_a_provider_gives():
    def program():
        Namespace("team")
        ConfigMap("c", metadata={"name": "cm", "namespace": "ns"})

    graph = MOCKS.run(program)
    team = graph.one(name="team")
    assert team.outputs["metadata"]["name"] == team.id
    assert team.id.startswith("team-")
    assert graph.one(name="c").id == "ns/cm"


def test_outputs_come_from_the_test_by_type_or_by_function():
    def program():
        pulumi.export("size", thing("a").size)

    by_type = MOCKS.with_settings(outputs={"plain:index:Thing": {"size": 3}})
    by_function = MOCKS.with_settings(outputs=lambda resource: {"size": len(resource.name)})
    assert by_type.run(program).stack_outputs == {"size": 3}
    assert by_function.run(program).stack_outputs == {"size": 1}


def test_a_read_is_recorded_as_one():
    def program():
        existing = ConfigMap.get("c", "ns/cm")
        pulumi.export("data", existing.data)
        pulumi.export("id", existing.id)

    graph = STRICT.with_settings(
        outputs={"kubernetes:core/v1:ConfigMap": {"data": {"a": "b"}}}
    ).run(program)
    assert graph.one(name="c").read
    assert graph.stack_outputs == {"data": {"a": "b"}, "id": "ns/cm"}


def test_a_remote_component_is_recorded_without_children():
    graph = MOCKS.run(lambda: Chart("c", chart="./nothing"))
    assert graph.one("kubernetes:helm.sh/v4:Chart").remote
    assert len(graph) == 1


def test_the_same_name_twice_under_one_parent_is_refused():
    assert refused(lambda: [Yard("a"), Yard("a")]) == [
        (
            "[duplicate] gpuyard:index:Yard 'a': is registered twice under one parent "
            "(urn:pulumi:stack::project::gpuyard:index:Yard::a); give it another name"
        ),
        (
            "[duplicate] plain:index:Thing 'a-track': is registered twice under one parent "
            "(urn:pulumi:stack::project::gpuyard:index:Yard$plain:index:Thing::a-track); "
            "give it another name"
        ),
    ]


def test_the_same_name_under_two_parents_of_one_type_is_refused_too():
    class Shed(pulumi.ComponentResource):
        def __init__(self, name):
            super().__init__("gpuyard:index:Shed", name, {})
            thing("door", opts=pulumi.ResourceOptions(parent=self))
            self.register_outputs({})

    assert refused(lambda: [Shed("a"), Shed("b")]) == [
        (
            "[duplicate] plain:index:Thing 'door': has the URN of a resource under another parent "
            "(urn:pulumi:stack::project::gpuyard:index:Shed$plain:index:Thing::door); a URN holds the "
            "types of the parents, not their names, so name children after their own parent"
        )
    ]


def test_a_component_that_never_registers_outputs_is_refused():
    class Silent(pulumi.ComponentResource):
        def __init__(self, name):
            super().__init__("gpuyard:index:Silent", name, {})

    assert refused(lambda: Silent("s")) == [
        (
            "[outputs] gpuyard:index:Silent 's': never registered its outputs; "
            "call self.register_outputs({...}) last"
        )
    ]


def test_a_component_that_registers_outputs_twice_is_refused():
    def program():
        Yard("y").register_outputs({})

    assert refused(program) == [
        "[outputs] gpuyard:index:Yard 'y': registered its outputs twice; call register_outputs once"
    ]


def test_a_resource_under_no_component_is_refused():
    class Forgetful(pulumi.ComponentResource):
        def __init__(self, name):
            super().__init__("gpuyard:index:Forgetful", name, {})
            thing(f"{name}-child")
            self.register_outputs({})

    assert refused(lambda: Forgetful("f")) == [
        (
            "[parent] plain:index:Thing 'f-child': is directly under the stack, no component is its "
            "ancestor; pass opts=ResourceOptions(parent=self) in the component, or allow_top_level= in "
            "the test"
        )
    ]


def test_resources_directly_under_the_stack_may_be_allowed_by_type():
    def program():
        thing("a")

    assert (
        len(STRICT.with_settings(allow_top_level=frozenset({"plain:index:Thing"})).run(program))
        == 1
    )
    assert len(refused(program, allow_top_level=frozenset({"other:index:Thing"}))) == 1


def test_providers_may_stand_under_the_stack():
    assert len(STRICT.run(lambda: kubernetes.Provider("k"))) == 1


def test_a_field_the_sdk_does_not_know_is_refused():
    def program():
        pulumi.CustomResource(
            "kubernetes:core/v1:ConfigMap", "c", {"apiVersion": "v1", "date": {"a": "b"}}
        )

    assert refused(program, allow_top_level=True) == [
        "[sdk] kubernetes:core/v1:ConfigMap 'c': date: no such field; did you mean 'data'?"
    ]


def test_a_custom_resource_is_checked_against_its_crd(request):
    crds = request.path.parent / "fixtures" / "crds"

    def program():
        spec = {"size": 0, "late": thing("t").id}
        widget = {"apiVersion": "toys.example/v1", "kind": "Widget", "spec": spec}
        metadata = {"name": "w", "namespace": "n"}
        pulumi.CustomResource(
            "kubernetes:toys.example/v1:Widget", "w", {**widget, "metadata": metadata}
        )

    assert refused(program, allow_top_level=True, crds=crds) == [
        "[crd] kubernetes:toys.example/v1:Widget 'w': spec.late: no such field; allowed: size",
        "[crd] kubernetes:toys.example/v1:Widget 'w': spec.size: given 0, allowed: at least 1",
    ]


def test_what_nothing_could_check_is_listed_or_refused():
    graph = STRICT.run(lambda: Yard("y"))
    assert [one.name for one in graph.unchecked] == ["y-track"]
    assert refused(lambda: Yard("y"), require_checks=True) == [
        (
            "[unchecked] plain:index:Thing 'y-track': neither an installed SDK nor a CRD (no crds= "
            "given) knows its fields; install or add one"
        )
    ]


def test_looking_for_a_resource_that_is_not_there_names_the_nearest():
    graph = MOCKS.run(lambda: [thing("alpha"), thing("beta")])
    with pytest.raises(LookupError, match="no resource is 'alpah'; nearest of 2: plain:index"):
        graph.one(name="alpah")
    with pytest.raises(LookupError, match=r"2 resources are plain:index:Thing: .*ask for one"):
        graph.one("plain:index:Thing")
    with pytest.raises(LookupError, match="none, because no resource was registered"):
        Graph().one(name="x")


def test_unknown_is_falsy_and_shows_itself():
    assert not UNKNOWN
    assert repr(UNKNOWN) == "<unknown>"
    assert type(UNKNOWN)() is UNKNOWN


def test_two_hooks_of_one_name_are_refused_as_by_the_engine():
    def program(*names):
        def run():
            for number, name in enumerate(names):
                hook = pulumi.ResourceHook(name, lambda _: None)
                hooks = pulumi.ResourceHookBinding(before_update=[hook])
                ConfigMap(f"c{number}", opts=pulumi.ResourceOptions(hooks=hooks))

        return run

    assert MOCKS.run(program("one", "another")).violations == []
    with pytest.raises(StackViolations, match=r"\[hook\] one: is registered twice"):
        MOCKS.run(program("one", "one"))
