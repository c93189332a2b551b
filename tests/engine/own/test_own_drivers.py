"""Drivers by pools on a cluster of one's own: the engine's hooks around a Release, and a killed `up`.

The operator's chart cannot be had here. Helm makes one of its name, which writes down the driver that it was
told; what an upgrade controller does on nodes then are the fake's own steps.
"""

import os
import re
import signal
import threading

import pytest
from testbed.plugins.kubernetes import templates
from testbed.plugins.kubernetes.failures import ProviderError

from gpuyard.render.gpu_operator.objects import policy_upgrades
from gpuyard_core.names import DRIVER_VERSION_LABEL as VERSION
from gpuyard_core.names import DRIVER_WAITS_LABEL, PODSET_LABEL, SKIP_UPGRADE_LABEL
from gpuyard_core.names import UPGRADE_LABEL as STATE
from gpuyard_simulate.drivers.upgrading import BROKEN, JOBS, POD, failure_reason, read_policy, steps
from kit.levels import require_level
from kit.stacks import pool, shared_pool, team

OLD, NEW = "580.178.04", "595.91.07"
RACKS = {"own-dev-1": "dev", "own-train-1": "train", "own-train-2": "train", "own-train-3": "train"}
POLICY = read_policy({"driver": {"upgradePolicy": policy_upgrades()}})
MERGE = "application/merge-patch+json"
CHART = "apiVersion: v2\nname: gpu-operator\nversion: 26.7.1\n"
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: told, namespace: {{ .Release.Namespace }}}
data: {driver: {{ .Values.driver.version | quote }}}
"""
TOLD = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "told", "namespace": "gpu-operator"},
}
TRAINS = {name for name, rack in RACKS.items() if rack == "train"}


def node(name):
    metadata = {"name": name, "labels": {"rack": RACKS[name], VERSION: OLD}}
    metadata["annotations"] = {POD: OLD}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


class Operator(threading.Thread):
    """Looks at nodes again and again, as soon as Helm has told it a driver."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.ended = cluster, threading.Event()
        self.busy, self.closed = set(), set()
        """Nodes on which a job runs; nodes that were closed."""

    def run(self):
        while not self.ended.wait(0.3):
            try:
                self.look()
            except ProviderError:
                continue  # a node has changed meanwhile, or nothing is told yet

    def nodes(self):
        found = {each["metadata"]["name"]: each for each in self.cluster.list("v1", "Node", None)}
        return {name: found[name] for name in RACKS if name in found}

    def look(self):
        version = self.cluster.get(TOLD)["data"]["driver"]
        nodes = self.nodes()
        for name, step in steps(nodes, POLICY, version, self.jobs).items():
            metadata = {"labels": {STATE: step.state}, "annotations": {**step.annotations}}
            change = {"metadata": metadata}
            if step.is_cordoned is not None:
                change["spec"] = {"unschedulable": step.is_cordoned or None}
                self.closed |= {name} if step.is_cordoned else set()
            self.change(name, change)
        for name, each in self.nodes().items():
            runs = each["metadata"]["annotations"][POD]
            if not failure_reason(each) and each["metadata"]["labels"].get(VERSION) != runs:
                self.change(name, {"metadata": {"labels": {VERSION: runs}}})

    def jobs(self, name):
        metadata = {"name": "job", "labels": {PODSET_LABEL: "main"}}
        job = {"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Running"}}
        return [job] if name in self.busy else []

    def change(self, name, change):
        self.cluster.patch(node(name), change, MERGE, {"fieldManager": "gpu-operator"})

    def labels(self, key):
        return {name: each["metadata"]["labels"].get(key) for name, each in self.nodes().items()}

    def marked(self):
        return {
            name
            for key in (SKIP_UPGRADE_LABEL, DRIVER_WAITS_LABEL)
            for name, value in self.labels(key).items()
            if value
        }

    def rests(self, driver):
        done = set(self.labels(STATE).values()) == {"upgrade-done"}
        return done and set(self.labels(VERSION).values()) == {driver}


@pytest.fixture
def operator(api):
    for name in RACKS:
        api.cluster.create(node(name), {"fieldManager": "stranger"})
    made = Operator(api.cluster)
    made.start()
    yield made
    made.ended.set()
    made.join()
    for name in RACKS:
        api.cluster.delete(node(name), name, "Background")


@pytest.fixture
def deploy(stack, lab):
    """Writes the platform with a driver, and what was consented to."""
    require_level("engine", templates.find_helm(), "no helm; `scripts/tools helm` builds it")
    folder = stack.folder / "charts" / "gpu-operator"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(CHART)
    (folder / "templates" / "told.yaml").write_text(TEMPLATE)

    def write(driver, *consent):
        lab(
            pools=[
                shared_pool(nodes=1, select={"rack": "dev"}),
                pool(nodes=3, select={"rack": "train"}),
            ],
            teams=[team(guarantee={"train": 24}, protect=False)],
            mirror={"images": "mirror.example/gpu", "charts": "./charts"},
            software={"driver": driver},
            approved_changes=[*consent],
        )

    return write


@pytest.mark.timeout(1500)
def test_the_first_pool_tries_a_driver_and_a_killed_up_goes_on(
    stack, kueue, kubectl, operator, deploy, until
):
    deploy(OLD)
    stack.up()
    until(lambda: operator.rests(OLD))
    assert operator.closed == set()

    deploy(NEW)
    said = stack.preview(fails=True).output
    consent = set(re.findall(r"with approved_changes: (sha256:[0-9a-f]{12})", said))
    deploy(NEW, *consent)
    operator.change(
        "own-dev-1", {"metadata": {"annotations": {BROKEN: f"{NEW}: no symbol version"}}}
    )
    said = stack.up(fails=True).output
    assert f"driver {NEW} does not start on node own-dev-1 of pool dev" in said
    assert operator.marked() == TRAINS
    assert operator.closed == {"own-dev-1"}

    deploy(OLD)  # only the hook after the Release takes the labels off
    stack.up()
    assert operator.marked() == set()
    until(lambda: operator.rests(OLD))
    assert operator.closed == {"own-dev-1"}, "who waited is not emptied for a driver that it has"

    operator.change("own-dev-1", {"metadata": {"annotations": {BROKEN: None}}})
    operator.busy.add("own-dev-1")
    deploy(NEW, *consent)
    killed = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    until(lambda: operator.labels(STATE)["own-dev-1"] == JOBS)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert operator.marked() == TRAINS
    operator.busy.clear()
    until(lambda: operator.labels(VERSION)["own-dev-1"] == NEW)
    assert {operator.labels(VERSION)[name] for name in TRAINS} == {OLD}, "nobody lets them go"

    stack.gpuyard("recover", "dev")
    stack.up()
    assert operator.marked() == set()
    until(lambda: operator.rests(NEW))
    stack.unchanged()
    stack.destroy()
    assert operator.marked() == set()
