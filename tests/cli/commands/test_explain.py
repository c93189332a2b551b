"""`gpuyard explain`: the answer on the screen and for programs, and every way to ask wrongly."""

import io
import json
import sys

import pytest
import yaml

from kit.cases.explain import job
from kit.stacks import cut_pool, platform, pool, shared_pool, team


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def stack(write):
    pools = [pool(), cut_pool(), shared_pool()]
    teams = [
        team("vision", guarantee={"train": 8}, borrow={"train": 16}),
        team("speech", guarantee={"train": 16}, borrow={"train": 8}),
    ]
    return write(platform(pools, teams, cloud="simulated"))


@pytest.fixture
def ask(gpuyard, write, stack):
    """Explain these workloads."""

    def asked(*values, running=None, more=()):
        more = list(more)
        if running is not None:
            text = running if isinstance(running, str) else yaml.safe_dump(running)
            more += ["--running", write(text, "running.yaml")]
        return gpuyard("explain", stack, write(yaml.safe_dump_all(values), "job.yaml"), *more)

    return asked


def test_a_job_that_starts(ask):
    ended = ask(job(pods=2, gpus=8))
    assert (ended.code, ended.err) == (0, "")
    text = flat(ended.out)
    assert "Job job starts in train on 2 nodes of train, running already." in text
    assert "requests 16 nvidia.com/gpu in 2 pods" in text
    assert "queue default in namespace vision, of team vision" in text
    assert "train yes 16 nvidia.com/gpu of 24 free, partly borrowed" in text


def test_a_job_that_never_starts_is_a_finding(ask):
    ended = ask(job(pods=4, gpus=8))
    assert ended.code == 3
    text = flat(ended.out)
    assert (
        "Job job never train: 32 nvidia.com/gpu requested, the maximum of team vision is 24" in text
    )
    assert "change run 3 pods instead of 4" in text
    assert "or in stack allow team vision to borrow 24: teams[0].borrow.train: 24" in text
    assert "because" not in text, "the only pool's reason is told already"


def test_a_job_that_waits_is_none(ask):
    ended = ask(job(gpus=8), running=[{"team": "vision", "pool": "train", "pods": 3, "gpus": 8}])
    assert ended.code == 0
    text = flat(ended.out)
    assert "Job job waits" in text
    assert "condition when team vision's own jobs release 8 nvidia.com/gpu of train" in text
    assert "meanwhile It stays in its queue" in text


def test_who_is_evicted_is_named(ask):
    busy = [{"team": "speech", "pool": "train", "gpus": 8, "name": f"s{n}"} for n in range(4)]
    text = flat(ask(job(gpus=8), running={"running": busy}).out)
    assert "evicts speech: s3 (it borrows from the team's guarantee)" in text


def test_a_namespace_of_nobody_has_no_queue(ask):
    ended = ask(job(namespace="default", tolerations=[{"operator": "Exists"}]))
    assert ended.code == 0
    assert "queue none (namespace default)" in flat(ended.out)
    assert "! namespace default belongs to no team" in flat(ended.out)


def test_several_workloads_are_explained_and_the_rest_is_counted(ask):
    ended = ask(job(name="a", gpus=None), {"kind": "ConfigMap"}, job(name=""))
    assert ended.code == 3
    titles = [line for line in ended.out.splitlines() if line.startswith("Job")]
    assert titles == ["Job a  never", "Job (no name)  starts in train"]
    assert "requests nothing in 1 pod" in flat(ended.out)
    assert "1 other object in" in ended.err


def test_the_same_for_programs(ask):
    ended = ask(job(gpus=8), job(gpus=16), more=["--format", "json"])
    found = json.loads(ended.out)
    assert (ended.code, found["command"], found["findings"], found["running"]) == (
        3,
        "explain",
        [],
        None,
    )
    first, second = found["jobs"]
    assert (first["verdict"], first["pools"], first["from_zero"], first["admitted"]) == (
        "starts", ["train"], False, True,
    )  # fmt: skip
    assert second["changes"] == [
        {
            "message": "request 8 nvidia.com/gpu per pod instead of 16 nvidia.com/gpu",
            "at": "spec.template.spec: nvidia.com/gpu",
            "value": 8,
        }
    ]


def test_a_refused_stack_explains_nothing(gpuyard, write):
    wrong = write(platform([pool(nodes="9..2")]))
    path = write(yaml.safe_dump(job()), "job.yaml")
    ended = gpuyard("explain", wrong, path)
    assert (ended.code, ended.out) == (3, "")
    assert "refused" in ended.err
    document = json.loads(gpuyard("explain", wrong, path, "--format", "json").out)
    assert document["jobs"] == []
    assert document["findings"]


def nameless():
    value = job()
    del value["metadata"]["namespace"]
    return value


