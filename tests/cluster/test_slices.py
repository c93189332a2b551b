"""Quota in compute slices, as a real Kueue counts it: what it holds back, and what it does not see."""

from collections.abc import Iterator

import pytest

from gpuyard.plan.teams.limits import LEAST_WAITING
from gpuyard_core.names import MIG_SLICES
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Lab, Seen, Value
from kit.cluster.queues import kueue_as_rendered
from kit.generated.small_platforms import pod_spec
from kit.stacks import Raw, cut_pool, plan_of, platform, team

pytestmark = [pytest.mark.cluster]

MIG1, MIG2, MIG3 = (f"nvidia.com/mig-{p}" for p in ("1g.5gb", "2g.10gb", "3g.20gb"))


def sliced(name: str, pools: list[Raw], teams: list[Raw]) -> Raw:
    """A platform that counts slices; everything in it is named for it."""
    queueing = {"engine": "kueue", "mig_quota": "slices"}
    return platform(pools, teams, name=name, cloud="simulated", queueing=queueing)


def mixed(name: str, *slices: int) -> Raw:
    """One node whose eight GPUs are cut into three profiles each, and teams with so many slices."""
    teams = [
        team(f"{name}-team-{i}", guarantee={f"{name}-cut/slices": n}) for i, n in enumerate(slices)
    ]
    return sliced(name, [cut_pool(f"{name}-cut")], teams)


@pytest.fixture(scope="module")
def counting(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with a Kueue that makes slices of the three profiles."""
    with kueue_as_rendered(started.status.name, mixed("any", 7)) as api:
        yield api


def asks(lab: Lab, name: str, pods: int, resource: str, kind: str = "Job", team: int = 0) -> Value:
    """So many pods with one slice each."""
    amounts = {"cpu": "1", "memory": "1Gi", resource: "1"}
    spec = pod_spec(amounts)
    meta: Value = {
        "name": name,
        "namespace": lab.plan.teams[team].default_namespace.name,
        "labels": {"job": name},
    }
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    template = {"metadata": {"labels": {"job": name}}, "spec": spec}
    body = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


def submitted(lab: Lab, job: Value) -> Seen:
    """What becomes of it; `explain` must have said so."""
    said = lab.explained(job)
    seen = lab.submitted(job)
    assert reality.disagreement(said, seen, lab.plan) == ""
    return seen


def taken(api: Api, pod: Value) -> bool:
    """Whether the API server would take a pod: it reads a quota a moment after that is changed."""
    try:
        api.call("POST", f"{reality.path_of(pod).rpartition('/')[0]}?dryRun=All", pod)
    except ApiError as problem:
        if "exceeded quota" not in str(problem):
            raise
        return False
    return True


def slices_in_use(api: Api) -> str:
    """What the queue says is reserved; it says so some time after it is."""
    queue = api.get(f"{KUEUE}/clusterqueues/sum-sum-team-0") or {}
    used = queue.get("status", {}).get("flavorsReservation") or [{"resources": []}]
    return {r["name"]: str(r["total"]) for r in used[0]["resources"]}.get(MIG_SLICES, "")


def test_two_profiles_draw_on_one_quota_and_the_limit_binds_at_the_sum(counting: Api):
    with Lab(counting, plan_of(mixed("sum", 7))) as lab:
        assert submitted(lab, asks(lab, "three", 1, MIG3)).what == "runs"
        assert submitted(lab, asks(lab, "twice-two", 2, MIG2)).what == "runs"
        last = submitted(lab, asks(lab, "one", 1, MIG1))
        assert (last.what, MIG_SLICES in last.says) == ("waits", True)
        reality.wait(
            lambda: slices_in_use(counting) == "7", "Kueue to say that all slices are used"
        )
        lab.remove("sum-team-0", "three")
        reality.wait(lambda: lab._pods("sum-team-0", "one"), "the last job to start")


def test_quota_of_slices_admits_what_no_slice_holds(counting: Api):
    """Each team has 28 slices, and there are 16 of one: `slices.no_profile` says it before Kueue shows it."""
    with Lab(counting, plan_of(mixed("over", 28, 28))) as lab:
        assert submitted(lab, asks(lab, "all", 16, MIG1)).running == 16
        seen = submitted(lab, asks(lab, "one-more", 1, MIG1, team=1))
        assert (seen.what, seen.running) == ("stuck", 0)
        assert "Insufficient nvidia.com/mig-1g.5gb" in seen.says


def test_the_namespace_is_held_by_the_name_of_the_profile(counting: Api):
    """One runs, and what waits beside it is counted by its ResourceQuota under its own name."""
    with Lab(counting, plan_of(mixed("hard", 3))) as lab:
        assert lab.plan.teams[0].hard[f"requests.{MIG3}"] == 1 + LEAST_WAITING
        assert submitted(lab, asks(lab, "first", 1, MIG3, "Pod")).what == "runs"
        second = submitted(lab, asks(lab, "second", 1, MIG3, "Pod"))
        assert (second.what, MIG_SLICES in second.says) == ("waits", True)
        used = (
            f"/api/v1/namespaces/{lab.plan.teams[0].default_namespace.name}/resourcequotas/gpuyard"
        )
        reality.wait(
            lambda: lab.api.call("GET", used)["status"]["used"][f"requests.{MIG3}"] == "2",
            "a quota that counts both",
        )


def test_a_queue_with_two_kinds_of_slices_sends_pods_where_their_profile_is_not(counting: Api):
    """What `slices.flavor` refuses: the queue is widened here by hand, and the namespace's quota with it."""
    pools = [
        cut_pool("kinds-small", sharing={"mig": {"1g.5gb": 7}}),
        cut_pool("kinds-big", sharing={"mig": {"3g.20gb": 2}}),
    ]
    teams = [
        team("kinds-team", guarantee={"kinds-small": 1}),
        team("kinds-other", guarantee={"kinds-big": 1}),
    ]
    with Lab(counting, plan_of(sliced("kinds", pools, teams))) as lab:
        path = f"{KUEUE}/clusterqueues/kinds-kinds-team"
        queue = counting.get(path) or {}
        (group,) = queue["spec"]["resourceGroups"]
        big = {"name": MIG_SLICES, "nominalQuota": "6", "borrowingLimit": "0"}
        group["flavors"].append({"name": "kinds-big", "resources": [big]})
        counting.patch(path, {"spec": {"resourceGroups": [group]}})
        quota = "/api/v1/namespaces/kinds-team/resourcequotas/gpuyard"
        counting.patch(quota, {"spec": {"hard": {f"requests.{MIG3}": "1"}}})
        probe = asks(lab, "probe", 1, MIG3, "Pod")
        reality.wait(lambda: taken(counting, probe), "the namespace's quota to be known")
        seen = lab.submitted(asks(lab, "wants-three", 1, MIG3))
        assert seen.what == "stuck"
        (pod,) = lab._pods("kinds-team", "wants-three")
        assert pod["spec"]["nodeSelector"] == {"gpuyard.dev/pool": "kinds-small"}
