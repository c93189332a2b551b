"""Every row and leaf of the field's decision tables has an answer; `cases.yaml` has the reason where ours differs."""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from gpuyard_advisor.advice.strategy.answers import parse_answers
from gpuyard_advisor.advice.strategy.strategy import advise, applies, tables, workload_facts
from gpuyard_core.catalogue.metrics import metrics
from gpuyard_core.errors import UsageError
from kit.every import every

ROOT = Path(__file__).parents[3]

DATA = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
LISTS = ("cases", "targets", "readings", "rollout")


def answers(workload, **platform):
    raw = {"cloud": "aws", **platform, "workloads": [{"name": "job", **workload}]}
    given, findings = parse_answers(raw)
    assert given is not None, findings
    return given


def advice_of(case):
    return _advice(case["leaf"])


@cache
def _advice(leaf):
    (case,) = (each for each in DATA["cases"] if each["leaf"] == leaf)
    platform = {**DATA["bases"][case["base"]], **case.get("platform", {})}
    return advise(answers(case["ask"], **platform))


@every("case", DATA["cases"], ids=lambda case: case["leaf"])
def test_each_leaf_of_the_decision_tables_has_its_answer(case):
    advice = advice_of(case)
    (one,) = advice.workloads
    expected = dict(case["expect"])
    reasons = {each.topic: each.answer for each in one.reasons}
    placed = one.placement
    found = {
        "mode": placed.mode,
        "slice": placed.slice,
        "machine": placed.machine.name,
        "pods_per_gpu": placed.pods_per_gpu,
        "capacity": [capacity.value for capacity in one.settings["order"]],
        "only_risks": [row["risk"] for row in one.risks],
    }
    for name, value in expected.items():
        match name:
            case "reasons":
                assert {topic: reasons[topic] for topic in value} == value
            case "platform":
                topics = {each.topic: each.answer for each in advice.reasons}
                assert {topic: topics[topic] for topic in value} == value
            case "rejected":
                whys = {each.answer: each.why for each in one.rejected}
                assert [m for m, why in value.items() if why not in whys[m]] == []
            case "criteria":
                assert set(value) <= {r.answer for r in one.reasons if r.topic == "compare GPUs by"}
            case "risks":
                rows = {row["risk"]: row for row in one.risks}
                keys = ("probability", "impact", "mitigation")
                assert {risk: [rows[risk][key] for key in keys] for risk in value} == value
            case "options":
                whys = {each.name: each.why for each in one.options}
                assert {option: whys[option] for option in value} == value
            case "why":
                assert value in one.reasons[0].why
            case _:
                assert found[name] == value, name


def test_every_other_mode_is_rejected_with_a_reason():
    for case in DATA["cases"]:
        (one,) = advice_of(case).workloads
        modes = {each.answer for each in one.rejected}
        assert modes | {one.placement.mode} == {"dedicated", "mig", "mps", "time-slicing", "dra"}
        assert one.placement.mode not in modes
        assert all(each.why for each in (*one.rejected, *one.reasons))


def test_each_case_that_differs_from_the_guide_has_a_reason():
    leaves = [case["leaf"] for name in LISTS for case in DATA[name]]
    assert sorted({leaf.partition(" ")[0] for leaf in leaves}, key=int) == [
        *("1", "2", "3", "4", "5", "6", "7"),
        *("11", "12"),
    ]
    assert len(leaves) == len(set(leaves))
    assert all(case["guide"] for name in LISTS for case in DATA[name] if "differs" in case)


FIRST = ("mode", "rank", "capacity", "redundancy", "queueing", "scaling", "network")
PLATFORM = ("utilisation", "configuration", "architecture", "operations", "region")


@every("table", [*FIRST, *PLATFORM])
def test_each_row_of_a_table_is_the_answer_of_a_case(table):
    rows, reached = tables()[table], set()
    for case in DATA["cases"]:
        advice = advice_of(case)
        (one,) = advice.workloads
        facts = workload_facts(advice.answers, one.workload) | {"mode": one.placement.mode}
        reached.add(next(n for n, row in enumerate(rows) if applies(row.get("when", {}), facts)))
    assert sorted(set(range(len(rows))) - reached) == []
    assert "when" not in rows[-1]


def test_an_unknown_fact_is_within_no_bounds():
    assert not applies({"p99_ms": {"max": 10}}, {"p99_ms": None})
    assert applies({"p99_ms": {"min": 1, "max": 10}}, {"p99_ms": 10})
    assert not applies({"p99_ms": {"min": 11}}, {"p99_ms": 10})
    assert applies({"kind": ["a", "b"], "multi": True}, {"kind": "b", "multi": True})
    with pytest.raises(KeyError):
        applies({"misspelled": True}, {"kind": "b"})


@every("case", DATA["targets"], ids=lambda case: case["leaf"])
def test_the_targets_are_shown_with_a_measure(case):
    advice = advise(answers({"kind": "other", "gpu_memory_gib": 1}))
    low, high = advice.utilisation
    (row,) = (each for each in advice.targets if each["target"] == case["target"])
    assert row["value"].format(low=low, high=high) == case["value"]
    assert row["measure"]


@every("case", DATA["readings"], ids=lambda case: case["leaf"])
def test_figures_have_a_meaning(case):
    (row,) = (each for each in tables()["readings"] if each["figures"] == case["figures"])
    assert row["meaning"].startswith(case["meaning"])


@every("case", DATA["rollout"], ids=lambda case: case["leaf"])
def test_the_roll_out_has_this_phase(case):
    (row,) = (each for each in tables()["rollout"] if each["phase"] == case["phase"])
    assert row.get("weeks") == case.get("weeks")
    assert row["commands"]


def test_each_measure_exists():
    folder = ROOT / "components/gpuyard/render/observability"
    series = set(re.findall(r"record: (\S+)", (folder / "recording_rules.yaml").read_text()))
    alerts = set(re.findall(r"alert: (\S+)", (folder / "alerts.yaml").read_text()))
    checks = "".join(p.read_text() for p in (ROOT / "components/gpuyard_validator").rglob("*.py"))
    rows = [*tables()["targets"], *tables()["readings"]]
    text = " ".join(f"{row['measure']} {row.get('meaning', '')}" for row in rows)
    assert set(re.findall(r"gpuyard:[a-z_]+:[a-z_]+", text)) <= series
    assert set(re.findall(r"alert (\w+)", text)) <= alerts
    assert set(re.findall(r"DCGM_\w+", text)) <= set(metrics())
    named = re.findall(r"validator check (\S+)", text)
    assert named == ["nccl.all_reduce", "storage.read"]
    assert 'ALL_REDUCE = "all_reduce"' in checks
    assert '"storage.read"' in checks


def test_a_workload_that_fits_no_machine_is_an_error_with_the_largest_nodes():
    wanted = answers({"kind": "training", "gpu_memory_gib": 100, "gpus_per_job": 8}, cloud="gcp")
    with pytest.raises(UsageError, match=re.escape("workloads[0] job: no machine has 8 GPUs")):
        advise(wanted.model_copy(update={"region": "europe-west4"}))
