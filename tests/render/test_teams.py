"""What a team is in the cluster: namespace, network, access."""

import pytest

from gpuyard.render.access import MEMBERS, VIEWERS, catalogue_objects, member_rules, viewer_rules
from gpuyard.render.teams import team_objects
from gpuyard_core.names import BUDGET_ANNOTATION, PROTECT_ANNOTATION
from kit.stacks import UNCLAIMED, cut_pool, plan_of, platform, pool, shared_pool, team

OURS = {"app.kubernetes.io/managed-by": "gpuyard", "gpuyard.dev/platform": "lab"}
LOOK = {"get", "list", "watch"}


def objects(pools=None, **rest):
    plan = plan_of(
        platform(pools, [team(**{"guarantee": {"train": 8}, **rest})], kubernetes="1.35")
    )
    return team_objects(plan, plan.team("vision"))


def of(made, kind):
    return [o for o in made if o["kind"] == kind]


def one(made, kind):
    (found,) = of(made, kind)
    return found


def allowed(rules):
    """Every verb that the rules allow, by `resource.group`."""
    found = {}
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault(f"{resource}.{group}".rstrip("."), set()).update(rule["verbs"])
    return found


# ── namespace ─────────────────────────────────────────────────────────────────────────────────────
def test_the_namespace_says_who_and_how_far_apart_and_to_what_pods_are_held():
    made = one(objects(isolation="slice", budget_usd_per_month=60_000.5), "Namespace")
    level = "pod-security.kubernetes.io"
    assert made["metadata"] == {
        "name": "vision",
        "labels": OURS
        | {
            "gpuyard.dev/team": "vision",
            "gpuyard.dev/isolation": "slice",
            f"{level}/enforce": "baseline",
            f"{level}/enforce-version": "v1.35",
            f"{level}/warn": "baseline",
            f"{level}/warn-version": "v1.35",
            f"{level}/audit": "restricted",
            f"{level}/audit-version": "v1.35",
        },
        "annotations": {
            "admission.gpuyard.dev/accounts": "",
            "admission.gpuyard.dev/csi-drivers": "secrets-store.csi.k8s.io\ngcsfuse.csi.storage.gke.io",
            "admission.gpuyard.dev/guaranteed": "true",
            "admission.gpuyard.dev/images-from": "",
            "admission.gpuyard.dev/priorities": "",
            "admission.gpuyard.dev/priority-classes": "",
            "admission.gpuyard.dev/queues": "default",
            "admission.gpuyard.dev/taints": "",
            "gpuyard.dev/budget-usd-per-month": "60000.50",
            "gpuyard.dev/protect": "true",
        },
    }


@pytest.mark.parametrize(("budget", "said"), [(1_250_000, "1250000"), (0.75, "0.75")])
def test_a_budget_is_written_out(budget, said):
    made = one(objects(guarantee={"train": 0}, budget_usd_per_month=float(budget)), "Namespace")
    assert made["metadata"]["annotations"][BUDGET_ANNOTATION] == said


