"""What teams may have beside GPUs, on the screen."""

import io

from gpuyard.cli.views.plan import show_limits
from gpuyard_core.terminal.console import Console
from kit.stacks import plan_of, platform, team

HEAD = ["team", "CPUs", "GiB", "storage", "claims", "pods", "one container"]


def shown(*teams):
    out = io.StringIO()
    show_limits(plan_of(platform(teams=list(teams))), Console(out))
    return [line.split() for line in out.getvalue().splitlines() if line]


def test_each_team_has_its_line():
    said = {"cpu": 1600, "memory_gib": 64, "storage_gib": 2000, "claims": 5, "pods": 1200}
    title, head, vision, speech = shown(
        team(guarantee={"train": 8}),
        team("speech", guarantee={"train": 8}, limits=said),
    )
    assert title == ["Limits", "besides", "GPUs", "all", "pods", "of", "a", "team", "together"]
    assert head == " ".join(HEAD).split()
    assert vision == [
        "vision",
        "388",
        "3,962",
        "1,824",
        "GiB",
        "132",
        "132",
        "192",
        "CPUs,",
        "2,048",
        "GiB",
    ]
    assert speech == [
        "speech",
        "1,600",
        "64",
        "2,000",
        "GiB",
        "5",
        "1,200",
        "192",
        "CPUs,",
        "64",
        "GiB",
    ]


def test_nobody_has_no_limits():
    assert shown() == []
