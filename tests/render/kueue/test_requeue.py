"""What a cluster is told of gangs whose nodes go: the program, its rights, and what is no failure."""

import subprocess
import sys

from gpuyard.render.dependencies import dependencies_of
from gpuyard.render.kueue.requeue import pod_failure_policy_objects, requeue_objects
from gpuyard.render.platform import object_groups
from gpuyard.render.supply.images import pulled_images
from gpuyard_agents.agent import read_settings
from gpuyard_agents.requeue.reconcile import Settings
from gpuyard_core.names import INTERRUPTED_LABEL
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

TEAMS = (team(guarantee={"train": 8}), team("nlp", namespaces=["nlp", "nlp-eval"]))
SPACE = "gpuyard-lab"


def spot(*pools, teams=TEAMS, **more):
    found = list(pools) or [pool(nodes="0..4", capacity=["spot", "on-demand"])]
    return plan_of(platform(found, teams, **{"cloud": "aws", **more}))


def of_kind(plan, kind):
    return [o for o in requeue_objects(plan) if o["kind"] == kind]


@every(
    "plan, made",
    [
        (spot(), True),
        (spot(cloud="simulated"), True),
        (spot(pool(nodes="0..4", scaling="karpenter")), True),
        (spot(pool(nodes="0..4")), False),
        (spot(teams=()), False),
        (spot(pool(), cloud="none"), False),
    ],
)
def test_it_is_made_where_nodes_go_under_jobs_of_teams(plan, made):
    assert bool(requeue_objects(plan)) is made
    assert bool(pod_failure_policy_objects(plan)) is made
    assert ("requeue" in [name for name, _ in object_groups(plan)]) is made


def test_the_program_is_told_where_to_look_and_for_what():
    other = pool("serve", nodes=1)
    spots = pool(nodes="0..4", capacity=["spot"])
    plan = spot(spots, other)
    (data,) = [o["data"] for o in of_kind(plan, "ConfigMap")]
    found = read_settings(Settings, data["settings.json"])
    assert found.selectors == ("gpuyard.dev/pool=train",)
    assert found.flavors == (plan.pool("train").flavor,)
    assert found.namespaces == ("vision", "nlp", "nlp-eval")
    assert found.taints == (
        "karpenter.sh/disrupted",
        "aws-node-termination-handler/",
        "cloud.google.com/impending-node-termination",
        "ToBeDeletedByClusterAutoscaler",
    )
    assert set(found.kinds) >= {"batch/Job", "jobset.x-k8s.io/JobSet"}
    assert not {"Pod", "apps/StatefulSet", "leaderworkerset.x-k8s.io/LeaderWorkerSet"} & {
        *found.kinds
    }


def test_another_setting_starts_the_program_anew():
    def notes(plan):
        (made,) = of_kind(plan, "Deployment")
        return made["spec"]["template"]["metadata"]["annotations"]

    assert notes(spot()) == notes(spot()) != notes(spot(teams=TEAMS[:1]))


def test_the_program_runs_from_where_it_is_mounted(tmp_path):
    plan = spot()
    ((deployment,), (files,)) = of_kind(plan, "Deployment"), of_kind(plan, "ConfigMap")
    pod = deployment["spec"]["template"]["spec"]
    (volume,), (container,) = pod["volumes"], pod["containers"]
    for item in volume["configMap"]["items"]:
        at = tmp_path / item["path"]
        at.parent.mkdir(exist_ok=True)
        at.write_text(files["data"][item["key"]])
    words = [word.replace("/program", str(tmp_path)) for word in container["args"]]
    (tmp_path / "token").write_text("t")
    ended = subprocess.run(
        [sys.executable, *container["command"][1:], *words, "--once", "--account", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "no certificate authority in" in ended.stdout
    assert container["name"] == "requeue"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["image"].startswith("python:3.13-slim@sha256:")


def test_it_begins_when_its_account_is_held():
    (made,) = of_kind(spot(), "Deployment")
    name = "gpuyard-lab-requeue"
    assert set(dependencies_of(made)) == {
        ("Namespace", "", SPACE),
        *((kind, SPACE, name) for kind in ("ServiceAccount", "RoleBinding", "ConfigMap")),
        *((kind, "", name) for kind in ("ClusterRoleBinding", "ValidatingAdmissionPolicyBinding")),
    }


def test_the_account_sees_nodes_and_touches_workloads_of_teams_alone():
    plan = spot()
    rules = {
        (o["kind"], o["metadata"].get("namespace")): {
            resource: set(rule["verbs"]) for rule in o["rules"] for resource in rule["resources"]
        }
        for o in requeue_objects(plan)
        if o["kind"].endswith("Role")
    }
    inside = {"pods": {"list"}, "events": {"create"}, "workloads": {"list", "patch"}}
    assert rules == {
        ("ClusterRole", None): {"nodes": {"list"}},
        ("Role", "default"): {"events": {"create"}},  # of nodes: what falls through the ladder
        **{("Role", space): inside for space in ("vision", "nlp", "nlp-eval")},
    }
    (policy,) = of_kind(plan, "ValidatingAdmissionPolicy")
    spec = policy["spec"]
    assert f"system:serviceaccount:{SPACE}:gpuyard-lab-requeue" in str(spec["matchConditions"])
    (rule,) = spec["matchConstraints"]["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["workloads"], ["UPDATE"])
    texts = {
        each["message"].split(" other ")[1]: each["expression"] for each in spec["validations"]
    }
    assert set(texts) == {
        f"{what} of workloads"
        for what in ("labels", "annotations", "finalizers", "owners", "parts of the spec")
    }
    assert INTERRUPTED_LABEL in texts["labels of workloads"]
    assert "active" not in texts["parts of the spec of workloads"]


def test_a_pod_that_is_put_out_is_no_failure_of_a_job_without_rules():
    policy, binding = pod_failure_policy_objects(spot())
    (mutation,) = policy["spec"]["mutations"]
    text = mutation["jsonPatch"]["expression"]
    assert "action: 'Ignore'" in text
    assert "type: 'DisruptionTarget'" in text
    assert {each["name"] for each in policy["spec"]["matchConditions"]} == {
        "no-rules",
        "never-in-place",
    }
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert pod_failure_policy_objects(spot(kubernetes="1.35")) == [], (
        "API servers know no such policy"
    )


@every(
    "more, of",
    [
        ({}, ["requeueing"]),
        (
            {
                "teams": [team(guarantee={"train": 8}, idle={})],
                "observability": {"prometheus": "existing"},
            },
            ["idle reclaim and requeueing"],
        ),
    ],
)
def test_the_image_is_pulled_once(more, of):
    pulled = [each for each in pulled_images(spot(**more)) if each.repository == "python"]
    assert [each.component for each in pulled] == of
