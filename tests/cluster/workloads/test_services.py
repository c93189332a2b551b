"""A service of a platform on a real KEDA, HPA controller, Prometheus and Kueue.

KEDA polls every two seconds here instead of every fifteen; everything else of the rendered objects stays as it is.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.platform import platform_objects
from gpuyard.render.workloads.runtimes import runtime_objects
from gpuyard.render.workloads.services import service_objects
from gpuyard.simulate import cluster
from gpuyard.simulate.api import connect
from gpuyard.simulate.metrics.cluster import reader
from gpuyard.simulate.metrics.load import Load, PodLoad
from gpuyard.simulate.metrics.server import Exporters, serving
from kit.cluster import lab as reality
from kit.cluster import metrics
from kit.cluster.lab import Value, condition
from kit.cluster.queues import soon
from kit.cluster.workloads import WorkloadLab, metadata, uids, workload_lab
from kit.stacks import Raw, plan_of, platform, pool, shape, team
from testbed import monitoring

pytestmark = [pytest.mark.cluster, pytest.mark.always]

NAME = "serving"
RUNTIME = f"torch-{NAME}"
TEAM = f"{NAME}-t"
POLLING = 2
DOWN, COOLDOWN = 6, 5
"""Seconds of the stack."""
PER_REPLICA = 16
"""Requests, the default target."""


def stack() -> Raw:
    """Four nodes of eight GPUs: beside a gang of two nodes and replicas of `embed`, room for one replica of `chat`."""
    common = {
        "team": TEAM,
        "image": "example.invalid/vllm:1",
        "scale_up_seconds": 1,
        "scale_down_seconds": DOWN,
        "cooldown_seconds": COOLDOWN,
    }
    query = "sum(gateway_requests_in_flight)"
    chat = {"name": "chat", "shape": "llm", "replicas": "0..2", "scale_on": "requests"}
    embed = {"name": "embed", "shape": "half", "replicas": "1..2"}
    return platform(
        [pool(NAME, nodes=4)],
        [team(TEAM, guarantee={NAME: 32})],
        name=NAME,
        cloud="simulated",
        shapes=[
            shape("llm", pool=NAME, nodes=1, gpus_per_node=8),
            shape("half", pool=NAME, nodes=1, gpus_per_node=4),
        ],
        workloads={
            "training": ["torch"],
            "services": [{**chat, **common, "query": query}, {**embed, **common}],
        },
        addons=["jobset", "kubeflow-trainer", "keda"],
        observability={},
    )


@dataclass(slots=True)
class Site:
    """The platform, and the load that its gateway and its exporters report."""

    exporters: Exporters
    requests: int = 0
    lab: WorkloadLab = field(init=False)

    def becomes(self, name: str, replicas: int) -> float:
        """Wait until so many replicas of a service are ready and no others exist; returns the seconds."""
        metadata, began = {"name": name, "namespace": TEAM}, time.monotonic()
        service = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}

        def scaled() -> bool:
            found = self.lab.read(service)
            ready = found["status"].get("readyReplicas", 0)
            return bool(found["spec"]["replicas"] == ready == replicas)

        soon(scaled, f"{replicas} replicas of {name}")
        return time.monotonic() - began

    def asked(self, requests: int, replicas: int) -> float:
        """Change the load of `chat`, and wait for its replicas."""
        self.requests = requests
        return self.becomes("chat", replicas)

    def busy(self, activity: float, replicas: int) -> float:
        """Change the activity of the GPUs of `embed`, and wait for its replicas."""
        self.exporters.load = Load(pods=(PodLoad(".*/embed-.*", activity, activity),))
        return self.becomes("embed", replicas)

    def text(self) -> str:
        return (
            f"# TYPE gateway_requests_in_flight gauge\ngateway_requests_in_flight {self.requests}\n"
        )


@pytest.fixture(scope="module")
def site(started: cluster.Outcome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    metrics.require_programs()
    folder = tmp_path_factory.mktemp("controllers")
    plan, api = plan_of(stack()), connect(Path(started.status.kubeconfig))
    nodes = [each for each in platform_objects(plan) if each["kind"] == "Node"]
    (monitor, *_) = monitor_objects(plan_of({**stack(), "cloud": "none"}))
    with ExitStack() as held:
        found = Site(Exporters(reader(api)))
        served = held.enter_context(serving(found.exporters))
        gateway = held.enter_context(metrics.serving_text(found.text))
        scrapes = [
            *monitoring.scrape_configs(monitor, served, nodes),
            {"job_name": "gateway", "static_configs": [{"targets": [gateway]}]},
        ]
        address = held.enter_context(monitoring.prometheus(folder, scrapes, []))
        names = ("jobset", "kubeflow-trainer", "keda")
        run = workload_lab(started, stack(), folder, *names, prometheus=address)
        found.lab = held.enter_context(run)
        objects = [each for group in service_objects(plan).values() for each in group]
        for each in objects:
            if each["kind"] == "ScaledObject":
                each["spec"]["pollingInterval"] = POLLING
        for each in (*runtime_objects(plan), *objects):
            reality.apply(api, each)
        yield found
        for each in reversed(objects):
            reality.delete(api, reality.path_of(each))


def test_a_service_follows_its_requests_up_down_and_to_zero(site: Site):
    took = {
        "idle": site.asked(0, 0),
        "up from zero": site.asked(PER_REPLICA // 2, 1),
        "up": site.asked(2 * PER_REPLICA, 2),
        "down": site.asked(PER_REPLICA // 2, 1),
        "to zero": site.asked(0, 0),
    }

    assert took["down"] > DOWN - 2
    assert took["to zero"] > COOLDOWN - POLLING
    assert max(took.values()) < max(DOWN, COOLDOWN) + 20 * reality.slack(), took


def test_a_service_follows_the_activity_of_its_gpus(site: Site):
    took = {
        "idle": site.busy(0.3, 1),
        "up": site.busy(0.9, 2),
        "down": site.busy(0.2, 1),
    }

    assert took["down"] > DOWN - 2


def test_a_service_takes_gpus_of_training_and_gives_them_back(site: Site):
    lab = site.lab
    site.busy(0.3, 1)
    site.asked(0, 0)
    job = lab.start(train_job(lab))
    before = lab.runs(job, 2)
    site.asked(PER_REPLICA // 2, 1)
    assert uids(lab.pods_of(job)) == uids(before)
    site.asked(2 * PER_REPLICA, 2)
    assert "insufficient unused quota" in lab.waits(job)
    (workload,) = lab.workloads_of(job)
    assert condition(workload, "Evicted")["reason"] == "Preempted"
    site.asked(0, 0)
    lab.runs(job, 2, without=uids(before))
    lab.end(job)


def train_job(lab: WorkloadLab) -> Value:
    trainer = {"numNodes": 2, "image": "example.invalid/train", "command": ["train"]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(lab, "t", "pretrain"),
        "spec": {"runtimeRef": {"name": RUNTIME}, "trainer": trainer},
    }
