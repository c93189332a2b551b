"""The idle program against a small cluster and Prometheus: who is warned, suspended, left alone."""

import json
from contextlib import closing
from datetime import timedelta

import pytest

from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import JsonClient
from gpuyard_agents.idle.__main__ import main
from gpuyard_agents.idle.run import ReclaimRun
from gpuyard_agents.idle.settings import Settings
from kit.cluster import idle

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

WARNED_LONG_AGO = idle.ago(30)
DEPLOYMENT = idle.reference("Deployment", "notebook", "apps/v1")
REPLICA_SET = idle.reference("ReplicaSet", "notebook-5d", "apps/v1")


@pytest.fixture
def world():
    return idle.World()


def look(world, minutes=0, **team):
    """One run that many minutes after NOW; its summary."""
    with idle.served(world) as address:
        settings = read_settings(Settings, json.dumps(idle.settings(prometheus=address, **team)))
        said = []
        now = idle.NOW + timedelta(minutes=minutes)
        with closing(JsonClient(address)) as server, closing(JsonClient(address)) as prometheus:
            found = ReclaimRun(settings, server, prometheus, now, said.append).run_all_teams()
    line = found.line()
    assert said == [] or line["steps"], "nothing is said of those to whom nothing is done"
    return line


def notebook(world, pods=1, **workload):
    """A Deployment whose pods queue one by one."""
    world.add("apps/v1", "deployments", idle.scaled("Deployment", "notebook", pods))
    world.add("apps/v1", "replicasets", idle.named("notebook-5d", "ReplicaSet", DEPLOYMENT))
    for number in range(pods):
        name = f"notebook-5d-{number}"
        itself = idle.reference("Pod", name, "v1", controller=False)
        world.add(idle.KUEUE, "workloads", idle.workload(f"pod-{name}", itself, **workload))
        world.add("v1", "pods", idle.pod(name, f"pod-{name}", 1, REPLICA_SET))
        world.measure(name, 0)


# ── one job, judged ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("job", "state"),
    [
        ({"busy": 0.0}, "idle"),
        ({"busy": 5.0}, "idle"),
        ({"busy": 5.1}, "busy"),
        ({"busy": [0.0] * 7 + [90.0]}, "busy"),
        ({"busy": None}, "unmeasured"),
        ({"busy": [0.0] * 7}, "unmeasured"),
        ({"busy": [90.0], "gpus": 8}, "busy"),
        ({"busy": float("nan")}, "unmeasured"),
        ({"busy": float("inf")}, "busy"),
        ({"since": 59, "busy": 0.0}, "young"),
        ({"since": 60, "busy": 0.0}, "idle"),
        ({"gpus": 0, "busy": None}, "without_gpu"),
    ],
    ids=str,
)
def test_a_job_is_idle_only_when_all_its_gpus_are_known_to_be(world, job, state):
    world.run_job(**job)
    line = look(world)
    assert line["states"] == {state: 1}
    assert line["steps"] == ({"warn": 1} if state == "idle" else {})
    assert world.patches == (["job-train"] if state == "idle" else [])


def test_gaps_in_the_measurement_are_no_idleness(world):
    world.run_job(busy=None)
    world.measure("train-0", *[0.0] * 8, seen=53)
    assert look(world)["states"] == {"unmeasured": 1}
    world.measure("train-0", *[0.0] * 8, seen=54)
    assert look(world)["states"] == {"idle": 1}


def test_any_measurement_that_says_busy_counts(world):
    world.run_job(busy=0.0)
    world.measure("train-0", *[60.0] * 8, metric=idle.UTIL)
    assert look(world)["states"] == {"busy": 1}


def test_a_gpu_without_profiling_is_judged_by_its_utilisation(world):
    world.run_job(busy=None)
    world.measure("train-0", *[1.0] * 8, metric=idle.UTIL)
    assert look(world)["states"] == {"idle": 1}


def test_pods_that_do_not_run_yet_make_a_job_no_idler(world):
    world.run_job()
    world.add("v1", "pods", idle.pod("train-1", "job-train", phase="Pending"))
    assert look(world)["states"] == {"starting": 1}
    assert world.queries == []


