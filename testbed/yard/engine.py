"""The Pulumi engine for the local stack: its environment, and the way out of an interrupted run."""

import json
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuyard.errors import EnvironmentLacks
from gpuyard.plan.names import PLATFORM_LABEL
from gpuyard.simulate.api import Api
from testbed.plugins import environment

ROOT = Path(__file__).resolve().parents[2]
STATE = Path(os.environ.get("GPUYARD_YARD_STATE") or ROOT / ".testbed" / "stacks")
"""Where the state of the local stack is kept; tests have one of their own."""
STACK = "local"
PROJECT = "gpuyard"
PASSPHRASE = "local"  # noqa: S105  guards nothing, see below
"""Guards nothing: the stack keeps no secret, but the engine insists on a passphrase."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine with everything it needs to act on one cluster."""

    env: dict[str, str]

    def run(self, *arguments: str) -> int:
        """Run a command with its output on the screen."""
        command = ["pulumi", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.env, check=False).returncode

    def ask(self, *arguments: str) -> str:
        """Run a command for its output; EnvironmentLacks when it fails."""
        done = subprocess.run(
            ["pulumi", *arguments],  # noqa: S607
            cwd=ROOT,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise EnvironmentLacks(f"pulumi {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def engine(kubeconfig: str) -> Engine:
    """The engine of this machine for the cluster of this kubeconfig."""
    found = environment.find()
    if found is None:
        raise EnvironmentLacks("no Pulumi engine; `make tools` builds one")
    env = environment.variables(found, state=STATE, passphrase=PASSPHRASE)
    env["KUBECONFIG"] = kubeconfig
    return Engine(env)


def make_stack(pulumi: Engine) -> None:
    """Create the stack once; the salt in its file keeps the engine from writing there."""
    listed = json.loads(pulumi.ask("stack", "ls", "--json"))
    if not any(stack["name"] == STACK for stack in listed):
        pulumi.ask("stack", "init", STACK)


def recover(pulumi: Engine, api: Api) -> list[str]:
    """Undo what an interrupted run left behind; says each thing it did.

    A lock is taken away only when the process that holds it ran on this host and is dead. Of the objects
    whose creation was under way, those that exist and carry this platform's label are adopted; what
    somebody else owns is left alone and named, and the coming run then stops at it.
    """
    said = []
    if dead := _dead_lock():
        pulumi.ask("cancel", "--yes", "--stack", STACK)
        said.append(f"the run of process {dead} was killed; its lock is removed")
    pending = _pending(pulumi)
    if not pending:
        return said
    flags: list[str] = []
    for urn, token, name in pending:
        found = _owned(api, token, name)
        if found:
            flags += ["--import-pending-creates", f"{urn} {found}"]
        said.append(f"its creation was under way: {name} ({'adopted' if found else 'not there'})")
    pulumi.ask(
        "refresh", "--yes", "--stack", STACK, "--skip-preview", *flags, "--clear-pending-creates"
    )
    return said


def _dead_lock() -> int | None:
    """The process of a lock on this stack, when it ran here and is gone."""
    for path in (STATE / "stacks" / ".pulumi" / "locks").glob(f"**/{PROJECT}/{STACK}/*.json"):
        lock = json.loads(path.read_text(encoding="utf-8"))
        if lock.get("hostname") == socket.gethostname() and not _alive(int(lock["pid"])):
            return int(lock["pid"])
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pending(pulumi: Engine) -> list[tuple[str, str, str]]:
    """URN, token and `namespace/name` of every object whose creation was under way."""
    exported = json.loads(pulumi.ask("stack", "export", "--stack", STACK))
    found = []
    for operation in exported["deployment"].get("pending_operations") or []:
        resource = operation["resource"]
        if operation["type"] == "creating":
            meta: dict[str, Any] = resource.get("inputs", {}).get("metadata", {})
            name = "/".join(part for part in (meta.get("namespace"), meta.get("name")) if part)
            found.append((resource["urn"], resource["type"], name))
    return found


def _owned(api: Api, token: str, name: str) -> str | None:
    """The provider's id of the live object, when it exists and is this platform's."""
    _, api_version, kind = token.split(":")
    namespace, _, plain = name.rpartition("/")
    path = _path(api, api_version.removeprefix("core/"), kind, namespace, plain)
    live = api.get(path) if path else None
    if live is None or live["metadata"].get("labels", {}).get(PLATFORM_LABEL) != STACK:
        return None
    return name


def _path(api: Api, api_version: str, kind: str, namespace: str, name: str) -> str | None:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    for resource in (api.get(root) or {}).get("resources", []):
        if resource["kind"] == kind and "/" not in resource["name"]:
            inside = f"/namespaces/{namespace}" if resource["namespaced"] else ""
            return f"{root}{inside}/{resource['name']}/{name}"
    return None
