"""What a Validation registers, in which order, and what it says became of each pool."""

import json

import pytest

from gpuyard.render.validation.gate import gate_objects
from gpuyard.render.validation.jobs import check_digest, check_name, validation_objects
from gpuyard.render.validation.shares import share_checks, share_job_name
from gpuyard.render.validation.volumes import volumes_job_name
from gpuyard.render.validation.work import load_test_checks, work_job_name
from gpuyard.resources import Platform, Validation
from gpuyard.resources.validation import component
from gpuyard_core.names import REPORT_CONFIGMAP
from kit.components import token, waits_for
from kit.stacks import cut_pool, plan_of, platform, pool

IMAGE = {"image": "registry.example.org/ml/base:1"}
TWO = platform([pool(nodes=2), cut_pool()], cloud="simulated", validation=IMAGE)


def outputs(graph):
    return graph.one(token("Validation")).registered_outputs["pools"]


def made(pulumi_mocks, raw):
    return pulumi_mocks.run(lambda: Validation("lab", {"platform": raw}))


def test_a_verdict_is_written_down_when_its_job_is_complete(pulumi_mocks):
    plan, graph = plan_of(TWO), made(pulumi_mocks, TWO)
    for each in plan.pools:
        name = check_name(plan, each)
        waits = waits_for(graph, f"lab:ConfigMap:gpu-operator/{name}-passed")
        assert waits == {f"Job:gpu-operator/{name}"}
        assert waits_for(graph, f"lab:Job:gpu-operator/{name}") == {
            "ServiceAccount:gpu-operator/gpuyard-lab-validator",
            "RoleBinding:gpu-operator/gpuyard-lab-validator",
            "ConfigMap:gpu-operator/gpuyard-lab-validator",
            f"ConfigMap:gpu-operator/{name}",
            # A check that fails at once ends the engine: what looks at nodes later is made before.
            *(f"DaemonSet:gpu-operator/gpuyard-lab-gate-{one.name}" for one in plan.pools),
        }


def test_the_outputs_say_what_became_of_each_pool(pulumi_mocks):
    plan = plan_of(TWO)
    assert outputs(made(pulumi_mocks, TWO)) == {
        each.name: {
            "verdict": "passed",
            "nodes": each.start_nodes,
            "digest": check_digest(plan, each),
            "why": "",
            "figures": {},
            "mixed": {},
            "accepted": {},
            "work": "the profile quick puts no load on a GPU",
            "shares": "the profile quick tests no share of a GPU",
            "volumes": "the profile quick reads no volume",
        }
        for each in plan.pools
    }


def test_the_outputs_say_which_lower_floors_were_accepted(pulumi_mocks):
    lower = {"value": 8, "reason": "risers of eight lanes", "until": "2027-03-31"}
    accepted = [{"pool": "train", "check": "pcie.width"} | lower]
    found = outputs(
        made(pulumi_mocks, TWO | {"validation": IMAGE | {"accepted_thresholds": accepted}})
    )
    assert found["train"]["accepted"] == {"pcie.width": lower | {"unit": "lanes"}}
    assert found["serve"]["accepted"] == {}


def test_what_was_measured_stands_with_the_verdict_and_in_the_outputs(pulumi_mocks, monkeypatch):
    figure = {"least": 8, "most": 8, "floor": 8, "unit": "GPUs", "source": "the plan", "nodes": 2}

    def measured(job, looks, name, space):
        assert (looks, space) == (None, "gpu-operator")
        pool = "train" if "-train-" in name else "serve"
        return job.id.apply(lambda _: json.dumps({f"{pool}.x": figure}))

    monkeypatch.setattr(component, "job_measurements", measured)
    graph = made(pulumi_mocks, TWO)
    assert {name: each["figures"] for name, each in outputs(graph).items()} == {
        "train": {"train.x": figure},
        "serve": {"serve.x": figure},
    }
    (kept,) = [one for one in graph if one.name.endswith("-passed") and "train" in one.name]
    assert json.loads(kept.inputs["data"]["figures"]) == {"train.x": figure}


def test_what_nodes_do_not_have_alike_stands_with_the_verdict_and_in_the_outputs(
    pulumi_mocks, monkeypatch
):
    mixed = {"vbios": {"96.00.74": ["a", "b"], "96.00.A5": ["c"]}}

    def unlike(job, looks, read):
        assert looks is None
        name = job.pulumi_resource_name
        return job.id.apply(lambda _: json.dumps(mixed if "-train-" in name else {}))

    monkeypatch.setattr(component, "wait_for_job", unlike)
    graph = made(pulumi_mocks, TWO)
    found = outputs(graph)
    assert {name: each["mixed"] for name, each in found.items()} == {"train": mixed, "serve": {}}
    assert {each["verdict"] for each in found.values()} == {"passed"}, (
        "it is told, and fails nobody"
    )
    (kept,) = [one for one in graph if one.name.endswith("-passed") and "train" in one.name]
    assert json.loads(kept.inputs["data"]["mixed"]) == mixed


