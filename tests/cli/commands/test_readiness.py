"""`gpuyard readiness`: formats, the threshold, and clusters that answer, refuse or are silent."""

import json
import os
import re
import stat

import pytest

from gpuyard_advisor.cli import live
from gpuyard_advisor.cli.prometheus import Prometheus
from gpuyard_advisor.readiness.inputs import LISTED_KINDS
from gpuyard_core.errors import EnvironmentMissing
from kit.cases.readiness import base, healthy
from kit.stacks import platform, pool

KUBECTL = r"""#!/bin/sh
echo "$*" >>"$0.asked"
for word; do
  case "$word" in --*) ;; *) if [ "$last" = get ]; then list=$word; fi; last=$word ;; esac
done
case "$*" in *grafana_dashboard*) list=dashboards ;; *prometheus-name*) list=rulefiles ;; esac
[ -e "$0.$list.err" ] && { cat "$0.$list.err" >&2; exit 1; }
[ -e "$0.$list" ] || { echo "error: the server doesn't have a resource type \"$list\"" >&2; exit 1; }
cat "$0.$list"
"""
LISTS = {"Dashboard": "dashboards", "RuleFile": "rulefiles", "Secret": "secrets"}
FORBIDDEN = 'Error from server (Forbidden): {} is forbidden: User "ann" cannot list resource.'
DEAD = "Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout"


