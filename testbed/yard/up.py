"""`make up`: plan, cost and missing tools on the screen; then tools, cluster, platform, a summary."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.read import read_stack_file
from gpuyard_core.errors import EnvironmentMissing, GpuYardError, SpecError, UsageError
from gpuyard_core.findings import format_findings
from gpuyard_simulate import cluster
from gpuyard_simulate.api import connect
from testbed.forecast import forecast, lacking
from testbed.releases import sources_of
from testbed.workspace import Workspace
from testbed.yard import charts, cloud
from testbed.yard.engine import (
    NAME,
    ROOT,
    STACK,
    STATE,
    Engine,
    engine,
    make,
    make_stack,
    recover,
    state_is_broken,
    wait_for_deletions,
)
from testbed.yard.summary import summary

INTERRUPTED = 130
LOCAL = "local"


def say(text: str) -> None:
    """Print progress to stderr, like every command."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main() -> int:
    """Bring the local platform up, from its current state."""
    began = time.monotonic()
    if not simulated(STACK):
        return in_a_cloud(began)
    try:
        if os.environ.get("PACE"):
            raise UsageError("PACE needs a fake cloud: `make up STACK=aws-training PACE=0.05`")
        cluster.require_own(NAME or STACK, ROOT)
        show_plan()
        plan = local_plan()
        announce()
        build_tools()
        outcome = cluster.up(NAME or STACK, say, ROOT)
        say(outcome.says)
        if state_is_broken():
            # The state is unknown then; a simulated cluster is quickly created again.
            say("recovered: the state was half written; starting from an empty cluster")
            shutil.rmtree(STATE)
            outcome = cluster.reset(NAME or STACK, say)
        changed = deploy(engine(outcome.status.kubeconfig), Path(outcome.status.kubeconfig))
        # Kueue reads its configuration when it starts: a new one restarts the cluster.
        if (again := cluster.up(NAME or STACK, say)).changed:
            say(again.says)
    except GpuYardError as e:
        say(f"up: {e}")
        return e.exit_code
    except KeyboardInterrupt:
        say(f"up: interrupted; run `{make('up', STACK)}` again to continue")
        return INTERRUPTED
    text = summary(plan, outcome.status.kubeconfig, changed, time.monotonic() - began)
    sys.stdout.write(text)
    return 0


def simulated(stack: str) -> bool:
    """Whether a stack is deployed to a simulated cluster without a fake account."""
    if stack == LOCAL:
        return True
    file = ROOT / "stacks" / f"Pulumi.{stack}.yaml"
    if not file.exists():
        return False
    spec = read_stack_file(file.read_bytes(), stack).spec
    return spec is not None and spec.cloud is Cloud.SIMULATED


def in_a_cloud(began: float) -> int:
    """Bring a stack of a cloud up on a fake account, with a simulated control plane inside its cluster."""
    state = cloud.Stand(STACK)
    try:
        cluster.require_own(NAME or STACK, ROOT)
        show_plan()
        plan = state.plan()
        if plan.cloud not in cloud.NAMES:
            raise UsageError(
                f"stack {STACK} has `cloud: {plan.cloud.value}`, which has no fake:"
                " docs/guides/own-cluster.md describes its deployment; to try it here, set `cloud: simulated`"
            )
        name = cloud.NAMES[plan.cloud]
        say(
            f"This is a fake of {name}: no account is accessed, no resource is created, nothing is charged."
            " The control plane is real and runs here;"
            " its nodes are fakes, created from the node groups."
        )
        if requested := os.environ.get("PACE"):
            say(cloud.set_pace(state, requested))
        shipped = ROOT / "stacks" / "reservations" / f"{STACK}.json"
        blocked = os.environ.get("RESERVED") or (shipped if shipped.exists() else None)
        if blocked:
            say(cloud.set_reserved(state, Path(blocked)))
        announce()
        build_tools()
        outcome = cluster.up(NAME or STACK, say, ROOT)
        say(outcome.says)
        kubeconfig = Path(outcome.status.kubeconfig)
        api = connect(kubeconfig)
        say(f"simulated, as you must install them on a real cluster: {charts.play(api, plan)}")
        try:
            changed = cloud.deploy(state, state.engine(kubeconfig), say)
        except cloud.UpFailed:
            fail_if_dead()
            raise
        cloud.try_gang(api, plan, say)
    except GpuYardError as e:
        say(f"up: {e}")
        return e.exit_code
    except TimeoutError as e:
        say(f"up: {e}")
        return 1
    except KeyboardInterrupt:
        say(f"up: interrupted; run `{make('up', STACK)}` again to continue")
        return INTERRUPTED
    sys.stdout.write(summary(plan, str(kubeconfig), changed, time.monotonic() - began))
    return 0


