"""Running programs: configuration, folders, errors, and no trace of one run in the next."""

import asyncio
import sys

import pulumi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi.runtime import resource as sdk_resource
from pulumi.runtime import settings as sdk_settings
from pulumi.runtime.config import get_config

from gpuyard_testing import StackRunner, StackViolations, runner
from kit.searches import examples
from testing.yard import Yard, thing

MOCKS = StackRunner(allow_top_level=True)


def folder(tmp_path, main, **others):
    for name, text in {"__main__": main, **others}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def test_stack_outputs_and_logs_are_recorded():
    def program():
        yard = Yard("a")
        pulumi.export("track", yard.track.id)
        pulumi.export("key", pulumi.Output.secret("s3cret"))
        pulumi.log.info("hello")
        pulumi.log.debug("not kept")
        pulumi.log.warn("about a yard", yard)

    graph = MOCKS.run(program)
    assert graph.stack_outputs == {"track": graph.one(name="a-track").id, "key": "s3cret"}
    assert graph.secret_stack_outputs == {"key"}
    assert [(one.severity, one.message) for one in graph.logs] == [
        ("info", "hello"),
        ("warning", "about a yard"),
    ]
    assert graph.logs[1].urn == graph.one(name="a").urn


def test_an_async_program_and_pulumi_run_are_awaited():
    async def program():
        await asyncio.sleep(0)
        thing("a")

    async def main():
        await asyncio.sleep(0)
        thing("b")
        return {"b": 1}

    assert [one.name for one in MOCKS.run(program)] == ["a"]
    graph = MOCKS.run(lambda: pulumi.run(main))
    assert [one.name for one in graph] == ["b"]
    assert graph.stack_outputs == {"b": 1}


def test_configuration_reaches_the_program_as_the_engine_sends_it():
    seen = {}

    def program():
        config = pulumi.Config()
        seen["platform"] = config.require_object("platform")
        seen["count"] = config.require_int("count")
        seen["on"] = config.require_bool("on")
        seen["region"] = pulumi.Config("aws").require("region")
        pulumi.export("token", config.require_secret("token"))

    graph = MOCKS.run(
        program,
        config={"platform": {"a": [1]}, "count": 3, "on": True, "aws:region": "x"},
        secrets={"token": "t"},
    )
    assert seen == {"platform": {"a": [1]}, "count": 3, "on": True, "region": "x"}
    assert graph.secret_stack_outputs == {"token"}


def test_a_stack_file_is_configuration(tmp_path):
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  yard:size: 3\n", encoding="utf-8")
    graph = MOCKS.with_settings(project="yard").run(
        lambda: pulumi.export("size", pulumi.Config().require_int("size")), config=file
    )
    assert graph.stack_outputs == {"size": 3}


def test_a_date_of_a_stack_file_named_by_a_text_arrives_as_the_engine_sends_it(tmp_path):
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  yard:freeze: {begins: 2027-03-01}\n", encoding="utf-8")
    graph = MOCKS.with_settings(project="yard").run(
        lambda: pulumi.export("freeze", pulumi.Config().require_object("freeze")), config=str(file)
    )
    assert graph.stack_outputs == {"freeze": {"begins": "2027-03-01T00:00:00Z"}}


def test_an_encrypted_value_must_be_given_plainly(tmp_path):
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  yard:key:\n    secure: v1:abc\n", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"config yard:key is encrypted; pass its plain value: secrets=\{'yard:key': ...\}",
    ):
        MOCKS.run(lambda: None, config=file)