def test_pods_that_have_ended_say_nothing(world):
    world.run_job()
    world.add("v1", "pods", idle.pod("train-1", "job-train", phase="Succeeded"))
    assert look(world)["states"] == {"idle": 1}


def test_a_pod_that_was_replaced_lately_makes_the_job_young(world):
    world.run_job()
    world.one("pods")["status"]["startTime"] = idle.ago(10)
    assert look(world)["states"] == {"young": 1}


def test_what_is_claimed_is_not_counted_and_so_not_judged(world):
    world.run_job()
    world.one("pods")["spec"]["resourceClaims"] = [{"name": "gpu"}]
    assert look(world)["states"] == {"unmeasured": 1}


def test_sidecars_count_and_what_ran_before_does_not(world):
    world.run_job(gpus=1, busy=[0.0])
    limits = {"resources": {"limits": {idle.GPU: "1"}}}
    spec = world.one("pods")["spec"]
    spec["initContainers"] = [{"name": "before", **limits}]
    assert look(world)["states"] == {"idle": 1}
    spec["initContainers"] = [{"name": "beside", "restartPolicy": "Always", **limits}]
    assert look(world)["states"] == {"unmeasured": 1}


@pytest.mark.parametrize("since", [None, 120], ids=["waits", "finished"])
def test_what_does_not_run_is_not_looked_at(world, since):
    world.run_job()
    conditions = world.one("workloads")["status"]["conditions"]
    if since is None:
        conditions.clear()
    else:
        conditions.append({"type": "Finished", "status": "True", "lastTransitionTime": idle.ago(1)})
    assert look(world)["states"] == {}
    assert not [path for _, path in world.asked if path.endswith("/pods")]


# ── warned, suspended, resumed ────────────────────────────────────────────────────────────────────


def test_a_warning_says_when_it_ends_and_how_to_prevent_it(world):
    world.run_job()
    assert look(world)["steps"] == {"warn": 1}
    assert world.marks() == {"idle-warned": "2026-11-21T12:00:00Z"}
    assert "active" not in world.one("workloads")["spec"]
    event = world.events[0]
    assert (event["type"], event["reason"]) == ("Warning", "GpusIdle")
    assert event["involvedObject"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "namespace": "vision",
        "uid": "uid-job-train",
    }
    assert event["message"] == (
        "None of its 8 GPUs was above 5 % in the last 60 minutes. gpuyard suspends it at 12:30 UTC unless"
        " its GPUs are used. To keep it: kubectl label job/train -n vision gpuyard.dev/keep-idle=true"
    )


def test_within_the_grace_nothing_more_happens(world):
    world.run_job(warned=idle.ago(29))
    assert look(world)["steps"] == {"wait": 1}
    assert (world.patches, world.events) == ([], [])


def test_after_the_grace_it_is_suspended_with_words_how_to_go_on(world):
    world.run_job(warned=WARNED_LONG_AGO)
    line = look(world)
    assert (line["steps"], line["suspended_gpus"]) == ({"suspend": 1}, 8)
    assert world.one("workloads")["spec"] == {"active": False}
    assert world.marks()["idle-suspended"] == "2026-11-21T12:00:00Z"
    assert world.events[0]["message"] == (
        "Suspended. None of its 8 GPUs was above 5 % in the last 60 minutes. The warning was 30 minutes ago."
        " To resume: kubectl label job/train -n vision gpuyard.dev/keep-idle=true (it queues again within"
        " minutes), or kubectl patch workload job-train -n vision --type merge"
        """ -p '{"spec":{"active":true}}'"""
    )


def test_a_run_from_warning_to_suspension_takes_two_looks(world):
    world.run_job()
    assert look(world)["steps"] == {"warn": 1}
    assert look(world, minutes=29)["steps"] == {"wait": 1}
    assert look(world, minutes=30)["steps"] == {"suspend": 1}
    assert look(world, minutes=35)["steps"] == {}


def test_when_it_works_again_the_warning_is_taken_back(world):
    world.run_job(warned=idle.ago(10), busy=80.0)
    assert look(world)["steps"] == {"forget": 1}
    assert world.marks() == {}
    assert world.events[0]["message"] == (
        "Its GPUs are in use again: the warning about idle GPUs is withdrawn."
    )


