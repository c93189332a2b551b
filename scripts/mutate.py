"""Mutation tests: make one small change at a time in the plan's code, and check whether a test fails.

    python scripts/mutate.py [--seconds 720] [MODULE ...]

Each mutant is one module of `components/gpuyard` with one small change (a comparison, an operator, a
number, a condition, a returned value), compiled in memory by a separate process: no file is changed.
The tests named for the module run against it; a mutant that no test kills is a survivor. Survivors are
printed as a table; docs/contributing/mutation-survivors.md lists the reviewed ones, with the reason why
each is acceptable.
"""

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "components" / "gpuyard"
SECONDS_PER_MUTANT = 60
SHOWN = 70

CAPACITY = (
    "tests/plan/capacity/test_capacity_options.py",
    "tests/plan/pools/test_pool_facts.py",
    "tests/plan/test_proofs.py",
)
BILL = (
    "tests/plan/money/test_capacity_prices.py",
    "tests/plan/money/test_prices.py",
    "tests/plan/money/test_bill.py",
    "tests/plan/money/test_budgets.py",
    "tests/plan/money/test_team_shares.py",
    "tests/plan/money/test_commitments.py",
    "tests/plan/money/test_expected.py",
)
TESTS: dict[str, tuple[str, ...]] = {
    "../gpuyard_core/catalogue/mig_layouts.py": ("tests/plan/sharing/test_mig.py",),
    "plan/sharing/sharing.py": (
        "tests/plan/pools/test_pools.py",
        "tests/plan/pools/test_pool_refusals.py",
    ),
    "plan/pools/pools.py": (
        "tests/plan/pools/test_pools.py",
        "tests/plan/pools/test_pool_refusals.py",
        "tests/plan/test_platform.py",
    ),
    "plan/pools/machines.py": (
        "tests/plan/pools/test_pool_refusals.py",
        "tests/plan/pools/test_pools.py",
        "tests/plan/test_platform.py",
    ),
    "plan/quotas/quotas.py": (
        "tests/plan/quotas/test_quotas.py",
        "tests/plan/pools/test_pool_refusals.py",
        "tests/plan/shapes/test_quota.py",
    ),
    "plan/queueing/queueing.py": ("tests/plan/queueing/test_queueing.py",),
    "plan/teams/teams.py": ("tests/plan/teams/test_teams.py",),
    "plan/money/bill.py": BILL,
    "plan/money/budgets.py": BILL,
    "plan/money/commitments.py": BILL,
    "plan/money/prices.py": BILL,
    "plan/money/savings.py": BILL,
    "plan/shapes/shapes.py": (
        "tests/plan/shapes/test_shapes.py",
        "tests/plan/sharing/test_fractions.py",
        "tests/plan/pools/test_pool_refusals.py",
    ),
    "plan/renames.py": ("tests/plan/pools/test_pool_refusals.py", "tests/plan/teams/test_teams.py"),
    "plan/sharing/compute_slices.py": ("tests/plan/sharing/test_fractions.py",),
    "plan/capacity/capacity_options.py": CAPACITY,
    "plan/capacity/capacity_checks.py": CAPACITY,
    "plan/pools/node_images.py": (
        "tests/plan/pools/test_pool_facts.py",
        "tests/plan/test_proofs.py",
    ),
    "plan/pools/own_nodes.py": ("tests/plan/pools/test_pool_facts.py", "tests/plan/test_proofs.py"),
    "plan/quotas/owners.py": ("tests/plan/quotas/test_owners.py", "tests/plan/test_proofs.py"),
    "plan/queueing/priorities.py": ("tests/plan/queueing/test_priorities.py",),
    "plan/shapes/quota.py": ("tests/plan/shapes/test_quota.py",),
    "plan/capacity/scaling.py": CAPACITY,
    "providers/aws/capacity.py": CAPACITY,
    "providers/gcp/capacity.py": CAPACITY,
    "plan/teams/isolation.py": (
        "tests/plan/teams/test_isolation.py",
        "tests/plan/teams/test_teams.py",
    ),
    "plan/pools/topology.py": ("tests/plan/pools/test_pool_facts.py", "tests/plan/test_proofs.py"),
    "plan/capacity/keep_warm.py": ("tests/plan/capacity/test_keep_warm.py",),
    "plan/capacity/cron.py": ("tests/plan/capacity/test_keep_warm.py",),
    "../gpuyard_core/findings.py": ("tests/findings/test_findings.py",),
}
"""The modules whose results cost money or capacity, and the tests of each."""

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed module: the line, the old and the new code, and its whole text."""

    line: int
    before: str
    after: str
    text: str


def changed(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901, PLR0912  one case for each kind of change
    """Every small change of one node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            yield _with(node, ops=[COMPARE[type(op)]()])
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_text(node):
            yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=ast.And()):
            yield _with(node, op=ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield _with(node, op=ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inner):
            yield inner
        case ast.IfExp(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool(value)):
            yield _with(node, value=not value)
        case ast.Constant(value=int(value)):
            yield _with(node, value=value + 1)
        case ast.Continue():
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield _with(node, value=ast.Constant(None))
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
        case _:
            return


def _with(node: ast.AST, **fields: object) -> ast.AST:
    created = copy.copy(node)
    for name, value in fields.items():
        setattr(created, name, value)
    return created


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.JoinedStr | ast.Constant) and not _is_number(n) for n in ast.walk(node)
    )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, from top to bottom; annotations and messages are not changed."""
    tree = ast.parse(source)
    for node in list(_code(tree)):
        for new in changed(node):
            memo: dict[int, object] = {
                id(node): new
            }  # the copy has the new node where the old one was
            mutated = ast.fix_missing_locations(copy.deepcopy(tree, memo))
            yield Mutant(_line(node), _shown(node), _shown(new), ast.unparse(mutated))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"} or isinstance(value, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _code(child)


def _line(node: ast.AST) -> int:
    return next((n.lineno for n in ast.walk(node) if isinstance(n, ast.expr | ast.stmt)), 0)


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


class _Served(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a text instead of its file."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of that one module."""
        del path, target
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the text."""
        exec(compile(self.text, f"<mutant of {self.name}>", "exec"), module.__dict__)  # noqa: S102  runs the mutant


def warm_up() -> None:
    """Import what every run needs and no mutant changes; a child of this process then starts fast."""
    for name in (
        "pytest",
        "hypothesis",
        "yaml",
        "gpuyard.spec.read",
        "gpuyard_core.catalogue.machines",
    ):
        importlib.import_module(name)


def killed(module: str, text: str) -> bool:
    """Run the tests of a module against this text; a run that times out counts as killed."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _run(module, text)
    _, status = os.waitpid(child, 0)
    return status != 0


