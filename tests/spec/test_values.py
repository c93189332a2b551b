"""Values with short forms: input, parsed value, printed form, and errors."""

import datetime as dt
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from gpuyard.spec.read import platform_spec, read_platform
from gpuyard.spec.teams import Team
from gpuyard_core.models.values import (
    NAME_LENGTH,
    Day,
    Range,
    parse_gpu_indexes,
    parse_memory_gib,
    parse_name,
    parse_percent_range,
    parse_range,
    show_gpu_indexes,
)
from kit.stacks import cut_pool, platform, pool, shape, team


def refusal(parse, value):
    """Kind, problem, allowed and fix of a parser's error."""
    with pytest.raises(PydanticCustomError) as caught:
        parse(value)
    context = caught.value.context
    assert isinstance(context, dict)
    return caught.value.type, context["problem"], context["allowed"], context["fix"]


def changed(parse, value):
    """The fix's message, and the value that a program would write; None if it is unknown."""
    with pytest.raises(PydanticCustomError) as caught:
        parse(value)
    change = caught.value.context["change"]
    assert change is None or change[0] == ()
    return caught.value.context["fix"], None if change is None else change[1]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (4, 4, 4),
        (0, 0, 0),
        ("4", 4, 4),
        (" 4 ", 4, 4),
        ("0..16", 0, 16),
        ("0 .. 16", 0, 16),
        ("2..2", 2, 2),
        ("0..10000", 0, 10_000),
        ("00000000016", 16, 16),
        ("000", 0, 0),
        (Range(1, 3), 1, 3),
    ],
)
def test_a_range_is_a_number_or_two(text, low, high):
    assert parse_range(text) == Range(low, high)


RANGE_ALLOWED = "a number of nodes, or LOW..HIGH such as 0..16"
RANGE_SIZE = (
    "range_size",
    "out of bounds for a number of nodes",
    "0 to 10000 nodes in a pool",
)


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, "", "a", "-1", "..2", "1..", "3 4", [1, 2], {}, "1" * 12 + "..3", "1-10001"],
)
def test_what_is_no_range_is_told_what_is_one(value):
    assert refusal(parse_range, value) == (
        "range_form",
        "not a number of nodes or a range",
        RANGE_ALLOWED,
        "write for example 0..4",
    )


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("1...2", "1..2"),
        ("1-2", "1..2"),
        ("8 – 4", "4..8"),
        ("4 to 8 nodes", "4..8"),
        ("4:4", 4),
        ("8 nodes", 8),
        ("1.2", "1..2"),
        ("0-10000", "0..10000"),
    ],
)
def test_a_range_that_is_only_written_otherwise_is_understood_by_the_fix(value, meant):
    assert changed(parse_range, value) == (f"write {meant}", meant)
    assert parse_range(meant)


def test_a_range_that_runs_backwards_is_turned_round():
    assert changed(parse_range, "16..0") == ("write 0..16", "0..16")
    assert refusal(parse_range, "16..0") == (
        "range_reversed",
        "the range runs backwards",
        RANGE_ALLOWED,
        "write 0..16",
    )


MORE = "; use several pools for more nodes"


@pytest.mark.parametrize(
    ("value", "near", "more"),
    [
        (-1, 0, ""),
        (10_001, 10_000, MORE),
        ("10001", 10_000, MORE),
        ("0..10001", "0..10000", MORE),
        ("9" * 400, 10_000, MORE),
        ("0..999999999", "0..10000", MORE),
        ("10001..10002", 10_000, MORE),
    ],
)
def test_a_range_beyond_any_cluster_is_refused_and_its_nearest_end_is_the_fix(value, near, more):
    assert refusal(parse_range, value)[:3] == RANGE_SIZE
    assert changed(parse_range, value) == (f"write {near}{more}", near)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_range_prints_back(a, b):
    found = Range(min(a, b), max(a, b))
    assert parse_range(str(found)) == found


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        (64, 64),
        ("64", 64),
        ("64GiB", 64),
        ("64 GiB", 64),
        ("64Gi", 64),
        ("64g", 64),
        ("80GB", 80),
        ("80gb", 80),
        ("2TB", 2048),
        ("2TiB", 2048),
        ("2 t", 2048),
        (" 1 ", 1),
    ],
)
def test_memory_is_read_as_gib(text, gib):
    assert parse_memory_gib(text) == gib


@pytest.mark.parametrize(
    "value", [0, -1, True, "0", "0GB", "", "GB", "64MB", "6 4", None, [64], "1" * 8]
)
def test_what_is_no_memory_is_told_what_is(value):
    assert refusal(parse_memory_gib, value) == (
        "memory_form",
        "not an amount of memory",
        "GiB, for example 64, 64GiB, 80GB or 2TB",
        "write for example 64",
    )


@pytest.mark.parametrize(
    ("value", "meant"), [(1.5, 2), ("63.5 GiB", 64), ("64 gigabytes", 64), (64.0, 64)]
)
def test_an_amount_of_memory_that_is_only_written_otherwise_is_understood_by_the_fix(value, meant):
    assert changed(parse_memory_gib, value) == (f"write {meant}", meant)