@pytest.mark.parametrize(
    ("value", "more", "says"),
    [
        (nameless(), [], "has no metadata.namespace, so its team is unknown. Set one, or add --team with one of vision, speech."),  # noqa: E501
        (job(), ["--team", "art"], "--team art: no such team. Teams are vision, speech."),
        (job(), ["--team", "speech"], "is in the namespace vision of team vision, and --team is speech. Remove one of the two."),  # noqa: E501
        (job(namespace="x"), ["--team", "speech"], "is in the namespace x of no team, and --team is speech."),
        ({"kind": "ConfigMap"}, [], "has no workload, only ConfigMap."),
        (job(), ["--live", "--running", "x"], "--live queries the cluster, --running reads a file. Use one of the two."),
        (job(), ["--context", "x"], "--context selects the cluster for --live. Add --live."),
        (job(), ["--running", "gone.yaml"], "gone.yaml"),
        (job(), ["--running", ""], "the file name is empty or invalid"),
    ],
)  # fmt: skip
def test_wrong_usage_is_said(ask, value, more, says):
    ended = ask(value, more=more)
    assert ended.code == 2
    assert says in flat(ended.err)


def test_the_team_can_be_named(ask):
    assert ask(nameless(), more=["--team", "speech"]).code == 0
    assert ask(job(), more=["--team", "vision"]).code == 0


def test_lines_that_make_no_sense_are_all_named(ask):
    ended = ask(job(), running=[{"team": "art", "pool": "train", "gpus": 1}, 3])
    assert ended.code == 2
    assert ended.err.endswith(
        "item 1: not a mapping; item 0: team: 'art' is not one of vision, speech\n"
    )


def test_a_file_in_which_nothing_stands_is_no_idle_cluster(ask):
    """`kubectl get … >now.json` leaves one where it fails: a job would be told that it starts."""
    ended = ask(job(), running="\n")
    assert (ended.code, ended.out) == (2, "")
    assert "running.yaml: empty. kubectl writes a List even when nothing runs" in ended.err
    assert ask(job(), running="{kind: List, items: []}").code == 0
    assert ask(job(), running="[]").code == 0


def test_what_runs_may_come_from_standard_input(ask, monkeypatch):
    text = json.dumps({"kind": "List", "items": [job(pods=2, gpus=8)]}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    ended = ask(job(pods=2, gpus=8), more=["--running", "-"])
    assert ended.code == 0
    assert "waits" in ended.out


def test_standard_input_that_is_closed_is_no_file(ask, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed. Give the path of a file." in flat(
        ask(job(), more=["--running", "-"]).err
    )


# ── large answers of a cluster ────────────────────────────────────────────────────────────────────
def node(number):
    labels = {"gpuyard.dev/pool": "train", "note": "x" * 4000}
    return {"kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "status": {}}


def test_a_cluster_may_say_more_than_a_person_writes(ask):
    dump = json.dumps({"kind": "List", "items": [node(n) for n in range(300)]})
    assert len(dump) > 1024 * 1024
    ended = ask(job(gpus=8), running=dump)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{" + " " * 1024 * 1024 + "}x", "is not JSON"),
        ("[" * 2_000_000, "is not JSON"),
        ("a: b\n" * 400_000, "2,000,000 bytes; at most 1,048,576"),
    ],
)
def test_what_is_large_and_no_json_is_refused(ask, text, says):
    ended = ask(job(), running=text)
    assert ended.code == 2
    assert says in flat(ended.err)


def test_every_object_of_a_large_dump_counts(ask):
    values = [{"kind": "Event", "note": "x" * 100} for _ in range(10_000)]
    nodes = [node(0) | {"spec": {"unschedulable": True}}]
    ended = ask(job(), running=json.dumps({"kind": "List", "items": [*values, *nodes]}))
    assert "train differs from the plan" in flat(ended.out)


def test_too_much_is_refused(ask, monkeypatch):
    monkeypatch.setattr("gpuyard_advisor.cli.job_files.MAX_DUMP_BYTES", 1024 * 1024 + 10)
    text = json.dumps([node(n) for n in range(300)]).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    ended = ask(job(), more=["--running", "-"])
    assert ended.code == 2
    assert "has more than 1 MiB. List fewer objects." in flat(ended.err)


def test_kinds_that_are_not_read_say_what_to_do(ask):
    flow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w"}}
    ended = ask(flow)
    assert ended.code == 2
    assert "kind Workflow is not supported: Kueue queues only its pods" in flat(ended.err)
    ended = ask(flow, job())
    assert ended.code == 0
    assert "! kind Workflow is not supported: Kueue queues only its pods" in flat(ended.err)


def test_two_changes_that_are_needed_both_say_so(ask):
    text = flat(ask(job(gpus=9, labels={"kueue.x-k8s.io/queue-name": "gold"})).out)
    assert (
        "change remove the label kueue.x-k8s.io/queue-name: gold"
        " and request 8 nvidia.com/gpu per pod instead of 9 nvidia.com/gpu" in text
    )


def test_a_template_is_said_to_be_one(gpuyard, write, stack):
    ended = gpuyard("explain", stack, write("{{ if .x }}\na: b\n{{ end }}\n", "job.yaml"))
    assert ended.code == 2
    assert "line 1: a template, not YAML: render it first" in flat(ended.err)
