"""Transforms run here as they do in the engine, which the SDK's own mocks do not do."""

import asyncio

import pulumi
import pytest
from pulumi import ResourceOptions, ResourceTransformResult

from gpuyard_testing import StackRunner
from testing.yard import Yard, thing

MOCKS = StackRunner(allow_top_level=True)


def tag(word):
    def transform(args):
        tags = [*args.props.get("tags", []), word]
        return ResourceTransformResult({**args.props, "tags": tags}, args.opts)

    return transform


def test_a_transform_changes_inputs_before_they_are_recorded():
    graph = MOCKS.run(lambda: thing("a", {"n": 1}, ResourceOptions(transforms=[tag("x")])))
    assert graph.one(name="a").inputs == {"n": 1, "tags": ["x"]}


def test_transforms_run_own_then_parents_then_stacks():
    class Shed(pulumi.ComponentResource):
        def __init__(self, name, opts):
            super().__init__("gpuyard:index:Shed", name, {}, opts)
            own = ResourceOptions(parent=self, transforms=[tag("own")])
            thing(f"{name}-child", opts=own)
            self.register_outputs({})

    def program():
        pulumi.runtime.register_resource_transform(tag("stack"))
        Shed("s", ResourceOptions(transforms=[tag("parent")]))

    graph = MOCKS.run(program)
    assert graph.one(name="s-child").inputs["tags"] == ["own", "parent", "stack"]
    assert graph.one(name="s").inputs["tags"] == ["parent", "stack"]


def test_a_transform_may_be_async_and_may_change_options():
    async def transform(args):
        await asyncio.sleep(0)
        opts = ResourceOptions.merge(
            args.opts,
            ResourceOptions(
                protect=True, ignore_changes=["n"], delete_before_replace=True, version="2.0.0"
            ),
        )
        return ResourceTransformResult(args.props, opts)

    opts = ResourceOptions(transforms=[transform], ignore_changes=["m"])
    options = MOCKS.run(lambda: thing("a", {}, opts)).one(name="a").options
    assert options["protect"] is True
    assert options["ignoreChanges"] == ["m", "n"]
    assert options["deleteBeforeReplace"] is True
    assert options["version"] == "2.0.0"


def test_a_transform_that_returns_nothing_changes_nothing():
    opts = ResourceOptions(transforms=[lambda _args: None], protect=True)
    one = MOCKS.run(lambda: thing("a", {"n": 1}, opts)).one(name="a")
    assert one.inputs == {"n": 1}
    assert one.options == {"protect": True, "transforms": 1}


def test_a_transform_sees_type_name_and_options():
    seen = []

    def transform(args):
        seen.append((args.type_, args.name, args.custom, args.props, args.opts.protect))

    opts = ResourceOptions(transforms=[transform], protect=True)
    MOCKS.run(lambda: thing("a", {"n": 1}, opts))
    assert seen == [("plain:index:Thing", "a", True, {"n": 1}, True)]


def test_an_error_in_a_transform_fails_the_run():
    def transform(_args):
        raise ValueError("no such tag")

    with pytest.raises(ValueError, match="no such tag"):
        MOCKS.run(lambda: thing("a", opts=ResourceOptions(transforms=[transform])))


def test_what_a_transform_made_is_checked():
    def transform(args):
        return ResourceTransformResult({**args.props, "date": {}}, args.opts)

    def program():
        pulumi.CustomResource(
            "kubernetes:core/v1:ConfigMap", "c", {}, ResourceOptions(transforms=[transform])
        )

    graph = MOCKS.run(program, strict=False)
    assert [one.rule for one in graph.violations] == ["sdk"]


@pytest.mark.repeats("the others of this file and tests/testing/test_monitor.py")
def test_many_resources_with_a_stack_transform_all_get_it():
    def program():
        pulumi.runtime.register_resource_transform(tag("all"))
        for index in range(150):
            Yard(f"y{index}")

    graph = MOCKS.run(program)
    assert len(graph) == 300
    assert all(one.inputs["tags"] == ["all"] for one in graph)
