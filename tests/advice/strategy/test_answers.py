"""Answers of `gpuyard advise`: each error has its path, what is allowed and a fix."""

import pytest

from gpuyard_advisor.advice.strategy.answers import Workload, parse_answers, read_answers
from gpuyard_core.errors import UsageError
from kit.every import every

JOB = {"name": "job", "kind": "training", "gpu_memory_gib": 20}
OWN = {"gpu": "H100", "nodes": 1, "usd_per_gpu": 30_000}


def problems(**raw):
    value = {"cloud": "aws", "workloads": [JOB], **raw}
    given, findings = parse_answers(value)
    assert (given is None) == bool(findings)
    return [str(f) for f in findings]


WRONG = {
    "an unknown class": (
        {"workloads": [{**JOB, "kind": "trainin"}]},
        ("workloads[0].kind: not a valid value\n  given: 'trainin'\n  allowed: training, hpc, batch, inference,"
        " real-time-inference, notebook, other\n  fix: write training"),
    ),
    "an unknown field": (
        {"budgt": "cost"},
        ("budgt: unknown field\n  given: 'budgt'\n  allowed: name, cloud, region, supply, kubernetes, budget,"
        " max_usd_per_month, organisation, teams, people, workloads, resource_claims, owned\n  fix: write `budget`"),
    ),
    "no servers": (
        {"cloud": "none"},
        ("owned: `owned` is missing: with `cloud: none` it describes the nodes\n"
        "  fix: add `owned:` with gpu, nodes and usd_per_gpu"),
    ),
    "an unsupported minor": (
        {"kubernetes": "1.20"},
        "kubernetes: not a supported minor version\n  given: '1.20'\n  allowed: 1.33, 1.34, 1.35, 1.36, 1.37",
    ),
    "a minor that is no text": (
        {"kubernetes": 1.36},
        ("kubernetes: wrong type\n  given: 1.36\n  allowed: text\n"
        '  fix: write "1.36" in quotes'),
    ),
    "an unknown region": (
        {"region": "us-eastt-1"},
        ("region: us-eastt-1 is not a region of aws that this version of gpuyard knows\n  given: 'us-eastt-1'\n"
        "  allowed: a region of aws\n  fix: write us-east-1"),
    ),
    "a region like no other": (
        {"region": "x"},
        ("region: x is not a region of aws that this version of gpuyard knows\n  given: 'x'\n"
        "  allowed: a region of aws"),
    ),
    "two workloads of one name": (
        {"workloads": [JOB, JOB]},
        "workloads[1].name: two workloads have this name\n  given: 'job'\n  allowed: each name once",
    ),
    "a misspelled team": (
        {"teams": ["vision"], "workloads": [{**JOB, "team": "visoin"}]},
        "workloads[0].team: no such team\n  given: 'visoin'\n  allowed: vision\n  fix: write vision",
    ),
    "a new team": (
        {"teams": ["vision"], "workloads": [{**JOB, "team": "x"}]},
        "workloads[0].team: no such team\n  given: 'x'\n  allowed: vision\n  fix: add x to `teams`",
    ),
    "too many GPUs": (
        {"workloads": [{**JOB, "gpus": 4000}]},
        ("workloads: the workloads need more GPUs at the same time than one cluster should have\n"
        "  given: 4,000 GPUs\n  allowed: at most 2,048 GPUs\n"
        "  fix: write an answers file for each of several platforms"),
    ),
    "a range backwards": (
        {"owned": {**OWN, "pue": [2, 1]}},
        "owned.pue: the range runs backwards\n  given: [2, 1]\n  allowed: [LOW, HIGH]\n  fix: write [1, 2]",
    ),
    "utilisation of zero": (
        {"owned": {**OWN, "utilisation_percent": 0}},
        "owned.utilisation_percent: out of bounds\n  given: 0\n  allowed: more than 0",
    ),
}  # fmt: skip


@every("name", WRONG)
def test_an_error_has_its_path_the_allowed_values_and_a_fix(name):
    raw, text = WRONG[name]
    assert problems(**raw) == [text]


def test_an_unknown_gpu_is_an_error_with_the_nearest_name():
    (text,) = problems(owned={**OWN, "gpu": "H1000"})
    assert text.startswith("owned.gpu: no such GPU\n  given: 'H1000'\n  allowed: T4, ")
    assert text.endswith("\n  fix: write H100")
    (text,) = problems(owned={**OWN, "gpu": "zzz"})
    assert "fix" not in text


def test_a_region_of_your_own_servers_only_says_where_they_are():
    assert problems(cloud="none", region="basement", owned=OWN) == []


def test_all_errors_are_reported_at_once():
    assert len(problems(budget="x", people=-1, workloads=[{**JOB, "gpus": "x"}])) == 3


def test_a_file_is_read_with_its_duplicate_keys():
    given, findings = read_answers(
        b"cloud: aws\nworkloads: [{name: job, kind: training, gpu_memory_gib: 20}]\n", "a.yaml"
    )
    assert given is not None
    assert given.workloads[0].kind == "training"
    assert findings == []
    given, findings = read_answers(b"cloud: aws\ncloud: gcp\n", "a.yaml")
    assert given is None
    assert [(f.id, f.where) for f in findings] == [("spec.duplicate_key", "cloud")]
    with pytest.raises(UsageError, match=r"a\.yaml: "):
        read_answers(b"cloud: [", "a.yaml")
    assert next(str(f) for f in read_answers(b"", "a.yaml")[1]).startswith("(platform): ")


def workload(**fields):
    return Workload.model_validate(JOB | fields)


def test_the_demand_is_a_number_of_jobs():
    assert workload().jobs == 1
    assert workload(gpus=9, gpus_per_job=4).jobs == 3
    # 100 jobs of 3 hours on 24 hours at 75 %
    assert workload(jobs_per_day=100, duration_hours=3).jobs == 17
    assert workload(gpus=2, jobs_per_day=100).jobs == 2


def test_jobs_with_more_gpus_than_a_node_span_nodes():
    assert [workload(gpus_per_job=n).spans_nodes for n in (8, 9)] == [False, True]
    assert workload(gpus_per_job=8, multi_node=True).spans_nodes
    assert not workload(gpus_per_job=16, multi_node=False).spans_nodes
