"""Jobs that queue on one cluster and run on others: three real Kueues, and the role that the page gives.

The hub has quota and no node. The west has two nodes and the east four, each a platform of its own with the
same team. The hub reaches them as a service account with exactly the role of docs/concepts/multikueue.md.
"""

import base64
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import not_
from pathlib import Path
from typing import Any

import pytest
import yaml

import sizes
from gpuyard.render.kueue.configuration import kueue_configuration_object
from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.workloads import read_job
from gpuyard_core.names import KUEUE_CONFIG_KEY, QUEUE_LABEL
from gpuyard_simulate import cluster, processes, tools
from gpuyard_simulate.api import Api, Unreachable, connect
from gpuyard_simulate.definitions import read_manifests
from gpuyard_simulate.kueue import manager as kueue_manager
from gpuyard_simulate.state import folder_of
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Lab, Value, condition, delete
from kit.generated.small_platforms import pod_spec
from kit.pages import blocks
from kit.stacks import plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

Until = Callable[..., Any]
PAGE = sizes.ROOT / "docs" / "concepts" / "multikueue.md"
TEAM = "vision"
JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
PODS = f"/api/v1/namespaces/{TEAM}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{TEAM}/deployments"
WORKLOADS = f"{KUEUE}/namespaces/{TEAM}/workloads"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC = "rbac.authorization.k8s.io"
_MORE = {"name": "gpuyard-dispatcher-jobsets"}
JOBSET_ACCESS: list[Value] = [
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": _MORE,
        "rules": [{"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["*"]}],
    },
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _MORE,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", **_MORE},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "gpuyard-dispatcher",
                "namespace": "kueue-system",
            }
        ],
    },
]
"""Beside the role of the page, so that only the kind is missing."""
LOST_AFTER = "5s"
"""Instead of a quarter of an hour."""
TIDIES_EVERY = "2s"
"""Kueue takes away what nobody wants any more on other clusters; instead of a minute."""


@dataclass(frozen=True, slots=True)
class Sites:
    """The three clusters."""

    hub: Api
    west: Api
    east: Api
    plan: Any
    """Of the hub."""
    west_name: str


def raw(name: str, nodes: int, **queueing: Any) -> Value:
    """A platform with one pool and one team; all of it is the team's."""
    teams = [team(TEAM, guarantee={"train": 8 * nodes})]
    return platform(
        [pool(nodes=nodes)],
        teams,
        name=name,
        cloud="simulated",
        queueing={"engine": "kueue", **queueing},
    )


def up(name: str) -> cluster.Outcome:
    """Three clusters start on one machine: where it is too busy to answer in time, go on where it stands."""
    for _ in range(3):
        with contextlib.suppress(Unreachable):
            return cluster.up(name)
    return cluster.up(name)


def start(name: str, made: Any, **settings: Any) -> Api:
    """A cluster whose Kueue is set up as a platform wants it, but for these settings."""
    outcome = up(name)
    api = connect(Path(outcome.status.kubeconfig))
    config = kueue_configuration_object(made)
    (key,) = config["data"]
    values = yaml.safe_load(config["data"][key])
    for section, change in settings.items():
        values[section] = values[section] | change
    config["data"] = {key: yaml.safe_dump(values)}
    metadata = {k: config["metadata"][k] for k in ("name", "namespace")}
    reality.apply(api, {**config, "metadata": metadata})
    up(name)
    return api


