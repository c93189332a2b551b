"""What a team is, on a real API server: what its people may do there, and what its pods may be.

People are impersonated with their groups, as an identity provider would name them. Fake nodes enforce no
NetworkPolicy: that it is accepted, and says what the plan says, is all that can be seen here.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpuyard.render.teams import network_policy
from gpuyard_core.names import PRIORITY_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.queues import kueue_as_rendered
from kit.stacks import Raw, cut_pool, plan_of, platform, pool, shared_pool, team

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Until = Callable[..., Any]
Value = dict[str, Any]
GPU, SLICE, SHARE = "nvidia.com/gpu", "nvidia.com/mig-3g.20gb", "nvidia.com/gpu.shared"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NETWORK = "/apis/networking.k8s.io/v1"
PODS = "/api/v1/namespaces/ten-a/pods"
CUT = {"mig": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}

PRIORITIES = {"ten-high": 900, "ten-low": 10}


def two_teams() -> Raw:
    """A team with one of everything, and its neighbour."""
    pools = [
        pool("ten-whole", machine="g6.12xlarge", nodes=1),
        cut_pool("ten-cut", sharing=CUT),
        shared_pool("ten-turns"),
    ]
    mine = {"ten-whole": 2, "ten-cut/3g.20gb": 1, "ten-turns/shared": 2}
    teams = [
        team(
            "ten-a",
            guarantee=mine,
            groups=["makers"],
            viewers=["auditors"],
            egress_cidrs=["0.0.0.0/0", "10.0.0.0/8"],
            budget_usd_per_month=9000.0,
            priority="ten-high",
        ),
        team("ten-b", guarantee={"ten-whole": 2}, groups=["others"], pod_security="restricted"),
    ]
    return platform(pools, teams, name="ten", cloud="simulated", priorities=PRIORITIES)


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[reality.Lab]:
    """The platform of two teams, with Kueue set up as it wants it."""
    raw = two_teams()
    with (
        kueue_as_rendered(started.status.name, raw) as api,
        reality.Lab(api, plan_of(raw)) as found,
    ):
        reality.wait(lambda: in_force(found), "roles and policies to be in force")
        yield found


def in_force(lab: reality.Lab) -> bool:
    """Whether the API server knows the roles of everybody, and the policy that writes priorities."""
    try:
        made = acting(lab, "makers").call("POST", f"{PODS}?dryRun=All", pod("probe"))
        acting(lab, "auditors").call("GET", PODS)
        acting(lab, "others").call("GET", PODS.replace("ten-a", "ten-b"))
    except ApiError:
        return False
    return PRIORITY_LABEL in made["metadata"].get("labels", {})


def acting(lab: reality.Lab, group: str) -> Api:
    """The API as somebody of that group."""
    found = copy.copy(lab.api)
    found._headers = {
        **lab.api._headers,
        "Impersonate-User": f"somebody-of-{group}",
        "Impersonate-Group": group,
    }
    return found


def refusal(call: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.status, str(caught.value)


# ── what people may do ────────────────────────────────────────────────────────────────────────────
def may(lab: reality.Lab, group: str, verb: str, what: str, namespace: str, name: str = "") -> bool:
    """Whether the API server's own authorizer lets somebody of the group do it."""
    resource, _, api_group = what.partition(".")
    resource, _, sub = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": api_group,
        "resource": resource,
        "subresource": sub,
        "namespace": namespace,
        "name": name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"somebody-of-{group}",
            "groups": [group, "system:authenticated"],
            "resourceAttributes": {k: v for k, v in attributes.items() if v},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(lab.api.call("POST", path, review)["status"]["allowed"])