def test_what_is_not_required_is_not_awaited(pulumi_mocks):
    graph = made(pulumi_mocks, TWO | {"validation": IMAGE | {"required": False}})
    assert {each["verdict"] for each in outputs(graph).values()} == {"not awaited"}
    assert not [one for one in graph if one.name.endswith("-passed")]


QUICK = "the profile quick puts no load on a GPU"
UNTRIED = "the profile quick tests no share of a GPU"
NOT = {
    "verdict": "not checked",
    "nodes": 0,
    "digest": "",
    "figures": {},
    "mixed": {},
    "accepted": {},
    "work": QUICK,
    "shares": UNTRIED,
    "volumes": "the profile quick reads no volume",
}
ON_AWS = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (platform(validation={"required": False}), "no image is named"),
        (
            platform([pool(nodes="0..4")], validation=IMAGE | {"gate": "none"}, **ON_AWS),
            "it starts without nodes",
        ),
        (
            platform(
                [pool(machine="g6f.xlarge")], validation=IMAGE | {"required": False}, **ON_AWS
            ),
            "a node has a fraction of a GPU, which cannot validate the whole GPU",
        ),
    ],
)
def test_a_pool_that_is_not_checked_says_why(pulumi_mocks, raw, why):
    graph = made(pulumi_mocks, raw)
    assert outputs(graph) == {"train": NOT | {"why": why}}
    assert [one for one in graph if one.custom] == []


def test_a_pool_that_begins_without_nodes_is_put_off_and_its_gate_is_made(pulumi_mocks):
    graph = made(pulumi_mocks, platform([pool(nodes="0..4")], validation=IMAGE, **ON_AWS))
    why = "it starts without nodes: nodes are validated when they start"
    assert outputs(graph) == {"train": NOT | {"verdict": "deferred", "why": why}}
    kinds = [one.type.rpartition(":")[2] for one in graph if one.custom]
    assert {"DaemonSet", "Deployment", "ValidatingAdmissionPolicy"} <= set(kinds)
    assert "Job" not in kinds
    assert waits_for(graph, "lab:DaemonSet:gpu-operator/gpuyard-lab-gate-train") >= {
        "ServiceAccount:gpu-operator/gpuyard-lab-validator",
        "ConfigMap:gpu-operator/gpuyard-lab-validator",
    }
    assert waits_for(graph, "lab:Deployment:gpu-operator/gpuyard-lab-gate") >= {
        "ServiceAccount:gpu-operator/gpuyard-lab-gate",
        "ConfigMap:gpu-operator/gpuyard-lab-gate",
    }


def test_a_platform_that_asks_for_none_has_none(pulumi_mocks):
    raw = platform(cloud="simulated")
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    assert graph.one(token("Platform")).registered_outputs["validation"] == {}
    assert [one for one in graph if one.type == token("Validation")] == []
    assert outputs(made(pulumi_mocks, raw)) == {}


def test_in_a_platform_it_comes_after_the_operator_and_the_nodes_and_only_the_report_after_it(
    pulumi_mocks,
):
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": TWO}))
    job = check_name(plan_of(TWO), plan_of(TWO).pools[0])
    waits = waits_for(graph, f"lab-validation:Job:gpu-operator/{job}")
    assert {"Node:train-000", "Node:train-001", "ClusterPolicy:cluster-policy"} <= waits
    names = {one.urn for one in graph if one.name.startswith("lab-validation")}
    later = [one.name for one in graph if names & set(one.dependencies)]
    after = [name for name in later if not name.startswith("lab-validation")]
    assert after == [f"lab:ConfigMap:gpuyard-lab/{REPORT_CONFIGMAP}"]


def test_alone_it_registers_what_is_rendered_and_the_verdicts(pulumi_mocks):
    graph, plan = made(pulumi_mocks, TWO), plan_of(TWO)
    registered = sum(one.custom for one in graph)
    assert registered == len(validation_objects(plan)) + len(gate_objects(plan)) + len(plan.pools)


FULL = TWO | {"validation": IMAGE | {"profile": "full"}}


