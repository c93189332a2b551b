"""Settling makes the SDK's final wait cheap, and changes nothing else."""

import asyncio

import pulumi
import pytest
from pulumi.runtime.settings import SETTINGS

from gpuyard.resources.registrations import await_registrations
from gpuyard_testing import StackRunner

MOCKS = StackRunner(allow_top_level=True)


def thing(name, props=None, opts=None):
    return pulumi.CustomResource("plain:index:Thing", name, props or {}, opts)


class Yard(pulumi.ComponentResource):
    """A component of three children, that may settle itself."""

    def __init__(self, name, *, settled=False):
        super().__init__("gpuyard:index:Yard", name, {})
        opts = pulumi.ResourceOptions(parent=self)
        self.tracks = [thing(f"{name}-{index}", opts=opts) for index in range(3)]
        self.register_outputs({})
        if settled:
            await_registrations()


def waits(monkeypatch, program):
    """Run a program; return how many tasks the SDK's wait for outputs looked at in all."""
    looked_at = []
    wait = asyncio.wait

    async def counting(tasks, **options):
        if options.get("return_when") == asyncio.FIRST_COMPLETED:
            looked_at.append(len(tasks))
        return await wait(tasks, **options)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "wait", counting)
        MOCKS.run(program)
    return sum(looked_at)


def chains(count, *, settle, component=False):
    """Register `count` resources, each of which waits for the one before it."""
    last = None
    for index in range(count):
        last = thing(f"t{index}", {"after": last.id if last else ""})
    if component:
        Yard("y", settled=settle)
    elif settle:
        await_registrations()


@pytest.mark.parametrize("component", [False, True])
def test_the_sdks_wait_looks_at_few_outputs_instead_of_a_square_of_them(monkeypatch, component):
    def cost(count, settle):
        return waits(monkeypatch, lambda: chains(count, settle=settle, component=component))

    # If the first line fails the SDK has mended its wait, and this helper may go.
    assert cost(80, settle=False) > 3 * cost(40, settle=False) > 1000
    assert cost(80, settle=True) < 100


def test_every_registration_has_begun_afterwards_and_none_is_waited_for():
    def program():
        track = Yard("a").tracks[0]
        assert SETTINGS.rpc_manager.rpcs == []
        await_registrations()
        assert len(SETTINGS.rpc_manager.rpcs) >= 5  # 4 resources, and outputs
        assert not track.urn._data.done()

    assert len(MOCKS.run(program)) == 4


def test_an_output_that_later_lines_complete_does_not_hold_it_up():
    def program():
        later = asyncio.get_running_loop().create_future()
        thing("t", {"n": pulumi.Output.from_input(later)})
        await_registrations()
        later.set_result(3)

    assert MOCKS.run(program).one(name="t").inputs == {"n": 3}


def test_it_may_be_called_from_an_async_program_and_twice():
    async def program():
        Yard("a", settled=True)
        await asyncio.sleep(0)
        await_registrations()
        await_registrations()

    assert len(MOCKS.run(program)) == 4


def test_the_graph_is_the_same_with_and_without():
    def program(settle):
        first = Yard("a")
        thing("after", {"of": first.tracks[0].id}, pulumi.ResourceOptions(depends_on=[first]))
        Yard("b", settled=settle)
        pulumi.export("id", first.tracks[1].id)
        if settle:
            await_registrations()

    plain, settled = MOCKS.run(lambda: program(False)), MOCKS.run(lambda: program(True))
    key = lambda one: one.urn  # noqa: E731
    assert sorted(plain, key=key) == sorted(settled, key=key)
    assert plain.stack_outputs == settled.stack_outputs


def test_unknown_outputs_of_a_preview_do_not_hold_it_up():
    def program():
        first = thing("first")
        thing("second", {"of": first.id})
        await_registrations()

    MOCKS.assert_same_when_unknown(program)


def test_what_an_apply_registers_afterwards_is_there():
    def program():
        thing("first").id.apply(lambda _: thing("late").id)
        await_registrations()

    assert [one.name for one in MOCKS.run(program)] == ["first", "late"]


def test_resources_may_be_registered_after_it():
    def program():
        thing("first")
        await_registrations()
        thing("second")

    assert [one.name for one in MOCKS.run(program)] == ["first", "second"]


def refuse_second(resource):
    if resource.name == "second":
        raise PermissionError("quota of seconds exceeded")
    return {}


def test_a_failed_registration_is_reported_as_without_it():
    def program(settle):
        thing("first")
        thing("second")
        thing("third", {"of": thing("fourth").id})
        if settle:
            await_registrations()

    for settle in (False, True):
        with pytest.raises(PermissionError, match="quota of seconds exceeded"):
            MOCKS.with_settings(outputs=refuse_second).run(lambda settle=settle: program(settle))


def test_lines_after_it_still_run_when_a_registration_failed():
    reached = []

    def program():
        thing("second")
        await_registrations()
        reached.append(True)

    with pytest.raises(PermissionError):
        MOCKS.with_settings(outputs=refuse_second).run(program)
    assert reached == [True]


def test_an_error_in_an_apply_is_not_swallowed():
    def program():
        thing("t", {"n": pulumi.Output.from_input(1).apply(lambda _: 1 / 0)})
        await_registrations()

    with pytest.raises(ZeroDivisionError):
        MOCKS.run(program)


def test_without_a_running_program_it_does_nothing():
    await_registrations()
