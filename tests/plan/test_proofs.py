"""Every finding by its own file: what gives it, what does not, and that its fix takes it away."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import proofs
from gpuyard_core.findings import Severity
from kit.every import judge


def said(judged):
    """What is refused or warned of; notes are asked for by name only."""
    return Counter(f.id for f in _grave(judged.findings))


def same(findings):
    return {(f.id, f.path) for f in _grave(findings)}


def _grave(findings):
    return [f for f in findings if f.severity is not Severity.INFO]


@pytest.mark.parametrize("kind", proofs.ids())
def test_each_case_says_what_its_file_says(kind):
    cases = proofs.read(kind).cases
    judge([(case.label, partial(says_what_its_file_says, case)) for case in cases])


def says_what_its_file_says(case):
    judged = proofs.judged(case)
    found = [f for f in judged.findings if f.id == case.id]
    expected = Counter(case.raw.get("also", ()))
    if not case.found:
        assert found == [], "a case that must pass"
        assert said(judged) == expected
        return
    assert [f.where for f in found] == [case.raw["at"]], [str(f) for f in judged.findings]
    assert found[0].severity is case.severity
    if case.severity is not Severity.INFO:
        expected[case.id] += 1
    assert said(judged) == expected
    for words in case.raw.get("says", ()):
        assert str(words) in str(found[0])


@pytest.mark.parametrize("kind", proofs.ids())
def test_the_nearest_fix_takes_the_finding_away_and_adds_none(kind):
    found = [case for case in proofs.read(kind).cases if case.found]
    judge([(case.label, partial(takes_the_finding_away, case)) for case in found])


def takes_the_finding_away(case):
    judged = proofs.judged(case)
    finding = next(f for f in judged.findings if f.id == case.id)
    how = proofs.how_fixed(finding)
    assert how == case.raw.get("fix", "applied"), finding.fix
    if how != "applied":
        return
    text = case.with_platform(proofs.applied(case.platform, finding.fix))
    after = proofs.judged_text(case, text).findings
    assert finding.id not in {f.id for f in after}, text
    new = same(after) - same(judged.findings)
    assert {i for i, _ in new} == set(case.raw.get("reveals", ())), text


@pytest.mark.parametrize(
    ("value", "patch", "result"),
    [
        ({"a": 1, "b": 2}, {"b": None, "c": 3}, {"a": 1, "c": 3}),
        ({"a": [{"x": 1}, {"y": 1}]}, {"a": {1: {"y": 2}}}, {"a": [{"x": 1}, {"y": 2}]}),
        ({"a": [1]}, {"a": {1: {"x": 1}}}, {"a": [1, {"x": 1}]}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": 1}, {"a": {"b": {"c": None, "d": 1}}}, {"a": {"b": {"d": 1}}}),
    ],
)
def test_a_patch_changes_what_it_names_and_no_more(value, patch, result):
    assert proofs.patched(value, patch) == result


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({"$times": 2, "$each": "p{n}"}, ["p0", "p1"]),
        ({"$times": 2, "$each": {"p{n}": 1}, "$map": True}, {"p0": 1, "p1": 1}),
        ({"a": [{"b": "{n}"}]}, {"a": [{"b": "{n}"}]}),
    ],
)
def test_what_is_repeated_is_numbered(value, result):
    assert proofs.expanded(value) == result


GOOD = {
    "title": "t", "severity": "warning", "why": "w", "do": "d",
    "bad": [{"at": "a"}, {"at": "a"}], "good": [{}, {}], "near_miss": [{}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "wrong"),
    [
        (GOOD, ""),
        ([], "a mapping is needed"),
        ({"title": "t"}, "lacks bad, do, good, near_miss, severity, why"),
        (GOOD | {"x": 1}, "unknown: x"),
        (GOOD | {"good": [{}]}, "at least 2 under `good`"),
        (GOOD | {"good": [{}, {"y": 1}]}, "good[1] has unknown y"),
        (GOOD | {"good": [{}, {"at": "x"}]}, "good[1]: `at` is the place of the finding, in bad cases only"),
        (GOOD | {"bad": [{}, {"at": "x"}]}, "bad[0]: `at` is the place of the finding, in bad cases only"),
    ],
)  # fmt: skip
def test_a_file_of_proofs_that_lacks_something_is_told_so(tmp_path, monkeypatch, raw, wrong):
    (tmp_path / "a.b.yaml").write_text(proofs.yaml.safe_dump(raw), encoding="utf-8")
    (tmp_path / "bases").symlink_to(proofs.FOLDER / "bases")
    monkeypatch.setattr(proofs, "FOLDER", Path(tmp_path))
    assert proofs.ids() == ["a.b"]
    read = proofs.read.__wrapped__
    if wrong:
        with pytest.raises(ValueError, match=r"a\.b\.yaml: ") as error:
            read("a.b")
        assert str(error.value).endswith(f": {wrong}")
    else:
        assert len(read("a.b").cases) == 5