def _run(module: str, text: str) -> None:
    signal.alarm(SECONDS_PER_MUTANT)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = 1
    try:
        import pytest

        file = (LIBRARY / module).resolve().relative_to(LIBRARY.parent)
        name = ".".join(file.with_suffix("").parts)
        sys.meta_path.insert(0, _Served(name, text))
        if name in sys.modules:  # the warm-up has loaded it, and modules that use it
            for loaded in [each for each in sys.modules if each.startswith("gpuyard")]:
                del sys.modules[loaded]
        options = [
            "-x",
            "-q",
            "-n0",
            "--assert=plain",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        options += [word for plugin in ("cacheprovider", "cov") for word in ("-p", f"no:{plugin}")]
        code = int(pytest.main([*options, *(str(ROOT / test) for test in TESTS[module])]))
    finally:
        os._exit(code)


def main() -> int:
    """Run, and print the survivors."""
    parser = argparse.ArgumentParser(description="Mutate the plan's proofs and run their tests.")
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="such as plan/draft.py; default: all"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    options = parser.parse_args()
    chosen = options.modules or list(TESTS)
    if unknown := sorted(set(chosen) - set(TESTS)):
        parser.error(f"no tests are named for {', '.join(unknown)}; known: {', '.join(TESTS)}")
    os.chdir(ROOT)
    warm_up()
    todo = [
        (m, mutant) for m in chosen for mutant in mutants((LIBRARY / m).read_text(encoding="utf-8"))
    ]
    in_all = Counter(module for module, _ in todo)
    random.Random(0).shuffle(todo)  # noqa: S311  a run that is cut short has then seen some of everything
    for module in chosen:
        if killed(module, (LIBRARY / module).read_text(encoding="utf-8")):
            print(f"the tests of {module} fail without any mutant: no result")
            return 1
    started, run, lived = time.monotonic(), Counter[str](), []
    for module, mutant in todo:
        if time.monotonic() - started > options.seconds:
            break
        run[module] += 1
        if not killed(module, mutant.text):
            lived.append((module, mutant))
            print(
                f"survives: {module}:{mutant.line} {mutant.before} → {mutant.after}",
                file=sys.stderr,
            )
    _report(in_all, run, lived)
    return 0


def _report(in_all: Counter[str], run: Counter[str], lived: list[tuple[str, Mutant]]) -> None:
    survivors = Counter(module for module, _ in lived)
    print("| module | mutants | run | survive |\n|---|---|---|---|")
    for module, count in in_all.items():
        print(f"| {module} | {count} | {run[module]} | {survivors[module]} |")
    print(f"| all | {in_all.total()} | {run.total()} | {survivors.total()} |\n")
    print("| where | is | would be |\n|---|---|---|")
    for module, mutant in sorted(lived, key=lambda x: (x[0], x[1].line)):
        before, after = (text.replace("|", "\\|") for text in (mutant.before, mutant.after))
        print(f"| {module}:{mutant.line} | `{before}` | `{after}` |")


if __name__ == "__main__":
    sys.exit(main())
