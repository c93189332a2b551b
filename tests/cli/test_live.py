"""`gpuyard explain --live`: kubectl says how things are; what may not be read is said; nothing is written."""

import json
import os
import stat

import pytest
import yaml

from kit.cases.explain import GPU, job
from kit.stacks import platform, pool, team

KUBECTL = r"""#!/bin/sh
echo "$*" >>"$0.asked"
case "$*" in
*current-context*) name=context ;;
*workloads*) name=workloads ;;
*pods*) name=pods ;;
*) name=nodes ;;
esac
[ -e "$0.$name.err" ] && { echo "first words" >&2; cat "$0.$name.err" >&2; exit 1; }
cat "$0.$name"
"""
HOLDING = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="
FORBIDDEN = 'Error from server (Forbidden): {} is forbidden: User "ann" cannot list resource.'


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """A kubectl that says what it is told to; a text is a refusal."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "kubectl"
    program.write_text(KUBECTL, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def told(nodes=(), pods=(), workloads=(), context="lab\n"):
        lists = {"nodes": nodes, "pods": pods, "workloads": workloads}
        for name, found in lists.items():
            if isinstance(found, str):
                (folder / f"kubectl.{name}.err").write_text(found, encoding="utf-8")
            else:
                text = (
                    found
                    if isinstance(found, bytes)
                    else json.dumps({"items": list(found)}).encode()
                )
                (folder / f"kubectl.{name}").write_bytes(text)
        if context:
            (folder / "kubectl.context").write_text(context, encoding="utf-8")
        return folder / "kubectl.asked"

    return told


@pytest.fixture
def ask(gpuyard, write):
    stack = write(
        platform([pool(nodes=1)], [team("vision", borrow={"train": 8})], cloud="simulated")
    )
    path = write(yaml.safe_dump(job(gpus=8)), "job.yaml")

    def asked(*more):
        return gpuyard("explain", stack, path, "--live", *more)

    return asked


def node(**spec):
    return {
        "kind": "Node",
        "metadata": {"name": "train-000", "labels": {"gpuyard.dev/pool": "train"}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: "8"}},
    }


def workload(name, queue):
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "vision"},
        "spec": {},
        "status": {"admission": {"clusterQueue": queue}},
    }


def test_three_lists_are_read_and_nothing_else(kubectl, ask):
    log = kubectl([node()])
    ended = ask()
    assert ended.code == 0
    assert "Job job starts in train on 1 node of train, running already." in flat(ended.out)
    assert flat(ended.err) == "read from context lab: 1 node, 0 pods, 0 workloads"
    asked = log.read_text(encoding="utf-8").splitlines()
    assert asked == [
        "--request-timeout=60s get nodes -o json",
        f"--request-timeout=60s get pods --all-namespaces --field-selector={HOLDING} -o json",
        "--request-timeout=60s get workloads.kueue.x-k8s.io --all-namespaces -o json",
        "--request-timeout=60s config current-context",
    ]


def test_the_context_is_the_users(kubectl, ask):
    log = kubectl([node()])
    document = json.loads(ask("--context", "blue", "--format", "json").out)
    assert document["live"] == {
        "context": "blue",
        "read": {"nodes": 1, "pods": 0, "workloads": 0},
        "unreadable": [],
    }
    asked = log.read_text(encoding="utf-8").splitlines()
    assert [line.split()[1:3] for line in asked] == [["--context", "blue"]] * 3


def test_nodes_decide_as_they_are(kubectl, ask):
    kubectl([node(unschedulable=True)])
    assert "train-000 is cordoned" in flat(ask().out)


def test_another_cluster_is_noticed(kubectl, ask):
    kubectl()
    text = flat(ask().out)
    assert "train differs from the plan: 0 of 1 node is present (train-000 is missing)" in text
    assert (
        "! no node of context lab belongs to a pool of this platform. Check that it is the right cluster."
        in text
    )


def test_what_may_not_be_read_is_said_with_what_it_means(kubectl, ask):
    kubectl(
        FORBIDDEN.format("nodes"),
        [],
        'error: the server doesn\'t have a resource type "workloads"',
        context="",
    )
    ended = ask()
    text = flat(ended.out)
    assert ended.code == 0
    assert (
        "! nodes were not read: nodes are assumed to be as planned (kubectl: Error from server"
        ' (Forbidden): nodes is forbidden: User "ann" cannot list resource)' in text
    )
    assert "! workloads were not read: quota is counted from running pods" in text
    assert flat(ended.err) == "read from the cluster: 0 pods"


def test_a_cluster_that_shows_nothing_is_no_answer(kubectl, ask):
    kubectl(*(FORBIDDEN.format(n) for n in ("nodes", "pods", "workloads")))
    ended = ask()
    assert ended.code == 4
    assert "none of nodes, pods, workloads can be read: Error from server" in flat(ended.err)
    assert "then --running now.json" in flat(ended.err)


def test_a_cluster_that_does_not_answer_is_said_in_kubectls_words(kubectl, ask):
    kubectl("Unable to connect to the server: dial tcp: i/o timeout")
    ended = ask()
    assert ended.code == 4
    assert "the cluster did not respond: Unable to connect to the server: dial tcp" in flat(
        ended.err
    )
    kubectl("\n")
    assert "the cluster did not respond: first words" in flat(ask().err)


def test_words_that_are_no_list_are_no_answer(kubectl, ask):
    kubectl(b"{}")
    ended = ask()
    assert ended.code == 4
    assert "kubectl returned no list of nodes" in flat(ended.err)
    kubectl(b'{"items": 3}')
    assert ask().code == 0


def test_without_kubectl_a_file_does(ask, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    ended = ask()
    assert ended.code == 4
    assert "--live queries the cluster with kubectl, which could not be started" in flat(ended.err)


def test_a_kubectl_that_hangs_is_given_up(kubectl, ask, monkeypatch):
    kubectl([node()])
    monkeypatch.setattr("gpuyard_advisor.cli.live.SECONDS", 0.0)
    ended = ask()
    assert ended.code == 4
    assert "the cluster did not respond within 0 seconds" in flat(ended.err)


def test_queues_of_others_are_named_in_part(kubectl, ask):
    kubectl([node()], workloads=[workload(f"w{i}", "theirs") for i in range(5)])
    text = flat(ask().out)
    assert "! workload w0: no team has the queue theirs" in text
    assert "w3" not in text
    assert "! and 2 more" in text
