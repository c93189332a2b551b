"""What looks like a fault and is none, and what looks sound and is not: the edges of each rule."""

import pytest

from gpuyard.rules import RULES
from gpuyard.rules.rule import UNKNOWN, NotEvaluatedError, Resource, group_kind, items, mapping

SELECTED = {"matchLabels": {"gpuyard.dev/team": "vision"}}
BY_ID = {rule.id: rule for rule in RULES}


def found(rule_id, kind, properties):
    return list(BY_ID[rule_id].check(Resource(kind, "r", properties), {}))


def quota(hard):
    return found("GPU-TEN-02", "v1/ResourceQuota", {"spec": {"hard": hard}})


def queue(kind="kueue.x-k8s.io/v1beta2/ClusterQueue", **spec):
    spec = {"namespaceSelector": SELECTED, **spec}
    return found("GPU-TEN-04", kind, {"spec": spec})


def groups(*resources):
    return [{"flavors": [{"name": "train", "resources": list(resources)}]}]


# ── GPU-TEN-02 ──


@pytest.mark.parametrize(
    "key",
    [
        "requests.nvidia.com/gpu.shared",
        "requests.amd.com/gpu",
        "nvidia.com.example.org/gpu",
        "xnvidia.com/gpu",
        "limits.memory",
        "count/gpus.nvidia.com",
        "requests.limits.nvidia.com/gpu",
        "NVIDIA.COM/gpu",
        "pods",
    ],
)
def test_a_key_that_only_resembles_an_inert_one_is_fine(key):
    assert quota({key: "8"}) == []


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("nvidia.com/gpu", "write requests.nvidia.com/gpu"),
        ("limits.nvidia.com/gpu", "write requests.nvidia.com/gpu"),
        ("nvidia.com/gpu.shared", "write requests.nvidia.com/gpu.shared"),
        ("limits.nvidia.com/mig-1g.5gb.me", "write requests.nvidia.com/mig-1g.5gb.me"),
    ],
)
def test_the_fix_is_a_key_that_the_rule_accepts(key, fix):
    (violation,) = quota({key: "8"})
    assert violation.fix == fix
    assert f"`{key}` never binds" in violation.problem
    assert quota({fix.removeprefix("write "): "8"}) == []


def test_a_binding_key_beside_an_inert_one_does_not_excuse_it():
    hard = {"requests.nvidia.com/gpu": "8", "limits.nvidia.com/gpu": "8", "nvidia.com/gpu": "8"}
    assert [v.path[-1] for v in quota(hard)] == ["limits.nvidia.com/gpu", "nvidia.com/gpu"]


@pytest.mark.parametrize("amount", ["0", 0, None, UNKNOWN])
def test_an_inert_key_is_inert_whatever_its_amount(amount):
    assert len(quota({"nvidia.com/gpu": amount})) == 1


@pytest.mark.parametrize("properties", [{}, {"spec": []}, {"spec": {"hard": None}}, {"spec": "x"}])
def test_a_quota_of_another_form_has_no_key_at_fault(properties):
    assert found("GPU-TEN-02", "v1/ResourceQuota", properties) == []


@pytest.mark.parametrize("properties", [{"spec": UNKNOWN}, {"spec": {"hard": UNKNOWN}}])
def test_a_quota_that_is_not_known_yet_gets_no_verdict(properties):
    with pytest.raises(NotEvaluatedError):
        found("GPU-TEN-02", "v1/ResourceQuota", properties)


# ── GPU-TEN-04 ──


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"a": "b"}},
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    ],
)
def test_any_selector_that_selects_is_fine(selector):
    assert queue(namespaceSelector=selector) == []


@pytest.mark.parametrize(
    ("selector", "says"),
    [
        (None, "no namespace may submit"),
        ({}, "lets every namespace use this quota"),
        ("team", "lets every namespace use this quota"),
    ],
)
def test_no_selector_admits_nobody_and_an_empty_one_everybody(selector, says):
    (violation,) = queue(namespaceSelector=selector)
    assert violation.path == ("spec", "namespaceSelector")
    assert says in violation.problem


@pytest.mark.parametrize("limit", ["0", 0, "8", 8])
def test_a_limit_is_a_limit_also_when_it_is_nothing(limit):
    made = groups({"name": "nvidia.com/gpu", "borrowingLimit": limit})
    assert queue(cohortName="c", resourceGroups=made) == []


