"""A first preview, simulated: every output and id is unknown, and the same resources are there."""

import pulumi
import pytest
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret

from gpuyard_testing import UNKNOWN, StackRunner, StackViolations
from testing.yard import Yard, thing

MOCKS = StackRunner(allow_top_level=True, outputs={"plain:index:Thing": {"size": 3}})


def test_outputs_and_ids_are_unknown_and_applies_do_not_run():
    ran = []

    def program():
        one = thing("a")
        one.size.apply(ran.append)
        one.id.apply(ran.append)
        thing("b", {"size": one.size, "of": one.id, "mixed": {"list": [1, one.size]}})
        pulumi.export("size", one.size)

    graph = MOCKS.run(program, unknown_outputs=True)
    assert ran == []
    assert graph.one(name="a").id is None
    assert graph.one(name="b").inputs == {
        "size": UNKNOWN,
        "of": UNKNOWN,
        "mixed": {"list": [1, UNKNOWN]},
    }
    assert graph.stack_outputs == {"size": UNKNOWN}


def test_urns_and_inputs_of_components_stay_known():
    def program():
        yard = Yard("y", size=3)
        thing("t", {"yard": yard.urn})

    graph = MOCKS.run(program, unknown_outputs=True)
    assert graph.one(name="t").inputs == {"yard": graph.one(name="y").urn}


def test_typed_resources_are_unknown_too_and_pass_the_type_check():
    def program():
        namespace = Namespace("n")
        ConfigMap("c", metadata={"namespace": namespace.metadata.name}, data={"uid": namespace.id})

    graph = MOCKS.run(program, unknown_outputs=True)
    assert graph.one(name="c").inputs["metadata"] == {"namespace": UNKNOWN}
    assert graph.one(name="c").inputs["data"] == {"uid": UNKNOWN}


def test_a_secret_stays_secret_while_unknown():
    def program():
        secret = Secret("s", string_data={"token": "t"})
        thing("t", {"copy": secret.string_data})

    copy = MOCKS.run(program, unknown_outputs=True).one(name="t")
    assert (copy.inputs, copy.secrets) == ({"copy": UNKNOWN}, {"copy"})


def test_the_program_knows_it_is_a_preview():
    graph = MOCKS.run(
        lambda: pulumi.export("dry", pulumi.runtime.is_dry_run()), unknown_outputs=True
    )
    assert graph.stack_outputs == {"dry": True}


def test_a_program_that_registers_the_same_in_both_modes_passes():
    known, unknown = MOCKS.assert_same_when_unknown(lambda: Yard("y"))
    assert known.shape() == unknown.shape()
    assert known.one(name="y-track").id is not None
    assert unknown.one(name="y-track").id is None


def test_a_resource_made_inside_an_apply_is_found():
    def program():
        def extras(size):
            return [thing(f"extra-{index}").id for index in range(size)]

        thing("a").size.apply(extras)

    with pytest.raises(StackViolations) as caught:
        MOCKS.assert_same_when_unknown(program)
    assert len(caught.value.violations) == 3
    assert (
        "urn:pulumi:stack::project::plain:index:Thing::extra-0: is missing from a preview with "
        "unknown outputs; register it outside apply"
    ) in str(caught.value)


def test_a_resource_made_only_in_a_preview_is_found():
    def program():
        if pulumi.runtime.is_dry_run():
            thing("ghost")

    with pytest.raises(StackViolations, match="ghost: is registered only while outputs are unknow"):
        MOCKS.assert_same_when_unknown(program)
