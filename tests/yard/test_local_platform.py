"""`make up` to `make down` on the real engine, the real API server and the real Kueue."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from testbed.yard import serving

from kit import waiting
from kit.cases.records import objects_of
from kit.cluster.lab import condition, kept_off

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.always]
ROOT = Path(__file__).resolve().parents[2]


def objects(changes: dict[str, str]) -> dict[str, str]:
    """Kubernetes objects by kind and name; components, which have no kind in their names, left out."""
    return {name.partition(":")[2]: op for name, op in changes.items() if ":" in name}


def test_up_shows_the_plan_first_and_ends_with_what_is_there(first_up):
    said, _ = first_up
    assert said.index("What a node advertises") < said.index("pulumi up") < said.index("is up (")
    for line in (
        "vision  guaranteed train 8, serve 4 3g.20gb, dev 8 shared\n          may borrow train 16\n",
        "Unassigned, all teams may borrow: train 8, serve 4 3g.20gb",
        "the same machines would cost 246.72 $/hour",
        "A shell with gpuyard and pulumi on PATH:  make shell",
    ):
        assert line in said


def test_the_policy_pack_looked_at_the_platform(first_up):
    assert "gpuyard@v" in first_up[0]


def test_a_second_up_says_that_nothing_changed(up):
    said = up.run("scripts/yard", "up")
    assert "was already up; nothing changed" in said
    assert "is already up; nothing changed" in said


def test_another_checkout_neither_deploys_to_the_cluster_nor_takes_it_down(up, tmp_path):
    """As in a second clone or a worktree of the same user."""
    for each in ("testbed", "scripts"):
        shutil.copytree(ROOT / each, tmp_path / each)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for command in ("up", "down", "demo", "shell"):
        said = up.run(str(tmp_path / "scripts" / "yard"), command, code=4)
        assert said == (
            f"{command}: cluster local belongs to the checkout {ROOT}: run `make` there, or add"
            " NAME=another-name here for a cluster of this checkout; `python -m gpuyard_simulate down --name local`"
            " removes it\n"
        )
    assert up.run("scripts/yard", "up").count("is already up; nothing changed") == 1


def test_a_preview_is_empty(up):
    up.pulumi("preview", "--stack", "local", "--expect-no-changes")


def test_the_stack_file_and_the_tree_stay_as_they_were(up):
    touched = subprocess.run(
        ["git", "status", "--short", "stacks", "Pulumi.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "uv.lock" not in touched.stdout
    assert "encryptionsalt" in (ROOT / "stacks/Pulumi.local.yaml").read_text()


def test_every_rendered_object_is_live_and_nothing_else_is_ours(up):
    assert len(up.owned()) == len(set(up.owned())) == len(objects_of(up.plan()))


def test_every_cluster_queue_is_active(up):
    def active():
        queues = up.api.call("GET", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues")["items"]
        return {q["metadata"]["name"]: condition(q, "Active").get("status") for q in queues}

    # Kueue may have been started anew a moment ago
    wanted = dict.fromkeys(("local-vision", "local-speech", "local-search"), "True")
    waiting.until(active, lambda found: found == wanted)


@pytest.fixture
def nodes(up):
    """The live nodes, once all of them take pods: a new one is tainted until it is seen to be ready."""

    def ready():
        found = up.api.call("GET", "/api/v1/nodes")["items"]
        return found if found and not any(map(kept_off, found)) else None

    return waiting.until(ready, what="nodes that take pods")


def test_live_nodes_advertise_exactly_what_the_plan_says(up, nodes):
    plan = up.plan()
    assert len(nodes) == sum(p.start_nodes for p in plan.pools)
    pools = {n["metadata"]["name"]: n["metadata"]["labels"]["gpuyard.dev/pool"] for n in nodes}
    wanted = {
        name: {a.resource: str(a.per_node) for a in plan.pool(pool).advertised}
        for name, pool in pools.items()
    }

    def advertised():
        found = up.api.call("GET", "/api/v1/nodes")["items"]
        return {n["metadata"]["name"]: devices(n["status"]["allocatable"]) for n in found}

    # agents cut GPUs and count devices one step after the other
    waiting.until(advertised, lambda found: found == wanted)


def devices(amounts):
    return {name: count for name, count in amounts.items() if name.startswith("nvidia.com/")}


def test_live_flavors_select_nodes_that_exist(up, nodes):
    for flavor in up.api.call("GET", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors")["items"]:
        wanted = flavor["spec"]["nodeLabels"].items()
        chosen = [n for n in nodes if wanted <= n["metadata"]["labels"].items()]
        tolerated = {(t["key"], t["value"]) for t in flavor["spec"]["tolerations"]}
        assert chosen
        assert all(
            {(t["key"], t["value"]) for t in n["spec"]["taints"]} <= tolerated for n in chosen
        )


def test_readiness_reads_the_cluster_as_it_is_and_sees_what_is_changed_by_hand(up, nodes):
    found = up.readiness()
    by_cluster = {name: c["answer"] for name, c in found.items() if c["by"] == "cluster"}
    passed = {"INF-02", "INF-04", "INF-06", "SCH-02", "SCH-04", "SCH-05", "SEC-01", "SEC-09"}
    assert {name for name, word in by_cluster.items() if word == "PASS"} >= passed
    assert found["SCH-04"]["evidence"][0]["where"] == "1 of 1 nodes of serve"
    assert by_cluster["TST-02"] == "NOT RUN", "no check of hardware was asked for"
    assert (by_cluster["MON-01"], by_cluster["MON-06"]) == ("FAIL", "FAIL"), "nothing measures"

    path = "/api/v1/nodes/dev-000"
    taints = up.api.call("GET", path)["spec"]["taints"]
    up.api.patch(path, {"spec": {"taints": None}})
    try:
        again = up.readiness()
    finally:
        up.api.patch(path, {"spec": {"taints": taints}})
    changed = {name for name, check in again.items() if check["answer"] != found[name]["answer"]}
    assert changed == {"SCH-05"}
    assert again["SCH-05"]["why"].startswith("node dev-000: ")


def test_more_to_borrow_updates_exactly_the_queue_and_the_limits_of_that_team(up):
    spec = up.spec()
    spec["teams"][1]["borrow"]["train"] = 16
    changes = up.changes(spec)
    assert objects(changes) == {
        "ClusterQueue:local-speech": "update",
        "LimitRange:speech/gpuyard": "update",
        "ResourceQuota:speech/gpuyard": "update",
    }
    assert set(changes.values()) == {"update"}


def test_a_rename_through_formerly_touches_no_object_but_the_records(up):
    spec = up.spec()
    spec["pools"][1] |= {"name": "inference", "previous_names": ["serve"]}
    spec["teams"][2] |= {"name": "discovery", "previous_names": ["search"]}
    for team in spec["teams"]:
        for kind in ("guarantee", "borrow"):
            team[kind] = {
                k.replace("serve/", "inference/"): v for k, v in team.get(kind, {}).items()
            }
    changes = up.changes(spec)
    records = ("gpuyard-platform", "gpuyard-report")
    assert objects(changes) == {f"ConfigMap:gpuyard-local/{each}": "update" for each in records}
    assert set(changes.values()) == {"update"}


def test_drift_is_shown_by_refresh_and_mended_by_up(up):
    path = "/api/v1/namespaces/vision/resourcequotas/gpuyard"
    up.api.patch(path, {"spec": {"hard": {"requests.nvidia.com/gpu": "999"}}})
    seen = up.pulumi("refresh", "--preview-only", "--stack", "local", "--diff", "--non-interactive")
    assert "999" in seen
    said = up.run("scripts/yard", "up")
    assert "is up (" in said
    assert up.api.get(path)["spec"]["hard"]["requests.nvidia.com/gpu"] == "120"


def test_the_tour_comes_out_as_told(up):
    serves = not serving.missing_tools()
    said = up.run("scripts/yard", "demo")
    assert said.count("pods run") >= 6
    assert f"All {7 + serves} scenes ended as expected" in said
    assert ("chat: 1 of 1 replicas runs" in said) is serves
    assert "fail: memory.remapped_rows on gpu 3" in said
    assert "is repaired, has passed validation, and takes jobs again" in said
    assert re.search(r"alert to speech: forgotten-\w+ holds an idle GPU for \$[\d.]+ an hour", said)
    assert re.search(r"total +(246\.72|493\.44)", said), (
        "the bill of an hour, or of two, is that of the plan"
    )


def test_a_cluster_replaced_gets_its_platform_again(up):
    up.run(".venv/bin/python", "-m", "gpuyard_simulate", "reset", "--name", "local")
    said = up.run("scripts/yard", "up")
    assert "is up (" in said
    assert len(up.owned()) == len(objects_of(up.plan()))


def test_kueue_runs_with_the_configuration_of_the_platform(up):
    text = (up.home / "local/kueue/configuration.yaml").read_text()
    assert yaml.safe_load(text)["resources"]["excludeResourcePrefixes"][0] == "cpu"


def test_down_ends_although_pods_of_a_group_wait_for_others_in_their_place(up):
    """Kueue keeps the finalizer of a pod that the group's owner deletes."""
    path = "/api/v1/namespaces/vision/pods"
    names = ("one", "two")
    for name in names:
        up.api.call("POST", path, _of_a_group(name))

    def pods():
        found = up.api.call("GET", f"{path}?labelSelector=kueue.x-k8s.io/pod-group-name=pair")
        return [
            (p["status"]["phase"], p["metadata"].get("deletionTimestamp")) for p in found["items"]
        ]

    waiting.until(pods, lambda found: found == [("Running", None)] * 2)
    for name in names:
        up.api.call("DELETE", f"{path}/{name}")
    said = up.run("scripts/yard", "down")
    assert said.endswith("The cluster, its processes and the stack's state are removed.\n")
    assert "Namespace vision deleted" in said.replace("platform-vision:Namespace:", "Namespace ")


def _of_a_group(name):
    asked = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "8"}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kueue.x-k8s.io/queue-name": "default",
                "kueue.x-k8s.io/pod-group-name": "pair",
            },
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"},
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "c",
                    "image": "registry.example.org/x:1",
                    "resources": {"requests": asked, "limits": asked},
                }
            ],
        },
    }
