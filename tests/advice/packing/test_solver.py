"""The seam to the solver: what it is told, what comes back, and what is said when it is not there."""

import subprocess
import sys

import pytest

from gpuyard_advisor.advice.packing.solver import UNBOUNDED, IntegerProgram, solve
from gpuyard_core.errors import EnvironmentMissing


def program(**changes):
    """Three coins, the cheapest way to pay at least eleven."""
    given = {
        "costs": [1.0, 4.0, 5.0],
        "columns": [{0: 1}, {0: 5}, {0: 7}],
        "at_least": [11.0],
        "at_most": [UNBOUNDED],
        "most": [UNBOUNDED] * 3,
    }
    return IntegerProgram(**{**given, **changes})


def test_whole_numbers_and_the_bound_that_proves_them():
    found = solve(program())
    assert found is not None
    assert (
        found.counts == (0, 1, 1)
        or sum(c * n for c, n in zip([1, 4, 5], found.counts, strict=True)) == 9
    )
    assert (round(found.cost, 6), round(found.bound, 6), found.proved) == (9.0, 9.0, True)
    assert found.prices == ()


def test_a_relaxed_program_has_prices_of_its_rows():
    found = solve(program(whole=False))
    assert found is not None
    assert found.cost == pytest.approx(55 / 7)
    assert found.bound == found.cost
    assert found.prices == pytest.approx((5 / 7,))


def test_each_x_has_a_limit():
    found = solve(program(most=[UNBOUNDED, 0.0, 1.0]))
    assert found is not None
    assert found.counts == (4, 0, 1)


def test_rows_have_an_upper_end_too():
    found = solve(program(costs=[-1.0, -6.0, -9.0], at_least=[-UNBOUNDED], at_most=[8.0]))
    assert found is not None
    assert found.cost == pytest.approx(-10.0)
    assert found.counts == (1, 0, 1)


def test_what_cannot_be_has_no_solution():
    assert solve(program(most=[0.0] * 3)) is None


def test_a_search_that_is_stopped_says_so():
    """A hard knapsack: the bound stays below the best until it has branched."""
    weights = [121, 137, 151, 167, 179, 191, 211, 223, 239, 251, 269, 281, 307, 331]
    hard = IntegerProgram(
        costs=[-float(w) for w in weights],
        columns=[{0: w, 1: w * w % 97} for w in weights],
        at_least=[-UNBOUNDED] * 2,
        at_most=[1500.0, 193.0],
        most=[1.0] * len(weights),
    )
    whole = solve(hard)
    assert whole is not None
    assert whole.proved
    stopped = solve(
        IntegerProgram(
            costs=hard.costs,
            columns=hard.columns,
            at_least=hard.at_least,
            at_most=hard.at_most,
            most=hard.most,
            max_nodes=0,
        )
    )
    assert stopped is None or (not stopped.proved and stopped.bound <= whole.cost)


def test_without_the_solver_the_way_to_get_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'gpuyard\[solve\]'") as caught:
        solve(program())
    assert caught.value.exit_code == 4


@pytest.mark.repeats("none: it runs no line that is measured")
def test_the_solver_is_loaded_by_the_call_that_needs_it():
    code = "import sys, gpuyard_advisor.advice.packing.slices; sys.exit('highspy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