WORK = [
    ("create", "pods"),
    ("delete", "pods"),
    ("delete", "workloads.kueue.x-k8s.io"),
    ("create", "pods/exec"),
    ("get", "pods/log"),
    ("create", "pods/portforward"),
    ("create", "jobs.batch"),
    ("patch", "jobs.batch"),
    ("create", "deployments.apps"),
    ("patch", "deployments/scale.apps"),
    ("create", "services"),
    ("create", "configmaps"),
    ("create", "secrets"),
    ("get", "secrets"),
    ("create", "persistentvolumeclaims"),
    ("create", "jobsets.jobset.x-k8s.io"),
    ("create", "trainjobs.trainer.kubeflow.org"),
]
SEEN = [
    ("list", "pods"),
    ("list", "events"),
    ("list", "workloads.kueue.x-k8s.io"),
    ("watch", "workloads.kueue.x-k8s.io"),
    ("list", "localqueues.kueue.x-k8s.io"),
    ("get", "localqueues/pendingworkloads.visibility.kueue.x-k8s.io"),
    ("get", "resourcequotas"),
    ("get", "limitranges"),
    ("get", "networkpolicies.networking.k8s.io"),
    ("get", "rolebindings.rbac.authorization.k8s.io"),
]
HELD = [
    (verb, what)
    for verb in ("create", "update", "patch", "delete")
    for what in (
        "resourcequotas",
        "limitranges",
        "networkpolicies.networking.k8s.io",
        "localqueues.kueue.x-k8s.io",
        "workloads.kueue.x-k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "serviceaccounts",
    )
    if (verb, what) != ("delete", "workloads.kueue.x-k8s.io")
]
AROUND = [
    ("impersonate", "serviceaccounts"),
    ("create", "serviceaccounts/token"),
    ("update", "pods"),
    ("patch", "pods"),
    ("update", "pods/ephemeralcontainers"),
    ("create", "pods/binding"),
    ("create", "daemonsets.apps"),
]


def test_members_work_in_their_own_namespace_and_in_no_other(lab: reality.Lab):
    for verb, what in [*WORK, *SEEN]:
        assert may(lab, "makers", verb, what, "ten-a"), (verb, what)
        for namespace in ("ten-b", "kueue-system", "gpuyard-ten", "kube-system", "default", ""):
            assert not may(lab, "makers", verb, what, namespace), (verb, what, namespace)


def test_members_cannot_change_what_holds_them(lab: reality.Lab):
    for verb, what in [*HELD, *AROUND]:
        assert not may(lab, "makers", verb, what, "ten-a"), (verb, what)
    for verb in ("update", "patch", "delete"):
        assert not may(lab, "makers", verb, "namespaces", "ten-a", "ten-a")
        for kind in ("clusterqueues", "cohorts", "resourceflavors", "workloadpriorityclasses"):
            assert not may(lab, "makers", verb, f"{kind}.kueue.x-k8s.io", "")


def test_viewers_look_and_touch_nothing(lab: reality.Lab):
    for verb, what in SEEN:
        assert may(lab, "auditors", verb, what, "ten-a"), (verb, what)
        assert not may(lab, "auditors", verb, what, "ten-b"), (verb, what)
    for verb, what in [*WORK, *HELD, *AROUND]:
        if (verb, what) != ("get", "pods/log"):
            assert not may(lab, "auditors", verb, what, "ten-a"), (verb, what)


def test_strangers_are_let_in_nowhere(lab: reality.Lab):
    for verb, what in [*WORK, *SEEN]:
        assert not may(lab, "strangers", verb, what, "ten-a"), (verb, what)


def test_requests_of_a_member_meet_the_same_answers(lab: reality.Lab):
    """Not only what the authorizer says: what the server does."""
    makers = acting(lab, "makers")
    assert makers.call("GET", "/api/v1/namespaces/ten-a")["metadata"]["name"] == "ten-a"
    assert makers.call("GET", "/api/v1/namespaces/ten-a/resourcequotas")["items"]
    loosen = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    merge = "application/merge-patch+json"
    more = {"spec": {"hard": {f"requests.{GPU}": "999"}}}
    a, b = "/api/v1/namespaces/ten-a", "/api/v1/namespaces/ten-b"
    tries: list[tuple[Any, ...]] = [
        ("GET", f"{b}/pods"),
        ("GET", f"{b}/secrets"),
        ("POST", f"{b}/pods", pod("x")),
        ("DELETE", f"{b}/pods/x"),
        ("POST", "/apis/batch/v1/namespaces/ten-b/jobs", job("x", 1, cpu="1")),
        ("PATCH", a, loosen, merge),
        ("DELETE", a),
        ("PATCH", f"{a}/resourcequotas/gpuyard", more, merge),
        ("DELETE", f"{a}/resourcequotas/gpuyard"),
        ("DELETE", f"{NETWORK}/namespaces/ten-a/networkpolicies/gpuyard"),
        ("DELETE", f"{reality.KUEUE}/namespaces/ten-a/localqueues/default"),
        ("GET", f"{reality.KUEUE}/clusterqueues/ten-ten-a"),
        ("POST", "/api/v1/namespaces/kueue-system/configmaps", named("ConfigMap", "x")),
        ("POST", "/api/v1/namespaces/gpuyard-ten/pods", pod("x")),
    ]
    for method, path, *rest in tries:
        status, said = refusal(lambda m=method, p=path, r=rest: makers.call(m, p, *r))
        assert status == 403, (method, path, said)
        assert "cannot" in said, (method, path, said)


