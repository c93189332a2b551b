"""A rule that is gone is missed: its cases, the corpus or a damaged stack fail without it."""

import corpus

from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import FindingState, evaluate
from kit.every import every
from rules.test_cases import cases, direct

ALL = corpus.expectations()
IN_CORPUS = {rule for each in ALL for _, rule in each.expected}


def fires(rules, rule_id, case):
    outcomes = evaluate(direct(case["resources"]), rules)
    return any(o.rule.id == rule_id and o.state is FindingState.OPEN for o in outcomes)


@every("rule", RULES, ids=lambda rule: rule.id)
def test_without_a_rule_its_bad_cases_pass(rule):
    left = [each for each in RULES if each.id != rule.id]
    bad = [case for case in cases(rule.id)["bad"] if "parameters" not in case]
    assert any(fires([rule], rule.id, case) for case in bad)
    assert not any(fires(left, rule.id, case) for case in bad)


def test_the_corpus_has_a_mistake_for_nearly_every_rule():
    assert {rule.id for rule in RULES} - IN_CORPUS == NOT_IN_CORPUS


NOT_IN_CORPUS = {
    *("GPU-CAP-06", "GPU-CFG-05", "GPU-MET-05", "GPU-QUE-05", "GPU-SHR-05", "GPU-STK-04"),
    *(rule.id for rule in RULES if rule.id.startswith("GPU-ADM-")),
}
"""Tags of one pool beside another's, kubelet settings, an exporter's port, Ray's autoscaler, several
shares, two installers, and what a platform of ours holds its teams to: cases and damages alone hold
these, and the last a real API server."""
