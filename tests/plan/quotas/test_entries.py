"""Entries that claim nothing: which of them mean something all the same, however that is worded."""

from dataclasses import replace

import pytest

from gpuyard.plan import plan
from gpuyard.plan.quotas import entries, owners
from gpuyard.plan.quotas.quotas import plan_quotas
from gpuyard_core.findings import Fix
from kit.stacks import cut_pool, platform, pool, shape, spec_of, team

POOLS = [pool(), cut_pool(), pool("theirs", owners=["rest"]), pool("none", machine="p9")]
MISSPELT = [
    {"trian": 8},
    {"train/shared": 8},
    {"serve/3g.20bg": 8},
    {"serve/1g.10gb": 8},
]
MEANINGLESS = [
    {"nothing-like-it": 8},
    {"train": 1, "trian": 8},
    {"train": 1, "train/shared": 8},
    {"theirs": 8},
    {"none": 8},
]
OTHER_FIXES = [
    None,
    Fix(message="ask somebody"),
    Fix(message="remove it", at=("teams", 0)),
    Fix(message="write another", at=("teams", 0), value=1),
]


def lab(guarantee, **rest):
    return platform(
        rest.pop("pools", POOLS),
        [team(guarantee=guarantee), team("rest")],
        shapes=[shape(pool="train", gpus_per_node=8)],
        **rest,
    )


def understood(raw):
    found, findings = plan(spec_of(platform([pool(), cut_pool()])))
    assert found is not None, findings
    pools = {p.name: p for p in found.pools}
    asked = {p["name"]: pools["train"] if p["name"] == "theirs" else None for p in raw["pools"]}
    return plan_quotas(spec_of(raw), asked | pools)[0].are_quotas_resolved


def judged(raw):
    """What a plan says of everything but the entry itself."""
    found, findings = plan(spec_of(raw))
    said = [f for f in findings if f.id not in {"quota.unknown_pool", "quota.unit", "pool.owner"}]
    return found, said


@pytest.mark.parametrize("guarantee", MISSPELT)
def test_of_a_misspelt_entry_nobody_knows_what_the_team_can_have(guarantee):
    assert not understood(lab(guarantee))
    assert "shape.no_quota" not in {f.id for f in judged(lab(guarantee))[1]}


@pytest.mark.parametrize("guarantee", MEANINGLESS)
def test_an_entry_that_means_nothing_leaves_the_team_what_its_others_say(guarantee):
    assert understood(lab(guarantee))
    assert "shape.no_quota" in {f.id for f in judged(lab(guarantee))[1]}


@pytest.mark.parametrize("kind", ["borrow", "lend"])
def test_a_misspelt_limit_of_a_cohort_is_misspelt_too(kind):
    def queueing(key):
        return {"cohorts": [{"name": "labs", kind: {key: 0}}]}

    assert not understood(lab({"train": 1}, queueing=queueing("trian")))
    assert understood(lab({"train": 1}, queueing=queueing("nothing-like-it")))


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize("fix", OTHER_FIXES)
@pytest.mark.parametrize("guarantee", MISSPELT + MEANINGLESS)
def test_other_words_and_another_fix_of_its_finding_change_nothing_else(
    monkeypatch, guarantee, fix
):
    raw = lab(guarantee)
    before = judged(raw)

    def worded_otherwise(module):
        write = module.error
        return lambda *args, **rest: replace(write(*args, **rest), problem="otherwise", fix=fix)

    for module in (entries, owners):
        monkeypatch.setattr(module, "error", worded_otherwise(module))
    assert judged(raw) == before
