"""The policy, its binding and what stands on namespaces; and that every requirement is there three times."""

import re

import pytest
import yaml

from gpuyard.render.admission import cel
from gpuyard.render.admission.objects import admission_objects, variable_of
from gpuyard.render.platform import object_groups
from gpuyard.render.teams import team_objects
from gpuyard_core.admission.requirement import Requirement, ViolationTemplate
from gpuyard_core.admission.requirements import BELONGINGS, REQUIREMENTS
from gpuyard_core.manifests.queued import OPTIONAL
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.adm import ADMISSION_KINDS
from kit.stacks import plan_of, platform, pool, team


def two_teams(**more):
    teams = [team("vision", guarantee={"train": 8}), team("speech", guarantee={"vip": 8})]
    pools = [pool(), pool("vip", owners=["speech"])]
    return plan_of(platform(pools, teams, **more))


def objects(plan):
    return {(o["kind"], o["metadata"]["name"]): o for o in admission_objects(plan)}


def test_there_is_a_policy_of_pods_of_the_rest_and_of_what_goes_grows_and_is_admitted_with_a_binding_each():
    found = objects(two_teams(admission={"set_classes": False}))
    assert list(found) == [
        ("ValidatingAdmissionPolicy", "gpuyard-lab"),
        ("ValidatingAdmissionPolicyBinding", "gpuyard-lab"),
        ("ValidatingAdmissionPolicy", "gpuyard-lab-belongings"),
        ("ValidatingAdmissionPolicyBinding", "gpuyard-lab-belongings"),
        ("ValidatingAdmissionPolicy", "gpuyard-lab-departures"),
        ("ValidatingAdmissionPolicyBinding", "gpuyard-lab-departures"),
        ("ValidatingAdmissionPolicy", "gpuyard-lab-growth"),
        ("ValidatingAdmissionPolicyBinding", "gpuyard-lab-growth"),
        ("ValidatingAdmissionPolicy", "gpuyard-lab-reservations"),
        ("ValidatingAdmissionPolicyBinding", "gpuyard-lab-reservations"),
    ]


def test_nobody_is_held_to_anything_without_teams():
    plan = plan_of(platform([pool()]))
    assert admission_objects(plan) == []
    assert "admission" not in dict(object_groups(plan))


def test_what_a_team_is_held_to_stands_on_its_namespace():
    plan = two_teams(admission={"allowed_images": ["nvcr.io"]}, priorities={"low": 1, "high": 2})
    vision, speech = (
        team_objects(plan, one)[0]["metadata"]["annotations"]
        for one in (plan.team("vision"), plan.team("speech"))
    )
    assert vision == {
        "admission.gpuyard.dev/accounts": "",
        "admission.gpuyard.dev/csi-drivers": "secrets-store.csi.k8s.io\ngcsfuse.csi.storage.gke.io",
        "admission.gpuyard.dev/guaranteed": "true",
        "admission.gpuyard.dev/images-from": "nvcr.io",
        "admission.gpuyard.dev/priorities": "high\nlow",
        "admission.gpuyard.dev/priority-classes": "",
        "admission.gpuyard.dev/queues": "default",
        "admission.gpuyard.dev/taints": "gpuyard.dev/pool=vip:NoSchedule",
        "gpuyard.dev/protect": "true",
    }
    assert speech["admission.gpuyard.dev/taints"] == ""


def test_no_parameters_that_an_api_server_may_stop_following():
    # When the last policy with parameters of a built-in kind goes, the API server never looks at one again.
    found = {
        each["metadata"]["name"]: (each["spec"].get("paramKind"), each["spec"].get("paramRef"))
        for each in admission_objects(two_teams())
        if {"paramKind", "paramRef"} & set(each["spec"])
    }
    every = {"selector": {}, "parameterNotFoundAction": "Allow"}
    assert found == {"gpuyard-lab-growth": (None, every)}
    spec = objects(two_teams())["ValidatingAdmissionPolicy", "gpuyard-lab-growth"]["spec"]
    assert spec["paramKind"] == {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}


def test_what_grows_or_counts_others_is_held_to_workloads_of_kueue():
    spec = objects(two_teams())["ValidatingAdmissionPolicy", "gpuyard-lab-growth"]["spec"]
    assert spec["failurePolicy"] == "Fail"
    assert spec["matchConstraints"]["resourceRules"] == [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["pods"],
        },
        {
            "apiGroups": ["apps"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["statefulsets/scale"],
        },
        {
            "apiGroups": ["resource.k8s.io"],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["resourceclaimtemplates"],
        },
    ]
    (condition,) = spec["matchConditions"]
    assert "oldObject.?spec.?schedulingGates" in condition["expression"]
    said = spec["variables"][-1]["expression"]
    assert said.count("GPU-ADM-01: ") == 7


def test_what_kueue_admits_is_looked_at_where_it_writes_it():
    name = "gpuyard-lab-reservations"
    spec = objects(two_teams())["ValidatingAdmissionPolicy", name]["spec"]
    assert spec["matchConstraints"]["resourceRules"] == [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["pods"],
        },
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["workloads/status"],
        },
    ]
    (condition,) = spec["matchConditions"]
    for value in ("object", "oldObject"):
        assert f"{value}.?spec.?schedulingGates" in condition["expression"]
    assert "paramKind" not in spec
    assert spec["variables"][-1]["expression"].count("GPU-ADM-01: ") == 4


