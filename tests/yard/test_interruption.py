"""Ctrl-C and kill at random moments: the next run converges, and nothing is there twice.

`GPUYARD_SEEDS` sets how many accidents there are. Each takes half a minute, so there is one of each kind as a
rule, at the same moments every time; a campaign takes 20 and more.
"""

import os
import random
import signal

import pytest

from kit.cases.records import objects_of
from kit.cluster.yard import QUIET, STACK

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
SEEDS = int(os.environ.get("GPUYARD_SEEDS") or 4)
UP = ("up", "--stack", STACK, *QUIET)
DESTROY = ("destroy", "--stack", STACK, *QUIET)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_after_an_interrupted_up_the_next_one_converges(up, how):
    chance = random.Random(how.value)  # noqa: S311  accidents, not secrets
    for seed in range(SEEDS // 4):
        up.pulumi(*DESTROY)
        up.interrupted(chance.uniform(2.5, 5), how, *UP)
        code, said = up.tried(*UP)
        killed = how is signal.SIGKILL
        assert code == 0 or (killed and "pulumi cancel" in said), said[-3000:]
        if killed:
            up.run("scripts/yard", "up")
        converged(up, seed)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_after_an_interrupted_destroy_make_up_converges(up, how):
    chance = random.Random(how.value + 1)  # noqa: S311  accidents, not secrets
    for seed in range(SEEDS // 4):
        up.interrupted(chance.uniform(1, 6), how, *DESTROY)
        up.run("scripts/yard", "up")
        converged(up, seed)


def converged(up, seed):
    said = up.pulumi(
        "preview", "--stack", STACK, "--expect-no-changes", "--non-interactive", code=None
    )
    assert "no changes were expected" not in said, (seed, said[-3000:])
    assert len(up.owned()) == len(set(up.owned())) == len(objects_of(up.plan())), seed
