"""What a cluster is told of checks that are made again: the schedule, its rights, what it is told."""

import json

import pytest

from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.validation.gate import gate_objects
from gpuyard.render.validation.jobs import validation_objects
from gpuyard_agents.agent import read_settings
from gpuyard_agents.gate.recurring import Settings
from gpuyard_core.names import CHECK_AGAIN, CHECKED_LABEL
from kit.stacks import cut_pool, plan_of, platform, pool

AGAIN = {"cron": "0 3 * * 0", "time_zone": "Europe/Berlin", "hours": 1.5}


def asked(**more):
    validation = {"image": "x", "recurring": AGAIN, **more}
    return plan_of(platform([pool(), cut_pool()], cloud="simulated", validation=validation))


def made(plan):
    return {
        o["kind"]: o
        for o in gate_objects(plan)
        if o["metadata"]["name"].startswith("gpuyard-lab-again")
    }


def test_it_is_made_where_it_is_asked_for():
    wanted = {
        "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ConfigMap", "CronJob",
    }  # fmt: skip
    assert set(made(asked())) == wanted
    assert made(asked(recurring=None)) == {}


def test_it_begins_by_the_clock_of_the_stack_file_and_one_run_at_a_time():
    spec = made(asked())["CronJob"]["spec"]
    assert (spec["schedule"], spec["timeZone"]) == ("0 3 * * 0", "Europe/Berlin")
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] > 1.5 * 3600


def test_its_pod_holds_no_gpu_and_is_nobody():
    pod = made(asked())["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert "nvidia.com" not in json.dumps(container["resources"])
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert "privileged" not in json.dumps(pod)
    assert pod["serviceAccountName"] == "gpuyard-lab-again"
    mounts = {m["name"] for m in container["volumeMounts"]}
    assert mounts == {v["name"] for v in pod["volumes"]} == {"program", "settings"}
    items = next(v for v in pod["volumes"] if v["name"] == "program")["configMap"]["items"]
    paths = {each["path"] for each in items}
    assert {"gpuyard_agents/gate/recurring.py", "gpuyard_agents/agent.py"} <= paths


def test_it_is_told_which_nodes_and_what_works_on_them():
    found = read_settings(Settings, made(asked())["ConfigMap"]["data"]["settings.json"])
    assert found.run_seconds == 5400
    assert found.again == CHECK_AGAIN
    whole, cut = found.pools
    assert (whole.name, whole.resources) == ("train", ("nvidia.com/gpu",))
    assert (cut.name, all(r.startswith("nvidia.com/mig-") for r in cut.resources)) == (
        "serve",
        True,
    )


def test_its_account_may_take_a_mark_away_and_give_none():
    objects = made(asked())
    assert objects["ClusterRole"]["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    spec = objects["ValidatingAdmissionPolicy"]["spec"]
    messages = [each["message"] for each in spec["validations"]]
    for what in ("labels", "annotations", "finalizers", "owners", "marks", "taints", "cordons"):
        assert f"gpuyard-lab-again must not change other {what} of nodes" in messages
    (marks,) = [v["expression"] for v in spec["validations"] if "marks" in v["message"]]
    assert marks.count(CHECKED_LABEL) == 2


def test_what_it_names_is_there_before_it():
    plan = asked()
    there = {object_key(o) for o in [*validation_objects(plan), *gate_objects(plan)]}
    needs = set(dependencies_of(made(plan)["CronJob"]))
    space = "gpu-operator"
    for name in ("again", "gate"):
        assert ("ConfigMap", space, f"gpuyard-lab-{name}") in needs & there
    assert ("ServiceAccount", space, "gpuyard-lab-again") in needs & there


@pytest.mark.parametrize("folder", [None, "/var/lib/node_exporter/textfile_collector"])
def test_a_check_leaves_its_results_to_the_exporter_of_its_node(folder):
    plan = asked(textfile=folder) if folder else asked()
    pods = [
        o["spec"]["template"]["spec"]
        for o in [*validation_objects(plan), *gate_objects(plan)]
        if o["kind"] in {"Job", "DaemonSet"}
    ]
    assert len(pods) == 4
    for spec in pods:
        (container,) = spec["containers"]
        given = "--prometheus" in container["args"]
        paths = [v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v]
        assert (given, paths) == (bool(folder), [folder] if folder else [])
        assert container["securityContext"].get("runAsUser") == (0 if folder else None)
        if folder:
            at = container["args"].index("--prometheus")
            assert container["args"][at + 1] == "/textfile/gpu_validation.prom"
            assert {"name": "textfile", "mountPath": "/textfile"} in container["volumeMounts"]
