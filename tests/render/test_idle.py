"""What a cluster is told of idle reclaim: the program, its rights, its schedule."""

import ast
import json

import pytest

from gpuyard.render.idle import idle_objects
from gpuyard.render.platform import object_groups
from gpuyard.render.programs import agent_source, file_key
from gpuyard_agents.agent import read_settings
from gpuyard_agents.idle.settings import Settings
from gpuyard_core.names import POD_SECURITY_LABEL
from kit.stacks import plan_of, platform, team

MEASURED = {"observability": {"prometheus": "existing"}}


def objects(**idle):
    raw = platform(teams=[team(guarantee={"train": 8}, idle=idle), team("b")], **MEASURED)
    return idle_objects(plan_of(raw))


def one(found, kind, name="gpuyard-idle"):
    return next(o for o in found if (o["kind"], o["metadata"]["name"]) == (kind, name))


def test_nothing_is_made_when_no_team_asks():
    plan = plan_of(platform(teams=[team(guarantee={"train": 8})]))
    assert idle_objects(plan) == []
    assert "idle" not in [name for name, _ in object_groups(plan)]


LIMITS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


def test_rights_come_before_the_schedule_and_after_the_teams():
    found = [(o["kind"], o["metadata"].get("namespace", "")) for o in objects()]
    assert found == [
        ("ServiceAccount", "gpuyard-lab"),
        *((kind, "") for _ in range(3) for kind in LIMITS),
        ("Role", "vision"),
        ("RoleBinding", "vision"),
        ("ConfigMap", "gpuyard-lab"),
        ("ConfigMap", "gpuyard-lab"),
        ("CronJob", "gpuyard-lab"),
    ]
    raw = platform(teams=[team(guarantee={"train": 8}, idle={})], **MEASURED)
    assert [name for name, _ in object_groups(plan_of(raw))][-3:] == [
        "team-vision",
        "monitors",
        "idle",
    ]


def test_the_program_is_carried_whole_and_can_be_read():
    source = one(objects(), "ConfigMap", "gpuyard-idle-program")["data"]
    assert {file_key(path): text for path, text in agent_source("idle").items()} == source
    assert {"gpuyard_agents..__init__.py", "gpuyard_agents..idle..__main__.py"} <= set(source)
    assert all(name.endswith(".py") and ast.parse(text) for name, text in source.items())
    size = sum(len(name) + len(text.encode()) for name, text in source.items())
    assert size < 300_000, "a ConfigMap holds a MiB, and some of it is spoken for"


def test_the_settings_are_those_that_the_program_reads():
    text = one(objects(grace_minutes=10), "ConfigMap", "gpuyard-idle-settings")["data"]
    found = read_settings(Settings, text["settings.json"])
    assert (found.platform, found.prometheus) == (
        "lab",
        "http://prometheus-operated.monitoring.svc:9090",
    )
    assert [(s.metric, s.percent) for s in found.signals] == [
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 100),
        ("DCGM_FI_DEV_GPU_UTIL", 1),
    ]
    assert (found.labels.namespace, found.labels.pod) == ("exported_namespace", "exported_pod")
    assert (found.names.keep, found.names.workload) == (
        "gpuyard.dev/keep-idle",
        "kueue.x-k8s.io/workload",
    )
    assert [(t.name, t.namespace, t.grace_minutes) for t in found.teams] == [
        ("vision", "vision", 10)
    ]
    assert json.loads(text["settings.json"])["kinds"] == dict(found.kinds)


def rights(role):
    return {
        (group, resource): rule["verbs"]
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_it_may_stop_queued_work_in_its_teams_namespace_and_nothing_else():
    found = rights(one(objects(), "Role"))
    changing = {what: verbs for what, verbs in found.items() if verbs not in (["list"], ["get"])}
    assert changing == {
        ("", "events"): ["create"],
        ("kueue.x-k8s.io", "workloads"): ["list", "patch"],
        ("apps", "deployments"): ["list", "patch"],
        ("apps", "statefulsets"): ["list", "patch"],
    }
    assert found["", "namespaces"] == ["get"]
    assert "secrets" not in {resource for _, resource in found}
    assert not any("*" in verbs for verbs in found.values())


def test_a_dry_run_may_change_nothing():
    found = rights(one(objects(dry_run=True), "Role"))
    assert {verb for verbs in found.values() for verb in verbs} == {"get", "list", "create"}
    assert [what for what, verbs in found.items() if "create" in verbs] == [("", "events")]


def test_no_right_reaches_beyond_a_namespace():
    kinds = {o["kind"] for o in objects()}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}
    binding = one(objects(), "RoleBinding")
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "gpuyard-idle", "namespace": "gpuyard-lab"}
    ]


def test_one_run_at_a_time_ends_before_the_next():
    spec = one(objects(), "CronJob")["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"], spec["suspend"]) == (
        "*/5 * * * *",
        "Forbid",
        False,
    )
    job = spec["jobTemplate"]["spec"]
    assert (job["backoffLimit"], job["activeDeadlineSeconds"]) == (0, 270)


def test_the_pod_is_restricted_and_so_is_its_namespace():
    pod = one(objects(), "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert [t["key"] for t in pod["tolerations"]] == ["CriticalAddonsOnly"], "never a GPU node"
    plan = plan_of(platform(teams=[team(guarantee={"train": 8}, idle={})], **MEASURED))
    home = next(o for o in object_groups(plan)[0][1] if o["kind"] == "Namespace")
    assert home["metadata"]["labels"][POD_SECURITY_LABEL] == "restricted"


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_a_schedule_that_nothing_can_run_is_paused(cloud):
    raw = platform(teams=[team(guarantee={"train": 8}, idle={})], cloud=cloud, **MEASURED)
    found = one(idle_objects(plan_of(raw)), "CronJob")
    assert found["spec"]["suspend"] is (cloud == "simulated")


def test_the_account_changes_one_field_and_its_own_annotations():
    found = {o["metadata"]["name"]: o["spec"] for o in objects() if "Admission" in o["kind"]}
    assert list(found) == [
        "gpuyard-lab-idle-deployments",
        "gpuyard-lab-idle-statefulsets",
        "gpuyard-lab-idle-workloads",
    ]
    policies = [o["spec"] for o in objects() if o["kind"] == "ValidatingAdmissionPolicy"]
    for spec, field in zip(policies, ("replicas", "replicas", "active"), strict=True):
        (condition,) = spec["matchConditions"]
        account = "system:serviceaccount:gpuyard-lab:gpuyard-idle"
        assert condition["expression"] == f'request.userInfo.username == "{account}"'
        kept = {each["message"].split()[5]: each["expression"] for each in spec["validations"]}
        assert list(kept) == ["labels", "annotations", "finalizers", "owners", "fields"]
        assert f'k == "{field}"' in kept["fields"]
        assert "gpuyard.dev/idle-suspended" in kept["annotations"]