def access(api: Api, kubeconfig: Path) -> str:
    """A kubeconfig of the dispatcher's account, whose role is that of the documentation."""
    texts = [b.text for b in blocks(PAGE) if "dispatcher-access.yaml" in b.text]
    (role,) = [yaml.safe_load(text) for text in texts]
    for item in role["items"]:
        reality.apply(api, item)
    account = "/api/v1/namespaces/kueue-system/serviceaccounts/gpuyard-dispatcher"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.call("POST", f"{account}/token", request)["status"]["token"]
    found = yaml.safe_load(kubeconfig.read_text())
    found["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(found)


@pytest.fixture(scope="module")
def sites(started: cluster.Outcome) -> Iterator[Sites]:
    """Hub, west and east, connected."""
    name = started.status.name
    workers = {"west": 2, "east": 4}
    made = {site: plan_of(raw(site, nodes)) for site, nodes in workers.items()}
    clusters = [{"name": site, "secret": f"{site}-kubeconfig"} for site in workers]
    plan = plan_of(raw("hub", 6, clusters=clusters))
    west, east = (start(f"{name}-{site}", made[site]) for site in workers)
    hub = start(
        name, plan, multiKueue={"workerLostTimeout": LOST_AFTER, "gcInterval": TIDIES_EVERY}
    )
    labs = [Lab(west, made["west"]), Lab(east, made["east"]), Lab(hub, plan)]
    for lab in labs[:2]:
        lab.__enter__()
    labs[2].make()
    try:
        yield Sites(hub, west, east, plan, f"{name}-west")
    finally:
        for site in workers:
            cluster.down(f"{name}-{site}")
        labs[2].__exit__()
        delete(hub, kueue_manager.CONFIG_MAP)
        up(name)


@pytest.fixture
def connected(sites: Sites, until: Until) -> Iterator[Sites]:
    """With the secrets in place. What a test leaves behind is taken away, also when it fails."""
    for site, api in (("west", sites.west), ("east", sites.east)):
        path = f"/api/v1/namespaces/kueue-system/secrets/{site}-kubeconfig"
        if sites.hub.get(path) is None:
            suffix = sites.west_name.removesuffix("west") + site
            text = access(api, folder_of(suffix).kubeconfig)
            data = {"kubeconfig": base64.b64encode(text.encode()).decode()}
            metadata = {"name": f"{site}-kubeconfig", "namespace": "kueue-system"}
            sites.hub.apply(
                {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
            )
        until(lambda s=site: active(sites.hub, f"multikueueclusters/hub-{s}") == "True")
    until(lambda: active(sites.hub, "clusterqueues/hub-vision") == "True")
    yield sites
    for path in (DEPLOYMENTS, JOBS, PODS):
        for item in sites.hub.call("GET", path)["items"]:
            delete(sites.hub, f"{path}/{item['metadata']['name']}")
    for api in (sites.hub, sites.west, sites.east):
        until(lambda a=api: left(a), not_)


def active(api: Api, path: str) -> str | None:
    found: str | None = condition(api.get(f"{KUEUE}/{path}") or {}, "Active").get("status")
    return found


def work(name: str, pods: int, seconds: int | None, kind: str = "Job") -> Value:
    """Pods with a whole node each, that run so long; None: until they are told to end, see `end`."""
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "8"}
    spec = pod_spec(amounts)
    duration = {} if seconds is None else {"sim.gpuyard.dev/duration": f"{seconds}s"}
    # named, because a Kueue that has only just started does not know yet which queue is the default
    meta: Value = {"name": name, "namespace": TEAM, "labels": {QUEUE_LABEL: "default"}}
    if kind == "Pod":
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**meta, "annotations": duration},
            "spec": spec,
        }
    template = {"metadata": {"annotations": duration, "labels": {"job": name}}, "spec": spec}
    if kind == "Deployment":
        del template["metadata"]["annotations"]
        body = {"replicas": pods, "selector": {"matchLabels": {"job": name}}, "template": template}
        spec["restartPolicy"] = "Always"
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": body}
    body = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


def submit(sites: Sites, job: Value) -> str:
    """Create it on the hub, as somebody would who knows of no other cluster."""
    reality.create(sites.hub, reality.path_of(job).rpartition("/")[0], job)
    return str(job["metadata"]["name"])


def sent(sites: Sites, job: Value) -> str:
    """Submit it again where it is not sent, as happens in the first moments of a Kueue: the page says so.

    Nobody can tell when these are over: until Kueue has tried to connect, a cluster has the status of before.
    """
    name = job["metadata"]["name"]
    for _ in range(5):
        submit(sites, job)
        with contextlib.suppress(TimeoutError):
            reality.wait(lambda: job_status(sites.hub, name).get("active"), f"{name} to run", 60)
            return str(name)
        delete(sites.hub, f"{JOBS}/{name}")
        reality.wait(lambda: gone(sites.hub, name), f"{name} to be gone")
    raise AssertionError(f"{name} was never sent: {left(sites.hub)}")


def told(sites: Sites, job: Value) -> Any:
    read = read_job(job)
    assert read is not None
    return explain(sites.plan, read)


def job_status(api: Api, name: str) -> Value:
    return dict((api.get(f"{JOBS}/{name}") or {}).get("status") or {})


def listed(api: Api, path: str, name: str) -> list[Value]:
    return [i for i in api.call("GET", path)["items"] if name in i["metadata"]["name"]]