def test_a_warning_does_not_outlive_the_measurement(world):
    world.run_job(warned=WARNED_LONG_AGO, busy=None)
    line = look(world)
    assert (line["states"], line["steps"]) == ({"unmeasured": 1}, {"forget": 1})


def test_a_warning_from_before_it_was_admitted_again_is_none(world):
    world.run_job(warned=idle.ago(200))
    assert look(world)["steps"] == {"warn": 1}


def test_a_resumed_job_starts_with_a_clean_sheet(world):
    world.run_job(since=2, warned=idle.ago(60), suspended=idle.ago(30))
    assert look(world)["steps"] == {"forget": 1}
    assert world.marks() == {}
    assert "has restarted" in world.events[0]["message"]


def test_the_label_resumes_what_was_suspended(world):
    world.run_job(warned=idle.ago(60), suspended=idle.ago(30))
    world.one("workloads")["spec"]["active"] = False
    assert look(world)["steps"] == {}
    world.one("jobs")["metadata"]["labels"][idle.KEEP] = "true"
    assert look(world)["steps"] == {"resume": 1}
    assert world.one("workloads")["spec"] == {"active": True}
    assert (world.marks(), world.said) == ({}, [("train", "ResumedIdle")])


def test_what_somebody_else_has_stopped_stays_stopped(world):
    world.run_job()
    world.one("workloads")["spec"]["active"] = False
    world.one("jobs")["metadata"]["labels"][idle.KEEP] = "true"
    assert look(world)["steps"] == {}


@pytest.mark.parametrize("where", ["job", "workload", "pod", "namespace"])
def test_the_label_keeps_it_wherever_it_is(world, where):
    world.run_job(warned=WARNED_LONG_AGO)
    things = {
        "job": lambda: world.one("jobs"),
        "workload": lambda: world.one("workloads"),
        "pod": lambda: world.one("pods"),
        "namespace": lambda: world.space,
    }
    things[where]()["metadata"].setdefault("labels", {})[idle.KEEP] = "true"
    line = look(world)
    assert (line["states"], line["steps"]) == ({"kept": 1}, {"forget": 1})
    assert world.queries == []


@pytest.mark.parametrize("value", ["false", "yes", "True"])
def test_only_true_is_true(world, value):
    world.run_job()
    world.one("jobs")["metadata"]["labels"][idle.KEEP] = value
    assert look(world)["states"] == {"idle": 1}


# ── what is suspended in other ways ───────────────────────────────────────────────────────────────


def test_a_deployment_is_suspended_by_having_no_pods(world):
    notebook(world, pods=2, warned=WARNED_LONG_AGO)
    line = look(world)
    assert (line["steps"], line["suspended_gpus"]) == ({"suspend": 1}, 2)
    assert world.patches == ["notebook"]
    assert world.one("deployments")["spec"]["replicas"] == 0
    assert world.marks("deployments")["idle-replicas"] == "2"
    assert world.events[0]["message"].endswith(
        "To resume: kubectl scale deployment/notebook -n vision --replicas=2"
    )


def test_one_busy_pod_keeps_the_whole_deployment(world):
    notebook(world, pods=2)
    world.measure("notebook-5d-1", 90)
    assert look(world)["states"] == {"busy": 1}


def test_a_pod_that_came_later_is_warned_with_the_others(world):
    notebook(world, pods=2)
    world.one("workloads")["metadata"]["annotations"] = {idle.WARNED: WARNED_LONG_AGO}
    assert look(world)["steps"] == {"warn": 1}


def test_the_label_brings_a_deployment_back_with_its_replicas(world):
    labels = {idle.KEEP: "true"}
    marks = {idle.REPLICAS: "3", idle.SUSPENDED: idle.ago(9)}
    kept = idle.scaled("Deployment", "notebook", 0, labels=labels, annotations=marks)
    world.add("apps/v1", "deployments", kept)
    assert look(world)["steps"] == {"resume": 1}
    assert world.one("deployments")["spec"]["replicas"] == 3
    assert world.marks("deployments") == {}


