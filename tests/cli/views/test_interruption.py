"""What becomes of gangs whose nodes go, on the screen of a plan."""

import io

from gpuyard.cli.views.plan import show_interruption
from gpuyard_core.terminal.console import Console
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

SPOT = pool(nodes="0..4", capacity=["spot", "on-demand"])
WHOLE = "is requeued as a whole"
NOTICE = "spot notice: 120 seconds"


def shown(*pools, said=None):
    queueing = {"queueing": {"interruption": said}} if said else {}
    raw = platform(list(pools), [team(guarantee={"train": 8})], cloud="aws", **queueing)
    out = io.StringIO()
    show_interruption(plan_of(raw), Console(file=out, width=1000))
    return [line.strip().removeprefix("interrupt ") for line in out.getvalue().splitlines()]


@every(
    "pools, said, lines",
    [
        ([pool()], None, []),
        (
            [SPOT],
            None,
            [
                (
                    f"train: a gang that loses a node (spot) {WHOLE}; {NOTICE}; lost work unknown"
                    " (set queueing.interruption)"
                )
            ],
        ),
        (
            [SPOT],
            {"checkpoint_interval_minutes": 60},
            [
                (
                    f"train: a gang that loses a node (spot) {WHOLE}; {NOTICE}; lost work: 31 minutes"
                    " expected, 61 at most: 16.5 GPU hours of 32 GPUs"
                )
            ],
        ),
        (
            [SPOT],
            {"checkpoint_interval_minutes": 60, "checkpoint_on_notice": True},
            [
                (
                    f"train: a gang that loses a node (spot) {WHOLE}; {NOTICE}; jobs checkpoint on the notice, so no work is"
                    " lost"
                )
            ],
        ),
        # pools of which the same is to be said have one line
        (
            [
                pool(nodes="0..4", scaling="karpenter"),
                pool("more", nodes="0..1", scaling="karpenter"),
            ],
            None,
            [f"train, more: a gang that loses a node {WHOLE}"],
        ),
    ],
)
def test_a_line_says_what_becomes_of_a_gang_and_what_it_loses(pools, said, lines):
    assert shown(*pools, said=said) == lines