def test_a_folder_is_run_in_its_place_under_its_project_name(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: depot\nruntime: python\n", encoding="utf-8")
    (tmp_path / "size.txt").write_text("4", encoding="utf-8")
    folder(
        tmp_path,
        "import pathlib, pulumi, depot_sizes\n"
        "pulumi.export('size', depot_sizes.DOUBLE * int(pathlib.Path('size.txt').read_text()))\n"
        "pulumi.export('project', pulumi.get_project() + '/' + pulumi.get_stack())\n",
        depot_sizes="DOUBLE = 2\n",
    )
    before = list(sys.path)
    graph = MOCKS.with_settings(stack="dev").run(tmp_path)
    assert graph.stack_outputs == {"size": 8, "project": "depot/dev"}
    assert sys.path == before


def test_a_folders_own_modules_are_read_anew_in_the_next_run(tmp_path):
    main = "import pulumi, depot_count\npulumi.export('n', depot_count.N)\n"
    folder(tmp_path, main, depot_count="N = 1\n")
    first = MOCKS.run(str(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    folder(other, main, depot_count="N = 22\n")
    assert (first.stack_outputs["n"], MOCKS.run(other).stack_outputs["n"]) == (1, 22)
    assert "depot_count" not in sys.modules


def test_a_folder_without_a_program_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no __main__\.py; give a function, or"):
        MOCKS.run(tmp_path)


def test_an_error_of_the_program_is_raised_with_what_was_refused_until_then():
    def program():
        thing("a")
        thing("a")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop") as caught:
        MOCKS.run(program)
    assert any("registered twice" in note for note in caught.value.__notes__)


def test_an_error_inside_an_apply_is_not_lost():
    def program():
        thing("a").id.apply(lambda _: 1 / 0)  # nobody waits for this output

    with pytest.raises(ZeroDivisionError):
        MOCKS.run(program)


def test_an_assertion_inside_an_apply_fails_the_test():
    def check(size):
        assert size == 4

    with pytest.raises(AssertionError):
        MOCKS.with_settings(outputs={"plain:index:Thing": {"size": 3}}).run(
            lambda: thing("a").size.apply(check)
        )


def test_the_run_error_that_pulumi_shows_without_traceback_passes_through():
    def program():
        raise pulumi.RunError("bad stack file")

    with pytest.raises(pulumi.RunError, match="bad stack file"):
        MOCKS.run(program)


def test_nothing_of_a_run_is_left_behind():
    names = ("monitor", "engine", "project", "stack", "dry_run", "organization")
    before = [getattr(sdk_settings.SETTINGS, name) for name in names]
    MOCKS.run(lambda: thing("a"), config={"x": 1}, preview=True)
    with pytest.raises(RuntimeError):
        MOCKS.run(lambda: (_ for _ in ()).throw(RuntimeError()))
    assert [getattr(sdk_settings.SETTINGS, name) for name in names] == before
    assert sdk_settings.get_root_resource() is None
    assert get_config("project:x") is None


def test_where_a_resource_is_made_is_not_looked_up_while_a_run_lasts():
    def frames():
        return len(sdk_resource._get_stack_trace().frames)

    found = []

    def program():
        thing("a")
        found.append(frames())

    before = sdk_resource._get_stack_trace
    assert [one.name for one in MOCKS.run(program)] == ["a"]
    assert found == [0]
    assert sdk_resource._get_stack_trace is before


def test_an_sdk_without_that_function_keeps_its_own_way(monkeypatch):
    monkeypatch.setattr(runner, "_STACK_TRACE", "_named_otherwise")
    assert [one.name for one in MOCKS.run(lambda: thing("a"))] == ["a"]
    assert not hasattr(sdk_resource, "_named_otherwise")


def test_a_run_after_a_failed_run_is_as_good_as_new():
    def failing():
        thing("a", {"size": pulumi.Output.from_input(1).apply(lambda _: 1 / 0)})
        Yard("b")

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            MOCKS.run(failing)
        assert [one.name for one in MOCKS.run(lambda: Yard("c"))] == ["c", "c-track"]


@settings(max_examples=examples(25))
@given(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=6))
def test_many_runs_in_one_process_each_see_their_own_resources(names):
    def program():
        for name in names:
            Yard(name)

    first, second = MOCKS.run(program), MOCKS.run(program)
    assert first.shape() == second.shape()
    assert sorted(one.name for one in first.of_type("gpuyard:index:Yard")) == sorted(names)


@pytest.mark.repeats("tests/testing/test_unknown_outputs.py")
def test_the_order_of_registrations_does_not_depend_on_timing():
    def program():
        last = None
        for index in range(20):
            deep = {"a": {"b": [{"c": index}] * (index % 5)}}
            last = thing(f"x{index}", {"deep": deep, "after": last.id if last else None})
            thing(f"y{index}", {"of": last.urn})

    shapes = {tuple(MOCKS.run(program).shape()) for _ in range(5)}
    assert len(shapes) == 1


def test_preview_is_visible_to_the_program():
    graph = MOCKS.run(lambda: pulumi.export("preview", pulumi.runtime.is_dry_run()), preview=True)
    assert graph.stack_outputs == {"preview": True}


def test_violations_are_raised_together_and_kept_when_asked():
    def program():
        thing("a")
        thing("a")
        thing("b")
        thing("b")

    with pytest.raises(StackViolations) as caught:
        MOCKS.run(program)
    assert len(caught.value.violations) == 2
    assert str(caught.value).startswith("2 violations in the stack program:\n  [duplicate] ")
    assert MOCKS.run(program, strict=False).violations == caught.value.violations


def test_functions_of_providers_are_answered_by_the_test():
    def program():
        answer = pulumi.runtime.invoke("plain:index:getZones", {"region": "x"})
        pulumi.export("zones", answer.value["zones"])

    by_value = MOCKS.with_settings(calls={"plain:index:getZones": {"zones": ["a"]}})
    by_function = MOCKS.with_settings(
        calls={"plain:index:getZones": lambda args: {"zones": [f"{args['region']}-1"]}}
    )
    assert by_value.run(program).stack_outputs == {"zones": ["a"]}
    assert by_function.run(program).stack_outputs == {"zones": ["x-1"]}


def test_a_function_nobody_answers_is_an_error_that_says_what_to_add():
    def program():
        pulumi.runtime.invoke("plain:index:getZones", {"region": "x"})

    with pytest.raises(
        LookupError,
        match=r"the program calls plain:index:getZones with \{'region': 'x'\}, but the test defines "
        r"no result; add calls=\{'plain:index:getZones': \{...\}\} \(defined: none\)",
    ):
        MOCKS.run(program)


def test_the_version_of_the_engine_may_be_asked_for():
    MOCKS.run(lambda: pulumi.require_pulumi_version(">=3.200.0"))