def test_a_team_without_a_budget_has_no_annotation_of_one():
    assert BUDGET_ANNOTATION not in one(objects(), "Namespace")["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("level", "noted"),
    [("restricted", "restricted"), ("baseline", "restricted"), ("privileged", "baseline")],
)
def test_what_is_refused_is_warned_of_and_what_breaks_the_next_stricter_level_is_noted(
    level, noted
):
    labels = one(objects(pod_security=level), "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == level
    assert labels["pod-security.kubernetes.io/warn"] == level
    assert labels["pod-security.kubernetes.io/audit"] == noted


# ── limits ────────────────────────────────────────────────────────────────────────────────────────
CLOSED = {"services.loadbalancers": "0", "services.nodeports": "0"} | dict.fromkeys(UNCLAIMED, "0")


def objects_of_each_kind(most):
    kinds = (
        *("configmaps", "secrets", "services"),
        *("deployments.apps", "replicasets.apps", "statefulsets.apps", "cronjobs.batch"),
        *("jobs.batch", "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"),
    )
    return {f"count/{kind}": str(most) for kind in kinds}


def test_the_quota_counts_gpus_cpu_and_memory_and_lets_nobody_in_from_outside():
    assert one(objects(), "ResourceQuota")["spec"] == {
        "hard": {
            "limits.ephemeral-storage": "13200Gi",
            "persistentvolumeclaims": "132",
            "pods": "132",
            "requests.cpu": "388",
            "requests.memory": "3962Gi",
            "requests.nvidia.com/gpu": "40",
            "requests.storage": "1824Gi",
            **objects_of_each_kind(532),
            **CLOSED,
        }
    }


def test_claims_are_counted_where_pods_claim_devices():
    (quota,) = of(objects([pool(sharing={"dra": True})]), "ResourceQuota")
    counted = {key for key in quota["spec"]["hard"] if "resource.k8s.io" in key}
    assert counted == {
        *UNCLAIMED,
        "count/resourceclaims.resource.k8s.io",
        "count/resourceclaimtemplates.resource.k8s.io",
    }


def test_storage_claims_and_pods_are_counted_when_they_are_limited():
    said = {
        "cpu": 16,
        "memory_gib": 2048,
        "storage_gib": 1024**2,
        "claims": 5,
        "pods": 20,
        "objects": 7,
    }
    made = objects(limits=said)
    assert one(made, "ResourceQuota")["spec"]["hard"] == {
        "limits.ephemeral-storage": "2000Gi",
        "persistentvolumeclaims": "5",
        "pods": "20",
        "requests.cpu": "16",
        "requests.memory": "2Ti",
        "requests.nvidia.com/gpu": "40",
        "requests.storage": "1Pi",
        **objects_of_each_kind(7),
        **CLOSED,
    }
    claims = one(made, "LimitRange")["spec"]["limits"][2]
    assert claims == {"type": "PersistentVolumeClaim", "max": {"storage": "1Pi"}}


def test_a_container_has_a_small_default_and_a_node_at_most_and_a_pod_is_never_nothing():
    assert one(objects(), "LimitRange")["spec"]["limits"] == [
        {
            "type": "Container",
            "max": {"cpu": "192", "memory": "2Ti"},
            "default": {"cpu": "192", "memory": "2Ti", "ephemeral-storage": "100Gi"},
            "defaultRequest": {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "0"},
        },
        {"type": "Pod", "min": {"cpu": "100m", "memory": "64Mi"}},
        {"type": "PersistentVolumeClaim", "max": {"storage": "1824Gi"}},
    ]


def test_only_names_that_bind_are_in_a_quota():
    pools = [pool(), cut_pool(), shared_pool()]
    mine = {"train": 8, "serve/3g.20gb": 1, "dev/shared": 2}
    hard = one(objects(pools, guarantee=mine), "ResourceQuota")["spec"]["hard"]
    gpus = {name: most for name, most in hard.items() if "requests.nvidia.com" in name}
    assert gpus == {
        "requests.nvidia.com/gpu": "40",
        "requests.nvidia.com/gpu.shared": "34",
        "requests.nvidia.com/mig-1g.5gb": "0",
        "requests.nvidia.com/mig-2g.10gb": "0",
        "requests.nvidia.com/mig-3g.20gb": "33",
    }
    assert "scopeSelector" not in one(objects(), "ResourceQuota")["spec"]


# ── network ───────────────────────────────────────────────────────────────────────────────────────
HERE = {"podSelector": {}}
NAMES = {
    "to": [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
        {"ipBlock": {"cidr": "169.254.20.10/32"}},
    ],
    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
}


def test_pods_talk_to_each_other_and_to_the_name_service():
    assert one(objects(), "NetworkPolicy")["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [HERE]}],
        "egress": [{"to": [HERE]}, NAMES],
    }


LEFT_OUT = ["169.254.169.254/32", "168.63.129.16/32", "169.254.170.2/32"]


def test_networks_that_are_named_are_reached_but_for_the_metadata_service():
    made = one(objects(egress_cidrs=["0.0.0.0/0", "10.0.0.0/8"]), "NetworkPolicy")
    blocks = [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": LEFT_OUT}},
        {"ipBlock": {"cidr": "10.0.0.0/8"}},
    ]
    assert made["spec"]["egress"] == [{"to": [HERE]}, NAMES, {"to": blocks}]


# ── access ────────────────────────────────────────────────────────────────────────────────────────
def test_groups_are_members_and_viewers_are_not():
    made = objects(groups=["seers", "makers", "seers"], viewers=["auditors"])
    assert [o["metadata"]["name"] for o in of(made, "Role")] == [MEMBERS, VIEWERS]
    bound = {
        o["metadata"]["name"]: (o["roleRef"], [s["name"] for s in o["subjects"]])
        for o in of(made, "RoleBinding")
    }
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role"}
    assert bound == {
        MEMBERS: (role | {"name": MEMBERS}, ["seers", "makers"]),
        VIEWERS: (role | {"name": VIEWERS}, ["auditors"]),
    }


def test_nobody_gets_a_role_of_the_whole_cluster():
    made = objects(groups=["seers"], viewers=["auditors"])
    assert not of(made, "ClusterRole")
    assert not of(made, "ClusterRoleBinding")
    assert {o["metadata"]["namespace"] for o in made if o["kind"] != "Namespace"} == {"vision"}


def test_a_team_without_groups_lets_nobody_in():
    assert not [o for o in objects() if o["kind"].startswith("Role")]


LIMITS = [
    "limitranges",
    "localqueues.kueue.x-k8s.io",
    "namespaces",
    "networkpolicies.networking.k8s.io",
    "resourcequotas",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "serviceaccounts",
]


@pytest.mark.parametrize("rules", [member_rules, viewer_rules])
@pytest.mark.parametrize("resource", LIMITS)
def test_what_holds_a_team_is_seen_by_it_and_never_changed(rules, resource):
    assert allowed(rules(claims=True))[resource] == LOOK


def test_members_delete_workloads_of_kueue_and_change_none():
    resource = "workloads.kueue.x-k8s.io"
    assert allowed(viewer_rules(claims=True))[resource] == LOOK
    verbs = allowed(member_rules(claims=True))[resource]
    assert set(verbs) == {*LOOK, "delete", "deletecollection"}


NEVER = [
    "serviceaccounts/token",
    "pods/ephemeralcontainers",
    "pods/resize",
    "pods/proxy",
    "pods/binding",
    "services/proxy",
    "daemonsets.apps",
    "nodes",
]


@pytest.mark.parametrize("resource", NEVER)
def test_ways_around_the_queue_and_the_quota_are_left_out(resource):
    assert resource not in allowed(member_rules(claims=True))


@pytest.mark.parametrize("rules", [member_rules, viewer_rules])
def test_nobody_takes_the_place_of_another_and_nothing_is_allowed_by_a_star(rules):
    found = rules(claims=True)
    assert not [r for r in found if {"impersonate", "bind", "escalate", "*"} & set(r["verbs"])]
    assert not [r for r in found if "*" in (*r["apiGroups"], *r["resources"])]


def test_members_keep_pods_from_being_moved_and_see_what_was_rolled_out():
    can = allowed(member_rules(claims=False))
    assert can["poddisruptionbudgets.policy"] >= {"create", "patch", "delete"}
    assert can["controllerrevisions.apps"] == LOOK
    assert allowed(viewer_rules(claims=False))["poddisruptionbudgets.policy"] == LOOK


def test_people_of_all_teams_see_classes_and_change_none():
    teams = [team("a", groups=["x", "y"], viewers=["z"]), team("b", groups=["x"])]
    role, binding = catalogue_objects(plan_of(platform(teams=teams)))
    assert role["metadata"]["name"] == binding["roleRef"]["name"] == "gpuyard-lab-classes"
    assert allowed(role["rules"]) == {
        f"{resource}.{group}": LOOK
        for group in ("kueue.x-k8s.io", "scheduling.k8s.io", "storage.k8s.io")
        for resource in ("workloadpriorityclasses", "priorityclasses", "storageclasses")
    }
    assert [subject["name"] for subject in binding["subjects"]] == ["x", "y", "z"]


def test_device_classes_are_seen_where_pods_claim_devices():
    raw = platform([pool(sharing={"dra": True})], [team(groups=["x"])])
    role, _ = catalogue_objects(plan_of(raw))
    assert allowed(role["rules"])["deviceclasses.resource.k8s.io"] == LOOK


def test_without_people_there_is_nothing_of_the_clusters_to_see():
    assert catalogue_objects(plan_of(platform(teams=[team()]))) == []


def test_members_start_and_stop_pods_and_do_not_edit_them():
    can = allowed(member_rules(claims=False))
    assert can["pods"] == LOOK | {"create", "delete", "deletecollection"}
    assert can["pods/exec"] == {"create", "get"}
    assert can["jobs.batch"] >= {"create", "patch", "update", "delete"}
    assert can["secrets"] >= {"create", "get", "delete"}


def test_viewers_look_and_see_no_secret():
    can = allowed(viewer_rules(claims=True))
    assert set().union(*can.values()) == LOOK
    assert "secrets" not in can
    assert not [r for r in can if r.startswith(("pods/exec", "pods/attach", "pods/port"))]
    assert set(can) <= set(allowed(member_rules(claims=True)))


def test_claims_of_devices_are_for_platforms_that_have_them():
    counted = one(objects(groups=["seers"]), "Role")
    claimed = one(objects([pool(sharing={"dra": True})], groups=["seers"]), "Role")
    assert "resourceclaims.resource.k8s.io" not in allowed(counted["rules"])
    assert "resourceclaims.resource.k8s.io" in allowed(claimed["rules"])


@pytest.mark.parametrize(
    ("cloud", "said", "kept"),
    [
        ("none", None, True),
        ("none", False, False),
        ("simulated", None, False),
        ("simulated", True, True),
    ],
)
def test_a_namespace_outlives_its_team_unless_it_is_given_up_or_simulated(cloud, said, kept):
    rest = {} if said is None else {"protect": said}
    plan = plan_of(platform(teams=[team(guarantee={"train": 8}, **rest)], cloud=cloud))
    assert plan.teams[0].protect is kept
    made = one(team_objects(plan, plan.teams[0]), "Namespace")
    assert made["metadata"]["annotations"].get(PROTECT_ANNOTATION) == ("true" if kept else None)
