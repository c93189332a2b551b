"""What a cluster is told of GPUs at work: a queue that only borrows, a token that nobody draws, Jobs."""

import json

import yaml

import sizes
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.platform import object_groups, platform_objects
from gpuyard.render.validation.queue import LEAST
from gpuyard.render.validation.work import (
    DeferredJob,
    deferred_jobs,
    load_test_checks,
    work_job_name,
    work_objects,
    work_result_object,
)
from gpuyard_core.names import (
    CHECKS_LABEL,
    EFA,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    TOKEN_OF,
    WORK_LABEL,
    load_validation_name,
)
from gpuyard_validator.expectations import read_expectations
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

IMAGE = "registry.example.org/ml/full:1"
NAME = "gpuyard-lab-work"
INFINIBAND = {"kind": "infiniband", "hcas": ["mlx5_0"], "gbps": 400}
YOURS = {"plugin": "network-operator"}


def asked(*pools, profile="full", required=True, image=IMAGE, minutes=30, **more):
    validation = {
        "image": image,
        "profile": profile,
        "required": required,
        "deadline_minutes": minutes,
    }
    more = {"cloud": "simulated", **more}
    return plan_of(platform(list(pools) or [pool()], validation=validation, **more))


def one(plan, kind):
    return next(o for o in work_objects(plan) if o["kind"] == kind)


def container(plan):
    return one(plan, "Job")["spec"]["template"]["spec"]["containers"][0]


def document(plan):
    texts = [o["data"] for o in work_objects(plan) if o["kind"] == "ConfigMap"]
    return next(t["expectations.json"] for t in texts if "expectations.json" in t)


def name_of(plan, index=0):
    each = load_test_checks(plan)[index]
    return work_job_name(plan, plan.pool(each.pool), each)


@every(
    "plan",
    [
        plan_of(platform()),
        asked(profile="quick"),
        asked(image=None, required=False),
        asked(pool(nodes="0..4"), cloud="aws"),
    ],
)
def test_nothing_is_made_where_no_gpu_works(plan):
    assert work_objects(plan) == []
    assert "work" not in [name for name, _ in object_groups(plan)]


def test_the_job_of_a_pool_is_the_golden_one(golden):
    plan = asked(pool(nodes=2))
    shown = [o for o in work_objects(plan) if "__init__.py" not in (o.get("data") or {})]
    text = yaml.safe_dump_all(shown, sort_keys=False)
    text = text.replace(name_of(plan).rpartition("-")[2], "DIGEST")  # of the program, too
    golden(sizes.ROOT / "tests/render/golden/validation-work.yaml", text)


def test_each_pool_that_works_has_its_job_and_all_have_one_queue():
    plan = asked(pool(), pool("more", machine="g6.12xlarge", nodes=1))
    train, more = name_of(plan), name_of(plan, 1)
    assert [(o["kind"], o["metadata"]["name"]) for o in work_objects(plan)] == [
        ("WorkloadPriorityClass", NAME),
        ("ClusterQueue", NAME),
        ("LocalQueue", NAME),
        ("ConfigMap", NAME),
        ("ServiceAccount", NAME),
        ("Secret", NAME),
        ("NetworkPolicy", NAME),
        ("ConfigMap", train),
        ("Service", train),
        ("Job", train),
        ("ConfigMap", more),
        ("Service", more),
        ("Job", more),
    ]
    assert object_groups(plan)[-1] == ("work", work_objects(plan))


def test_its_queue_owns_nothing_takes_from_nobody_and_borrows_what_is_checked():
    plan = asked(pool(), pool("more", machine="g6.12xlarge", nodes=1))
    spec = one(plan, "ClusterQueue")["spec"]
    assert spec["cohortName"] == "lab"
    assert set(spec["preemption"].values()) == {"Never"}
    assert spec["fairSharing"] == {"weight": "0"}
    assert spec["namespaceSelector"] == {
        "matchLabels": {"kubernetes.io/metadata.name": "gpuyard-lab"}
    }
    (group,) = spec["resourceGroups"]
    entries = {f["name"]: f["resources"] for f in group["flavors"]}
    assert {name: each[0]["nominalQuota"] for name, each in entries.items()} == dict.fromkeys(
        entries, "0"
    )
    borrowed = {name: each[0]["borrowingLimit"] for name, each in entries.items()}
    assert borrowed == {plan.pool("train").flavor: "32", plan.pool("more").flavor: "4"}
    assert one(plan, "WorkloadPriorityClass")["value"] == LEAST
    plain = asked(queueing={"fair_sharing": False})
    assert "fairSharing" not in one(plan=plain, kind="ClusterQueue")["spec"]


