"""Checks that are changed in one place each: the rows of faults and of limits notice it.

Every comparison, condition, number, outcome and advice in the source of the checks is turned once; what
still looks right afterwards is listed below, with the reason why nothing could tell it.
"""

import ast
import copy
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from gpuyard_validator.checks import (
    CHECKS,
    Check,
    collectives,
    health,
    inventory,
    links,
    loads,
    sharing,
)
from gpuyard_validator.expectations import AcceptedThreshold, Network
from gpuyard_validator.results import Action, Status
from gpuyard_validator.run import validate
from kit.cases.faults import ADAPTERS, FAULTS, LOAD_EDGES, NODE, OF_GPU, SLOTS, TOLD
from kit.cases.hardware import CARDS, CUTS, altered, expected, machine

MODULES = (inventory, health, links, sharing, loads, collectives)
DAY = "2026-11-25"
MOST = ("pages", "rows")
"""Their floor is the first number that is too many."""
ALONE = "a test of its own holds it: test_edges"
RUN = "a test of its own holds it: nccl/test_checks"
WORK = "a test of its own holds it: load/test_edges"
SURVIVORS = {
    "memory: result < floor": (1, "no product's floor is a whole number of MiB"),
    "one_fabric_domain: 1": (1, "one domain is the floor in words"),
    "mig_profile_name: total_mib > 0": (1, ALONE),
    "mig_profile_name: 0": (2, ALONE),
    "_nvlink: not expected.nvlink_gbps or expected.gpus < 2": (1, ALONE),
    "_nvlink: expected.gpus < 2": (1, ALONE),
    "_nvlink: 2": (1, ALONE),
    "rdma_ports: 8": (1, ALONE),
    "rdma_ports: 0": (1, "no port runs below 1 Gb/s"),
    "_format_counts: ', '.join((f'{n} × {name}' for name, n in sorted(counts.items()))) or 'nothing'": (
        1,
        ALONE,
    ),
    "_numbers: 0": (1, "no driver is pinned to a version below 1"),
    "mig_mode: False": (2, "what is told of a GPU that cannot be cut and need not be"),
    "ranks: each.end not in (DONE, 'stopped')": (1, RUN),
    "versions: name or 'none'": (1, RUN),
    "transport: 1": (1, RUN),
    "gpudirect: 0": (1, RUN),
    "bandwidth: 1": (3, RUN),
    "bandwidth: result < floor": (1, RUN),
    "bandwidth: Status.WARN": (1, RUN),
    "bandwidth: result < usual": (1, RUN),
    "_network_gbps: each is None and (not isinstance(machine.adapters, Missing))": (1, RUN),
    "_network_gbps: each is None": (1, RUN),
    "_network_gbps: not isinstance(machine.adapters, Missing)": (1, RUN),
    "_loaded: expected.profile == QUICK or expected.collectives is None": (1, RUN),
    "_loaded: 1": (1, RUN),
    "_fast: 1": (1, RUN),
    "_fast: together.between == 'tcp'": (1, RUN),
    "_fast: expected.network is None": (1, RUN),
    "_compared: expected.gpus * _peers(expected).nodes < FEW": (1, RUN),
    "load_completed: load.uuid or 'one without a UUID'": (1, WORK),
    "gpu_rate_spread: threshold.floor if threshold else 0.0": (1, WORK),
    "gpu_rate_spread: 1": (
        3,
        "a GPU has one rate of products; figures are rounded; the share in words",
    ),
    "gpu_rate_spread: (value := _value(rate)) >= floor": (1, "no rate has a floor's own figure"),
    "gpu_rate_spread: len(rate_by_gpu) < 2": (1, WORK),
    "gpu_rate_spread: 2": (1, WORK),
    "clocks: 0": (1, "an idle GPU is not held"),
    "temperature: 1": (1, WORK),
    "_rates: not task_rates and load.missing_library": (1, WORK),
    "_rates: not task_rates": (1, WORK),
    "_against: 1": (1, "figures are rounded"),
    "_value: rate.seconds <= 0": (1, WORK),
    "_value: 1": (1, "figures are rounded"),
    "_unit: 'TFLOPS' if rate.task in HARD else 'GB/s'": (1, WORK),
    "_unit: rate.task in HARD": (1, WORK),
    "_soaked: _loaded(expected) or ('' if expected.profile == SOAK else 'only profile soak runs it')": (
        1,
        WORK,
    ),
    "_linked: expected.nvlink_gbps and expected.gpus > 1": (1, WORK),
    "_linked: expected.gpus > 1": (1, WORK),
    "_linked: 1": (1, WORK),
    "_several: expected.gpus > 1": (1, WORK),
    "_several: 1": (1, WORK),
    "gpudirect_module_loaded: ['open module'] if opened else []": (
        1,
        "what is told of a node that passes",
    ),
}
"""Changes that no row notices: how often each, and why."""
OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
OUTCOMES = {
    "WARN": "FAIL", "FAIL": "WARN", "INVESTIGATE": "RESET", "RESET": "REBOOT", "REBOOT": "REPLACE",
    "REPLACE": "INVESTIGATE", "NONE": "INVESTIGATE",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A function of the checks with one change."""

    module: ModuleType
    function: str
    turned: str
    tree: ast.FunctionDef

    @property
    def name(self):
        return f"{self.function}: {self.turned}"


def turns(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What can be turned at this place: how it reads, and what stands there instead."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield ast.unparse(node), ast.Compare(node.left, [OTHER[type(op)]()], node.comparators)
        case ast.BoolOp(op=op):
            yield ast.unparse(node), ast.BoolOp(OTHER[type(op)](), node.values)
        case ast.IfExp():
            yield ast.unparse(node), ast.IfExp(node.test, node.orelse, node.body)
        case ast.UnaryOp(op=ast.Not()):
            yield ast.unparse(node), node.operand
        case ast.Constant(value=bool(value)):
            yield str(value), ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield str(value), ast.Constant(value + 1)
        case ast.Attribute(value=ast.Name(id="Status" | "Action" as kind), attr=attr):
            if attr in OUTCOMES:
                other = ast.Attribute(ast.Name(kind, ast.Load()), OUTCOMES[attr], ast.Load())
                yield f"{kind}.{attr}", other


class Turned(ast.NodeTransformer):
    """The tree with the node of this number replaced."""

    def __init__(self, number: int, instead: ast.AST) -> None:
        self.left, self.instead = number, instead

    def visit(self, node: ast.AST) -> ast.AST:
        self.left -= 1
        if self.left == -1:
            return self.instead
        return super().generic_visit(node)


def numbered(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes in the order in which a transformer meets them."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from numbered(child)


def mutants(module: ModuleType) -> Iterator[Mutant]:
    """Every function of the module, turned in each of its places once."""
    for function in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for number, node in enumerate(numbered(function)):
            for said, instead in turns(node):
                changed = Turned(number, instead).visit(copy.deepcopy(function))
                yield Mutant(module, function.name, said, changed)


def code(mutant: Mutant) -> CodeType:
    """What the function does with the change."""
    tree = ast.fix_missing_locations(ast.Module([mutant.tree], []))
    space = {**vars(mutant.module)}
    exec(compile(tree, "mutant", "exec"), space)  # noqa: S102  our own source, changed
    return space[mutant.function].__code__


def touched(mutant: Mutant) -> list[str]:
    """The checks that are made of this function; of one that they share, all of the module."""
    made = getattr(mutant.module, mutant.module.__name__.rpartition(".")[2].upper())
    own = [check.id for check in made if mutant.function in parts(check)]
    return own or [check.id for check in made]


def parts(check: Check) -> set[str]:
    """The names of its functions."""
    functions = (check.judge, check.inapplicable_reason)
    return {getattr(part, "func", part).__name__ for part in functions if part}


MACHINES = {
    (name, cut): (expected(name, cut=cut), machine(name, cut=cut))
    for name in CARDS
    for cut in (False, True)
    if not cut or name in CUTS
}


def cases() -> Iterator[tuple]:
    """Which check, what is asked, what is seen, and what is known to come of it."""
    for check, which, fault, status, action in FAULTS:
        wanted, seen = MACHINES[which]
        yield check, wanted, fault(seen), (status, action)
    for check, card, good, bad, status in OF_GPU:
        wanted, seen = MACHINES[card, False]
        yield check, wanted, altered(seen, **good), (Status.PASS, Action.NONE)
        yield check, wanted, altered(seen, **bad), (status, None)
    for check, card, good, bad, status in LOAD_EDGES:
        wanted, seen = MACHINES[card, False]
        yield check, wanted, good(seen), (Status.PASS, Action.NONE)
        yield check, wanted, bad(seen), (status, None)
    wanted, seen = MACHINES["H100", False]
    for check, good, bad, status in NODE:
        yield check, wanted, replace(seen, **good), (Status.PASS, Action.NONE)
        yield check, wanted, replace(seen, **bad), (status, None)
    wanted, seen = MACHINES["H100-loaded", False]
    for accepted, value, fault, status in SLOTS:
        lower = AcceptedThreshold(check=accepted, value=value, reason="the riser", until=DAY)
        yield "work.pcie", replace(wanted, accepted=(lower,)), fault(seen), (status, None)
    wanted, seen = MACHINES["H200", False]
    for check, network, status in ADAPTERS:
        asked = {
            "kind": "infiniband",
            "devices": 8,
            "names": (),
            "gbps_per_device": 400.0,
            **network,
        }
        yield check, replace(wanted, network=Network(**asked)), seen, (status, None)
    for card, fault, (check, *told) in TOLD:
        wanted, seen = MACHINES[card, False]
        yield check, wanted, altered(seen, **fault), tuple(told)
    for wanted, seen in MACHINES.values():
        for name, check in CHECKS.items():
            yield (
                name,
                wanted,
                seen,
                None if check.inapplicable_reason(wanted) else (Status.PASS, Action.NONE),
            )


def looks_right(case: tuple) -> bool:
    """Whether the check says of the case what is known to be true, and a value that is not its floor."""
    name, wanted, seen, known = case
    found = [r.evidence for r in validate(wanted, seen, {name: CHECKS[name]}, DAY).results]
    worst = max(found, key=lambda e: list(Status).index(e.status))
    if known is None:
        return worst.status is Status.SKIP
    if len(known) == len(("value", "floor", "unit", "reason")):
        return (worst.value, worst.threshold, worst.unit, worst.reason) == known
    status, action = known
    told = status is Status.PASS or worst.unit in MOST or worst.value != worst.threshold
    return worst.status is status and action in (None, worst.action) and told


def survives(mutant: Mutant, table: dict[str, list[tuple]]) -> bool:
    """Whether no row tells the changed function from the real one."""
    function = getattr(mutant.module, mutant.function)
    real, function.__code__ = function.__code__, code(mutant)
    try:
        return all(looks_right(case) for name in touched(mutant) for case in table[name])
    finally:
        function.__code__ = real


def test_the_rows_hold_for_the_checks_as_they_are():
    assert not [case for case in cases() if not looks_right(case)]


@pytest.mark.search
def test_a_change_of_a_check_is_noticed_or_is_listed_with_its_reason():
    table = defaultdict(list)
    for case in cases():
        table[case[0]].append(case)
    made = [mutant for module in MODULES for mutant in mutants(module)]
    assert len(made) > 150, "the source is turned in fewer places than it has"
    found = Counter(mutant.name for mutant in made if survives(mutant, table))
    assert dict(found) == {name: count for name, (count, _) in SURVIVORS.items()}
