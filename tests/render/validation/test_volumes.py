"""What a cluster is told of reading: a claim for each dataset, and a pod on a node of each pool."""

import json

import pytest
import yaml

import sizes
from gpuyard.plan.records.late import UnresolvedOutput, unresolved_output_names
from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.platform import platform_objects
from gpuyard.render.storage import storage_objects
from gpuyard.render.validation.volumes import (
    volume_objects,
    volumes_job_name,
    volumes_result_object,
    volumes_text,
)
from gpuyard.render.validation.work import DeferredJob, deferred_jobs, work_objects
from gpuyard_core.names import CHECKS_LABEL, QUEUE_LABEL, WORK_LABEL
from gpuyard_validator.volumes.checks import read_expectations
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool, team

IMAGE = "registry.example.org/ml/full:1"
CORPUS = {"name": "corpus", "kind": "bucket", "bucket": "our-corpus"}
HOME = {"name": "home", "kind": "efs", "read_mb_per_s": 200}
ZONES = {"aws": ["us-east-1a"], "gcp": ["us-central1-a"], "simulated": []}


def test_without_a_check_nothing_is_read():
    assert volume_objects(plan_of(platform([pool(nodes=2)], [team("vision")]))) == []


def asked(*datasets, pools=None, cloud="simulated", required=True, image=IMAGE, profile="full"):
    validation = {"image": image, "profile": profile, "required": required}
    machine = {"machine": "a3-highgpu-8g"} if cloud == "gcp" else {}
    zones = {"zones": ZONES[cloud]} if ZONES[cloud] else {}
    return plan_of(
        platform(
            pools or [pool(**machine, **zones, nodes=2)],
            [team("vision"), team("speech")],
            cloud=cloud,
            validation=validation,
            storage={"datasets": list(datasets or [CORPUS])},
        )
    )