def test_a_viewer_reads_no_secret(lab: reality.Lab):
    path = "/api/v1/namespaces/ten-a/secrets"
    acting(lab, "makers").call("POST", path, named("Secret", "key") | {"stringData": {"k": "v"}})
    auditors = acting(lab, "auditors")
    assert auditors.call("GET", "/api/v1/namespaces/ten-a/pods")["kind"] == "PodList"
    status, said = refusal(lambda: auditors.call("GET", f"{path}/key"))
    assert (status, 'cannot get resource "secrets"' in said) == (403, True)


# ── what pods may be ──────────────────────────────────────────────────────────────────────────────
def named(kind: str, name: str) -> Value:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def pod(name: str, limits: Value | None = None, **spec: Any) -> Value:
    """A small pod; `container=` adds to its only container."""
    container = {
        "name": "main",
        "image": "example.invalid/work:1",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": limits or {}},
        **spec.pop("container", {}),
    }
    return named("Pod", name) | {"spec": {"containers": [container], **spec}}


def job(name: str, gpus: int, pods: int = 1, *, cpu: str) -> Value:
    template = pod("x", {GPU: gpus})["spec"] | {"restartPolicy": "Never"}
    template["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"parallelism": pods, "completions": pods, "template": {"spec": template}},
    }


@pytest.mark.parametrize("resource", [GPU, SLICE, SHARE])
def test_an_allowed_pod_of_a_member_runs(lab: reality.Lab, until: Until, resource: str):
    makers, pods = acting(lab, "makers"), "/api/v1/namespaces/ten-a/pods"
    name = f"runs-{resource.rpartition('.')[2].replace('/', '-')}"
    makers.call("POST", pods, pod(name, {resource: 1}))
    until(lambda: makers.call("GET", f"{pods}/{name}")["status"].get("phase") == "Running")
    makers.call("DELETE", f"{pods}/{name}")
    until(lambda: lab.api.get(f"{pods}/{name}") is None)


RISKY = [
    ("privileged", {"container": {"securityContext": {"privileged": True}}}, "privileged"),
    ("host-ipc", {"hostIPC": True}, "hostIPC=true"),
    ("host-pid", {"hostPID": True}, "hostPID=true"),
    ("host-network", {"hostNetwork": True}, "hostNetwork=true"),
    (
        "host-path",
        {"volumes": [{"name": "dev", "hostPath": {"path": "/dev/nvidia0"}}]},
        "hostPath volumes",
    ),
]


@pytest.mark.parametrize(("name", "spec", "why"), RISKY, ids=[r[0] for r in RISKY])
def test_pods_that_reach_the_node_are_refused(lab: reality.Lab, name: str, spec: Value, why: str):
    path = "/api/v1/namespaces/ten-a/pods"
    risky = copy.deepcopy(spec)
    status, said = refusal(lambda: acting(lab, "makers").call("POST", path, pod(name, **risky)))
    assert status == 403
    assert 'violates PodSecurity "baseline:v1.36"' in said
    assert why in said


