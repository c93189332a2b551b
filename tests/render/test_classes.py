"""The policy of workload classes: where it exists, and what it reaches."""

from gpuyard.render.admission.classes import class_objects
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.priority_and_termination import check_guaranteed_qos
from gpuyard_core.names import CLASS_LABEL, CLASS_OF_POD
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from kit.stacks import plan_of, platform, team


def made(kubernetes="1.36", teams=True, **admission):
    mine = [team(guarantee={"train": 8})] if teams else []
    more = {"admission": admission} if admission else {}
    return class_objects(plan_of(platform(teams=mine, kubernetes=kubernetes, **more)))


def test_the_policy_reaches_the_namespaces_of_teams_and_rejects_nothing():
    policy, binding = made()
    assert policy["metadata"]["name"] == "gpuyard-lab-workload-classes"
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert binding["spec"] == {
        "policyName": "gpuyard-lab-workload-classes",
        "matchResources": {
            "namespaceSelector": {
                "matchLabels": {"gpuyard.dev/platform": "lab"},
                "matchExpressions": [{"key": "gpuyard.dev/team", "operator": "Exists"}],
            }
        },
    }
    rules = {
        f"{rule['apiGroups'][0]}/{resource}"
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for resource in rule["resources"]
    }
    assert {"/pods", "batch/jobs", "batch.volcano.sh/jobs", "jobset.x-k8s.io/jobsets"} <= rules
    assert not rules & {"apps/daemonsets", "workload.codeflare.dev/appwrappers"}


def test_it_is_there_by_default_where_the_api_server_has_such_policies():
    assert made(set_classes=True)
    assert made("1.35", set_classes=True) == made("1.35") == []
    assert made(set_classes=False) == []
    assert made(teams=False) == []


def test_the_requirement_of_training_skips_pods_whose_class_was_inferred_from_the_pod():
    def problems(annotations):
        metadata = {
            "name": "x",
            "labels": {CLASS_LABEL: "training"},
            "annotations": annotations,
        }
        pod = {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
        value = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}
        return list(check_guaranteed_qos(workload(resource(value)), TeamParameters()))

    assert len(problems({})) == 2
    assert problems({CLASS_OF_POD: "true"}) == []