def workload(api: Api, name: str) -> Value:
    return next(iter(listed(api, WORKLOADS, name)), {})


def left(api: Api, name: str = "") -> list[str]:
    """What the cluster has of a job, or of any, for people to read when it should have nothing."""
    return [
        f"{path.rpartition('/')[2]} {item['metadata']} {item.get('status')}"
        for path in (JOBS, PODS, WORKLOADS)
        for item in listed(api, path, name)
    ]


def gone(api: Api, name: str) -> bool:
    return not left(api, name)


def end(api: Api, name: str) -> None:
    """Let the pods of a job be over."""
    for pod in listed(api, PODS, name):
        over = {"metadata": {"annotations": {"sim.gpuyard.dev/duration": "0s"}}}
        api.patch(f"{PODS}/{pod['metadata']['name']}", over)


# ── tests, in the order of a cluster's life ───────────────────────────────────────────────────────
def test_without_its_secret_a_cluster_is_not_asked_and_says_so(sites: Sites, until: Until):
    until(
        lambda: condition(sites.hub.get(f"{KUEUE}/multikueueclusters/hub-west") or {}, "Active"),
        lambda c: (c.get("status"), c.get("reason")) == ("False", "BadKubeConfig"),
    )
    until(lambda: active(sites.hub, "clusterqueues/hub-vision") == "False")