@pytest.mark.parametrize(
    ("value", "indexes"),
    [
        (0, (0,)),
        (3, (3,)),
        ("3", (3,)),
        ("0-3", (0, 1, 2, 3)),
        ("0 - 1", (0, 1)),
        ("2-2", (2,)),
        ([0, 2], (0, 2)),
        ((2, 0), (0, 2)),
        ("0,2", (0, 2)),
        ("4-5, 0", (0, 4, 5)),
    ],
)
def test_gpu_indexes_are_a_number_a_run_or_a_list(value, indexes):
    assert parse_gpu_indexes(value) == indexes


@pytest.mark.parametrize(
    "value",
    [
        -1,
        True,
        None,
        "",
        "3-0",
        "a",
        "0-",
        "0..3",
        [],
        [0, -1],
        [0, "1"],
        [True],
        {},
        "100",
        "0,,1",
    ],
)
def test_what_are_no_gpu_indexes_is_told_what_are(value):
    assert refusal(parse_gpu_indexes, value) == (
        "gpu_indexes",
        "not GPU indexes",
        "an index, a range such as 0-3, or a list such as [0, 2]",
        "write 0-3",
    )


@pytest.mark.parametrize(("value", "once"), [([1, 1], "1"), ("0-2,2", "0-2"), ([5, 0, 5], "0,5")])
def test_the_same_gpu_twice_is_refused(value, once):
    said = ("gpu_indexes", "duplicate GPU index", "each index once", f"write {once}")
    assert refusal(parse_gpu_indexes, value) == said
    assert changed(parse_gpu_indexes, value)[1] == once


@given(st.sets(st.integers(0, 99), min_size=1))
def test_gpu_indexes_print_back(indexes):
    found = tuple(sorted(indexes))
    assert parse_gpu_indexes(show_gpu_indexes(found)) == found


@pytest.mark.parametrize(
    ("indexes", "text"), [((3,), "3"), ((0, 1, 2), "0-2"), ((0, 2), "0,2"), ((1, 2, 4), "1,2,4")]
)
def test_a_run_of_indexes_prints_as_a_run(indexes, text):
    assert show_gpu_indexes(indexes) == text


@pytest.mark.parametrize("name", ["a", "train", "a-1", "a--b", "x" * 40])
def test_a_short_dns_label_is_a_name(name):
    assert parse_name(name) == name


NAME_ALLOWED = "lower-case letters, digits and dashes, starting with a letter, at most 40"


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("Train", "write train"),
        ("big pool", "write big-pool"),
        ("my_pool.1", "write my-pool-1"),
        ("a-", "write a"),
        ("x" * 41, f"write {'x' * 40}"),
        ("x" * 39 + "-yz", f"write {'x' * 39}"),
        ("1st", ""),
        ("", ""),
        ("---", ""),
        ("a\n", "write a"),
        ("Ü", ""),
    ],
)
def test_what_is_no_name_is_told_the_nearest(value, fix):
    assert refusal(parse_name, value) == (
        "name_form",
        "not a valid name for Kubernetes and the clouds",
        NAME_ALLOWED,
        fix,
    )


@pytest.mark.parametrize("value", [5, None, True, ["a"]])
def test_a_name_is_text(value):
    assert refusal(parse_name, value) == (
        "name_form",
        "a name must be text",
        NAME_ALLOWED,
        "put it in quotes and start it with a letter",
    )


@given(st.text(max_size=60))
def test_a_suggested_name_is_a_name(text):
    fix = ""
    with suppress(PydanticCustomError):
        parse_name(text)
        fix = f"write {text}"
    fix = fix or refusal(parse_name, text)[3]
    suggested = fix.removeprefix("write ")
    assert not fix or parse_name(suggested) == suggested
    assert len(suggested) <= NAME_LENGTH


WHOLE = platform(
    [
        pool(
            nodes="0..16",
            capacity=[
                {"reserved": "cr-0123456789abcdef0", "nodes": 8},
                {"spot": None, "nodes": 2},
                "on-demand",
            ],
            scaling="karpenter",
            zones=["us-east-1a"],
            labels={"example.org/tier": "gold"},
            previous_names=["old"],
        ),
        pool("listed", machine=["g6.12xlarge", "g6.24xlarge"]),
        pool("own", machine={"gpu": "H100-80", "gpus": 8, "cpu": 192, "memory_gib": "2TB"}),
        cut_pool(),
        cut_pool(
            "parts", sharing={"mig": [{"gpus": "0-3", "7g.40gb": 1}, {"gpus": [4, 6], "1g.5gb": 7}]}
        ),
        cut_pool("turns", sharing={"mig": {"3g.20gb": 2}, "time_slicing": 2}),
        pool("mps", machine="g6.12xlarge", sharing={"mps": 8}),
        pool("plain", sharing="none"),
        pool("held", capacity=[{"block": "cb-1", "nodes": 2}]),
    ],
    [
        team(
            guarantee={"train": 32, "serve/3g.20gb": 8},
            borrow={"train": 1},
            lend={},
            weight=2,
            isolation="node",
            groups=["a"],
            budget_usd_per_month=1.5,
            previous_names=["seeing"],
        )
    ],
    cloud="aws",
    shapes=[
        shape(pool="train", nodes=4, gpus_per_node=8),
        shape("b", per_pod={"slice": "3g.20gb", "cpu": 8, "memory_gib": 64}),
        shape("c", per_pod={"shares": 1}),
    ],
    queueing={"engine": "kueue", "preemption": "never", "fair_sharing": False},
    validation={"profile": "full", "required": False},
    budget={"max_usd_per_hour": 1000},
)


