"""What a cluster is told of hardware validation: account, program, expectations, a Job for each
pool.
"""

import ast
import json
import subprocess
import sys

import pytest
import yaml

import sizes
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.platform import object_groups
from gpuyard.render.programs import package_source
from gpuyard.render.validation import jobs as validation_jobs
from gpuyard.render.validation.expectations import expectations_text
from gpuyard.render.validation.jobs import (
    NOT_BESIDE_WORK,
    check_digest,
    check_name,
    checked_pools,
    validation_objects,
    verdict_object,
)
from gpuyard_core.names import GATE_TAINT, validator_name
from gpuyard_validator.checks import CHECKS
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool

IMAGE = "registry.example.org/ml/base:1"
ON_AWS = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}


def asked(*pools, image=IMAGE, required=True, **more):
    validation = {"image": image, "required": required}
    return plan_of(platform(list(pools) or [pool()], validation=validation, **more))


def one(plan, kind):
    return next(o for o in validation_objects(plan) if o["kind"] == kind)


def pod_of(plan):
    return one(plan, "Job")["spec"]["template"]["spec"]


@every(
    "raw",
    [
        platform(),
        platform(validation={"required": False}),
        platform([pool(nodes="0..4")], validation={"image": IMAGE, "gate": "none"}, **ON_AWS),
    ],
)
def test_nothing_is_made_when_no_node_is_checked(raw):
    plan = plan_of(raw)
    assert validation_objects(plan) == []
    assert checked_pools(plan) == []
    assert "validation" not in [name for name, _ in object_groups(plan)]


def test_the_job_of_a_cut_pool_is_the_golden_one(golden):
    plan = asked(cut_pool(nodes=2))
    text = yaml.safe_dump(one(plan, "Job"), sort_keys=False)
    text = text.replace(check_digest(plan, plan.pools[0]), "DIGEST")  # of the program, too
    golden(sizes.ROOT / "tests/render/golden/validation-job.yaml", text)


def test_each_pool_has_its_expectations_and_its_job_and_all_have_one_program():
    plan = asked(pool(), cut_pool())
    found = [(o["kind"], o["metadata"]["name"]) for o in validation_objects(plan)]
    train, serve = (check_name(plan, each) for each in plan.pools)
    assert found == [
        ("ServiceAccount", "gpuyard-lab-validator"),
        ("Role", "gpuyard-lab-validator"),
        ("RoleBinding", "gpuyard-lab-validator"),
        ("ConfigMap", "gpuyard-lab-validator"),
        ("ConfigMap", train),
        ("Job", train),
        ("ConfigMap", serve),
        ("Job", serve),
    ]
    assert object_groups(plan)[-2] == ("validation", validation_objects(plan))


def test_a_job_waits_for_what_its_pods_mount():
    plan = asked(pool())
    made = {object_key(o) for o in validation_objects(plan)}
    needs = set(dependencies_of(one(plan, "Job")))
    assert {kind for kind, _, _ in made - needs} == {"Job", "Role"}


def test_the_engine_can_await_it():
    """Two reasons end its wait, and no others: a failed pod too many, and the deadline."""
    job = one(asked(pool(nodes=3)), "Job")
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (3, 3, 0)
    assert spec.keys().isdisjoint(
        {"backoffLimitPerIndex", "maxFailedIndexes", "ttlSecondsAfterFinished"}
    )
    assert {rule["action"] for rule in spec["podFailurePolicy"]["rules"]} == {"Ignore"}
    patience = int(job["metadata"]["annotations"]["pulumi.com/timeoutSeconds"])
    assert patience > spec["activeDeadlineSeconds"] == 1800
    assert job["metadata"]["annotations"]["pulumi.com/replaceUnready"] == "true"


def test_nobody_waits_for_what_is_not_required():
    notes = one(asked(required=False), "Job")["metadata"]["annotations"]
    assert notes == {"pulumi.com/skipAwait": "true"}


def test_its_pods_hold_no_gpu_and_no_queue_knows_of_them():
    plan = asked(pool(), shared_pool())
    job, pod = one(plan, "Job"), pod_of(plan)
    asks = [c["resources"] for c in pod["containers"]]
    assert {name for each in asks for part in each.values() for name in part} == {"cpu", "memory"}
    assert "kueue" not in json.dumps(job["metadata"])
    assert "priorityClassName" not in pod