@pytest.mark.parametrize("cohort", [{}, {"cohortName": None}, {"cohortName": ""}])
def test_outside_a_cohort_there_is_nobody_to_borrow_from(cohort):
    assert queue(resourceGroups=groups({"name": "nvidia.com/gpu"}), **cohort) == []


def test_each_resource_without_a_limit_is_told_by_its_place():
    limited, free = {"name": "a", "borrowingLimit": "1"}, {"name": "b"}
    made = [
        {"flavors": [{"resources": [limited, free]}, {"resources": [limited]}]},
        {"flavors": [{"resources": []}, {"resources": [free, {"borrowingLimit": None}]}]},
    ]
    places = [
        tuple(step for step in v.path if isinstance(step, int))
        for v in queue(cohortName="c", resourceGroups=made)
    ]
    assert places == [(0, 0, 1), (1, 1, 0), (1, 1, 1)]


@pytest.mark.parametrize(
    "made", [None, [], "x", [None], [{"flavors": None}], [{"flavors": [{"resources": "x"}]}]]
)
def test_groups_of_another_form_have_nothing_to_limit(made):
    assert queue(cohortName="c", resourceGroups=made) == []


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1beta20"])
def test_another_version_is_deprecated_and_judged_all_the_same(version):
    kind = f"kueue.x-k8s.io/{version}/ClusterQueue"
    violations = queue(kind, namespaceSelector=None)
    assert [v.path for v in violations] == [("apiVersion",), ("spec", "namespaceSelector")]
    assert violations[0].fix == "write kueue.x-k8s.io/v1beta2"


def test_all_faults_of_one_queue_are_told_at_once():
    violations = queue(
        namespaceSelector={}, cohortName="c", resourceGroups=groups({"name": "x"}, {"name": "y"})
    )
    assert len(violations) == 3


@pytest.mark.parametrize(
    "spec",
    [
        {"cohortName": UNKNOWN},
        {"cohortName": "c", "resourceGroups": UNKNOWN},
        {"cohortName": "c", "resourceGroups": [{"flavors": UNKNOWN}]},
        {"cohortName": "c", "resourceGroups": [UNKNOWN]},
    ],
)
def test_an_unknown_part_is_no_pass(spec):
    with pytest.raises(NotEvaluatedError):
        queue(**spec)


def test_an_unknown_group_outside_a_cohort_concerns_nobody():
    assert queue(resourceGroups=UNKNOWN) == []


# ── every rule ──


@pytest.mark.parametrize(
    ("kind", "looked_at"),
    [
        ("v1/ResourceQuota", ["GPU-TEN-02"]),
        ("v2/ResourceQuota", ["GPU-TEN-02"]),
        ("example.org/v1/ResourceQuota", []),
        ("kueue.x-k8s.io/v1beta1/ClusterQueue", ["GPU-TEN-04"]),
        ("kueue.x-k8s.io/v1beta2/LocalQueue", []),
        ("example.org/v1/ClusterQueue", []),
        ("v1/ClusterQueue", []),
        ("v1/resourcequota", []),
    ],
)
def test_a_kind_is_looked_at_by_group_and_name_never_by_name_alone(kind, looked_at):
    found = [r.id for r in RULES if r.looks_at(Resource(kind, "r", {}))]
    assert [rule_id for rule_id in found if rule_id in {"GPU-TEN-02", "GPU-TEN-04"}] == looked_at


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_the_kinds_of_a_rule_have_no_version(rule):
    with_one = [kind if ":" in kind else kind.replace("/", "/v9/", 1) for kind in rule.kinds]
    assert [group_kind(kind) for kind in with_one] == list(rule.kinds)


@pytest.mark.parametrize("value", [None, "text", 7, (), [], frozenset("a")])
def test_what_is_no_mapping_is_an_empty_one(value):
    assert mapping(value) == {}


@pytest.mark.parametrize(("value", "listed"), [((1, 2), [1, 2]), ([1], [1]), ("ab", []), ({}, [])])
def test_what_is_no_list_is_an_empty_one(value, listed):
    assert items(value) == listed


@pytest.mark.parametrize("read", [mapping, items])
def test_an_unknown_value_is_never_taken_for_an_empty_one(read):
    with pytest.raises(NotEvaluatedError):
        read(UNKNOWN)
