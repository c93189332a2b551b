"""Values of odd forms, and unknown ones: what the cases of a rule, being files, cannot hold."""

import pytest

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.fields import items, mapping
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, NotEvaluatedError, Resource, group_kind
from gpuyard_lint.rules.run import evaluate
from kit.every import every

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


@pytest.mark.parametrize("cohort", [{}, {"cohortName": None}, {"cohortName": ""}])
def test_outside_a_cohort_there_is_nobody_to_borrow_from(cohort):
    assert queue(resourceGroups=groups({"name": "nvidia.com/gpu"}), **cohort) == []


@pytest.mark.parametrize(
    "made", [None, [], "x", [None], [{"flavors": None}], [{"flavors": [{"resources": "x"}]}]]
)
def test_groups_of_another_form_have_nothing_to_limit(made):
    assert queue(cohortName="c", resourceGroups=made) == []


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
    found = [r.id for r in RULES if r.applies_to(Resource(kind, "r", {}))]
    assert [rule_id for rule_id in found if rule_id in {"GPU-TEN-02", "GPU-TEN-04"}] == looked_at


@every("rule", RULES, ids=lambda r: r.id)
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


def test_tags_that_are_not_known_leave_a_firewall_unsure():
    allows = [{"protocol": "tcp", "ports": ["22"]}]
    given = {"sourceRanges": ["0.0.0.0/0"], "targetTags": ["ssh"], "allows": allows}
    firewall = Resource("gcp:compute/Firewall", "f", given)
    pool = Resource("gcp:container/NodePool", "p", {"nodeConfig": {"tags": [UNKNOWN]}})
    (said,) = evaluate([firewall, pool], [BY_ID["GPU-NET-01"]])
    assert (said.diagnostic.severity, said.is_advisory) == (Severity.WARNING, False)