def test_gpus_work_after_the_teams_have_their_queues_and_the_nodes_have_passed(pulumi_mocks):
    plan = plan_of(FULL)
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": FULL}))
    (each,), shares = load_test_checks(plan), share_checks(plan)
    job = work_job_name(plan, plan.pool(each.pool), each)
    waits = waits_for(graph, f"lab:Job:gpuyard-lab/{job}")
    quick = [check_name(plan, one) for one in plan.pools]
    assert {f"ConfigMap:gpu-operator/{name}-passed" for name in quick} <= waits
    assert {f"{kind}:gpuyard-lab/gpuyard-lab-work" for kind in ("LocalQueue", "Secret")} <= waits
    verdict = waits_for(graph, f"lab:ConfigMap:gpuyard-lab/{job}-passed")
    assert f"Job:gpuyard-lab/{job}" in verdict
    for tried in shares:
        share = share_job_name(plan, tried)
        assert {f"ConfigMap:gpu-operator/{name}-passed" for name in quick} <= waits_for(
            graph, f"lab:Job:gpuyard-lab/{share}"
        )
        verdict = waits_for(graph, f"lab:ConfigMap:gpuyard-lab/{share}-passed")
        assert f"Job:gpuyard-lab/{share}" in verdict
    found = graph.one(token("Platform")).registered_outputs["validation"]
    assert {name: said["shares"] for name, said in found.items()} == {
        "train": "its GPUs are not shared",
        "serve": "passed",
    }
    assert {name: said["work"] for name, said in found.items()} == {
        "train": "passed",
        "serve": "its GPUs are partitioned or shared, and a share does not represent the whole GPU",
    }


def test_figures_of_work_and_shares_stand_beside_those_of_the_check(pulumi_mocks, monkeypatch):
    def measured(job, looks, name, space):
        assert (looks, space) == (None, "gpuyard-lab")
        check = "share.devices" if "-share-" in name else "work.product"
        return job.id.apply(lambda _: json.dumps({check: {"least": 1, "of": name}}))

    monkeypatch.setattr("gpuyard.resources.validation.deferral.job_measurements", measured)
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": FULL}))
    found = graph.one(token("Platform")).registered_outputs["validation"]
    assert list(found["train"]["figures"]) == ["work.product"]
    assert found["serve"]["figures"]["share.devices"]["least"] == 1


def test_work_that_is_not_required_is_not_awaited(pulumi_mocks):
    raw = FULL | {"validation": FULL["validation"] | {"required": False}}
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    assert not [one for one in graph if one.name.endswith("-passed")]
    found = graph.one(token("Platform")).registered_outputs["validation"]
    assert found["train"]["work"] == "not awaited"


DATA = [{"name": "corpus", "kind": "bucket", "bucket": "our-corpus"}]


def test_a_node_of_each_pool_reads_and_its_figures_stand_beside_the_others(
    pulumi_mocks, monkeypatch
):
    raw = FULL | {"storage": {"datasets": DATA}}
    plan = plan_of(raw)

    def measured(job, looks, name, space):
        return job.id.apply(lambda _: json.dumps({name[:26]: {"least": 1}}))

    monkeypatch.setattr("gpuyard.resources.validation.deferral.job_measurements", measured)
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    found = graph.one(token("Platform")).registered_outputs["validation"]
    assert {each["volumes"] for each in found.values()} == {"passed"}
    for each in plan.pools:
        name = volumes_job_name(plan, each)
        waits = waits_for(graph, f"lab:Job:gpuyard-lab/{name}")
        assert "PersistentVolumeClaim:gpuyard-lab/corpus" in waits
        assert f"ConfigMap:gpu-operator/{check_name(plan, each)}-passed" in waits
        verdict = waits_for(graph, f"lab:ConfigMap:gpuyard-lab/{name}-passed")
        assert f"Job:gpuyard-lab/{name}" in verdict
    assert "gpuyard-lab-volumes-train-" in found["train"]["figures"]


def test_where_nothing_can_be_read_the_output_says_so(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": FULL}))
    found = graph.one(token("Platform")).registered_outputs["validation"]
    assert {each["volumes"] for each in found.values()} == {"it can read no dataset"}


def test_a_verdict_that_is_deferred_stands_in_the_output_in_place_of_passed():
    verdict = {"work": "passed", "shares": "passed", "figures": {}}
    share, work = {"shares": "16", "verdict": "passed"}, {"nodes": "2", "verdict": "passed"}
    late = {"verdict": "deferred: queue lab-vision uses 3 nvidia.com/gpu.shared"}
    assert component._joined(verdict, [share, work]) == verdict
    assert component._joined(verdict, [share, share | late, work])["shares"] == late["verdict"]
    assert component._joined(verdict, [share, work | late]) == verdict | {"work": late["verdict"]}
