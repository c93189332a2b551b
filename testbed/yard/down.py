"""`make down`: destroy the stack, stop the cluster, and remove all processes, objects and state."""

import shutil
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpuyard_core.errors import EnvironmentMissing, GpuYardError, UsageError
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError, Unreachable, connect
from testbed.yard import cloud
from testbed.yard.engine import (
    NAME,
    ROOT,
    STACK,
    STATE,
    Engine,
    engine,
    free_namespaces,
    make,
    recover,
    state_is_broken,
)
from testbed.yard.up import INTERRUPTED, say, simulated


def main() -> int:
    """Remove everything that exists."""
    if not simulated(STACK):
        return _of_a_cloud()
    try:
        cluster.require_own(NAME or STACK, ROOT)
        now = cluster.status(NAME or STACK)
        if now.ready and STATE.exists():
            _destroy(engine(now.kubeconfig), Path(now.kubeconfig))
        stopped = cluster.down(NAME or STACK)
        had_state = STATE.exists()
        shutil.rmtree(STATE, ignore_errors=True)
    except GpuYardError as e:
        say(f"down: {e}")
        return e.exit_code
    except KeyboardInterrupt:
        say(f"down: interrupted; run `{make('down', STACK)}` again to continue")
        return INTERRUPTED
    say(
        "The cluster, its processes and the stack's state are removed."
        if stopped or had_state
        else f"Nothing was up{_up_now()}."
    )
    return 0


def _of_a_cloud() -> int:
    """A fake account is removed as a whole: nothing needs to be unprotected."""
    state = cloud.Stand(STACK)
    try:
        cluster.require_own(NAME or STACK, ROOT)
        existing = cluster.down(NAME or STACK) or state.home.exists()
        shutil.rmtree(state.home, ignore_errors=True)
        if not existing and not state.file.exists():
            raise UsageError(f"there is no stack {STACK}{_up_now()}")
    except GpuYardError as e:
        say(f"down: {e}")
        return e.exit_code
    except KeyboardInterrupt:
        say(f"down: interrupted; run `{make('down', STACK)}` again to continue")
        return INTERRUPTED
    removed = "The control plane, the fake account and the stack's state are removed."
    say(removed if existing else f"Nothing was up{_up_now()}.")
    return 0


def _up_now() -> str:
    """Cloud stacks that are up, with the commands to take them down."""
    commands = [f"`{make('down', each.name)}`" for each in sorted(cloud.homes().glob("*"))]
    return f"; up are {', '.join(commands)}" if commands else ""


def _destroy(pulumi: Engine, kubeconfig: Path) -> None:
    """Destroy in order; on failure the cluster is removed anyway, and the error has been reported."""
    if state_is_broken() or STACK not in pulumi.ask("stack", "ls", "--json"):
        return
    try:
        for line in recover(pulumi, connect(kubeconfig)):
            say(f"recovered: {line}")
    except EnvironmentMissing as problem:
        say(f"not recovered: {problem}")
    with _freeing(connect(kubeconfig)):
        pulumi.run(
            "destroy", "--yes", "--skip-preview", "--stack", STACK, "--suppress-permalink=true"
        )


@contextmanager
def _freeing(api: Api) -> Generator[None]:
    """Free namespaces as the engine deletes them: it waits until each is gone."""
    ended = threading.Event()

    def free() -> None:
        while not ended.wait(2):
            with suppress(ApiError, Unreachable):
                free_namespaces(api)

    thread = threading.Thread(target=free, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