def named(plan, kind, name):
    (found,) = [o for o in work_objects(plan) if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def job(plan, index=0):
    return named(plan, "Job", volumes_job_name(plan, plan.pools[index]))


def pod(plan):
    return job(plan)["spec"]["template"]["spec"]


def test_what_reads_is_the_golden_one(golden):
    plan = asked(CORPUS, HOME)
    name = volumes_job_name(plan, plan.pools[0])
    shown = [
        o
        for o in work_objects(plan)
        if o["metadata"]["name"] in {name, "gpuyard-data", "corpus", "home"}
        or o["kind"] == "PersistentVolume"
    ]
    text = yaml.safe_dump_all(shown, sort_keys=False).replace(name.rpartition("-")[2], "DIGEST")
    golden(sizes.ROOT / "tests/render/golden/validation-volumes.yaml", text)


@every(
    "plan",
    [
        plan_of(platform()),
        asked(profile="quick"),
        asked(image=None, required=False),
        asked({"name": "home", "kind": "efs"}),
        asked(pools=[pool(nodes="0..2")], cloud="aws"),
    ],
)
def test_nothing_is_made_where_nothing_is_read(plan):
    made = {(o["kind"], o["metadata"]["name"]) for o in work_objects(plan)}
    assert not {kind for kind, _ in made} & {"PersistentVolume", "PersistentVolumeClaim"}
    assert not [name for _, name in made if "volumes" in name]


def test_a_pool_whose_gpus_cannot_be_had_reads_all_the_same():
    """It holds none: no queue is made for it, and the program is carried without one."""
    stopped = pool(nodes=1, stop_policy="hold")
    plan = asked(pools=[stopped])
    kinds = [o["kind"] for o in work_objects(plan)]
    assert "ClusterQueue" not in kinds
    program = named(plan, "ConfigMap", "gpuyard-lab-work")
    assert any(key.endswith("measure.py") and "volumes" in key for key in program["data"])
    assert [each.nodes for each in deferred_jobs(plan)] == [1]


def test_a_node_of_each_pool_reads_alone_and_is_judged_alone():
    plan = asked(pools=[pool(nodes=2), cut_pool()])
    spec = job(plan)["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 0)
    last = list(deferred_jobs(plan))[-2:]
    assert last == [
        DeferredJob(each, volumes_job_name(plan, each), 1, volumes_result_object(plan, each))
        for each in plan.pools
    ]
    assert volumes_result_object(plan, plan.pools[0])["data"] == {
        "pool": "train", "nodes": "1", "verdict": "passed", "figures": UnresolvedOutput("validation.figures"),
    }  # fmt: skip


def test_its_pod_has_no_gpu_no_queue_and_no_more_rights_than_those_of_teams():
    plan = asked(HOME)
    made, found = job(plan), pod(plan)
    (container,) = found["containers"]
    assert QUEUE_LABEL not in (made["metadata"].get("labels") or {})
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert container["securityContext"]["runAsNonRoot"]
    assert not found["automountServiceAccountToken"]
    assert container["command"][-1] == "gpuyard_validator.volumes"
    assert found["nodeSelector"] == dict(plan.pools[0].node_selector)
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels == {
        CHECKS_LABEL: made["metadata"]["name"],
        WORK_LABEL: "gpuyard-lab-volumes",
    }


def test_it_mounts_each_dataset_by_a_claim_and_only_to_read():
    plan = asked(CORPUS, HOME)
    (container,) = pod(plan)["containers"]
    mounts = [m for m in container["volumeMounts"] if m["mountPath"].startswith("/volumes/")]
    assert [(m["mountPath"], m["readOnly"]) for m in mounts] == [
        ("/volumes/corpus", True), ("/volumes/home", True),
    ]  # fmt: skip
    wanted = read_expectations(volumes_text(plan, plan.pools[0]))
    assert [(r.name, r.path, r.threshold_mb_per_s) for r in wanted.readings] == [
        ("corpus", "/volumes/corpus", 340.0), ("home", "/volumes/home", 200.0),
    ]  # fmt: skip
    volumes = {v["name"]: v for v in pod(plan)["volumes"]}
    claims = [volumes[m["name"]]["persistentVolumeClaim"]["claimName"] for m in mounts]
    assert claims == ["corpus", "home"]


@every("cloud", ["aws", "gcp"])
def test_the_volume_is_that_of_a_team_that_only_reads(cloud):
    data = {"name": "corpus", "kind": "efs" if cloud == "aws" else "filestore"}
    plan = asked(data | {"writers": ["vision"], "read_mb_per_s": 90}, cloud=cloud)
    ours = named(plan, "PersistentVolume", "lab.gpuyard-lab.corpus")["spec"]
    theirs = next(
        o["spec"]
        for o in storage_objects(plan, plan.team("speech"))
        if o["kind"] == "PersistentVolume"
    )
    assert ours | {"claimRef": 0} == theirs | {"claimRef": 0}
    assert ours["claimRef"]["namespace"] == "gpuyard-lab"
    assert "ro" in ours["mountOptions"]


@every("writers", [[], ["vision", "speech"]])
def test_a_node_mounts_managed_lustre_one_way_for_all(writers):
    data = {"name": "corpus", "kind": "managed-lustre", "read_mb_per_s": 90, "writers": writers}
    plan = asked(data, cloud="gcp")
    ours = named(plan, "PersistentVolume", "lab.gpuyard-lab.corpus")["spec"]
    assert ("mountOptions" in ours) is not bool(writers)
    (container,) = pod(plan)["containers"]
    assert container["volumeMounts"][-1]["readOnly"], "the pod itself does not write"


def test_what_mounts_buckets_at_google_is_asked_for():
    def notes(plan):
        return job(plan)["spec"]["template"]["metadata"].get("annotations")

    assert notes(asked(cloud="gcp")) == {"gke-gcsfuse/volumes": "true"}
    assert notes(asked(cloud="aws")) is None
    filestore = {"name": "home", "kind": "filestore", "read_mb_per_s": 90}
    assert notes(asked(filestore, cloud="gcp")) is None


def test_where_its_store_is_known_late_so_is_its_volume():
    assert unresolved_output_names(named(asked(HOME, cloud="aws"), "PersistentVolume", "lab.gpuyard-lab.home")) == {
        "data-home.handle"
    }  # fmt: skip
    simulated = named(asked(HOME), "PersistentVolume", "lab.gpuyard-lab.home")
    assert unresolved_output_names(simulated) == set(), "no store is behind it"


def test_it_is_awaited_where_it_is_required():
    assert job(asked())["metadata"]["annotations"]["pulumi.com/replaceUnready"] == "true"
    assert job(asked(required=False))["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_it_runs_again_when_anything_is_that_it_rests_on(monkeypatch):
    def name(plan):
        return volumes_job_name(plan, plan.pools[0])

    lustre = {"name": "corpus", "kind": "fsx-lustre", "read_mb_per_s": 100}
    first, of_lustre = name(asked()), name(asked(lustre, cloud="aws"))
    assert name(asked()) == first
    for other in (asked(image=f"{IMAGE}0"), asked(HOME), asked(CORPUS, HOME)):
        assert name(other) != first
    assert name(asked(lustre | {"size_gib": 2400}, cloud="aws")) != of_lustre
    assert name(asked(lustre | {"read_mb_per_s": 101}, cloud="aws")) != of_lustre
    monkeypatch.setattr("gpuyard.render.validation.jobs.package_source", lambda _: {"x.py": "1"})
    assert name(asked()) != first


def test_all_is_rendered_after_what_it_needs():
    plan = asked()
    objects = platform_objects(plan)
    order = [object_key(o) for o in objects]
    needs = set(dependencies_of(job(plan)))
    for need in (
        ("ServiceAccount", "gpuyard-lab", "gpuyard-data"),
        ("PersistentVolumeClaim", "gpuyard-lab", "corpus"),
        ("ConfigMap", "gpuyard-lab", "gpuyard-lab-work"),
    ):
        assert need in needs
    for at, each in enumerate(objects):
        for need in dependencies_of(each):
            assert need not in order or order.index(need) < at, (order[at], need)


def test_a_document_says_who_says_so():
    told = json.loads(volumes_text(asked(), asked().pools[0]))
    assert told["schema"] == "gpuyard.dev/volumes/v1"
    assert told["readings"][0]["source"].startswith("derived, not measured: 0.5 of 680 MB/s")


def test_without_a_check_there_is_no_text_of_one():
    plan = plan_of(platform())
    assert json.loads(volumes_text(plan, plan.pools[0]))["readings"] == []
    with pytest.raises(KeyError):
        plan.pool("none")
