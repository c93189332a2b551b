"""Nodes that are kept although no job asks for them, as a cluster is told."""

import pytest

from gpuyard.render.platform import object_groups
from gpuyard.render.scaling.keep_warm import keep_warm_objects, window_seconds
from gpuyard.render.supply.images import pulled_images
from gpuyard.spec.sections import KeepWarmWindow
from gpuyard_core.catalogue.software.programs import PAUSE_TAG
from kit.stacks import plan_of, platform, pool, team

WINDOW = {"cron": "0 7 * * mon-fri", "hours": 9.5, "nodes": 3, "time_zone": "Europe/Paris"}


MACHINES = {"gcp": {"machine": "a3-highgpu-8g"}}


def kept(*pools, cloud="aws", **more):
    pools = [{**each, **MACHINES.get(cloud, {})} for each in pools]
    return keep_warm_objects(plan_of(platform(list(pools), cloud=cloud, **more)))


def pod_of(found):
    spec = found["spec"]
    job = spec["jobTemplate"]["spec"] if found["kind"] == "CronJob" else spec
    return job["template"]


@pytest.mark.parametrize(
    ("cloud", "words", "wanted"),
    [
        ("aws", {"nodes": "0..4"}, []),
        ("aws", {"nodes": "2..4"}, []),
        ("aws", {"nodes": "2..4", "scaling": "karpenter"}, ["floor-train"]),
        ("aws", {"nodes": 4, "scaling": "karpenter"}, ["floor-train"]),
        ("aws", {"nodes": "0..4", "scaling": "karpenter"}, []),
        ("aws", {"nodes": "0..4", "keep_warm": [WINDOW]}, ["warm-train-0"]),
        (
            "aws",
            {
                "nodes": "1..4",
                "scaling": "karpenter",
                "keep_warm": [WINDOW, {**WINDOW, "nodes": 2}],
            },
            ["floor-train", "warm-train-0", "warm-train-1"],
        ),
        ("gcp", {"nodes": "0..4", "keep_warm": [WINDOW]}, ["warm-train-0"]),
        (
            "gcp",
            {
                "nodes": "0..4",
                "keep_warm": [WINDOW],
                "capacity": ["flex-start"],
                "provisioning": "queued",
            },
            [],
        ),
        (
            "none",
            {"nodes": "0..4", "scaling": "autoscaler", "keep_warm": [WINDOW]},
            ["warm-train-0"],
        ),
        ("none", {"nodes": 4, "keep_warm": [WINDOW]}, []),
        ("simulated", {"nodes": "0..4", "keep_warm": [WINDOW]}, []),
    ],
)
def test_what_scales_keeps_its_windows_and_karpenter_its_floor(cloud, words, wanted):
    found = kept(pool(**words), cloud=cloud)
    assert [each["metadata"]["name"] for each in found] == wanted
    assert {each["metadata"]["namespace"] for each in found} <= {"gpuyard-lab"}


def test_a_window_begins_by_the_clusters_clock_and_ends_by_its_deadline():
    (found,) = kept(pool(nodes="0..4", keep_warm=[WINDOW]))
    spec = found["spec"]
    assert (spec["schedule"], spec["timeZone"]) == ("0 7 * * 1,2,3,4,5", "Europe/Paris")
    # one that begins again before its end goes on
    assert spec["concurrencyPolicy"] == "Replace"
    # one that nobody began in time would end too late
    assert spec["startingDeadlineSeconds"] == 600
    job = spec["jobTemplate"]["spec"]
    assert job["activeDeadlineSeconds"] == 9.5 * 3600
    assert (job["parallelism"], job["completions"]) == (3, 3)
    # its end leaves no failed Job that somebody is told of
    assert job["ttlSecondsAfterFinished"] == 0
    assert (spec["failedJobsHistoryLimit"], spec["successfulJobsHistoryLimit"]) == (0, 0)
    rules = job["podFailurePolicy"]["rules"]
    assert rules == [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }
    ]
    assert job["template"]["spec"]["restartPolicy"] == "Never"  # such a policy needs it


