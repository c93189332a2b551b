"""One simulated cluster for all tests of this folder, named by process, always taken down."""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate import cluster, state, tools
from gpuyard_simulate.api import Api, ApiError, Unreachable, connect
from kit import waiting
from kit.cluster.busy import busy
from kit.cluster.lab import slack
from kit.cluster.queues import forget, kueue_as_it_was
from kit.levels import require_level
from kit.live import ends_clusters

NAME = f"test-{os.getpid()}"
Until = Callable[..., Any]


def absent() -> str | None:
    """Why there can be no cluster here, None when there can."""
    try:
        tools.find_tools(Path(__file__).parent)
    except EnvironmentMissing as problem:
        return str(problem)
    return None


def ports_of_worker() -> range:
    """A worker's own ports: clusters that start at the same moment, with homes apart, know of no other."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = len(state.PORTS) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    first = state.PORTS.start + number * share
    return range(first, first + share)


@pytest.fixture(scope="session")
def sim_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own, so that no test touches the user's clusters."""
    why = absent()
    require_level("cluster", available=why is None, why=why or "")
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("sim") / "home"
        patch.setenv("GPUYARD_SIM_HOME", str(home))
        # Half the work for API servers; the memory of a cluster by default has a test of its own.
        patch.setenv("GOGC", "400")
        patch.setenv("GPUYARD_TOOLS", str(tools.find_tools(Path(__file__).parent).bin))
        patch.setattr(state, "PORTS", ports_of_worker())
        try:
            yield home
        finally:
            all_down()


def all_down() -> None:
    """Every cluster that tests of this worker may have started."""
    for name in (NAME, *(f"{NAME}-{which}" for which in ("second", "west", "east"))):
        cluster.down(name)
        forget(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """A cluster at rest works all the same: it ends with the last test of this worker that needs it."""
    yield
    if nextitem is not None and ends_clusters(nextitem.nodeid):
        all_down()


@pytest.fixture(scope="session")
def first_start(sim_home: Path) -> tuple[cluster.Outcome, float]:
    """The first start of the cluster, and how busy the machine was then.

    Workers start theirs at the same moment, which the load average learns a minute later.
    """
    with busy() as times:
        outcome = cluster.up(NAME)
    return outcome, max(times(), slack())


@pytest.fixture(scope="module")
def started(
    first_start: tuple[cluster.Outcome, float], request: pytest.FixtureRequest
) -> cluster.Outcome:
    """The cluster, as it started first; with its own Kueue unless the file sets one up as a platform does."""
    if not hasattr(request.module, "kueue_as_rendered"):
        kueue_as_it_was(NAME)
    return first_start[0]


@pytest.fixture
def api(started: cluster.Outcome) -> Api:
    """The cluster, running whatever an earlier test did to it."""
    cluster.up(NAME)
    return connect(Path(started.status.kubeconfig))


@pytest.fixture
def until() -> Until:
    """Wait for a condition, whatever the cluster answers on the way."""

    def wait(look: Callable[[], Any], wanted: Callable[[Any], bool] = bool) -> Any:
        return waiting.until(look, wanted, errors=(ApiError, Unreachable))

    return wait