def test_a_deployment_that_its_owner_scaled_up_again_is_left_alone(world):
    marks = {idle.REPLICAS: "3"}
    kept = idle.scaled("Deployment", "a", 1, labels={idle.KEEP: "true"}, annotations=marks)
    world.add(
        "apps/v1",
        "deployments",
        kept,
        idle.scaled("Deployment", "b", 0, labels={idle.KEEP: "true"}),
    )
    assert (look(world)["steps"], world.patches) == ({}, [])


@pytest.mark.parametrize("of", ["workload", "pod"])
def test_a_stateful_set_is_suspended_the_same_way(world, of):
    owner = idle.reference("StatefulSet", "lab", "apps/v1")
    whose = owner if of == "workload" else idle.reference("Pod", "lab-0", "v1", controller=False)
    world.add("apps/v1", "statefulsets", idle.scaled("StatefulSet", "lab"))
    world.add(idle.KUEUE, "workloads", idle.workload("w", whose, warned=WARNED_LONG_AGO))
    world.add("v1", "pods", idle.pod("lab-0", "w", 1, owner))
    world.measure("lab-0", 0)
    assert look(world)["steps"] == {"suspend": 1}
    assert world.one("statefulsets")["spec"]["replicas"] == 0


def test_what_would_be_scaled_up_again_is_warned_and_no_more(world):
    notebook(world)
    owner = idle.reference("InferenceService", "chat", "serving.kserve.io/v1beta1")
    world.one("deployments")["metadata"]["ownerReferences"] = [owner]
    assert look(world)["steps"] == {"warn": 1}
    assert (
        "gpuyard cannot suspend it, as inferenceservice/chat would scale it up again: please end it."
        in world.events[0]["message"]
    )
    assert look(world, minutes=60)["steps"] == {"stuck": 1}
    assert world.one("deployments")["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("maker", "step"),
    [
        (None, "suspend"),
        (idle.reference("Workflow", "w", "argoproj.io/v1alpha1"), "stuck"),
        (REPLICA_SET, "stuck"),
    ],
    ids=["nobody", "a controller", "a bare ReplicaSet"],
)
def test_a_pod_is_stopped_unless_somebody_makes_it_anew(world, maker, step):
    itself = idle.reference("Pod", "shell", "v1", controller=False)
    world.add(idle.KUEUE, "workloads", idle.workload("w", itself, warned=WARNED_LONG_AGO))
    world.add("v1", "pods", idle.pod("shell", "w", 1, maker))
    world.measure("shell", 0)
    assert look(world)["steps"] == {step: 1}
    if step == "suspend":
        assert world.events[0]["message"].endswith(
            "Its GPU was not above 5 % in the last 60 minutes. The warning was 30 minutes ago."
            " A pod cannot be resumed: create it again when you need it."
        )


def test_a_pod_of_its_own_is_kept_by_administrators_or_made_again(world):
    world.add(
        idle.KUEUE,
        "workloads",
        idle.workload("w", idle.reference("Pod", "shell", "v1", controller=False)),
    )
    world.add("v1", "pods", idle.pod("shell", "w", 1, None))
    world.measure("shell", 0)
    assert look(world)["steps"] == {"warn": 1}
    assert world.events[0]["message"].endswith(
        "To keep it: kubectl label pod/shell -n vision gpuyard.dev/keep-idle=true (administrators"
        " only), or create it again with that label"
    )


def test_a_workload_without_pods_or_owner_holds_no_gpu(world):
    world.add(idle.KUEUE, "workloads", idle.workload("w", None))
    assert look(world)["states"] == {"without_gpu": 1}


def test_a_job_of_a_kind_that_nobody_told_of_is_judged_all_the_same(world):
    owner = idle.reference("TrainJob", "t", "trainer.kubeflow.org/v1alpha1")
    world.add(idle.KUEUE, "workloads", idle.workload("w", owner))
    world.add("v1", "pods", idle.pod("t-0", "w", 1))
    world.measure("t-0", 0)
    assert look(world)["states"] == {"idle": 1}
    assert not [path for _, path in world.asked if "trainjobs" in path]


