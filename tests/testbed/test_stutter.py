"""Parts of this run's clusters pause and continue; others do not."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpuyard_simulate.processes import MARK
from kit.cluster.stutter import stuttering
from kit.waiting import SHORTER


@pytest.fixture
def started() -> Iterator[Callable[..., Path]]:
    """Start a waiting process with this environment; returns its folder in /proc."""
    running: list[subprocess.Popen[bytes]] = []

    def start(**env: str) -> Path:
        running.append(subprocess.Popen(["sleep", "60"], env={**os.environ, **env}))
        return Path("/proc", str(running[-1].pid))

    yield start
    for process in running:
        process.kill()
        process.wait()


def stands_still(process: Path) -> bool:
    return (process / "stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_what_belongs_to_a_cluster_of_this_run_stands_still_and_goes_on(
    started: Callable[..., Path], tmp_path: Path
):
    ours = [
        started(**{MARK: f"{tmp_path}/home/a:kueue"}),
        started(KWOK_WORKDIR=f"{tmp_path}/work"),
    ]
    theirs = started(**{MARK: f"{tmp_path}-other/home/a:kueue"})
    seen: set[Path] = set()
    deadline = time.monotonic() + SHORTER
    with stuttering(tmp_path, random.Random(1)):  # noqa: S311  accidents, not secrets
        while seen < {*ours} and time.monotonic() < deadline:
            assert not stands_still(theirs)
            seen |= {process for process in ours if stands_still(process)}
            time.sleep(0.01)
    assert seen == {*ours}
    while any(map(stands_still, ours)):
        assert time.monotonic() < deadline, "one is left standing"
