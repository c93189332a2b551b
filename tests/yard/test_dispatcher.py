"""`pulumi up` of a platform that sends its jobs away, on the real engine, API server and Kueue.

The secret that leads to the other cluster comes past the stack, so it may come later: what waits for it must
not hold up the engine, and must say what it lacks.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from testbed.yard.engine import PASSPHRASE, engine

from gpuyard.plan import plan_or_raise
from gpuyard.render.platform import platform_objects
from gpuyard.spec.read import platform_spec
from gpuyard_simulate.api import Api, connect
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, condition
from kit.cluster.queues import job, soon
from kit.cluster.yard import QUIET, ROOT, Yard
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
NAME = "hub"
SIMULATE = (".venv/bin/python", "-m", "gpuyard_simulate")
AT_MOST = 540
"""Seconds for one command. An object that the engine waits for holds it up for ten minutes."""


def raw(*workers: str) -> Raw:
    """A platform that queues for these clusters."""
    return platform(
        [pool(nodes=2)],
        [team("vision", guarantee={"train": 8}, borrow={"train": 8})],
        name=NAME,
        cloud="simulated",
        queueing={"clusters": [{"name": w, "secret": f"{w}-kubeconfig"} for w in workers]},
    )


@dataclass
class Hub:
    """The program of this repository with a stack file of its own, on a cluster of its own."""

    folder: Path
    env: dict[str, str]
    api: Api
    yard: Yard

    def writes(self, spec: Raw) -> None:
        """The stack file."""
        config = {"config": {"gpuyard:platform": spec}}
        (self.folder / f"Pulumi.{NAME}.yaml").write_text(yaml.safe_dump(config))

    def pulumi(self, *arguments: str) -> str:
        """A command of the engine that succeeds, in time."""
        done = subprocess.run(
            ["pulumi", *arguments, "--stack", NAME, "--non-interactive"],
            cwd=self.folder,
            env=self.env,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=AT_MOST,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

    def up(self, spec: Raw) -> str:
        """Bring it up as this says; nothing is left to do afterwards."""
        self.writes(spec)
        said = self.pulumi("up", *QUIET)
        # As `make up` does: else the agents start Kueue anew later, in the middle of what comes next.
        self.yard.run(*SIMULATE, "up", "--name", NAME)
        self.pulumi("preview", "--expect-no-changes")
        return said

    def says(self, path: str) -> str:
        """Why Kueue calls an object inactive."""
        found = condition(self.api.get(f"{KUEUE}/{path}") or {}, "Active")
        return str(found.get("message", "")) if found.get("status") == "False" else ""

    def waits(self) -> str:
        """Why the job has no quota."""
        listed = self.api.call("GET", f"{KUEUE}/namespaces/vision/workloads")["items"]
        return " ".join(str(condition(w, "QuotaReserved").get("message", "")) for w in listed)

    def left(self) -> list[str]:
        """What is there of the platform's objects."""
        objects = platform_objects(plan_or_raise(platform_spec(raw("west", "east"))))
        return [p for p in map(reality.path_of, objects) if self.api.get(p) is not None]


@pytest.fixture
def hub(yard: Yard, tmp_path: Path) -> Iterator[Hub]:
    """An empty cluster and an empty stack; the cluster is taken away, whatever is on it."""
    yard.run(*SIMULATE, "up", "--name", NAME)
    try:
        kubeconfig = yard.home / NAME / "kubeconfig"
        runtime = {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}}
        (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "trial", "runtime": runtime}))
        shutil.copy(ROOT / "__main__.py", tmp_path)
        env = {**yard.env, **engine(str(kubeconfig), tmp_path / "state").env}
        env["PULUMI_CONFIG_PASSPHRASE"] = PASSPHRASE
        one = Hub(tmp_path, env, connect(kubeconfig), yard)
        one.pulumi("stack", "init")
        yield one
    finally:
        yard.run(*SIMULATE, "down", "--name", NAME)


LACKING = {
    "multikueueclusters/hub-west": 'load client config failed: Secret "west-kubeconfig" not found',
    "admissionchecks/hub-clusters": "Inactive clusters: [hub-west]",
    "clusterqueues/hub-vision": (
        "Can't admit new workloads: references inactive AdmissionCheck(s): hub-clusters."
    ),
}
"""As docs/concepts/multikueue.md has it."""


def test_a_dispatcher_comes_up_without_its_secrets_and_goes_again(hub: Hub):
    said = hub.up(raw("west"))
    assert "you must create west-kubeconfig in kueue-system" in said
    soon(
        lambda: {path: hub.says(path) for path in LACKING} == LACKING, "Kueue to say what it lacks"
    )
    page = (ROOT / "docs" / "concepts" / "multikueue.md").read_text()
    assert all(f"`{text}`" in page for text in LACKING.values())

    made = job("vision", "early")
    reality.create(hub.api, "/apis/batch/v1/namespaces/vision/jobs", made)
    soon(lambda: "inactive" in hub.waits(), "the job to wait")

    said = hub.up(raw("west", "east"))
    assert "you must create west-kubeconfig, east-kubeconfig in kueue-system" in said
    hub.up(raw("east"))
    assert hub.api.get(f"{KUEUE}/multikueueclusters/hub-west") is None

    hub.pulumi("destroy", *QUIET)
    assert hub.left() == []
    assert json.loads(hub.pulumi("stack", "export"))["deployment"].get("resources", []) == []