def test_a_gang_runs_where_it_has_room_and_its_status_comes_back(connected: Sites, until: Until):
    """Three nodes are only in the east: the west is asked too, and keeps nothing."""
    job = work("gang", 3, None)  # it is to be seen running, here and there
    said = told(connected, job)
    assert (said.verdict, said.message) == (Verdict.STARTS, "dispatched to one of west, east")
    name = submit(connected, job)
    until(lambda: job_status(connected.hub, name).get("active") == 3)
    assert workload(connected.hub, name)["status"]["clusterName"] == "hub-east"
    assert len(listed(connected.east, PODS, name)) == 3
    assert listed(connected.hub, PODS, name) == []
    assert connected.hub.get(f"{JOBS}/{name}")["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    until(lambda: gone(connected.west, name))
    end(connected.east, name)
    until(lambda: job_status(connected.hub, name).get("succeeded") == 3)
    until(lambda: condition(workload(connected.hub, name), "Finished").get("status") == "True")
    until(lambda: gone(connected.east, name))


def test_the_quota_of_the_hub_holds_over_all_clusters(connected: Sites, until: Until):
    """Six nodes in all: a gang of four leaves too little for one of three, wherever there is room."""
    first = submit(connected, work("one", 4, 300))
    until(lambda: job_status(connected.hub, first).get("active") == 4)
    # only now: of two jobs that come together Kueue may see either first
    second = submit(connected, work("two", 3, 300))
    until(
        lambda: condition(workload(connected.hub, second), "QuotaReserved"),
        lambda c: (
            c.get("status") == "False"
            and "insufficient unused quota for nvidia.com/gpu" in c["message"]
        ),
    )
    assert gone(connected.west, second), "what has no quota here is asked of nobody"


def test_pods_are_sent_one_by_one(connected: Sites, until: Until):
    name = submit(connected, work("lone", 1, 300, "Pod"))
    found = until(
        lambda: [a for a in (connected.west, connected.east) if listed(a, PODS, name)], len
    )
    until(lambda: (connected.hub.get(f"{PODS}/{name}") or {})["status"]["phase"] == "Running")
    here = connected.hub.get(f"{PODS}/{name}") or {}
    assert here["spec"]["schedulingGates"], "it runs nowhere here"
    delete(connected.hub, f"{PODS}/{name}")
    until(lambda: gone(found[0], name) and gone(connected.hub, name))


def test_pods_of_a_deployment_run_there_and_are_ready_here(connected: Sites, until: Until):
    job = work("serve", 2, 0, "Deployment")
    said = told(connected, job)
    assert (said.verdict, said.pods_started) == (Verdict.STARTS, 2)
    name = submit(connected, job)
    path = f"{DEPLOYMENTS}/{name}"
    until(lambda: (connected.hub.get(path) or {}).get("status", {}).get("readyReplicas") == 2)
    there = [*listed(connected.west, PODS, name), *listed(connected.east, PODS, name)]
    assert [p["status"]["phase"] for p in there] == ["Running"] * 2
    delete(connected.hub, path)
    for api in (connected.hub, connected.west, connected.east):
        until(lambda a=api: left(a, name), not_)


def test_what_is_deleted_here_is_deleted_there(connected: Sites, until: Until):
    name = submit(connected, work("unwanted", 3, 300))
    until(lambda: len(listed(connected.east, PODS, name)) == 3)
    delete(connected.hub, f"{JOBS}/{name}")
    until(lambda: gone(connected.hub, name) and gone(connected.east, name))


def test_a_cluster_that_is_lost_gives_its_jobs_to_another(connected: Sites, until: Until):
    """The east is full, so the job runs in the west; that goes away, and comes back.

    Then Kueue v0.19.2 keeps what was admitted first: the copy in the east is deleted, the job's status
    is that of the west, and its workload still names the east. The page says so; a later Kueue may do better.
    """
    filler = submit(connected, work("filler", 3, 900))
    until(lambda: job_status(connected.hub, filler).get("active") == 3)
    name = submit(connected, work("moved", 2, 900))
    until(lambda: job_status(connected.hub, name).get("active") == 2)
    assert workload(connected.hub, name)["status"]["clusterName"] == "hub-west"
    process = folder_of(connected.west_name).read_process("kube-apiserver")
    assert process is not None
    delete(connected.hub, f"{JOBS}/{filler}")
    until(lambda: left(connected.east, filler), not_)
    lost = time.monotonic()
    processes.stop([process])
    until(lambda: active(connected.hub, "multikueueclusters/hub-west") == "False")
    until(lambda: len(listed(connected.east, PODS, name)) == 2)
    assert time.monotonic() - lost >= 5, "not before a cluster counts as lost"
    until(lambda: workload(connected.hub, name)["status"].get("clusterName") == "hub-east")
    until(lambda: job_status(connected.hub, name).get("active") == 2)
    up(connected.west_name)
    until(lambda: active(connected.hub, "multikueueclusters/hub-west") == "True")
    until(lambda: left(connected.east, name), not_)
    assert len(listed(connected.west, PODS, name)) == 2
    assert workload(connected.hub, name)["status"]["clusterName"] == "hub-east"


@pytest.fixture
def with_jobsets(connected: Sites, until: Until) -> Iterator[Sites]:
    """A hub that is told to send JobSets as well; the east knows the kind, the west does not."""
    sites, name = connected, connected.west_name.removesuffix("-west")
    kinds = read_manifests(
        tools.find_tools(Path(__file__).parent).share / "jobset" / "crds", "*.y*ml"
    )
    before = sites.hub.get(kueue_manager.CONFIG_MAP)
    assert before is not None
    values = yaml.safe_load(before["data"][KUEUE_CONFIG_KEY])
    values["integrations"]["frameworks"].append("jobset.x-k8s.io/jobset")
    try:
        for api in (sites.west, sites.east):
            for item in JOBSET_ACCESS:
                reality.apply(api, item)
        for api in (sites.hub, sites.east):
            for kind in kinds:
                api.apply(kind)
            until(lambda a=api: a.get("/apis/jobset.x-k8s.io/v1alpha2"))
        changed = {KUEUE_CONFIG_KEY: yaml.safe_dump(values)}
        sites.hub.patch(kueue_manager.CONFIG_MAP, {"data": changed})
        up(name)
        yield sites
    finally:
        sites.hub.patch(kueue_manager.CONFIG_MAP, {"data": before["data"]})
        for api in (sites.hub, sites.east):
            for kind in kinds:
                delete(api, f"{DEFINITIONS}/{kind['metadata']['name']}")
        up(name)


def test_a_cluster_that_lacks_a_kind_has_no_connection_at_all(with_jobsets: Sites, until: Until):
    """Hence JobSets are not sent: one cluster without them would be asked for nothing any more."""
    hub, path = with_jobsets.hub, f"{KUEUE}/multikueueclusters/hub-west"
    until(
        lambda: condition(hub.get(path) or {}, "Active"),
        lambda c: (
            (c.get("status"), c.get("reason")) == ("False", "ClientConnectionFailed")
            and "JobSet" in c["message"]
        ),
    )
    until(lambda: active(hub, "multikueueclusters/hub-east") == "True")
    name = sent(with_jobsets, work("plain", 1, 300))
    assert workload(hub, name)["status"]["clusterName"] == "hub-east"
    assert gone(with_jobsets.west, name)
