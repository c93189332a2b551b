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

    @every("number", range(1, 14), ids=lambda n: f"n{n}")
    def below_three(number):
        seen.append(number)
        if number > 2:
            raise ValueError(f"{number} is too much")

    message, errors = failures(below_three)
    assert seen == list(range(1, 14))
    assert message == "11 of 13 cases fail: n3, n4, n5, n6, n7, n8, n9, n10, n11, n12 and 1 more"
    assert errors[0] == ("3 is too much", "case n3")


def test_names_come_from_params_and_fixtures_stay():
    @every("a, b", [pytest.param(1, 2, id="first"), pytest.param(3, 4, id="second")])
    @every("pair", [(1, 2)])
    def sums(a, b, pair, total):
        assert (a + b, pair) == (total, (1, 2))

    assert list(inspect.signature(sums).parameters) == ["total"]
    assert failures(sums, total=3)[0] == "1 of 2 cases fail: second"


def test_a_case_that_skips_fails_unless_all_do():
    @every("a", [1, 2])
    def skips(a, skipped):
        if a in skipped:
            pytest.skip(f"no file {a}")

    assert failures(skips, skipped=[1])[1] == [("a case must not be skipped: no file 1", "case 1")]
    with pytest.raises(pytest.skip.Exception, match="no file 1"):
        skips(skipped=[1, 2])


def test_no_cases_at_all_fail():
    @every("a", [])
    def nothing(a):
        raise AssertionError

    with pytest.raises(pytest.fail.Exception, match="there are no cases"):
        nothing()


@pytest.mark.parametrize(
    ("names", "values", "ids", "error", "says"),
    [
        ("a", [1], ["x", "y"], ValueError, "2 names for 1 cases"),
        ("a, b", [(1,)], None, ValueError, "1 values for a, b"),
        ("c", [1], None, TypeError, "test takes no c"),
    ],
)
def test_cases_that_do_not_fit_their_test_are_reported(names, values, ids, error, says):
    with pytest.raises(error, match=says):

        @every(names, values, ids)
        def test(a, b=None):
            raise AssertionError
