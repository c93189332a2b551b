"""A wait that times out reports its condition, and the last observed value."""

from operator import not_

import pytest

from kit import waiting


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(waiting, "PAUSE", 0.001)


def failing(*arguments, **named):
    with pytest.raises(pytest.fail.Exception) as failed:
        waiting.until(*arguments, seconds=0.01, **named)
    return str(failed.value)


def test_what_is_wanted_is_returned():
    seen = iter([0, None, "", "here"])
    assert waiting.until(lambda: next(seen)) == "here"


def test_who_has_waited_long_looks_less_often(monkeypatch):
    clock, pauses = [0.0], []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(waiting, "PAUSE", 0.1)
    monkeypatch.setattr(waiting.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(waiting.time, "sleep", sleep)
    waiting.until(lambda: clock[0] > 60)
    assert pauses[:30] == [0.1] * 30
    assert pauses == sorted(pauses)
    assert pauses[-1] == 1.0
    assert len(pauses) < 150


def test_an_error_that_is_expected_is_waited_out_and_any_other_is_raised():
    seen = iter([1, 0, 2])
    assert waiting.until(lambda: 4 / (next(seen) - 1), errors=(ZeroDivisionError,)) == -4
    with pytest.raises(ZeroDivisionError):
        waiting.until(lambda: 1 / 0)


def test_the_condition_is_named_by_its_own_words_and_the_last_sight_is_shown():
    queue = {"active": False}
    said = failing(lambda: queue["active"])
    assert 'lambda: queue["active"]' in said
    assert said.endswith("last seen: False")


def left():
    return "a pod"


def test_a_function_is_shown_with_what_is_wanted_of_it():
    assert failing(left, not_) == (
        "waited 0.01 s for def left(): return \"a pod\": not_; last seen: 'a pod'"
    )


def test_a_name_that_is_given_goes_first_and_an_error_is_a_sight():
    said = failing(lambda: {}["x"], what="the x", errors=(KeyError,))
    assert said == "waited 0.01 s for the x; last seen: KeyError('x')"
