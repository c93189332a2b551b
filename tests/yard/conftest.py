"""The local platform, brought up the way a newcomer does, in a home and a state of its own."""

import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate import tools
from kit.cluster.busy import busy
from kit.cluster.lab import slack
from kit.cluster.yard import ROOT, Yard
from kit.levels import require_level

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def yard(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Yard]:
    """A yard with nothing in it yet; everything is taken down in the end."""
    built = ROOT / ".testbed" / "bin"
    try:
        tools.find_tools(ROOT)
        why = "" if (built / "pulumi").exists() else "no Pulumi engine; `make tools` builds one"
    except EnvironmentMissing as problem:
        why = str(problem)
    for level in ("engine", "cluster"):
        require_level(level, not why, why)
    request.getfixturevalue("warm")
    home, state, work = (tmp_path_factory.mktemp(n) for n in ("home", "state", "work"))
    env = {**os.environ, "GPUYARD_SIM_HOME": str(home), "GPUYARD_YARD_STATE": str(state / "s")}
    env["GOGC"] = "400"  # as in tests/cluster
    env.pop("GPUYARD_TOOLS", None)
    one = Yard(env, home, work)
    try:
        yield one
    finally:
        one.run("scripts/yard", "down", code=None)


@pytest.fixture(scope="session")
def first_up(yard: Yard) -> tuple[str, float]:
    """The output of the first `make up`, and how long it took, as if the machine had nothing else to do."""
    began = time.monotonic()
    with busy() as times:
        said = yard.run("scripts/yard", "up")
        seconds = time.monotonic() - began
    return said, seconds / max(times(), slack())


@pytest.fixture
def up(first_up: tuple[str, float], yard: Yard) -> Yard:
    """The platform, up."""
    if yard.changed or not yard.kubeconfig.exists():
        yard.run("scripts/yard", "up")  # it was taken down, see below
        yard.changed = False
    return yard


@pytest.fixture
def own(first_up: tuple[str, float], yard: Yard) -> Yard:
    """The platform for a test that deploys others in its place; who asks for `up` next has it as it was."""
    if not yard.kubeconfig.exists():
        yard.run("scripts/yard", "up")
    yard.changed = True
    return yard


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """A platform at rest works all the same: it ends with the last test of this worker that needs it."""
    yield
    up = getattr(item, "funcargs", {}).get("yard")
    if isinstance(up, Yard) and nextitem is not None and not nextitem.path.is_relative_to(HERE):
        up.run("scripts/yard", "down", code=None)