# ── dry run ───────────────────────────────────────────────────────────────────────────────────────


def test_a_dry_run_only_says_what_it_would_do(world):
    world.run_job(since=80)
    assert look(world, dry_run=True)["steps"] == {"would_warn": 1}
    world.one("workloads")["status"]["conditions"][0]["lastTransitionTime"] = idle.ago(90)
    assert look(world, minutes=60, dry_run=True)["steps"] == {"would_suspend": 1}
    assert (world.patches, world.marks()) == ([], {})
    assert [e["message"].rpartition("minutes. ")[2] for e in world.events] == [
        "Dry run: it would be warned now.",
        "Dry run: it would be suspended now.",
    ]


def test_a_dry_run_says_the_same_once_an_hour(world):
    world.run_job(since=80)
    for minutes in (0, 5, 10):
        look(world, minutes, dry_run=True, grace_minutes=500)
    assert world.said == [("train", "GpusIdleDryRun")]
    look(world, 60, dry_run=True, grace_minutes=500)
    assert len(world.events) == 2


def test_a_dry_run_takes_no_warning_back_and_resumes_nothing(world):
    world.run_job(warned=idle.ago(10), busy=80.0)
    assert look(world, dry_run=True)["steps"] == {}
    assert (world.patches, world.events) == ([], [])


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "status", "problem"),
    [
        ("/query", 503, "team vision: 503: no"),
        ("GET .*/workloads", 500, "team vision: 500: no"),
        ("GET .*/pods", 403, "team vision: 403: no"),
        ("GET .*/namespaces/vision$", 403, "team vision: 403: no"),
        ("PATCH", 403, "team vision: job/train: 403: no"),
    ],
)
def test_a_refusal_leaves_everybody_of_the_team_alone(world, pattern, status, problem):
    world.run_job(warned=WARNED_LONG_AGO)
    world.fails[pattern] = (status, "no")
    assert look(world)["problems"] == [problem]
    assert (world.one("workloads")["spec"], world.events) == ({}, [])


@pytest.mark.parametrize("status", [404, 409])
def test_what_has_changed_meanwhile_is_left_for_the_next_look(world, status):
    world.run_job(warned=WARNED_LONG_AGO)
    world.fails["PATCH"] = (status, "changed")
    line = look(world)
    assert (line["steps"], line["problems"], line["suspended_gpus"]) == ({"changed": 1}, [], 0)
    assert world.events == []


def test_a_namespace_that_is_gone_or_going_is_passed_over(world):
    world.run_job()
    world.space["metadata"]["deletionTimestamp"] = idle.ago(1)
    assert look(world)["states"] == {}
    world.space = None
    assert look(world)["problems"] == []


@pytest.mark.parametrize(
    "labels", [{}, {"gpuyard.dev/platform": "other", "gpuyard.dev/team": "vision"}]
)
def test_a_namespace_of_somebody_else_is_not_touched(world, labels):
    world.run_job()
    world.space["metadata"]["labels"] = labels
    (problem,) = look(world)["problems"]
    assert problem == (
        "team vision: namespace vision has no labels gpuyard.dev/platform=lab and"
        " gpuyard.dev/team=vision: gpuyard changes nothing in it"
    )
    assert [path for _, path in world.asked] == ["/api/v1/namespaces/vision"]


def test_an_event_that_cannot_be_written_undoes_nothing_and_is_reported(world):
    world.run_job()
    world.fails["POST .*/events"] = (403, "quota")
    assert look(world)["problems"] == ["team vision: job/train: 403: quota"]
    assert world.marks() == {"idle-warned": "2026-11-21T12:00:00Z"}


def test_one_team_in_trouble_does_not_stop_the_others(world):
    world.run_job()
    other = idle.settings()["teams"][0] | {"name": "gone", "namespace": "elsewhere"}
    teams = [other, *idle.settings()["teams"]]
    world.fails["elsewhere"] = (500, "no")
    line = look(world, teams=teams)
    assert (line["problems"], line["steps"]) == (["team gone: 500: no"], {"warn": 1})