@pytest.mark.parametrize("mode", ["python", "json"])
def test_a_whole_spec_prints_back_to_itself(mode):
    spec = platform_spec(WHOLE)
    assert platform_spec(spec.model_dump(mode=mode)) == spec


def test_a_spec_prints_the_words_that_people_write():
    pools = platform_spec(WHOLE).model_dump(mode="json")["pools"]
    assert pools[0]["nodes"] == "0..16"
    assert pools[0]["capacity"] == [
        {"reserved": "cr-0123456789abcdef0", "nodes": 8},
        {"spot": True, "nodes": 2},
        "on-demand",
    ]
    assert pools[3]["sharing"] == {"mig": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}
    assert pools[4]["sharing"] == {
        "mig": [{"gpus": "0-3", "7g.40gb": 1}, {"gpus": "4,6", "1g.5gb": 7}]
    }
    assert pools[5]["sharing"] == {"mig": {"3g.20gb": 2}, "time_slicing": 2}
    assert pools[6]["sharing"] == {"mps": 8}
    assert pools[7]["sharing"] == {}


def test_a_layout_written_in_full_is_the_same_layout():
    full = {"mig": [{"gpus": [0], "slices": {"7g.40gb": 1}}]}
    short = {"mig": [{"gpus": 0, "7g.40gb": 1}]}
    one, two = (platform_spec(platform([cut_pool(sharing=s)])) for s in (full, short))
    assert one == two


def test_a_spec_is_taken_as_it_is():
    spec = platform_spec(WHOLE)
    assert read_platform(spec).spec is spec
    assert platform_spec(spec) is spec


RANGES = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda x: f"{min(x)}..{max(x)}")
SHARINGS = st.one_of(
    st.just("none"),
    st.integers(2, 48).map(lambda n: {"time_slicing": n}),
    st.integers(2, 48).map(lambda n: {"mps": n}),
    st.dictionaries(st.sampled_from(["1g.5gb", "2g.10gb", "3g.20gb+me"]), st.integers(1, 9)).map(
        lambda x: {"mig": x, "time_slicing": 3}
    ),
    st.lists(
        st.tuples(st.sets(st.integers(0, 15), min_size=1), st.integers(1, 7)).map(
            lambda x: {"gpus": sorted(x[0]), "1g.5gb": x[1]}
        ),
        max_size=3,
    ).map(lambda groups: {"mig": groups}),
)
RUNGS = st.one_of(
    st.sampled_from(["spot", "on-demand", "flex-start"]),
    st.tuples(st.sampled_from(["reserved", "block"]), st.integers(1, 9)).map(
        lambda x: {x[0]: "id-1", "nodes": x[1]}
    ),
    st.tuples(st.sampled_from(["spot", "on-demand"]), st.integers(1, 9)).map(
        lambda x: {x[0]: True, "nodes": x[1]}
    ),
)


@given(RANGES, SHARINGS, st.lists(RUNGS, min_size=1, max_size=4))
def test_a_pool_prints_back_to_itself(nodes, sharing, capacity):
    spec = platform_spec(platform([pool(nodes=nodes, sharing=sharing, capacity=capacity)]))
    for mode in ("python", "json"):
        assert platform_spec(spec.model_dump(mode=mode)) == spec


def test_a_range_that_is_one_already_stays_as_it_is():
    assert parse_percent_range(Range(65, 85)) == Range(65, 85)


@pytest.mark.parametrize(
    "written", ["2027-03-31", "2027-03-31 00:00:00 +0000 UTC", dt.date(2027, 3, 31)]
)
def test_a_day_is_read_as_people_write_it_and_as_the_engine_hands_it_on(written):
    assert TypeAdapter(Day).validate_python(written) == dt.date(2027, 3, 31)


@pytest.mark.parametrize(
    "written",
    [
        "2027-03-31 12:00:00 +0000 UTC",
        "2027-02-30 00:00:00 +0000 UTC",
        "spring",
        None,
        20270331,
        1.5,
    ],
)
def test_what_is_no_day_is_refused(written):
    with pytest.raises(ValidationError):
        TypeAdapter(Day).validate_python(written)


def test_queues_of_a_team_have_one_order_however_they_are_written():
    given = {"night": 1.0, "default": 2.0, "batch": 3.0}
    found = Team.model_validate({"name": "vision", "queues": given})
    assert list(found.queues.items()) == [("default", 2.0), ("batch", 3.0), ("night", 1.0)]
