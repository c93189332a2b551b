"""Integer programs, solved by HiGHS: the only module that uses the solver.

HiGHS is an extra and is imported when needed (docs/decisions/0010-solver.md). The same program gives the same
result on one version of it: one thread, one seed, no time limit, no accepted gap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_core.errors import EnvironmentMissing

UNBOUNDED = float("inf")
_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerProgram:
    """Minimise costs · x, each row between its bounds, each x from 0 to its `most`."""

    costs: Sequence[float]
    columns: Sequence[Mapping[int, int | float]]
    """What each x adds to a row, by the row's index."""
    at_least: Sequence[float]
    at_most: Sequence[float]
    most: Sequence[float]
    whole: bool = True
    """Whether x is integer; otherwise the program is relaxed and its rows have prices."""
    max_nodes: int | None = None
    """Limit of search nodes, which unlike time is equal on every machine."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of the solver."""

    values: tuple[float, ...]
    cost: float
    bound: float
    """Lower bound of the cost."""
    prices: tuple[float, ...]
    """Cost of one more unit of each row; only for relaxed programs."""
    proved: bool
    """Whether the search finished within its limit."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The values as integers."""
        return tuple(round(v) for v in self.values)


def solve(program: IntegerProgram) -> Solution | None:
    """The cheapest x; None if there is none, or none was found within `max_nodes`."""
    highs = _highspy()
    solver = highs.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", _SEED),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.0),
    ):
        solver.setOptionValue(option, value)
    if program.max_nodes is not None:
        solver.setOptionValue("mip_max_nodes", program.max_nodes)
    solver.passModel(_model(highs, program))
    solver.run()
    status, info, result = solver.getModelStatus(), solver.getInfo(), solver.getSolution()
    if info.primal_solution_status != highs.SolutionStatus.kSolutionStatusFeasible:
        return None
    return Solution(
        values=tuple(result.col_value),
        cost=info.objective_function_value,
        bound=info.mip_dual_bound if program.whole else info.objective_function_value,
        prices=() if program.whole else tuple(result.row_dual),
        proved=status == highs.HighsModelStatus.kOptimal,
    )


def _model(highs: Any, program: IntegerProgram) -> Any:
    """The program as a model of the solver, column by column."""
    starts, rows, numbers = [0], list[int](), list[float]()
    for column in program.columns:
        for row in sorted(column):
            rows.append(row)
            numbers.append(float(column[row]))
        starts.append(len(rows))
    model = highs.HighsLp()
    model.num_col_, model.num_row_ = len(program.costs), len(program.at_least)
    model.col_cost_ = list(program.costs)
    model.col_lower_, model.col_upper_ = [0.0] * len(program.costs), list(program.most)
    model.row_lower_, model.row_upper_ = list(program.at_least), list(program.at_most)
    model.a_matrix_.format_ = highs.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = starts, rows, numbers
    if program.whole:
        model.integrality_ = [highs.HighsVarType.kInteger] * len(program.costs)
    return model


def _highspy() -> Any:
    try:
        import highspy
    except ImportError:
        raise EnvironmentMissing(
            "packing needs the solver HiGHS, which is not installed: pip install 'gpuyard[solve]'"
        ) from None
    return highspy