def test_a_restricted_team_is_held_to_more(lab: reality.Lab):
    path = "/api/v1/namespaces/ten-b/pods?dryRun=All"
    status, said = refusal(lambda: acting(lab, "others").call("POST", path, pod("root")))
    assert (status, 'violates PodSecurity "restricted:v1.36"' in said) == (403, True)
    strict = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    acting(lab, "others").call("POST", path, pod("user", container={"securityContext": strict}))


@pytest.mark.parametrize(("resource", "has"), [(GPU, 34), (SLICE, 33), (SHARE, 34)])
def test_the_quota_binds_on_every_name_that_nodes_advertise(
    lab: reality.Lab, until: Until, resource: str, has: int
):
    path = "/api/v1/namespaces/ten-a/pods?dryRun=All"
    makers = acting(lab, "makers")
    # a pod of a test before may be counted for a moment after it is gone
    until(lambda: makers.call("POST", path, pod("all", {resource: has})))
    status, said = refusal(lambda: makers.call("POST", path, pod("more", {resource: has + 1})))
    assert status == 403
    assert f"exceeded quota: gpuyard, requested: requests.{resource}={has + 1}" in said
    assert f"limited: requests.{resource}={has}" in said


def test_quota_and_limit_range_are_kept_as_they_are_written(lab: reality.Lab):
    """Quantities come back in the form in which they are rendered: nothing to change at the next `up`."""
    for kind in ("ResourceQuota", "LimitRange"):
        for wanted in (o for o in lab.objects if o["kind"] == kind):
            assert lab.api.call("GET", reality.path_of(wanted))["spec"] == wanted["spec"]


def test_too_much_cpu_or_memory_is_refused_with_the_numbers(lab: reality.Lab):
    path = "/api/v1/namespaces/ten-a/pods?dryRun=All"
    most = lab.plan.team("ten-a").limits
    makers = acting(lab, "makers")
    too_much = {"cpu": str(most.container.cpu + 1)}
    large = pod("large", container={"resources": {"requests": too_much, "limits": too_much}})
    status, said = refusal(lambda: makers.call("POST", path, large))
    assert (status, "maximum cpu usage per Container is 96, but limit is 97" in said) == (403, True)
    unlimited = pod("unlimited", container={"resources": {"requests": too_much}})
    status, said = refusal(lambda: makers.call("POST", path, unlimited))
    assert (status, "must be less than or equal to cpu limit of 96" in said) == (422, True)
    several = pod("several", container={"resources": {"requests": {"cpu": "80"}}})
    too_many = most.cpu // 80 + 1
    (one,) = several["spec"]["containers"]
    several["spec"]["containers"] = [{**one, "name": f"c-{number}"} for number in range(too_many)]
    status, said = refusal(lambda: makers.call("POST", path, several))
    assert status == 403
    assert f"exceeded quota: gpuyard, requested: requests.cpu={80 * too_many}" in said
    assert f"limited: requests.cpu={most.cpu}" in said


def test_a_container_that_names_nothing_gets_the_defaults(lab: reality.Lab):
    path = "/api/v1/namespaces/ten-a/pods?dryRun=All"
    bare = pod("bare", container={"resources": {}})
    made = acting(lab, "makers").call("POST", path, bare)["spec"]["containers"][0]["resources"]
    assert made == {
        "requests": {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "0"},
        "limits": {"cpu": "96", "memory": "1152Gi", "ephemeral-storage": "100Gi"},
    }


def test_no_service_opens_the_namespace_to_the_outside(lab: reality.Lab):
    path = "/api/v1/namespaces/ten-a/services?dryRun=All"
    for kind in ("NodePort", "LoadBalancer"):
        open_ = named("Service", "open") | {"spec": {"type": kind, "ports": [{"port": 80}]}}
        status, said = refusal(lambda o=open_: acting(lab, "makers").call("POST", path, o))
        assert (status, "exceeded quota: gpuyard" in said) == (403, True)
    inner = named("Service", "inner") | {"spec": {"ports": [{"port": 80}]}}
    acting(lab, "makers").call("POST", path, inner)


