"""Jobs and platforms for tests of `explain`: a test sets only what it checks."""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.explain import Explanation, explain
from gpuyard_advisor.scheduler.model import EMPTY, PlatformState, Pods, RunningJob
from gpuyard_advisor.scheduler.requests import PodSet
from gpuyard_advisor.workloads import read_job
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

GPU = "nvidia.com/gpu"
SLICE = "nvidia.com/mig-3g.20gb"
SHARE = "nvidia.com/gpu.shared"
SPEC = "spec.template.spec"


def local(**rest: Any) -> PlatformPlan:
    """Three pools and three teams on fake nodes, as the local platform has them."""
    pools = [pool(), cut_pool(), shared_pool()]
    teams = [
        team("vision", guarantee={"train": 8, "serve/3g.20gb": 4}, borrow={"train": 16}),
        team("speech", guarantee={"train": 16, "dev/shared": 8}, borrow={"train": 8}),
        team("search", borrow={"train": 8}, weight=2.0),
    ]
    return plan_of(
        platform(
            rest.pop("pools", pools), rest.pop("teams", teams), **{"cloud": "simulated", **rest}
        )
    )


def one_team(pools: Any, borrow: Any = None, guarantee: Any = None, **rest: Any) -> PlatformPlan:
    """A platform of one team, `vision`."""
    teams = [team(guarantee=guarantee or {}, borrow=borrow or {})]
    return plan_of(platform(pools, teams, **{"cloud": "simulated", **rest}))


def pod_spec(gpus: Any = 1, resource: str = GPU, **rest: Any) -> dict[str, Any]:
    """A pod with one container."""
    requests = rest.pop("requests", {})
    limits = {} if gpus is None else {resource: gpus}
    return {"containers": [{"resources": {"limits": limits, "requests": requests}}], **rest}


def job(pods: int = 1, gpus: Any = 1, kind: str = "Job", **rest: Any) -> dict[str, Any]:
    """A workload in the namespace `vision`."""
    metadata = {"name": rest.pop("name", "job"), "namespace": rest.pop("namespace", "vision")}
    if labels := rest.pop("labels", None):
        metadata["labels"] = labels
    body = rest.pop("body", {})
    template = {"metadata": {"labels": rest.pop("pod_labels", {})}, "spec": pod_spec(gpus, **rest)}
    if kind == "Pod":
        return {"kind": kind, "metadata": metadata, "spec": template["spec"]}
    count = "parallelism" if kind == "Job" else "replicas"
    return {"kind": kind, "metadata": metadata, "spec": {count: pods, "template": template, **body}}


def said(
    plan: PlatformPlan, value: Any, state: PlatformState = EMPTY, team: str | None = None
) -> Explanation:
    """The explanation of a manifest."""
    read = read_job(value)
    assert read is not None
    return explain(plan, read, state, team)


def running(team: str | None, gpus: int, pods: int = 1, **rest: Any) -> RunningJob:
    """A job on whole GPUs of `train`; `nodes=` places its pods there, in order."""
    nodes = rest.pop("nodes", None)
    where, resource = rest.pop("pool", "train"), rest.pop("resource", GPU)
    each = {resource: gpus}
    stands = tuple(Pods(pool=where, requests=each, node=n) for n in nodes or ())
    return RunningJob(
        name=rest.pop("name", f"{team}-job"),
        team=team,
        uses={(where, resource): gpus * pods} if team else {},
        pods=stands or (Pods(pool=where, requests=each, count=pods),),
        **rest,
    )


def state_of(*jobs: RunningJob, waiting: int = 0) -> PlatformState:
    """The state of these jobs, in order."""
    nodes = {str(p.node): p.pool for j in jobs for p in j.pods if p.node}
    return PlatformState(jobs, nodes, waiting)


def pods(count: int = 1, path: str = SPEC, **requests: Any) -> PodSet:
    """Pods by their requests; `gpu=` is short for nvidia.com/gpu."""
    rest = {
        key: requests.pop(key)
        for key in ("selector", "terms", "tolerations", "apart")
        if key in requests
    }
    named = {GPU if key == "gpu" else key: n for key, n in requests.items()}
    return PodSet(path=path, count=count, requests=named, **rest)
