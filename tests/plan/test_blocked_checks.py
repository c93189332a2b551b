"""Findings come at once as far as they can be known, and what waits is said.

Each test mends what a program can mend, round by round, and asks what comes to light. The stated limits: a
finding may come later where a note said that checks wait (`checks.waiting`), and of a shape that is refused
itself, whose quota, limits and nodes are asked for once it can start.
"""

import random

import pytest
import yaml

import proofs
from gpuyard.cli.stacks import validate_text
from gpuyard.plan.blocked_checks import BLOCKED_CHECK
from gpuyard_core.findings import Severity
from gpuyard_core.today import today
from kit.searches import examples
from kit.stacks import SYSTEM, platform, pool, shape, team


def refusing():
    """The cases of all proofs that refuse a stack of their own."""
    return [
        case
        for kind in proofs.ids()
        for case in proofs.read(kind).of("bad")
        if case.severity is Severity.ERROR
        and case.text
        and case.raw.get("with")
        and case.raw.get("base", "own") == "own"
    ]


def judged(value, config=None):
    return validate_text(proofs.stack_text(value, config).encode(), proofs.FILE, today())


def refusals(found):
    return {(f.id, f.path): f for f in found.findings if f.severity is Severity.ERROR}


def waits(found):
    return [f.path for f in found.findings if f.id == BLOCKED_CHECK]


def mended(value, findings):
    """Every fix that a program can apply, inmost first; those that change the same place wait a round."""
    done = []
    for finding in sorted(findings, key=lambda f: -len(f.path)):
        at = finding.fix.at if finding.fix else None
        if at and not any(at[: len(d)] == d or d[: len(at)] == at for d in done):
            value = proofs.applied(value, finding.fix)
            done.append(at)
    return value


def rounds(value, config=None):
    """What is refused in each round, until nothing new is."""
    seen, told = set(), []
    while True:
        found = refusals(judged(value, config))
        if not found.keys() - seen:
            return told
        told.append(sorted(f"{f.id} {f.where}" for key, f in found.items() if key not in seen))
        seen |= found.keys()
        value = mended(value, found.values())


MANY = platform(
    [
        pool(name="train", machine="p5.48xlarg", nodes=4, sharing={"mig": {"1g.5gb": 7}}),
        pool(name="serve", machine="p4d.24xlarge", nodes="0..2", capactiy=["spot"],
             sharing={"time_slicing": 4, "mps": 2}),
        pool(name="serve", machine="g6.12xlarge", nodes=2, zones=["eu-west-1a"]),
    ],
    [
        team("vision", guarantee={"train": "32", "serve/3g.20gb": 4}, borrow={"train": -8}),
        team("vision", guarantee={"dev": 4}, isolation="vm"),
        team("kube-system", guarantee={"train": 4}, priority="gold"),
    ],
    shapes=[shape("big", pool="trian", nodes=8, gpus_per_node=8)],
    name="Bad_Name",
    cloud="aws",
    kubernetes=1.35,
    system={**SYSTEM, "nodes": "3..2"},
    budget={"max_usd_per_hour": 0},
    queueing={"engine": "volcano", "preemption": "maybe"},
)  # fmt: skip


def test_a_file_with_twenty_slips_of_every_kind_tells_nearly_all_in_the_first_round():
    first, *rest = rounds(MANY, {"aws:region": "us-east-1"})
    assert len(first) > 20
    assert {each.split()[0] for each in first} >= {
        "spec.name_form", "spec.unknown_field", "spec.range_reversed", "pool.machine_unknown",
        "mig.placement", "pool.duplicate", "pool.zone", "team.duplicate", "team.reserved", "quota.unit",
        "quota.unknown_pool",
    }  # fmt: skip
    assert len(rest) <= 1
    first_waits = waits(judged(MANY, {"aws:region": "us-east-1"}))
    assert ("pools", 0) in first_waits, "what comes in the second round was said to wait"


def test_a_budget_that_pools_which_stand_break_already_is_refused_without_a_number_to_write():
    """A fix from half a plan would be overturned by the other half."""
    broken = pool("b", sharing={"mig": {"1g.5gb": 9}})
    team_budget = team(guarantee={"train": 8, "b": 8}, budget_usd_per_month=1)
    raw = platform([pool(), broken], [team_budget], budget={"max_usd_per_hour": 45})
    found = {f.id: f for f in judged(raw).findings}
    assert found["budget.worst"].problem.startswith(
        "with every node running, the platform costs 220.16 $/hour plus unknown prices;"
    )
    assert found["budget.worst"].fix.at is None
    assert found["budget.team"].fix.at is None
    raw["budget"], raw["teams"] = {"max_usd_per_hour": 300}, []
    assert [f.id for f in judged(raw).findings] == ["mig.placement", BLOCKED_CHECK]


def both(one, other, rng):
    """The slips of two proofs in one file; None where both are about the same section."""
    base = yaml.safe_load((proofs.FOLDER / "bases" / "own.yaml").read_text(encoding="utf-8"))
    first, second = (proofs.expanded(c.raw["with"]) for c in (one, other))
    if set(first) & set(second):
        return None
    patches = [first, second]
    rng.shuffle(patches)
    for patch in patches:
        base = proofs.patched(base, patch)
    return base


@pytest.mark.search
def test_mending_one_thing_reveals_nothing_that_could_have_been_known_before():
    """Of two slips in different parts of a file both are told at once, or one is said to wait."""
    rng = random.Random(7)  # noqa: S311  no secret is made of it
    tried, cases = 0, refusing()
    for _ in range(examples(150)):
        one, other = rng.sample(cases, 2)
        raw = both(one, other, rng)
        if raw is None:
            continue
        found = judged(raw)
        before = refusals(found)
        for finding in before.values():
            if finding.fix is None or finding.fix.at is None or finding.path[0] == "shapes":
                continue
            after = judged(proofs.applied(raw, finding.fix))
            new = refusals(after).keys() - before.keys()
            tried += 1
            said = {*one.raw.get("reveals", ()), *other.raw.get("reveals", ())}
            # what is about the mended value itself is heard when somebody has mended it (spec/read.py)
            late = [each for each in new if each[0] not in said and each[1] != finding.path]
            assert not late or waits(found), (one.label, other.label, finding.id, late)
    assert tried > 50


def test_only_what_names_a_pool_waits_for_it():
    cohorts = [{"name": "a"}, {"name": "b", "borrow": {"train": 1}}]
    found = judged(platform([pool(machine="??")], [team()], queueing={"cohorts": cohorts}))
    (said,) = [f.problem for f in found.findings if f.id == BLOCKED_CHECK]
    assert "cohort b" in said
    assert "cohort a" not in said
