"""A team's own priority: who writes it into jobs, and where not."""

from gpuyard.render.platform import platform_objects
from kit.cases.explain import job, said
from kit.stacks import plan_of, platform, team

NAMED = {"production": 1000, "research": 10}


def made(kubernetes="1.36", **rest):
    mine = team(guarantee={"train": 8}, **rest)
    plan = plan_of(platform(teams=[mine], priorities=NAMED, kubernetes=kubernetes))
    return plan, platform_objects(plan)


def of(objects, kind):
    other = "gpuyard-lab-workload-classes"
    return [o for o in objects if o["kind"] == kind and o["metadata"]["name"] != other]


def label(objects):
    namespace = next(o for o in of(objects, "Namespace") if o["metadata"]["name"] == "vision")
    return namespace["metadata"]["labels"].get("gpuyard.dev/priority")


def test_one_policy_serves_all_teams_by_what_their_namespace_says():
    _, objects = made(priority="production")
    (policy,), (binding,) = (
        of(objects, f"MutatingAdmissionPolicy{suffix}") for suffix in ("", "Binding")
    )
    assert policy["metadata"]["name"] == binding["metadata"]["name"] == "gpuyard-lab-priority"
    assert binding["spec"] == {
        "policyName": "gpuyard-lab-priority",
        "matchResources": {
            "namespaceSelector": {
                "matchLabels": {"gpuyard.dev/platform": "lab"},
                "matchExpressions": [{"key": "gpuyard.dev/priority", "operator": "Exists"}],
            }
        },
    }
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert label(objects) == "production"


def test_there_is_none_where_no_team_has_a_priority():
    _, objects = made()
    assert not of(objects, "MutatingAdmissionPolicy")
    assert label(objects) is None


def test_an_older_kubernetes_has_no_such_policy():
    _, objects = made("1.35", priority="production")
    assert not of(objects, "MutatingAdmissionPolicy")
    assert label(objects) == "production"


def test_explain_knows_who_gets_it():
    plan, _ = made(priority="production")
    old, _ = made("1.35", priority="production")
    assert said(plan, job()).cautions == ()
    assert "has priority 0" in str(said(old, job()).cautions)
    assert said(plan, job(priorityClassName="elsewhere")).cautions == ()
    assert "elsewhere is not part of this platform" in str(
        said(old, job(priorityClassName="elsewhere")).cautions
    )
