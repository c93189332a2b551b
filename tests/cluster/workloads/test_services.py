"""A service of a platform on a real KEDA, HPA controller, Prometheus and Kueue.

KEDA polls every two seconds here instead of every fifteen; everything else of the rendered objects stays as it is.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.platform import platform_objects
from gpuyard.render.workloads.runtimes import runtime_objects
from gpuyard_simulate import cluster
from gpuyard_simulate.api import connect
from gpuyard_simulate.metrics.cluster import reader
from gpuyard_simulate.metrics.load import Load, PodLoad
from gpuyard_simulate.metrics.server import Exporters, serving
from kit.cluster import lab as reality
from kit.cluster import metrics
from kit.cluster.lab import Value, condition
from kit.cluster.queues import soon
from kit.cluster.workloads import WorkloadLab, metadata, uids, workload_lab
from kit.stacks import Raw, plan_of, platform, pool, shape, team
from testbed import monitoring

pytestmark = [pytest.mark.cluster]

NAME = "serving"
RUNTIME = f"torch-{NAME}"
TEAM = f"{NAME}-t"
POLLING = 2
DOWN, COOLDOWN = 6, 5
"""Seconds of the stack."""
REQUESTS = "envoy_cluster_upstream_rq_active"
PER_REPLICA = 16
"""Requests, the default target."""


def stack() -> Raw:
    """Six nodes of eight GPUs: beside a gang of four nodes and a replica of `embed`, room for one replica of `chat`."""
    common = {
        "team": TEAM,
        "image": "example.invalid/vllm:1",
        "scale_up_seconds": 1,
        "scale_down_seconds": DOWN,
        "cooldown_seconds": COOLDOWN,
    }
    query = f'sum({REQUESTS}{{envoy_cluster_name="%s"}})'
    chat = {"name": "chat", "shape": "llm", "replicas": "0..2", "scale_on": "requests"}
    embed = {"name": "embed", "shape": "half", "replicas": "1..2"}
    wide = {"name": "wide", "shape": "pair", "replicas": "0..1", "scale_on": "requests"}
    return platform(
        [pool(NAME, nodes=6)],
        [team(TEAM, guarantee={NAME: 48})],
        name=NAME,
        cloud="simulated",
        shapes=[
            shape("llm", pool=NAME, nodes=1, gpus_per_node=8),
            shape("half", pool=NAME, nodes=1, gpus_per_node=4),
            shape("pair", pool=NAME, nodes=2, gpus_per_node=8),
        ],
        workloads={
            "training": ["torch"],
            "services": [
                {**chat, **common, "query": query % "chat"},
                {**embed, **common},
                {**wide, **common, "query": query % "wide"},
            ],
        },
        addons=["jobset", "kubeflow-trainer", "leader-worker-set", "keda"],
        observability={},
    )


@dataclass(slots=True)
class Site:
    """The platform, and the load that its gateway and its exporters report."""

    exporters: Exporters
    requests: Counter[str] = field(default_factory=Counter)
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
        self.requests["chat"] = requests
        return self.becomes("chat", replicas)

    def busy(self, activity: float, replicas: int) -> float:
        """Change the activity of the GPUs of `embed`, and wait for its replicas."""
        self.exporters.load = Load(pods=(PodLoad(".*/embed-.*", activity, activity),))
        return self.becomes("embed", replicas)

    def text(self) -> str:
        """What the gateway reports of services that scale on requests."""
        lines = [
            f'{REQUESTS}{{envoy_cluster_name="{name}"}} {self.requests[name]}'
            for name in ("chat", "wide")
        ]
        return "\n".join([f"# TYPE {REQUESTS} gauge", *lines, ""])


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
        gateway = held.enter_context(monitoring.serving_text(found.text))
        scrapes = [
            *monitoring.scrape_configs(monitor, served, nodes),
            {"job_name": "gateway", "static_configs": [{"targets": [gateway]}]},
        ]
        address = held.enter_context(monitoring.prometheus(folder, scrapes, []))
        names = ("jobset", "kubeflow-trainer", "lws", "keda")
        run = workload_lab(started, stack(), folder, *names, prometheus=address)
        found.lab = held.enter_context(run)
        for each in found.lab.objects:
            if each["kind"] == "ScaledObject":
                each["spec"]["pollingInterval"] = POLLING
                reality.apply(api, each)
        for each in runtime_objects(plan):
            reality.apply(api, each)
        yield found


@pytest.mark.always
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


@pytest.mark.always
def test_a_service_takes_gpus_of_training_and_gives_them_back(site: Site):
    lab = site.lab
    site.busy(0.3, 1)
    site.asked(0, 0)
    job = lab.start(train_job(lab))
    before = lab.runs(job, 4)
    site.asked(PER_REPLICA // 2, 1)
    assert uids(lab.pods_of(job)) == uids(before)
    site.asked(2 * PER_REPLICA, 2)
    assert "insufficient unused quota" in lab.waits(job)
    (workload,) = lab.workloads_of(job)
    assert condition(workload, "Evicted")["reason"] == "Preempted"
    site.asked(0, 0)
    lab.runs(job, 4, without=uids(before))
    lab.end(job)


def train_job(lab: WorkloadLab) -> Value:
    trainer = {"numNodes": 4, "image": "example.invalid/train", "command": ["train"]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(lab, "t", "pretrain"),
        "spec": {"runtimeRef": {"name": RUNTIME}, "trainer": trainer},
    }


def test_a_service_of_several_nodes_scales_by_whole_groups(site: Site):
    """Of a LeaderWorkerSet: KEDA sets its replicas by the scale subresource, and Kueue admits a group as one."""
    site.asked(0, 0)
    metadata = {"name": "wide", "namespace": TEAM}
    version, kind = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
    service = {"apiVersion": version, "kind": kind, "metadata": metadata}
    soon(lambda: not site.lab.pods_of(service), "no replica of wide")
    site.requests["wide"] = PER_REPLICA
    pods = site.lab.runs(service, 2)
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    (workload,) = site.lab.workloads_of(service)
    assert sum(each["count"] for each in workload["spec"]["podSets"]) == 2
    site.requests["wide"] = 0
    soon(lambda: not site.lab.pods_of(service), "no replica of wide again")