def test_the_shortest_window_has_a_deadline_and_is_not_begun_after_its_end():
    assert window_seconds(KeepWarmWindow(cron="* * * * *", hours=0.0001, nodes=1)) == 1
    (found,) = kept(pool(nodes="0..4", keep_warm=[{**WINDOW, "hours": 0.1}]))
    assert found["spec"]["startingDeadlineSeconds"] == 360


def test_a_floor_is_there_as_long_as_the_platform_and_no_deployment_waits_for_it():
    (found,) = kept(pool(nodes="2..4", scaling="karpenter"))
    assert (found["kind"], found["spec"]["replicas"]) == ("Deployment", 2)
    assert found["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert found["spec"]["selector"]["matchLabels"] == labels


def test_its_pods_take_nothing_and_are_on_one_node_each():
    floor, window = kept(pool(nodes="2..4", scaling="karpenter", keep_warm=[WINDOW]))
    for each, one_set in (
        (floor, "pod-template-hash"),
        (window, "batch.kubernetes.io/job-name"),
    ):
        template = pod_of(each)
        spec = template["spec"]
        assert "resources" not in spec["containers"][0]
        (apart,) = spec["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        # of two sets both may keep one node: a window of three over a floor of two is three nodes
        assert apart["matchLabelKeys"] == [one_set]
        assert apart["topologyKey"] == "kubernetes.io/hostname"
        assert apart["labelSelector"]["matchLabels"] == template["metadata"]["labels"]
        assert spec["nodeSelector"] == {"gpuyard.dev/pool": "train"}
        assert "priorityClassName" not in spec  # below -10 Cluster Autoscaler adds no node
        assert template["metadata"]["annotations"] == {
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"
        }


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_they_bear_what_keeps_pods_off_that_ask_for_no_gpu(cloud):
    """The API server adds that toleration to pods that ask for one, and these do not."""
    teams = [team(guarantee={"train": 8})]
    words = {"nodes": "0..4", "keep_warm": [WINDOW], "owners": ["vision"]}
    pools = [pool(**words, **MACHINES.get(cloud, {}))]
    plan = plan_of(platform(pools, teams, cloud=cloud))
    (found,) = keep_warm_objects(plan)
    borne = {each["key"] for each in pod_of(found)["spec"]["tolerations"]}
    assert borne == {taint.key for taint in plan.pools[0].taints}
    assert "nvidia.com/gpu" in borne
    # nodes that were not checked yet are not kept: the check comes first, and takes minutes
    assert all(each["operator"] != "Exists" for each in pod_of(found)["spec"]["tolerations"])


def test_they_are_confined_as_their_namespace_wants_it():
    (found,) = kept(pool(nodes="0..4", keep_warm=[WINDOW]))
    spec = pod_of(found)["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    (container,) = spec["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_their_image_comes_from_the_mirror_and_is_listed():
    raw = platform(
        [pool(nodes="0..4", keep_warm=[WINDOW])], cloud="aws", mirror={"images": "m.example/x"}
    )
    plan = plan_of(raw)
    (found,) = keep_warm_objects(plan)
    wanted = pod_of(found)["spec"]["containers"][0]["image"]
    assert wanted.startswith(f"m.example/x/pause:{PAUSE_TAG}@sha256:")
    assert wanted in [each.reference for each in pulled_images(plan)]
    bare = plan_of(platform([pool(nodes="0..4")], cloud="aws"))
    assert not [each for each in pulled_images(bare) if "pause" in each.repository]


def test_they_come_last_of_all_objects():
    plan = plan_of(platform([pool(nodes="0..4", keep_warm=[WINDOW])], cloud="aws"))
    assert object_groups(plan)[-1][0] == "keeping"


def test_nothing_is_kept_where_jobs_run_elsewhere():
    other = {"clusters": [{"name": "west", "secret": "west"}]}
    plan = plan_of(
        platform(
            [pool(nodes="0..4", keep_warm=[WINDOW])], [team(guarantee={"train": 8})], queueing=other
        )
    )
    assert plan.queueing.dispatch
    assert keep_warm_objects(plan) == []
