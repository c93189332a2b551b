"""What a cluster is told of shares: all at once by the checks' queue, one too many, and a look."""

import yaml

import sizes
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.platform import platform_objects
from gpuyard.render.validation.shares import (
    share_checks,
    share_job_name,
    share_result_object,
    share_text,
)
from gpuyard.render.validation.work import deferred_jobs, work_objects
from gpuyard_core.names import CHECKS_LABEL, QUEUE_LABEL, WORK_LABEL
from gpuyard_validator.shares.checks import ShareExpectations, read_expectations
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

IMAGE = "registry.example.org/ml/full:1"
QUEUE, ACCOUNT = "gpuyard-lab-work", "gpuyard-lab-shares"
MPS = {"mps": 4}


def asked(*pools, required=True, minutes=30, image=IMAGE, profile="full", **more):
    validation = {
        "image": image,
        "profile": profile,
        "required": required,
        "deadline_minutes": minutes,
    }
    more = {"cloud": "simulated", **more}
    return plan_of(platform(list(pools) or [shared_pool()], validation=validation, **more))


def of_kind(plan, kind):
    return [o for o in work_objects(plan) if o["kind"] == kind]


def job(plan):
    (found,) = of_kind(plan, "Job")
    return found


def container(plan):
    return job(plan)["spec"]["template"]["spec"]["containers"][0]


def wanted(plan, index=0) -> ShareExpectations:
    return read_expectations(share_text(share_checks(plan)[index]))


def test_the_job_of_a_shared_pool_is_the_golden_one(golden):
    plan = asked()
    shown = [o for o in work_objects(plan) if "__init__.py" not in (o.get("data") or {})]
    name = share_job_name(plan, share_checks(plan)[0])
    text = yaml.safe_dump_all(shown, sort_keys=False).replace(name.rpartition("-")[2], "DIGEST")
    golden(sizes.ROOT / "tests/render/golden/validation-shares.yaml", text)


@every(
    "plan",
    [
        plan_of(platform()),
        asked(profile="quick"),
        asked(image=None, required=False),
        asked(pool()),
        asked(shared_pool(nodes="0..2"), cloud="aws"),
    ],
)
def test_nothing_is_made_where_no_share_is_tried(plan):
    assert share_checks(plan) == []
    assert ACCOUNT not in {o["metadata"]["name"] for o in work_objects(plan)}


