"""The list itself: sixty-one checks with ids that stay, and the requirements of the CNCF's programme."""

from collections import Counter

from gpuyard_advisor.readiness.assessment import LIVE, PLANNED
from gpuyard_advisor.readiness.checks import ai_requirements, ai_source, readiness_checks
from gpuyard_advisor.readiness.inputs import LISTED_KINDS

COUNTS = {
    "infrastructure": ("INF", 9),
    "scheduling": ("SCH", 8),
    "autoscaling": ("AUT", 7),
    "monitoring": ("MON", 6),
    "security": ("SEC", 9),
    "storage": ("STO", 4),
    "mlops": ("MLO", 5),
    "cost": ("CST", 6),
    "testing": ("TST", 7),
}
MUST = (
    *("ai_inference", "gang_scheduling", "cluster_autoscaling", "pod_autoscaling"),
    *("accelerator_metrics", "ai_service_metrics", "secure_accelerator_access"),
    "robust_controller",
)
SHOULD = (
    *("driver_runtime_management", "gpu_sharing", "virtualized_accelerator"),
    *("advanced_inference_ingress", "high_performance_networking", "disaggregated_inference"),
)
"""As docs/AIConformance-1.36.yaml of cncf/k8s-ai-conformance has them."""


def test_there_are_sixty_one_numbered_through_in_each_category():
    expected = [f"{short}-{n:02d}" for short, most in COUNTS.values() for n in range(1, most + 1)]
    assert [check.id for check in readiness_checks()] == expected
    assert len(expected) == 61
    found = Counter(check.category for check in readiness_checks())
    assert found == {name: most for name, (_, most) in COUNTS.items()}


def test_each_says_what_must_be_true_and_how_to_see_it_by_hand():
    titles = [check.title for check in readiness_checks()]
    assert len(set(titles)) == len(titles)
    for check in readiness_checks():
        assert check.title, check.id
        assert len(check.by_hand) > 15, check.id
        assert not check.title.endswith("."), check.id


def test_who_can_answer_is_who_does():
    for check in readiness_checks():
        letters = check.source.split()
        assert set(letters) <= {"P", "L", "R"}, check.id
        assert ("L" in letters) == (check.id in LIVE), check.id
        if "P" in letters:
            assert check.id in PLANNED, check.id


def test_what_a_run_alone_can_tell_says_which():
    for check in readiness_checks():
        if check.source == "R":
            assert check.run, check.id
            assert check.id not in LIVE, check.id


def test_the_programme_asks_for_eight_and_recommends_six():
    found = {each.id: each.level for each in ai_requirements()}
    assert tuple(found) == (*MUST, *SHOULD)
    assert [found[name] for name in MUST] == ["MUST"] * 8
    assert [found[name] for name in SHOULD] == ["SHOULD"] * 6
    assert "AIConformance-1.36.yaml" in ai_source()


def test_a_requirement_has_checks_or_says_what_nobody_looks_at():
    known = {check.id for check in readiness_checks()}
    for each in ai_requirements():
        assert set(each.checks) <= known, each.id
        assert bool(each.checks) != bool(each.lacks), each.id


def test_no_secret_is_asked_for_and_every_list_is_of_the_whole_cluster():
    for kind, words in LISTED_KINDS.items():
        assert "secret" not in " ".join(words).lower(), kind
        assert words[0].islower(), kind