NAMES = [
    "gpuyard-lab",
    *(f"gpuyard-lab-{which}" for which in ("belongings", "departures", "growth", "reservations")),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_binding_reaches_the_teams_alone(name):
    spec = objects(two_teams())["ValidatingAdmissionPolicyBinding", name]["spec"]
    assert {key: value for key, value in spec.items() if key != "paramRef"} == {
        "policyName": name,
        "matchResources": {
            "namespaceSelector": {
                "matchLabels": {"gpuyard.dev/platform": "lab"},
                "matchExpressions": [{"key": "gpuyard.dev/team", "operator": "Exists"}],
            }
        },
        "validationActions": ["Deny"],
    }


@pytest.mark.parametrize(
    ("enforce", "actions"),
    [("deny", ["Deny"]), ("warn", ["Warn", "Audit"]), ("audit", ["Audit"])],
)
def test_what_becomes_of_a_slip_is_the_platforms_choice(enforce, actions):
    found = objects(two_teams(admission={"enforce": enforce}))
    for name in NAMES:
        spec = found["ValidatingAdmissionPolicyBinding", name]["spec"]
        assert spec["validationActions"] == actions


def test_the_policy_looks_at_namespaces_of_teams_alone_and_fails_closed():
    spec = objects(two_teams())["ValidatingAdmissionPolicy", "gpuyard-lab"]["spec"]
    assert spec["failurePolicy"] == "Fail"
    assert spec["matchConstraints"]["namespaceSelector"] == {
        "matchLabels": {"gpuyard.dev/platform": "lab"},
        "matchExpressions": [{"key": "gpuyard.dev/team", "operator": "Exists"}],
    }
    looked_at = {
        (group, resource)
        for rule in spec["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    plurals = {
        (group if slash else "", f"{kind if slash else group}s".lower())
        for group, slash, kind in (each.partition("/") for each in ADMISSION_KINDS)
    }
    optional = {("kubeflow.org", f"{name}s") for name in OPTIONAL}
    assert looked_at == plurals - optional | {("", "pods/ephemeralcontainers")}


def test_the_policies_look_at_the_kinds_that_the_platform_integrates():
    plan = plan_of(
        platform(teams=[team(guarantee={"train": 8})], queueing={"integrations": ["pytorchjob"]})
    )
    found = objects(plan)
    for name in ("gpuyard-lab", "gpuyard-lab-departures"):
        rules = found["ValidatingAdmissionPolicy", name]["spec"]["matchConstraints"][
            "resourceRules"
        ]
        kubeflow = [rule["resources"] for rule in rules if rule["apiGroups"] == ["kubeflow.org"]]
        assert kubeflow == [["mpijobs"], ["pytorchjobs"]]


def test_the_rest_is_looked_at_in_namespaces_of_teams_alone_and_fails_closed():
    spec = objects(two_teams())["ValidatingAdmissionPolicy", "gpuyard-lab-belongings"]["spec"]
    assert spec["failurePolicy"] == "Fail"
    constraints = spec["matchConstraints"]
    assert constraints["namespaceSelector"]["matchLabels"] == {"gpuyard.dev/platform": "lab"}
    assert [rule["resources"] for rule in constraints["resourceRules"]] == [
        ["persistentvolumeclaims", "pods/eviction", "secrets", "services"],
        ["statefulsets"],
    ]
    said = spec["variables"][-1]["expression"]
    assert said.count(f"{BELONGINGS.id}: ") == 4


def test_what_goes_is_looked_at_where_queues_count_the_whole():
    spec = objects(two_teams())["ValidatingAdmissionPolicy", "gpuyard-lab-departures"]["spec"]
    assert spec["failurePolicy"] == "Fail"
    rules = spec["matchConstraints"]["resourceRules"]
    assert {tuple(rule["operations"]) for rule in rules} == {("DELETE",)}
    found = [f"{rule['apiGroups'][0]}/{rule['resources'][0]}" for rule in rules]
    assert found[:3] == ["/pods", "apps/statefulsets", "batch/jobs"]
    assert {"jobset.x-k8s.io/jobsets", "ray.io/rayclusters"} < set(found)


def test_every_requirement_is_a_rule_a_twin_and_said_by_the_policy():
    ids = [requirement.id for requirement in REQUIREMENTS]
    titles = {rule.id: rule.title for rule in RULES}
    assert {r.id: titles[r.id] for r in REQUIREMENTS} == {r.id: r.title for r in REQUIREMENTS}
    assert titles[BELONGINGS.id] == BELONGINGS.title
    assert {r.id for r in RULES if r.id.startswith("GPU-ADM-")} <= {*ids, BELONGINGS.id}
    spec = objects(two_teams())["ValidatingAdmissionPolicy", "gpuyard-lab"]["spec"]
    variables = {each["name"]: each["expression"] for each in spec["variables"]}
    for requirement in REQUIREMENTS:
        name = variable_of(requirement)
        assert f'"{requirement.id}: ' in variables[name]
        assert f"variables.{name} +" in f"{variables['said']} +".replace(")", " +")


def test_a_variable_uses_only_those_before_it():
    for name in NAMES:
        seen = set()
        for each in objects(two_teams())["ValidatingAdmissionPolicy", name]["spec"]["variables"]:
            assert set(re.findall(r"variables\.(\w+)", each["expression"])) <= seen
            seen.add(each["name"])


@pytest.mark.repeats("the others of this file")
def test_the_policy_is_text_that_comes_back_from_a_file():
    (policy, *_) = admission_objects(two_teams())
    assert yaml.safe_load(yaml.safe_dump(policy)) == policy


def test_a_sentence_is_the_sum_of_its_parts():
    requirement = Requirement("GPU-X-01", "A title", lambda *_: iter(()))
    sentence = ViolationTemplate('{a} is "not" {b}', "write {a}")
    assert cel.message_expression(requirement, sentence, a="x.y", b="z") == (
        r'"GPU-X-01: " + x.y + " is \"not\" " + z + "; write " + x.y'
    )