def test_each_resource_of_a_cut_pool_has_its_job():
    plan = asked(pool(), cut_pool())
    assert [
        (t.pool.name, t.share.resource, t.total_shares, t.pods) for t in share_checks(plan)
    ] == [
        ("serve", "nvidia.com/mig-1g.5gb", 16, 17),
        ("serve", "nvidia.com/mig-2g.10gb", 8, 9),
        ("serve", "nvidia.com/mig-3g.20gb", 8, 9),
    ]
    names = [share_job_name(plan, each) for each in share_checks(plan)]
    assert [name.rpartition("-")[0] for name in names] == [
        "gpuyard-lab-share-serve-1g-5gb",
        "gpuyard-lab-share-serve-2g-10gb",
        "gpuyard-lab-share-serve-3g-20gb",
    ]
    assert [each.name for each in deferred_jobs(plan)][1:] == names
    (role,) = of_kind(plan, "Role")
    assert role["rules"] == [
        {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": names, "verbs": ["get"]}
    ]
    assert wanted(plan).memory_mib is None, "its slice is all the memory there is"


def test_all_nodes_are_filled_and_one_pod_waits():
    plan = asked(shared_pool(nodes=2))
    spec = job(plan)["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (33, 33, 0)
    assert (wanted(plan).at_once, wanted(plan).spare) == (32, 1)
    (queue,) = of_kind(plan, "ClusterQueue")
    (group,) = queue["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    assert flavor["resources"] == [
        {
            "name": "nvidia.com/gpu.shared",
            "nominalQuota": "1",
            "borrowingLimit": "32",
            "lendingLimit": "0",
        }
    ]


def test_where_another_place_could_be_found_no_pod_is_too_many():
    plan = asked(shared_pool(nodes="1..2"), cloud="aws")
    assert job(plan)["spec"]["parallelism"] == wanted(plan).at_once == 16
    assert wanted(plan).spare == 0
    (queue,) = of_kind(plan, "ClusterQueue")
    (entry,) = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert entry == {
        "name": "nvidia.com/gpu.shared",
        "nominalQuota": "0",
        "borrowingLimit": "16",
    }


def test_compute_slices_are_borrowed_where_queues_count_them():
    plan = asked(cut_pool(), queueing={"mig_quota": "slices"})
    (queue,) = of_kind(plan, "ClusterQueue")
    (entry,) = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    counted = plan.pools[0].compute_slices
    assert entry == {
        "name": counted.resource,
        "nominalQuota": "0",
        "borrowingLimit": str(counted.per_node),
    }
    assert [each.check.spare for each in share_checks(plan)] == [0, 0, 0]


def test_memory_has_a_limit_by_mps_alone():
    assert wanted(asked(shared_pool(sharing=MPS))).memory_mib == 24 * 1024 // 4
    assert wanted(asked()).memory_mib is None


def test_a_pod_has_one_share_and_no_more_rights_than_those_of_teams_but_a_look_at_its_job():
    plan = asked()
    name = job(plan)["metadata"]["name"]
    made, pod = container(plan), job(plan)["spec"]["template"]["spec"]
    assert made["resources"]["limits"] == {"memory": "1Gi", "nvidia.com/gpu.shared": "1"}
    assert made["securityContext"]["runAsNonRoot"]
    assert made["command"][-1] == "gpuyard_validator.shares"
    assert made["args"][made["args"].index("--job") + 1] == name
    assert pod["serviceAccountName"] == ACCOUNT
    assert pod["automountServiceAccountToken"]
    (binding,) = of_kind(plan, "RoleBinding")
    assert [each["name"] for each in binding["subjects"]] == [ACCOUNT]
    labels = job(plan)["spec"]["template"]["metadata"]["labels"]
    assert labels == {CHECKS_LABEL: name, WORK_LABEL: ACCOUNT}
    assert job(plan)["metadata"]["labels"][QUEUE_LABEL] == QUEUE


def test_pods_speak_before_kueue_takes_their_job_back():
    """A job of which some pods find no place is evicted after so long, and would say nothing."""

    def seconds(plan):
        words = container(plan)["args"]
        return int(words[words.index("--seconds") + 1])

    plan = asked()
    assert seconds(plan) < plan.queueing.start_minutes * 60
    long = asked(queueing={"start_within_minutes": 240}, minutes=20)
    assert seconds(long) == 900


def test_it_is_awaited_where_it_is_required():
    notes = job(asked(minutes=20))["metadata"]["annotations"]
    assert int(notes["pulumi.com/timeoutSeconds"]) > 1200
    assert notes["pulumi.com/replaceUnready"] == "true"
    assert job(asked(required=False))["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_it_runs_again_when_anything_is_that_it_rests_on(monkeypatch):
    def name(plan):
        return job(plan)["metadata"]["name"]

    first = name(asked())
    assert name(asked()) == first
    for other in (
        asked(shared_pool(nodes=2)),
        asked(image=f"{IMAGE}0"),
        asked(shared_pool(sharing={"time_slicing": 2})),
        asked(shared_pool(sharing=MPS)),
    ):
        assert name(other) != first
    monkeypatch.setattr("gpuyard.render.validation.jobs.package_source", lambda _: {"x.py": "1"})
    assert name(asked()) != first


def test_the_verdict_names_its_job_and_keeps_its_figures():
    plan = asked()
    (tried,) = share_checks(plan)
    made = share_result_object(plan, tried)
    assert made["metadata"]["name"] == f"{share_job_name(plan, tried)}-passed"
    assert made["data"] == {
        "pool": "dev",
        "resource": "nvidia.com/gpu.shared",
        "shares": "16",
        "verdict": UnresolvedOutput("validation.verdict"),
        "figures": UnresolvedOutput("validation.figures"),
    }


def test_all_is_rendered_after_what_it_needs():
    raw = platform([shared_pool()], [team(guarantee={"dev/shared": 8})], cloud="simulated",
                   validation={"image": IMAGE, "profile": "full"})  # fmt: skip
    objects = platform_objects(plan_of(raw))
    order = [object_key(o) for o in objects]
    made = next(o for o in objects if "share" in o["metadata"]["name"] and o["kind"] == "Job")
    needs = set(dependencies_of(made))
    assert ("ServiceAccount", "gpuyard-lab", ACCOUNT) in needs
    assert ("ConfigMap", "gpuyard-lab", QUEUE) in needs
    for at, each in enumerate(objects):
        for need in dependencies_of(each):
            assert need not in order or order.index(need) < at, (order[at], need)