@pytest.mark.parametrize(
    "data",
    [{}, {"resultType": "vector", "result": [{}]}, {"resultType": "scalar", "result": []}],
    ids=str,
)
def test_an_odd_answer_of_prometheus_suspends_nobody(world, monkeypatch, data):
    world.run_job(warned=WARNED_LONG_AGO)
    monkeypatch.setattr(world, "_vector", lambda query: data)
    assert (
        "Prometheus" in look(world)["problems"][0] or "not a vector" in look(world)["problems"][0]
    )
    assert world.patches == []


def test_a_job_whose_gpus_are_no_plain_number_is_not_suspended(world):
    world.run_job(warned=WARNED_LONG_AGO)
    world.one("pods")["spec"]["containers"][0]["resources"]["limits"][idle.GPU] = "8k"
    assert look(world)["problems"] == []
    assert "idle-suspended" not in world.marks()


# ── how much is asked ─────────────────────────────────────────────────────────────────────────────


def test_a_thousand_jobs_take_few_requests(world):
    for number in range(1000):
        world.run_job(f"j{number}", gpus=1, busy=50.0)
    assert look(world)["states"] == {"busy": 1000}
    assert len(world.asked) < 60
    assert len(world.queries) == 1000 // 100 * 4


def test_a_question_holds_a_hundred_pods_and_their_names_as_they_are(world):
    world.run_job("a.b", gpus=1, busy=[0.0])
    assert look(world)["states"] == {"idle": 1}
    chosen = f'{idle.ENGINE}{{exported_namespace="vision",exported_pod=~"a\\\\.b-0"}}'
    each = "max by (exported_pod, UUID, GPU_I_ID, vgpu)"
    ours = [
        f"max by (exported_pod) (max_over_time({chosen}[60m]))",
        f"count by (exported_pod) (count_over_time({each} ({chosen})[60m:1m]) >= 54)",
    ]
    assert world.queries == [*ours, *(query.replace(idle.ENGINE, idle.UTIL) for query in ours)]


@pytest.mark.parametrize(
    ("minutes", "window"),
    [(5, "[5m:1m]) >= 4"), (61, "[61m:2m]) >= 27"), (10_080, "[10080m:168m]) >= 54")],
)
def test_a_long_window_is_looked_at_no_more_often(world, minutes, window):
    world.run_job(gpus=1, busy=[0.0], since=20_000)
    look(world, after_minutes=minutes)
    assert window in world.queries[1]


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def at(tmp_path, address):
    """Where it finds its settings, the server and its account."""
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    path = str(tmp_path / "settings.json")
    return ["--settings", path, "--server", address, "--account", str(tmp_path)]


def command(world, tmp_path, **changes):
    with idle.served(world) as address:
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(idle.settings(prometheus=address, **changes)), encoding="utf-8")
        now = ("--now", "2026-11-21T12:00:00")
        return main([*at(tmp_path, address), *now])


def test_a_run_says_each_step_and_ends_with_a_summary(world, tmp_path, capsys):
    world.run_job()
    world.run_job("busy", busy=90.0)
    assert command(world, tmp_path) == 0
    *steps, last = capsys.readouterr().out.splitlines()
    assert steps == ["vision job/train: idle, warn"]
    assert json.loads(last) == {
        "now": "2026-11-21T12:00:00+00:00",
        "states": {"busy": 1, "idle": 1},
        "steps": {"warn": 1},
        "suspended_gpus": 0,
        "problems": [],
    }


def test_a_run_that_could_not_look_at_everybody_fails(world, tmp_path, capsys):
    world.fails["/workloads"] = (500, "no")
    assert command(world, tmp_path) == 1
    assert capsys.readouterr().out.startswith("skipped: team vision: 500: no\n")


def test_without_prometheus_nobody_is_suspended(world, tmp_path, capsys):
    world.run_job(warned=WARNED_LONG_AGO)
    with idle.served(world) as address:
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(idle.settings()), encoding="utf-8")
        assert main([*at(tmp_path, address), "--now", "2026-11-21T12:00Z"]) == 1
    assert "skipped: team vision: http://127.0.0.1:9 does not answer" in capsys.readouterr().out
    assert world.patches == []
