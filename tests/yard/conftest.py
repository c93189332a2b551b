"""The local platform, brought up the way a newcomer does, in a home and a state of its own."""

import os
import statistics
import threading
import time
from collections.abc import Iterator

import pytest

from gpuyard.errors import EnvironmentLacks
from gpuyard.simulate import tools
from kit.cluster.yard import ROOT, Yard
from kit.levels import require_level

_PIECE = 0.02
"""Seconds of work, every half a second: 4 % of one core."""


@pytest.fixture(scope="session")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A yard with nothing in it yet; everything is taken down in the end."""
    built = ROOT / ".testbed" / "bin"
    try:
        tools.find_tools(ROOT)
        why = "" if (built / "pulumi").exists() else "no Pulumi engine; `make tools` builds one"
    except EnvironmentLacks as problem:
        why = str(problem)
    for level in ("engine", "cluster"):
        require_level(level, not why, why)
    home, state, work = (tmp_path_factory.mktemp(n) for n in ("home", "state", "work"))
    env = {**os.environ, "GPUYARD_SIM_HOME": str(home), "GPUYARD_YARD_STATE": str(state / "s")}
    env.pop("GPUYARD_TOOLS", None)
    one = Yard(env, home, work)
    try:
        yield one
    finally:
        one.run("scripts/down", code=None)


@pytest.fixture(scope="session")
def first_up(yard: Yard) -> tuple[str, float]:
    """The output of the first `make up`, and how long it took, as if the machine had nothing else to do.

    While it runs, a thread measures how much longer a piece of work takes here than the time it has a core;
    where two cores do nothing but `make up`, that is little more than once.
    """
    began, looks, done = time.monotonic(), [], threading.Event()
    watch = threading.Thread(target=_watch, args=(looks, done))
    watch.start()
    try:
        said = yard.run("scripts/up")
    finally:
        seconds = time.monotonic() - began
        done.set()
        watch.join()
    return said, seconds / max(1.0, statistics.fmean(looks))


def _watch(looks: list[float], done: threading.Event) -> None:
    """How many times longer a piece of work takes than the time it has a core."""
    while not done.wait(0.5):
        wall, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() - cpu < _PIECE:
            pass
        looks.append((time.monotonic() - wall) / _PIECE)


@pytest.fixture
def up(first_up: tuple[str, float], yard: Yard) -> Yard:
    """The platform, up."""
    return yard
