"""A cloud stack on a fake account, with its own project and state: no real account or state is touched.

Its stack file is copied with one change: Kueue is not installed, because the simulated control plane has it.
"""

import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import validate
from gpuyard_core.errors import EnvironmentMissing, GpuYardError, SpecError, UsageError
from gpuyard_core.findings import format_findings
from gpuyard_core.names import GPU
from gpuyard_simulate.api import Api
from testbed.plugins import environment
from testbed.plugins.cloud import installing
from testbed.plugins.cloud.account import CALLER
from testbed.plugins.cloud.inside import control_plane
from testbed.plugins.cloud.motion import pace
from testbed.plugins.cloud.service import reservations
from testbed.yard import engine as local
from testbed.yard import first
from testbed.yard.jobs import Gang, look, remove, submit, wait

PROGRAM = "__main__.py"
NAMES = {Cloud.AWS: "AWS", Cloud.GCP: "Google Cloud"}
# Settings that a provider needs and a user's environment has; a stack file that sets them takes precedence.
PLACE = {"GOOGLE_PROJECT": "my-project"}
_OPTIONS = {"virtualenv": str(local.ROOT / ".venv")}


def homes() -> Path:
    """The folder of cloud stacks."""
    return local.STATE.with_name("clouds")


@dataclass(frozen=True, slots=True)
class Stand:
    """The simulated environment of a cloud stack."""

    stack: str

    @property
    def home(self) -> Path:
        """Its folder; `make down` removes it."""
        return homes() / self.stack

    @property
    def account(self) -> Path:
        """The fake account."""
        return self.home / "account"

    @property
    def project(self) -> Path:
        """A copy of the project."""
        return self.home / "project"

    @property
    def copy(self) -> Path:
        """The stack file of that project."""
        return self.project / f"Pulumi.{self.stack}.yaml"

    @property
    def file(self) -> Path:
        """The original stack file."""
        return local.ROOT / "stacks" / f"Pulumi.{self.stack}.yaml"

    def plan(self) -> PlatformPlan:
        """The plan of the stack file.

        Raises:
            SpecError: the stack file is invalid, or its platform is rejected.
        """
        judged = validate(read_stack_file(self.file.read_bytes(), self.stack))
        if judged.plan is None:
            raise SpecError(format_findings(judged.findings))
        return judged.plan

    def write(self) -> None:
        """Write the project: the unchanged program, and the stack file with its one change."""
        self.project.mkdir(parents=True, exist_ok=True)
        shutil.copy(local.ROOT / PROGRAM, self.project)
        runtime = {"name": "python", "options": _OPTIONS}
        project = {"name": local.PROJECT, "runtime": runtime}
        (self.project / "Pulumi.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
        content = self.content()
        platform = content["config"]["gpuyard:platform"]
        platform["queueing"] = {**(platform.get("queueing") or {}), "install": False}
        text = yaml.safe_dump({**content, **first.salt_in(self.copy)}, sort_keys=False)
        self.copy.write_text(text, encoding="utf-8")

    def write_first(self) -> Path | None:
        """The project of the cluster that the stack finds by its name; None where it creates its own."""
        folder = self.home / "first"
        return folder if first.write(folder, self.content(), _OPTIONS) else None

    def content(self) -> dict[str, Any]:
        """The stack file, read."""
        results: dict[str, Any] = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        return results

    def engine(self, kubeconfig: Path) -> "CloudEngine":
        """The engine with both fake providers, and the control plane behind the account."""
        result = environment.find()
        if result is None:
            raise EnvironmentMissing("no Pulumi engine; `make tools` builds one")
        if not result.needs_our_plugins:
            raise EnvironmentMissing(
                "the fake clouds need the engine that `make tools` builds,"
                f" but {result.path} is an official one; remove it from PATH for this command"
            )
        state = self.home / "state"
        env = environment.variables(result, state=state, passphrase=local.PASSPHRASE)
        env.update(installing.install(state / "home", self.account))
        env.update(control_plane.put(self.account, kubeconfig))
        env.update({key: value for key, value in PLACE.items() if key not in env})
        env["PATH"] = os.pathsep.join((str(installing.STAND_INS), env["PATH"]))
        env["PULUMI_STACK"] = self.stack
        # The deploying user must be one of the administrators, or gets no access to the cluster.
        platform = self.content()["config"]["gpuyard:platform"]
        if admins := (platform.get("cluster") or {}).get("admins"):
            env[CALLER] = admins[0]
        return CloudEngine(env, self.project)


@dataclass(frozen=True, slots=True)
class CloudEngine:
    """The engine in the project of the stand."""

    env: dict[str, str]
    project: Path

    def run(self, *arguments: str) -> int:
        """Run a command with its output on the screen."""
        command = ["pulumi", *arguments]
        return subprocess.run(command, cwd=self.project, env=self.env, check=False).returncode

    def ask(self, *arguments: str) -> Any:
        """Run a command for its JSON; EnvironmentMissing when it fails."""
        requested = () if arguments[:2] == ("stack", "init") else ("--json",)
        done = subprocess.run(
            ["pulumi", *arguments, *requested],  # noqa: S607
            cwd=self.project,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise EnvironmentMissing(f"pulumi {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout) if requested else None


class UpFailed(GpuYardError):
    """The engine ended with an error that it already reported."""

    exit_code = 1


def set_pace(state: Stand, requested: str) -> str:
    """Set the factor of node start times; returns the line to print.

    Raises:
        UsageError: the factor is not a valid number.
    """
    try:
        factor = float(requested)
    except ValueError:
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise UsageError(
            f"PACE must be a number such as 0.05, not {requested!r}; with 0 nodes start at once"
        )
    state.account.mkdir(parents=True, exist_ok=True)
    pace.write(state.account, factor=factor)
    return f"New nodes take {factor:g} times as long as the plan says (PACE)."


def set_reserved(state: Stand, file: Path) -> str:
    """Load reservations from a file into the fake account; returns the line to print.

    Raises:
        UsageError: the file is not a list of reservations.
    """
    try:
        blocked = {side.value: reservations.held_in(file, side.value) for side in NAMES}
    except (OSError, ValueError) as problem:
        raise UsageError(f"RESERVED must name a file of reservations: {problem}") from None
    reservations.write(state.account, blocked)
    return f"The fake account has {sum(map(len, blocked.values()))} reservations (RESERVED)."


def deploy(state: Stand, engine: CloudEngine, say: Callable[[str], None]) -> bool:
    """`pulumi up` with the policy pack; true when something changed."""
    state.write()
    if project := state.write_first():
        say(
            "pulumi up of the first stack, which creates the cluster that the second refers to by name"
        )
        _up(CloudEngine(engine.env, project), first.STACK)
    say("pulumi up")
    return _up(engine, state.stack)


def _up(engine: CloudEngine, stack: str) -> bool:
    if not any(each["name"] == stack for each in engine.ask("stack", "ls")):
        engine.ask("stack", "init", stack)
    pack = str(local.ROOT / "policies")
    quiet = ("--yes", "--skip-preview", "--suppress-outputs", "--suppress-permalink=true")
    if engine.run("up", "--stack", stack, "--refresh", "--policy-pack", pack, *quiet):
        raise UpFailed("pulumi up ended with an error")
    (last,) = engine.ask("stack", "history", "--stack", stack, "--page-size", "1")
    return any(count for kind, count in last.get("resourceChanges", {}).items() if kind != "same")


def gangs(plan: PlatformPlan) -> list[Gang]:
    """Multi-node jobs from the stack's shapes, each for a team that may start it."""
    return [
        Gang(shape.teams[0], shape.name, shape.nodes, shape.per_node)
        for shape in plan.shapes
        if shape.nodes > 1 and shape.teams and shape.resource == GPU
    ]


def try_gang(api: Api, plan: PlatformPlan, say: Callable[[str], None]) -> None:
    """Run a job whose nodes exist from the start; without one, print which is not run and why."""
    result = gangs(plan)
    waits = {shape.name for shape in plan.shapes if shape.scales_from_zero}
    for gang in (each for each in result if each.name not in waits):
        say(f"a job of the shape {gang.name}: {gang}")
        say(f"  all {gang.pods} pods run, on {', '.join(run_gang(api, gang))}")
        return
    for gang in result:
        say(
            f"not run: a job of the shape {gang.name}: an autoscaler starts its nodes, which the"
            " fake does not run"
        )


def run_gang(api: Api, gang: Gang) -> list[str]:
    """Run it, print its nodes, and delete it."""
    submit(api, gang)
    try:
        wait(lambda: look(api, gang).running == gang.pods, f"{gang} to run")
        pods = api.call(
            "GET", f"/api/v1/namespaces/{gang.team}/pods?labelSelector=job%3D{gang.name}"
        )
        return sorted(each["spec"]["nodeName"] for each in pods["items"])
    finally:
        remove(api, gang)