def test_a_job_that_names_no_cpu_is_admitted_by_kueue_and_runs(lab: reality.Lab, until: Until):
    """Kueue takes the defaults of the LimitRange into its workload; the job goes on being the same to it."""
    jobs = "/apis/batch/v1/namespaces/ten-a/jobs"
    plain = job("plain", 1, pods=2, cpu="1")
    plain["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {}
    makers = acting(lab, "makers")
    reality.create(makers, jobs, plain)
    until(lambda: makers.call("GET", f"{jobs}/plain")["status"].get("ready") == 2)
    makers.call("DELETE", f"{jobs}/plain", {"propagationPolicy": "Foreground"})
    until(lambda: lab.api.get(f"{jobs}/plain") is None)


def test_a_job_whose_container_is_too_large_waits_in_its_queue_with_the_reason(
    lab: reality.Lab, until: Until
):
    jobs = "/apis/batch/v1/namespaces/ten-a/jobs"
    makers = acting(lab, "makers")
    reality.create(makers, jobs, job("wide", 1, cpu="97"))

    def said() -> str:
        found = makers.call("GET", f"{reality.KUEUE}/namespaces/ten-a/workloads")["items"]
        return str([w.get("status", {}).get("conditions") for w in found])

    until(lambda: "requests must not exceed its limits" in said())
    assert makers.call("GET", f"{jobs}/wide")["spec"]["suspend"]
    makers.call("DELETE", f"{jobs}/wide", {"propagationPolicy": "Foreground"})
    until(lambda: lab.api.get(f"{jobs}/wide") is None)


# ── priority ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("label", "value"), [(None, 900), ("ten-low", 10)], ids=["unnamed", "named"]
)
def test_a_job_that_names_no_priority_has_its_teams(
    lab: reality.Lab, until: Until, label: str | None, value: int
):
    key, name = "kueue.x-k8s.io/priority-class", f"first-{label or 'unnamed'}"
    asked = job(name, 1, cpu="1")
    asked["metadata"]["labels"] = {key: label} if label else {}
    jobs = "/apis/batch/v1/namespaces/ten-a/jobs"
    makers = acting(lab, "makers")
    made = makers.call("POST", jobs, asked)
    assert made["metadata"]["labels"][key] == (label or "ten-high")

    def workload() -> Value | None:
        found = makers.call("GET", f"{reality.KUEUE}/namespaces/ten-a/workloads")["items"]
        return next((w for w in found if name in w["metadata"]["name"]), None)

    assert until(workload)["spec"]["priority"] == value
    until(lambda: makers.call("GET", f"{jobs}/{name}")["status"].get("ready") == 1)
    pods = makers.call("GET", "/api/v1/namespaces/ten-a/pods")["items"]
    assert all(key not in p["metadata"]["labels"] for p in pods if name in p["metadata"]["name"])
    makers.call("DELETE", f"{jobs}/{name}", {"propagationPolicy": "Foreground"})
    until(lambda: lab.api.get(f"{jobs}/{name}") is None)


def test_a_pod_of_its_own_gets_it_too_and_other_teams_get_nothing(lab: reality.Lab):
    key = "kueue.x-k8s.io/priority-class"
    mine = acting(lab, "makers").call("POST", "/api/v1/namespaces/ten-a/pods?dryRun=All", pod("x"))
    assert mine["metadata"]["labels"][key] == "ten-high"
    theirs = job("x", 1, cpu="1")
    path = "/apis/batch/v1/namespaces/ten-b/jobs?dryRun=All"
    made = acting(lab, "others").call("POST", path, theirs)
    assert key not in made["metadata"].get("labels", {})


# ── network ───────────────────────────────────────────────────────────────────────────────────────
def test_the_network_policy_is_accepted_and_says_what_the_plan_says(lab: reality.Lab):
    spaces = [(one, space) for one in lab.plan.teams for space in one.namespaces]
    for one, space in spaces:
        path = f"{NETWORK}/namespaces/{space.name}/networkpolicies"
        (found,) = lab.api.call("GET", path)["items"]
        assert found["spec"] == network_policy(lab.plan, one, space)["spec"]


def test_the_namespace_says_what_it_may_cost(lab: reality.Lab):
    found = lab.api.call("GET", "/api/v1/namespaces/ten-a")["metadata"]
    assert found["annotations"]["gpuyard.dev/budget-usd-per-month"] == "9000"