def show_plan() -> None:
    """The plan and the cost; a rejected spec ends here, before anything is built."""
    _step([str(ROOT / ".venv" / "bin" / "gpuyard"), "plan", STACK])


def local_plan() -> PlatformPlan:
    """The plan of the local stack, read once: a later edit takes effect with the next `make up`.

    Raises:
        SpecError: the stack file was edited after its plan was shown, and is invalid.
        PlanRejected: the stack file was edited, and its plan is rejected.
    """
    reading = read_stack_file((ROOT / "stacks" / f"Pulumi.{STACK}.yaml").read_bytes(), STACK)
    if reading.spec is None:
        raise SpecError(format_findings(reading.findings))
    return plan_or_raise(reading.spec)


def announce() -> None:
    """What is downloaded and built, and how long it takes; nothing when all tools exist."""
    try:
        sources = sources_of(os.environ)
    except ValueError:
        return  # build.py rejects it next, with the same message
    for line in forecast(lacking(Workspace(ROOT / ".testbed"), sources), sources):
        say(line)


def build_tools() -> None:
    """Install missing tools."""
    _step([sys.executable, str(ROOT / "testbed" / "build.py"), "engine", "cluster"])
    _step([str(ROOT / "scripts" / "pack-environment")])


def _step(command: list[str]) -> None:
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        raise StepFailed(code)


class StepFailed(GpuYardError):
    """A program of the test bed failed; it already reported the reason."""

    def __init__(self, code: int) -> None:
        super().__init__(f"stopped (exit code {code})")
        self.exit_code = code  # type: ignore[misc]  # one per failure here, not one per class


def deploy(pulumi: Engine, kubeconfig: Path) -> bool:
    """`pulumi up` with the policy pack; true when something changed."""
    make_stack(pulumi)
    api = connect(kubeconfig)
    for line in recover(pulumi, api):
        say(f"recovered: {line}")
    wait_for_deletions(api)
    say("pulumi up")
    # With a refresh, because a cluster that was recreated or edited manually differs from the state.
    quiet = ("--yes", "--skip-preview", "--suppress-outputs", "--suppress-permalink=true")
    code = pulumi.run("up", "--stack", STACK, "--refresh", "--policy-pack", "policies", *quiet)
    if code:
        fail_if_dead()
        raise StepFailed(code)
    last = json.loads(
        pulumi.ask("stack", "history", "--stack", STACK, "--json", "--page-size", "1")
    )[0]
    changes = last.get("resourceChanges", {})
    return any(count for kind, count in changes.items() if kind != "same")


def fail_if_dead() -> None:
    """Name the parts of the cluster that ended while the engine ran: it only reports failed requests.

    Raises:
        EnvironmentMissing: a part has ended.
    """
    dead = [part for part in cluster.status(NAME or STACK).parts if part.alive is False]
    if dead:
        logs = ", ".join(f"{part.name} (log {part.log})" for part in dead)
        raise EnvironmentMissing(
            f"parts of the cluster ended meanwhile: {logs}; run `{make('up', STACK)}` again to start them"
        )


if __name__ == "__main__":
    sys.exit(main())
