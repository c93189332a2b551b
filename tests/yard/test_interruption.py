"""Ctrl-C and kill at random moments: the next run converges, and nothing is there twice.

`GPUYARD_SEEDS` sets how many accidents there are: 20 in CI, a few elsewhere, as each takes a quarter of a minute.
"""

import os
import random
import signal

import pytest

from gpuyard.render.platform import platform_objects
from yard_platform import QUIET, STACK

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.xdist_group("yard")]
SEEDS = int(os.environ.get("GPUYARD_SEEDS") or (20 if os.environ.get("CI") else 4))
UP = ("up", "--stack", STACK, *QUIET)
DESTROY = ("destroy", "--stack", STACK, *QUIET)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_after_an_interruption_the_next_run_converges(up, how):
    chance = random.Random(how.value)  # noqa: S311  accidents, not secrets
    for seed in range(SEEDS // 2):
        down_first = seed % 2 == 0
        if down_first:
            up.interrupted(chance.uniform(1, 6), how, *DESTROY)
        else:
            up.interrupted(chance.uniform(1, 6), how, *UP)
        _converge(up, how, seed)


def _converge(up, how, seed):
    if how is signal.SIGINT:
        said = up.pulumi(*UP, "--refresh", code=None)
    else:
        said = up.pulumi(*UP, code=None)
        if "lock" in said:
            assert "pulumi cancel" in said, said[-3000:]
        said = up.run("scripts/up")
    assert up.pulumi("preview", "--stack", STACK, "--expect-no-changes", "--non-interactive"), (
        seed,
        said,
    )
    assert len(up.owned()) == len(set(up.owned())) == len(platform_objects(up.plan())), seed
