"""Training runtimes: one for each framework and pool, on the CRD of Kubeflow Trainer."""

from pathlib import Path

import pytest

from gpuyard.render.platform import object_groups
from gpuyard.render.text import yaml_text
from gpuyard.render.workloads.runtimes import runtime_images, runtime_objects
from gpuyard_core.findings import Severity
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import findings, plan_of, platform, pool, shape, team

HERE = Path(__file__).parent
ALL = ["torch", "deepspeed", "jax", "mpi"]


def on(training, pools=None, teams=None, cloud="aws", **rest):
    raw = platform(
        pools or [pool(topology=True)],
        teams or [team(guarantee={"train": 32})],
        cloud=cloud,
        workloads={"training": training},
        addons=["jobset", "kubeflow-trainer"],
        **rest,
    )
    assert not [each for each in findings(raw) if each.severity is Severity.ERROR]
    return plan_of(raw)


@pytest.mark.parametrize("framework", ["torch", "mpi"])
def test_a_runtime_as_a_file(framework, golden):
    checkpoints = {"storage": {"checkpoints": {"bucket": "weights", "retention_days": 30}}}
    (made,) = runtime_objects(on([framework], **checkpoints))
    golden(HERE / "golden" / f"runtime-{framework}.yaml", yaml_text(made))


@pytest.mark.parametrize("cloud", ["aws", "none", "simulated"])
def test_the_crd_accepts_every_runtime(cloud):
    crds, made = CrdFolder(upstream("crds")), runtime_objects(on(ALL, cloud=cloud))
    assert [crds.violations(each) for each in made] == [[]] * len(ALL)


def test_pools_without_whole_gpus_or_quota_get_no_runtime():
    pools = [pool(), pool("idle"), pool("cut", sharing={"mig": {"1g.10gb": 7}})]
    plan = on(["torch"], pools, [team(guarantee={"train": 32, "cut/1g.10gb": 8})])
    assert [each.name for each in plan.runtimes] == ["torch-train"]


def test_named_pools_only():
    plan = on(
        ["torch", {"framework": "jax", "pools": ["b"]}],
        [pool("a"), pool("b")],
        [team(guarantee={"a": 32, "b": 32})],
    )
    assert [each.name for each in plan.runtimes] == ["torch-a", "torch-b", "jax-b"]


def test_a_pool_with_claims_uses_the_claims_of_a_shape_of_whole_nodes():
    rack = pool("rack", machine="p6e-gb200.36xlarge", nodes=9, sharing={"dra": True})
    rest = {"shapes": [shape("moe", nodes=2, gpus_per_node=4)]}
    plan = on(["torch"], [rack], [team(guarantee={"rack": 36})], "none", **rest)
    (made,) = runtime_objects(plan)
    (job,) = made["spec"]["template"]["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]["template"]["spec"]
    assert spec["resourceClaims"][0] == {"name": "gpus", "resourceClaimTemplateName": "moe"}


def test_an_image_of_the_stack_file():
    plan = on([{"framework": "torch", "image": "registry.example/base:3"}])
    (image,) = runtime_images(plan)
    assert image.reference == "registry.example/base:3"


def test_images_come_from_the_mirror():
    plan = on(["torch"], mirror={"images": "mirror.example/images"})
    (image,) = runtime_images(plan)
    assert image.reference.startswith("mirror.example/images/pytorch/pytorch:")
    (made,) = runtime_objects(plan)
    assert image.reference in yaml_text(made)


def test_runtimes_come_after_teams():
    groups = [name for name, _ in object_groups(on(["torch"]))]
    assert groups.index("training") > groups.index("team-vision")