def test_a_job_waits_for_all_that_it_needs():
    plan = asked()
    made = {object_key(o) for o in work_objects(plan)}
    needs = set(dependencies_of(one(plan, "Job")))
    assert {kind for kind, _, _ in made - needs} == {"Job", "ClusterQueue"}
    assert ("ConfigMap", "gpuyard-lab", NAME) in needs
    assert ("ClusterQueue", "", NAME) in set(dependencies_of(one(plan, "LocalQueue")))
    assert ("ServiceAccount", "gpuyard-lab", NAME) in set(dependencies_of(one(plan, "Secret")))


def test_all_is_rendered_after_what_it_needs():
    raw = platform([pool()], [team(guarantee={"train": 8})], cloud="simulated",
                   validation={"image": IMAGE, "profile": "full"})  # fmt: skip
    objects = platform_objects(plan_of(raw))
    order = [object_key(o) for o in objects]
    for at, each in enumerate(objects):
        for need in dependencies_of(each):
            assert need not in order or order.index(need) < at, (order[at], need)


def test_the_engine_can_await_it_and_its_queue_knows_it():
    job = one(asked(pool(nodes=3), minutes=20), "Job")
    spec, notes = job["spec"], job["metadata"]["annotations"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (3, 3, 0)
    assert int(notes["pulumi.com/timeoutSeconds"]) > spec["activeDeadlineSeconds"] == 1200
    assert notes["pulumi.com/replaceUnready"] == "true"
    labels = job["metadata"]["labels"]
    assert (labels[QUEUE_LABEL], labels[PRIORITY_LABEL]) == (NAME, NAME)
    assert "suspend" not in spec, "that is Kueue's to say"
    not_required = one(asked(required=False), "Job")["metadata"]["annotations"]
    assert not_required == {"pulumi.com/skipAwait": "true"}


def test_a_pod_holds_every_gpu_of_its_node_and_has_no_more_rights_than_those_of_teams():
    made = container(asked())
    assert made["resources"]["limits"] == {"memory": "18Gi", "nvidia.com/gpu": "8"}
    assert made["resources"]["requests"]["nvidia.com/gpu"] == "8"
    held = made["securityContext"]
    assert (held["runAsNonRoot"], held["capabilities"]) == (True, {"drop": ["ALL"]})
    assert held["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not held["allowPrivilegeEscalation"]
    assert not [e for e in made["env"] if e["name"] == "NVIDIA_VISIBLE_DEVICES"]
    assert "--leave-out" not in made["args"], "its node is idle for sure"


def test_ranks_meet_at_the_first_pod_by_a_token_that_the_cluster_draws():
    plan = asked(pool(nodes=2), minutes=20)
    name, pod = name_of(plan), one(plan, "Job")["spec"]["template"]["spec"]
    words = container(plan)["args"]
    assert words[words.index("--first") + 1] == f"{name}-0.{name}:29500"
    assert words[words.index("--deadline") + 1] == "900"
    assert "--index" not in words, "an Indexed Job says it"
    assert pod["subdomain"] == name
    assert len(f"{name}-999") <= 63
    service = one(plan, "Service")["spec"]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    assert service["ipFamilyPolicy"] == "PreferDualStack"
    assert service["selector"] == {CHECKS_LABEL: name}
    secret = one(plan, "Secret")
    assert secret["type"] == "kubernetes.io/service-account-token"
    assert secret["metadata"]["annotations"][TOKEN_OF] == NAME
    assert "data" not in secret
    assert "stringData" not in secret
    (rule,) = one(plan, "NetworkPolicy")["spec"]["ingress"]
    assert rule == {"from": [{"podSelector": {"matchLabels": {WORK_LABEL: NAME}}}]}
    labels = one(plan, "Job")["spec"]["template"]["metadata"]["labels"]
    assert labels == {CHECKS_LABEL: name, WORK_LABEL: NAME}


@every(
    "plan, nodes, between, alone",
    [
        (asked(pool(nodes=2)), 2, "tcp", False),
        (asked(pool(nodes=1)), 1, "tcp", True),
        (asked(pool(nodes=2), cloud="aws"), 2, "efa", False),
        (asked(pool(nodes=2, fabric=INFINIBAND), cloud="none"), 2, "infiniband", False),
        (asked(pool(nodes=2, fabric=INFINIBAND | YOURS), cloud="none"), 1, "tcp", True),
    ],
)  # fmt: skip
def test_what_runs_together_is_in_the_document_and_in_the_arguments(plan, nodes, between, alone):
    told = read_expectations(document(plan))
    assert (told.profile, told.collectives.nodes) == ("full", nodes)
    assert told.collectives.between == between
    words = container(plan)["args"]
    assert ("--index" in words) is alone
    assert (words[words.index("--first") + 1] == "localhost:29500") is alone


def test_pods_of_efa_have_all_adapters_of_the_node():
    held = container(asked(pool(nodes=2), cloud="aws"))["resources"]["limits"]
    assert held[EFA] == "32"
    assert EFA not in container(asked())["resources"]["limits"]


@every("kind", ["infiniband", "roce"])
def test_pods_of_ones_own_fabric_have_its_adapters_and_what_nccl_is_told_of_them(kind):
    """Without them NCCL would take TCP, or with NCCL_NET fail: neither says anything of the fabric."""
    fabric = INFINIBAND | {"kind": kind}
    made = container(asked(pool(nodes=2, fabric=fabric), cloud="none"))
    for part in ("requests", "limits"):
        assert made["resources"][part]["rdma/hca"] == "1"
    told = {each["name"]: each.get("value") for each in made["env"]}
    assert (told["NCCL_NET"], told["NCCL_IB_HCA"]) == ("IB", f"={','.join(fabric['hcas'])}")
    alone = container(asked(pool(nodes=2, fabric=fabric | YOURS), cloud="none"))
    assert "rdma/hca" not in alone["resources"]["limits"]
    assert "NCCL_NET" not in {each["name"] for each in alone["env"]}
    ethernet = container(asked(pool(nodes=2, fabric={"kind": "ethernet"}), cloud="none"))
    assert "rdma/hca" not in ethernet["resources"]["limits"]


def test_it_runs_again_when_anything_is_that_it_rests_on(monkeypatch):
    first = name_of(asked())
    assert name_of(asked()) == first
    for other in (
        asked(pool(nodes=3)),
        asked(image=f"{IMAGE}0"),
        asked(profile="soak"),
        asked(pool(machine="p5en.48xlarge")),
        asked(software={"driver": "580.178.04"}),
    ):
        assert name_of(other) != first
    monkeypatch.setattr("gpuyard.render.validation.jobs.package_source", lambda _: {"x.py": "1"})
    assert name_of(asked()) != first


def test_the_verdict_names_its_job():
    plan = asked(pool(nodes=2))
    (each,) = load_test_checks(plan)
    made = work_result_object(plan, plan.pools[0], each)
    assert made["metadata"]["name"] == f"{name_of(plan)}-passed"
    late = {
        "figures": UnresolvedOutput("validation.figures"),
        "verdict": UnresolvedOutput("validation.verdict"),
    }
    assert made["data"] == {"pool": "train", "nodes": "2"} | late
    assert list(deferred_jobs(plan)) == [DeferredJob(plan.pools[0], name_of(plan), 2, made, 0)]
    assert load_validation_name("lab") == NAME
    assert json.loads(document(plan))["pool"] == "train"