def list_name(kind: str) -> str:
    return LISTS.get(kind) or LISTED_KINDS[kind][0]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A kubectl that has the lists of a healthy cluster, without some, and refuses others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "kubectl"
    program.write_text(KUBECTL, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def told(refused=None, without=(), raw=None, of="ready"):
        for kind, objects in healthy(of).items():
            if kind == "Secret":
                names = "".join(f"{each['metadata']['name']} Opaque 1 9d\n" for each in objects)
                (folder / "kubectl.secrets").write_text(names, encoding="utf-8")
            elif kind not in without:
                text = json.dumps({"items": [known(each) for each in objects]})
                (folder / f"kubectl.{list_name(kind)}").write_text(text, encoding="utf-8")
        for kind, words in (refused or {}).items():
            (folder / f"kubectl.{list_name(kind)}.err").write_text(words, encoding="utf-8")
        for kind, text in (raw or {}).items():
            (folder / f"kubectl.{list_name(kind)}").write_text(text, encoding="utf-8")
        return folder / "kubectl.asked"

    return told


def known(value):
    """Late values as a cluster would have them: some text."""
    if isinstance(value, dict):
        return {key: known(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [known(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@pytest.fixture
def stack(write):
    return write(base(), region="us-east-1")


def document(ended):
    return json.loads(ended.out)["readiness"]


def answers(ended):
    return {check["id"]: check["answer"] for check in document(ended)["checks"]}


def checked(ended, name):
    return next(check for check in document(ended)["checks"] if check["id"] == name)


# ── what is written ───────────────────────────────────────────────────────────────────────────────
def test_a_document_has_every_check_with_what_was_seen_and_where(gpuyard, stack):
    ended = gpuyard("readiness", stack, "--format", "json")
    made = document(ended)
    assert ended.code == 0
    assert len(made["checks"]) == 61
    assert made["counts"] == {"apply": 61, "do_not_apply": 0, "pass": 31, "fail": 2, "not_run": 28}
    assert made["score"] == 50
    assert made["not_asked"] is None
    assert checked(ended, "SCH-03") == {
        "id": "SCH-03",
        "category": "scheduling",
        "title": "at least three priorities (production, research, batch) exist and are used",
        "from": "P L",
        "answer": "PASS",
        "applies": True,
        "by": "plan",
        "why": "",
        "evidence": [
            {"where": "WorkloadPriorityClass lab-services", "value": "1001", "answer": "PASS"},
            {"where": "WorkloadPriorityClass production", "value": "1000", "answer": "PASS"},
            {"where": "WorkloadPriorityClass research", "value": "500", "answer": "PASS"},
            {"where": "WorkloadPriorityClass batch", "value": "100", "answer": "PASS"},
            {"where": "plan.teams[].priority", "value": "1", "answer": "PASS"},
        ],
        "by_hand": "kubectl get workloadpriorityclasses",
        "run": None,
    }


def test_a_document_maps_what_the_programme_asks_for(gpuyard, stack):
    made = document(gpuyard("readiness", stack, "--format", "json"))["conformance"]
    assert len(made["requirements"]) == 14
    assert made["requirements"][1] == {
        "id": "gang_scheduling",
        "level": "MUST",
        "answer": "NOT RUN",
        "checks": ["SCH-01", "TST-03"],
    }


def test_text_says_what_failed_why_and_how_to_see_it_by_hand(gpuyard, write):
    text = gpuyard("readiness", write(platform([pool(nodes=1)]))).out
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("FAIL     CST-01"))
    said = " ".join(" ".join(lines[at : at + 12]).split())
    assert "why plan.spec.targets.utilisation_percent" in said
    assert "no target is set" in said
    assert "manual gpuyard get STACK spec.targets" in said


def test_text_ends_with_the_score_and_what_it_counts(gpuyard, stack):
    text = " ".join(gpuyard("readiness", stack).out.split())
    assert text.endswith(
        "50 % of 61 applicable checks: 31 passed, 2 failed, 28 did not run; 0 do not apply. A check that"
        " did not run counts as not passed; one that does not apply is not counted."
    )


def test_markdown_is_tables_whose_cells_hold_no_bars(gpuyard, stack):
    text = gpuyard("readiness", stack, "--format", "markdown").out
    assert text.startswith("### Readiness of `lab`: 50 %\n")
    rows = [line for line in text.splitlines() if re.match(r"\| [A-Z]{3}-\d\d \|", line)]
    assert len(rows) == 61
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}
    assert "| gang_scheduling | MUST | NOT RUN | SCH-01, TST-03 |" in text


# ── the end ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("threshold", "code"), [(0, 0), (50, 0), (51, 3), (100, 3)])
def test_a_score_below_the_threshold_is_found(gpuyard, stack, threshold, code):
    ended = gpuyard("readiness", stack, "--threshold", threshold)
    assert ended.code == code
    assert ended.err == ""


@pytest.mark.parametrize("threshold", ["-1", "101", "most"])
def test_a_threshold_is_a_percentage(gpuyard, stack, threshold):
    assert gpuyard("readiness", stack, "--threshold", threshold).code == 2


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_stack_that_is_refused_is_no_platform(gpuyard, write, form):
    refused = write(platform([pool(machine="none.large")]))
    ended = gpuyard("readiness", refused, "--format", form)
    assert ended.code == 3
    if form == "json":
        assert document(ended) is None
        assert json.loads(ended.out)["findings"]
    else:
        assert ended.out == ""
        assert "the catalogue has no such machine" in ended.err


def test_a_context_without_a_cluster_is_a_slip(gpuyard, stack):
    ended = gpuyard("readiness", stack, "--context", "blue")
    assert ended.code == 2
    assert "--context selects the cluster for --live. Add --live." in ended.err


# ── a cluster ─────────────────────────────────────────────────────────────────────────────────────
def test_a_cluster_that_answers_is_read_list_by_list_and_no_more(gpuyard, stack, cluster):
    log = cluster(without=("GPUCluster",))
    ended = gpuyard("readiness", stack, "--live", "--context", "blue", "--format", "json")
    assert ended.code == 0
    assert ended.err == ""
    found = answers(ended)
    assert list(found.values()).count("FAIL") == 2
    assert [found[name] for name in ("INF-01", "SCH-01", "MON-06", "TST-02")] == ["PASS"] * 4
    assert checked(ended, "SCH-01")["by"] == "cluster"
    asked = log.read_text(encoding="utf-8").splitlines()
    head = "--request-timeout=60s --context blue get"
    assert asked == [f"{head} {' '.join(words)} -o json" for words in LISTED_KINDS.values()]


def test_a_list_that_may_not_be_read_leaves_open_what_rests_on_it(gpuyard, stack, cluster):
    cluster({"ClusterPolicy": FORBIDDEN.format("clusterpolicies")})
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    assert ended.code == 0, "the others were read"
    found = checked(ended, "INF-01")
    assert found["answer"] == "NOT RUN"
    assert found["why"].startswith(
        "clusterpolicies.nvidia.com could not be read: Error from server"
    )
    assert checked(ended, "SCH-02")["answer"] == "PASS"


def test_a_kind_that_the_cluster_does_not_have_is_an_answer(gpuyard, stack, cluster):
    cluster(without=("ClusterPolicy", "GPUCluster", "Pipeline", "PrometheusRule"))
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    found = answers(ended)
    assert ended.code == 0
    assert [found[name] for name in ("INF-01", "MLO-03", "MON-06")] == ["FAIL"] * 3
    assert checked(ended, "MLO-03")["why"] == "tekton: the cluster does not have its CRDs"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (DEAD, "the cluster did not respond: Unable to connect to the server"),
        ("error: You must be logged in to the server (Unauthorized)", "(Unauthorized)"),
    ],
)
def test_a_silent_cluster_leaves_everything_open_and_is_asked_once(
    gpuyard, stack, cluster, first, why
):
    log = cluster({"Node": first})
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    assert ended.code == 4
    assert "SKIPPED" in ended.err
    assert why in document(ended)["not_asked"]
    found = answers(ended)
    assert "PASS" not in {found[name] for name in ("INF-01", "INF-04", "SCH-01", "SCH-02")}
    assert why in checked(ended, "SCH-02")["why"]
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1


def test_a_cluster_that_falls_silent_keeps_what_it_has_said(gpuyard, stack, cluster):
    cluster({"ClusterQueue": DEAD})
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    assert ended.code == 4
    found = answers(ended)
    assert found["INF-04"] == "PASS"
    assert found["SCH-01"] == "NOT RUN"
    assert found["AUT-03"] == "NOT RUN"


def test_silence_ends_with_4_even_below_the_threshold(gpuyard, stack, cluster):
    cluster({"Node": DEAD})
    assert gpuyard("readiness", stack, "--live", "--threshold", "100").code == 4


def test_a_list_that_is_none_is_silence_not_a_traceback(gpuyard, stack, cluster):
    cluster(raw={"Node": "<html>sign in</html>"})
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    assert ended.code == 4
    assert "kubectl returned no list of Node" in document(ended)["not_asked"]


def test_without_kubectl_nothing_is_asked(gpuyard, stack, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    assert ended.code == 4
    assert "kubectl, which could not be started" in document(ended)["not_asked"]
    assert "now.json" not in ended.err, "that is the way of another command"


def test_asking_ends_in_bounded_time(gpuyard, stack, cluster, monkeypatch):
    log = cluster()
    monkeypatch.setattr(live, "SECONDS_IN_ALL", 0.0)
    ended = gpuyard("readiness", stack, "--live", "--format", "json")
    assert ended.code == 4
    assert document(ended)["not_asked"] == "the query limit of 0 seconds was reached"
    assert not log.exists()


# ── receivers and Prometheus ──────────────────────────────────────────────────────────────────────
@pytest.fixture
def observed(write):
    return write(base("observed"), region="us-east-1")


@pytest.fixture
def server(monkeypatch):
    """A Prometheus with these answers."""

    def answers(targets=(), groups=()):
        def read(self, path, field, /, **_):
            if isinstance(targets, Exception):
                raise targets
            return list(targets if field == "activeTargets" else groups)

        monkeypatch.setattr(Prometheus, "_get", read)
        return "http://127.0.0.1:9090"

    return answers


def test_names_of_secrets_alone_are_read_and_those_of_receivers_alone(gpuyard, observed, cluster):
    log = cluster(of="observed")
    found = gpuyard("readiness", observed, "--live", "--context", "blue", "--format", "json")
    assert answers(found)["MON-06"] == "PASS"
    (asked,) = [line for line in log.read_text(encoding="utf-8").splitlines() if "secrets" in line]
    assert asked == (
        "--request-timeout=60s --context blue get secrets on-call vision --namespace=monitoring"
        " --ignore-not-found --no-headers"
    )


def test_secrets_that_may_not_be_read_leave_the_receivers_open(gpuyard, observed, cluster):
    cluster({"Secret": FORBIDDEN.format("secrets")}, of="observed")
    found = gpuyard("readiness", observed, "--live", "--format", "json")
    assert found.code == 0, "the others were read"
    assert answers(found)["MON-06"] == "NOT RUN"
    assert "secrets could not be read: Error from server" in checked(found, "MON-06")["why"]


def test_prometheus_is_asked_too_with_its_address(gpuyard, observed, cluster, server):
    cluster(of="observed")
    address = server(groups=[{"name": "gpuyard", "rules": []}])
    words = ("readiness", observed, "--live", "--prometheus", address, "--format", "json")
    found = gpuyard(*words)
    assert found.code == 0
    assert "Prometheus finds no Service that it selects" in checked(found, "MON-01")["why"]
    assert "Prometheus has no group" in checked(found, "MON-03")["why"]


def test_a_silent_prometheus_is_said_once_and_keeps_what_the_cluster_has_said(
    gpuyard, observed, cluster, server
):
    cluster(of="observed")
    address = server(
        EnvironmentMissing("http://127.0.0.1:9090: Prometheus did not respond: refused")
    )
    words = ("readiness", observed, "--live", "--prometheus", address, "--format", "json")
    found = gpuyard(*words)
    assert found.code == 4
    assert (
        document(found)["not_asked"] == "http://127.0.0.1:9090: Prometheus did not respond: refused"
    )
    assert answers(found)["MON-06"] == "PASS"
    assert answers(found)["MON-01"] == "NOT RUN"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--prometheus", "http://a"), "--prometheus adds to --live. Add --live."),
        (("--live", "--prometheus", "a"), "not the address of a Prometheus"),
    ],
)
def test_an_address_is_one_and_of_a_live_check(gpuyard, observed, words, said):
    ended = gpuyard("readiness", observed, *words)
    assert ended.code == 2
    assert said in ended.err