def test_the_account_may_read_the_jobs_of_this_check_and_nothing_else():
    plan = asked(pool(), cut_pool())
    names = [check_name(plan, each) for each in plan.pools]
    assert one(plan, "Role")["rules"] == [
        {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": names, "verbs": ["get"]}
    ]
    words = pod_of(plan)["containers"][0]["args"]
    assert words[words.index("--together") + 1] == names[0]


def test_no_two_pods_of_one_job_are_on_one_node_and_those_of_two_jobs_may_be():
    plan = asked(pool(), cut_pool())
    jobs = [o for o in validation_objects(plan) if o["kind"] == "Job"]
    for job in jobs:
        template = job["spec"]["template"]
        (term,) = template["spec"]["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert term["labelSelector"]["matchLabels"] == template["metadata"]["labels"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
    labels = [str(job["spec"]["template"]["metadata"]["labels"]) for job in jobs]
    assert len(set(labels)) == len(jobs)


def ready(plan):
    terms = pod_of(plan)["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    return {each["key"]: each.get("values") for term in terms for each in term["matchExpressions"]}


@every(
    "pools, more, waits",
    [
        ([pool()], {"cloud": "simulated"}, {"nvidia.com/cuda.driver-version.full": ["595.91.07"]}),
        ([pool()], {}, {"nvidia.com/cuda.driver-version.full": ["595.91.07"]}),
        ([pool(image="own-driver")], {}, {}),
        (
            [cut_pool(image="own-driver")],
            {},
            {"nvidia.com/mig.config.state": ["success", "failed"]},
        ),
    ],
)
def test_a_pod_starts_where_there_is_something_to_check(pools, more, waits):
    assert ready(asked(*pools, **more)) == {"nvidia.com/gpu.count": None, **waits}


def test_the_program_is_carried_whole_and_runs_from_where_it_is_mounted(tmp_path):
    plan = asked()
    data = next(
        o["data"]
        for o in validation_objects(plan)
        if (o["kind"], o["metadata"]["name"]) == ("ConfigMap", validator_name("lab"))
    )
    assert sum(len(key) + len(text.encode()) for key, text in data.items()) < 300_000
    assert all(ast.parse(text) for key, text in data.items() if key.endswith(".py"))
    container = pod_of(plan)["containers"][0]
    volume = next(v for v in pod_of(plan)["volumes"] if v["name"] == "program")
    for item in volume["configMap"]["items"]:
        at = tmp_path / "gpuyard_validator" / item["path"]
        at.parent.mkdir(exist_ok=True, parents=True)
        at.write_text(data[item["key"]])
    mount = next(m for m in container["volumeMounts"] if m["name"] == "program")
    assert mount["mountPath"] == f"{container['workingDir']}/gpuyard_validator"
    where = "import gpuyard_validator.command as c; print(c.__file__)"
    words = [sys.executable, "-B"]
    told = subprocess.run(
        [*words, "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith(str(tmp_path))
    expected = tmp_path / "expectations.json"
    expected.write_text(expectations_text(plan, plan.pools[0]))
    arguments = [
        str(expected) if word.startswith("/expectations/") else word for word in container["args"]
    ]
    at = arguments.index("--termination-log") + 1
    arguments[at] = str(tmp_path / "said")
    ended = subprocess.run(
        [*words, *container["command"][2:], *arguments],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 3, "this machine has no driver"
    assert (tmp_path / "said").read_text().startswith("cannot run: ")


def test_what_is_left_out_are_checks_of_an_idle_node():
    assert set(NOT_BESIDE_WORK) <= set(CHECKS)
    assert {CHECKS[name].group for name in NOT_BESIDE_WORK} == {"load"}


def name_of(**more):
    plan = asked(**more) if "pools" not in more else asked(*more.pop("pools"), **more)
    return check_name(plan, plan.pools[0])


@every(
    "change, again",
    [
        ({}, False),
        ({"teams": []}, False),
        ({"priorities": {"high": 10}}, False),
        ({"image": "registry.example.org/ml/base:2"}, True),
        ({"software": {"driver": "580.178.04"}}, True),
        ({"pools": [pool(nodes=3)]}, True),
        ({"pools": [pool(machine="p4d.24xlarge")]}, True),
        ({"required": False}, True),
    ],
)
def test_it_runs_again_when_what_the_verdict_rests_on_is_another(change, again):
    before, after = name_of(cloud="simulated"), name_of(cloud="simulated", **change)
    assert (before != after) is again


def test_other_floors_are_another_check(monkeypatch):
    plan = asked()
    before = check_name(plan, plan.pools[0])
    other = {**package_source("gpuyard_validator"), "floors.py": "FLOORS = {}"}
    monkeypatch.setattr(validation_jobs, "package_source", lambda _: other)
    assert check_name(plan, plan.pools[0]) != before


def test_a_verdict_is_of_one_check():
    plan = asked(pool(nodes=2))
    found = verdict_object(plan, plan.pools[0])
    assert found["metadata"]["name"] == f"{check_name(plan, plan.pools[0])}-passed"
    figures = UnresolvedOutput("validation.figures")
    assert found["data"] == {
        "pool": "train", "nodes": "2", "verdict": "passed", "figures": figures,
        "mixed": UnresolvedOutput("validation.mixed"),
    }  # fmt: skip


@pytest.mark.parametrize("length", [3, 40])
def test_the_name_of_a_pod_is_one_label_however_long_the_others_are(length):
    name = "p" * length
    plan = asked(pool(name), name=name)
    assert len(f"{check_name(plan, plan.pools[0])}-10000") <= 63


def test_pods_tolerate_what_keeps_others_off_and_choose_the_pools_nodes():
    plan = asked(pool())
    pod = pod_of(plan)
    assert pod["nodeSelector"] == dict(plan.pools[0].node_selector)
    assert {t["key"] for t in pod["tolerations"]} == {
        *(t.key for t in plan.pools[0].taints),
        GATE_TAINT,
    }


def test_beside_another_operator_it_is_where_that_one_is():
    plan = asked(gpu_operator={"install": False, "namespace": "nvidia"})
    assert {o["metadata"]["namespace"] for o in validation_objects(plan)} == {"nvidia"}
