"""The choice of traced tests: together they run every line that any test runs."""

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

import repeating


def steps(*lines):
    return {("a.py", line, line + 1) for line in lines}


def test_a_dear_test_is_needed_only_for_what_it_alone_runs():
    runs = {"dear": steps(1, 2, 3), "quick": steps(1, 2), "other": steps(3)}
    seconds = {"dear": 9.0, "quick": 0.1, "other": 0.1}
    assert repeating.needed(runs, seconds) == {"quick", "other"}
    runs["dear"] |= steps(4)
    assert repeating.needed(runs, seconds) == {"dear"}


def test_a_test_that_runs_nothing_measured_repeats_nothing_and_is_named():
    runs = {"one": steps(1), "two": steps(1)}
    seconds = {"one": 0.1, "two": 5.0, "house": 3.0, "small": 0.01}
    assert repeating.repeating(runs, seconds) == ["house", "two"]


@given(
    st.dictionaries(
        st.text("ab", max_size=3), st.sets(st.tuples(st.just("a"), *[st.integers(0, 3)] * 2))
    ),
    st.dictionaries(st.text("ab", max_size=3), st.floats(0, 9)),
)
def test_no_step_is_lost(runs, seconds):
    kept = repeating.needed(runs, seconds)
    assert set().union(*(runs[test] for test in kept)) == set().union(*runs.values())


def test_lines_run_by_imports_belong_to_no_test(tmp_path):
    path = tmp_path / "data"
    with sqlite3.connect(path) as db:
        db.executescript(
            """
            create table file (id integer, path text);
            create table context (id integer, context text);
            create table arc (file_id integer, context_id integer, fromno integer, tono integer);
            insert into file values (1, 'a.py');
            insert into context values (1, ''), (2, 'one'), (3, 'two');
            insert into arc values (1, 1, 1, 2), (1, 2, 1, 2), (1, 2, 2, 3), (1, 3, 1, 2);
            """
        )
    assert repeating.runs_of(path) == {"one": steps(2), "two": set()}
