"""`make down`: destroy the stack, stop the cluster, and leave no process, object or state behind."""

import shutil
import sys
from pathlib import Path

from gpuyard.errors import EnvironmentLacks, GpuYardError
from gpuyard.simulate import cluster
from gpuyard.simulate.api import connect
from testbed.yard.engine import STACK, STATE, Engine, engine, recover, state_is_broken
from testbed.yard.up import say


def main() -> int:
    """Take everything down, as far as it is there."""
    try:
        now = cluster.status(STACK)
        if now.ready and STATE.exists():
            _destroy(engine(now.kubeconfig), Path(now.kubeconfig))
        stopped = cluster.down(STACK)
        had_state = STATE.exists()
        shutil.rmtree(STATE, ignore_errors=True)
    except GpuYardError as e:
        say(f"down: {e}")
        return e.exit_code
    except KeyboardInterrupt:
        say("down: interrupted; `make down` goes on where it stopped")
        return 130
    say(
        "The cluster, its processes and the stack's state are gone."
        if stopped or had_state
        else "Nothing was up."
    )
    return 0


def _destroy(pulumi: Engine, kubeconfig: Path) -> None:
    """Destroy in order; when that fails the cluster goes anyway, and it was said why."""
    if state_is_broken() or STACK not in pulumi.ask("stack", "ls", "--json"):
        return
    try:
        for line in recover(pulumi, connect(kubeconfig)):
            say(f"recovered: {line}")
    except EnvironmentLacks as problem:
        say(f"not recovered: {problem}")
    pulumi.run("destroy", "--yes", "--skip-preview", "--stack", STACK, "--suppress-permalink=true")


if __name__ == "__main__":
    sys.exit(main())
