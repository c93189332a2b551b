"""Cases inside one test: none is lost, and each failure is named."""

import inspect

import pytest

from kit.every import every


def failures(test, **fixtures):
    with pytest.raises(ExceptionGroup) as caught:
        test(**fixtures)
    return caught.value.message, [
        (str(error), *error.__notes__) for error in caught.value.exceptions
    ]


def test_every_case_runs_and_each_that_fails_is_named():
    seen = []

    @every("number", [1, 2, 3, 4], ids=lambda n: f"n{n}")
    def even(number):
        seen.append(number)
        if number % 2:
            raise ValueError(f"{number} is odd")

    assert failures(even) == (
        "2 of 4 cases fail: n1, n3",
        [("1 is odd", "case n1"), ("3 is odd", "case n3")],
    )
    assert seen == [1, 2, 3, 4]


def test_cases_that_all_pass_pass():
    @every(("a", "b"), [(1, 1), (2, 2)])
    def same(a, b):
        assert a == b

    same()


def test_fixtures_come_as_before_and_names_from_params_and_lists():
    @every("a, b", [pytest.param(1, 2, id="first"), pytest.param(3, 4, id="second")])
    def sums(a, b, total):
        assert a + b == total

    assert failures(sums, total=3)[0] == "1 of 2 cases fail: second"

    @every("word", ["x", "y"], ids=["one", "two"])
    def never(word):
        pytest.fail(word)

    assert failures(never) == (
        "2 of 2 cases fail: one, two",
        [("x", "case one"), ("y", "case two")],
    )


def test_a_value_that_is_a_tuple_is_one_value_for_one_name():
    @every("pair", [(1, 2)])
    def two(pair):
        assert pair == (1, 2)

    two()


def test_two_lists_of_cases_are_run_crosswise():
    seen = []

    @every("a", [1, 2])
    @every("b", "xy")
    def cross(a, b):
        seen.append((a, b))

    cross()
    assert seen == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]


def test_pytest_sees_only_the_fixtures_that_are_left():
    @every("a", [1])
    def with_fixture(a, tmp_path):
        assert a

    assert list(inspect.signature(with_fixture).parameters) == ["tmp_path"]


def test_a_case_that_skips_fails():
    @every("a", [1, 2])
    def skips(a):
        if a == 1:
            pytest.skip("not here")

    assert failures(skips)[1] == [("a case must not be skipped: not here", "case 1")]


def test_a_test_skips_where_all_of_its_cases_do():
    @every("a", [1, 2])
    def skips(a):
        pytest.skip(f"no file {a}")

    with pytest.raises(pytest.skip.Exception, match="no file 1"):
        skips()


def test_no_cases_at_all_fail():
    @every("a", [])
    def nothing(a):
        raise AssertionError

    with pytest.raises(pytest.fail.Exception, match="there are no cases"):
        nothing()


def test_many_failures_are_counted_and_the_first_are_named():
    @every("a", range(13))
    def fails(a):
        raise AssertionError

    message, parts = failures(fails)
    assert message == "13 of 13 cases fail: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more"
    assert len(parts) == 13


@pytest.mark.parametrize(
    ("names", "values", "ids", "says"),
    [
        ("a", [1], ["x", "y"], "2 names for 1 cases"),
        ("a, b", [(1,)], None, "1 values for a, b"),
    ],
)
def test_cases_that_do_not_fit_their_names_are_reported(names, values, ids, says):
    with pytest.raises(ValueError, match=says):

        @every(names, values, ids)
        def test(a, b=None):
            raise AssertionError


def test_a_name_that_the_test_does_not_take_is_reported():
    with pytest.raises(TypeError, match="test takes no b"):

        @every("b", [1])
        def test(a):
            raise AssertionError
