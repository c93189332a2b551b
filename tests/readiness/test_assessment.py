"""How answers come about: plan, cluster, silence; what they add up to; and whatever a cluster says."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import proofs
from gpuyard_advisor.readiness.assessment import (
    LIVE,
    PLANNED,
    Readiness,
    assess_readiness,
    run_checks,
)
from gpuyard_advisor.readiness.checks import readiness_checks
from gpuyard_advisor.readiness.evidence import (
    CheckStatus,
    Observation,
    combine,
    failing,
    format_some,
    not_applicable,
    observe,
    passing,
    reasons,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    LISTED_KINDS,
    ClusterObjects,
    NotRead,
    Subject,
    at,
    label,
    listed,
)
from gpuyard_advisor.readiness.monitoring import _seconds
from kit.cases.readiness import answers, asked, base, healthy, subject
from kit.every import every


@pytest.fixture(scope="module")
def ready():
    return subject()


def dead(why: str = "the cluster did not respond: dial tcp: i/o timeout") -> ClusterObjects:
    return ClusterObjects(objects={}, unreadable=dict.fromkeys(LISTED_KINDS, why))


# ── silence ───────────────────────────────────────────────────────────────────────────────────────
def test_a_dead_cluster_leaves_open_whatever_it_was_asked(ready):
    found = run_checks(ready, dead())
    planned = answers(run_checks(ready))
    for name in LIVE:
        answer = found.of(name)
        if planned[name] == "FAIL":
            assert answer.source == "plan", name
        else:
            assert answer.status is CheckStatus.NOT_RUN, name
            assert "i/o timeout" in answer.reasons, name


def test_a_plan_that_fails_needs_no_cluster(ready):
    found = asked({"with": {"targets": None}}, live=True)
    assert found.of("CST-01").source == "plan"
    assert found.of("CST-01").status is CheckStatus.FAIL


def test_a_cluster_that_shows_nothing_of_it_leaves_the_plans_answer(ready):
    found = asked({"with": {"pools": {1: {"nodes": "0..2", "scaling": "autoscaler"}}}}, live=True)
    assert (found.of("AUT-02").status, found.of("AUT-02").source) == (CheckStatus.PASS, "plan")


def test_a_forbidden_list_takes_nothing_from_the_others(ready):
    kinds = healthy()
    seen = ClusterObjects(objects=kinds, unreadable={"ClusterQueue": "clusterqueues is forbidden"})
    found = answers(run_checks(ready, seen))
    whole = answers(run_checks(ready, ClusterObjects(objects=kinds)))
    changed = {name for name, word in found.items() if word != whole[name]}
    assert changed == {"SCH-01", "SCH-02"}


def test_what_could_not_be_read_is_said_with_its_list_and_why():
    unreadable = {"Node": "no", "Target": "gone"}
    seen = ClusterObjects(objects={}, unreadable=unreadable, absent=frozenset({"Pipeline"}))
    with pytest.raises(NotRead, match="targets could not be read: gone"):
        seen.all("Target")
    with pytest.raises(NotRead, match="nodes could not be read: no"):
        seen.all("Node")
    assert seen.all("Pod") == ()
    assert seen.has("Application")
    assert not seen.has("Pipeline")


def test_a_stack_with_no_nodes_of_a_pool_says_so(ready):
    kinds = dict(healthy())
    kinds["Node"] = [n for n in kinds["Node"] if not n["metadata"]["name"].startswith("burst")]
    found = run_checks(ready, ClusterObjects(objects=kinds))
    assert found.of("TST-02").reasons == "pool burst: it has no running node"
    assert found.of("TST-02").status is CheckStatus.NOT_RUN


# ── what evidence adds up to ──────────────────────────────────────────────────────────────────────
@every(
    ("seen", "ready"),
    [
        ([], CheckStatus.NOT_RUN),
        ([passing("a", 1)], CheckStatus.PASS),
        ([passing("a", 1), unknown("who knows")], CheckStatus.NOT_RUN),
        ([passing("a", 1), failing("b", 2, "wrong")], CheckStatus.FAIL),
        ([unknown("who knows"), failing("b", 2, "wrong")], CheckStatus.FAIL),
        ([not_applicable("not here")], CheckStatus.NOT_RUN),
    ],
)
def test_one_bad_thing_fails_and_one_unknown_leaves_it_open(seen, ready):
    assert combine(each.status for each in seen) is ready


def test_evidence_is_bad_exactly_where_there_is_a_reason():
    assert observe("a", 1, "") == Observation(CheckStatus.PASS, "a", "1")
    assert observe("a", 1, "wrong") == Observation(CheckStatus.FAIL, "a", "1", "wrong")
    assert not not_applicable("not here").applies


@every(
    ("seen", "said"),
    [
        ([failing("a", 1, "wrong")], ["a: wrong"]),
        ([failing("a", 1, "wrong"), failing("b", 1, "wrong")], ["a, b: wrong"]),
        ([failing(x, 1, "wrong") for x in "abcde"], ["a, b, c and 2 more: wrong"]),
        ([failing("a", 1, "wrong"), failing("b", 1, "worse")], ["a: wrong", "b: worse"]),
        ([passing("a", 1), unknown("who knows")], []),
        ([failing("", 1, "wrong")], ["wrong"]),
    ],
)
def test_a_reason_is_said_once_with_the_places_that_it_holds_for(seen, said):
    found = [each.diagnostic("INF-01") for each in seen]
    assert list(reasons(found, CheckStatus.FAIL)) == said


def test_some_names_the_first_three():
    assert format_some(["a"]) == "a"
    assert format_some(list("abc")) == "a, b, c"
    assert format_some(list("abcd")) == "a, b, c and 1 more"


# ── the score ─────────────────────────────────────────────────────────────────────────────────────
def test_the_score_counts_what_passed_of_what_applies():
    found = asked({})
    words = list(answers(found).values())
    assert found.applying == len(words) == 61
    assert found.score == 100 * words.count("PASS") // 61
    assert sum(found.counts.values()) == found.applying


def test_what_does_not_apply_is_in_no_count():
    found = asked({"base": "simulated"})
    words = list(answers(found).values())
    assert found.applying == 61 - words.count("n/a")
    assert found.counts[CheckStatus.NOT_RUN] == words.count("NOT RUN")
    assert found.score == 100 * words.count("PASS") // found.applying


def test_a_list_of_which_nothing_applies_has_no_score():
    assert Readiness(()).score == 0


def test_a_score_is_rounded_down_so_that_99_is_never_100():
    one = asked({}).of("INF-01")
    failed = dataclasses.replace(one, status=CheckStatus.FAIL)
    assert Readiness((*[one] * 199, failed)).score == 99


# ── conformance ───────────────────────────────────────────────────────────────────────────────────
def test_a_requirement_is_as_good_as_the_worst_of_its_checks():
    found = {each.id: ready for each, ready in asked({}, live=True).conformance()}
    assert found["accelerator_metrics"] is CheckStatus.PASS
    assert found["secure_accelerator_access"] is CheckStatus.PASS
    assert found["driver_runtime_management"] is CheckStatus.PASS
    assert found["gang_scheduling"] is CheckStatus.NOT_RUN, "no training job is seen from here"
    assert found["ai_inference"] is CheckStatus.NOT_RUN, "nothing here looks at it"
    case = {"cluster": {"ServiceMonitor": {"nvidia-dcgm-exporter": None}}}
    found = {each.id: ready for each, ready in asked(case, live=True).conformance()}
    assert found["accelerator_metrics"] is CheckStatus.FAIL


def test_a_check_that_does_not_apply_is_evidence_of_nothing():
    found = {each.id: ready for each, ready in asked({"base": "simulated"}).conformance()}
    assert found["driver_runtime_management"] is CheckStatus.NOT_RUN


# ── whatever a cluster says ───────────────────────────────────────────────────────────────────────
_leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
_keys = st.sampled_from(
    [
        *("metadata", "name", "namespace", "labels", "spec", "status", "conditions", "type"),
        *("reason", "message", "rules", "groups", "endpoints", "interval", "alert", "expr"),
        *("containers", "env", "volumes", "hostPath", "path", "taints", "resourceGroups"),
        *("flavors", "resources", "nominalQuota", "receivers", "metrics", "triggers", "value"),
        *("ruleSelector", "matchLabels", "matchExpressions", "operator", "key", "values", "data"),
        *("bindings", "managedFields", "involvedObject", "uid", "shards", "namespaceSelector"),
    ]
)
_trees = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)
_objects = st.dictionaries(_keys, _trees, max_size=5)


@given(st.dictionaries(st.sampled_from(sorted(LISTED_KINDS)), st.lists(_objects, max_size=2)))
def test_no_object_of_a_cluster_ends_in_a_traceback(kinds):
    answered = run_checks(subject(), ClusterObjects(objects=kinds))
    assert [a.check.id for a in answered.answers] == [c.id for c in readiness_checks()]


@given(_objects, st.sampled_from(sorted(healthy())), st.sampled_from(["ready", "observed"]))
def test_no_change_of_a_healthy_cluster_does_either(patch, kind, name):
    kinds = healthy(name) | {kind: [proofs.patched(each, patch) for each in healthy(name)[kind]]}
    answered = run_checks(subject(name), ClusterObjects(objects=kinds))
    assert {a.check.id for a in answered.answers} >= set(PLANNED)


@every(
    ("value", "path", "found"),
    [
        ({"a": {"b": 1}}, ("a", "b"), 1),
        ({"a": 1}, ("a", "b"), None),
        ({}, ("a",), None),
        (None, ("a",), None),
        ([1], ("a",), None),
    ],
)
def test_what_stands_in_an_object_is_found_whatever_else_is_there(value, path, found):
    assert at(value, *path) == found


def test_lists_and_labels_are_what_they_must_be_or_nothing():
    assert listed({"a": [1]}, "a") == [1]
    assert listed({"a": {"b": 1}}, "a") == []
    assert label({"metadata": {"labels": {"a": "x", "b": 1}}}, "a") == "x"
    assert label({"metadata": {"labels": {"a": "x", "b": 1}}}, "b") == ""


@every(
    ("text", "seconds"),
    [("15s", 15), ("1m", 60), ("1m30s", 90), ("1h", 3600), ("", None), (None, None), ("x", None)],
)
def test_a_duration_is_read_as_prometheus_has_it(text, seconds):
    assert _seconds(text) == seconds


# ── fronts of their own ───────────────────────────────────────────────────────────────────────────
def test_a_subject_renders_once_and_says_which_pools_are_wide(ready):
    assert ready.rendered is ready.rendered
    assert [pool.name for pool in ready.wide_pools] == ["train"]
    assert [space for _, space in ready.team_spaces] == ["vision", "speech"]
    assert ready.graph is not None
    assert subject("own").graph is None


def test_a_note_of_the_proofs_fails_nothing(ready):
    notes = {f.id for f in ready.findings if f.severity.value == "info"}
    assert notes
    assert list(Subject(ready.plan, ready.findings).found(*notes)) == []


def test_asking_twice_gives_the_same_answers(ready):
    assert run_checks(ready) == run_checks(ready)
    assert assess_readiness(ready.plan, ready.findings) == run_checks(ready)
    assert base() is base()
