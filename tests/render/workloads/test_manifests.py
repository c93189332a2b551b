"""Manifests of workloads: one file for each kind, on the local stack."""

from pathlib import Path

import pytest

from gpuyard_advisor.job_manifests import (
    ManifestKind,
    default_kind,
    kind_obstacle,
    manifest_objects,
    manifest_text,
    place_shape,
)
from kit.cases.manifests import STACKS, plan_of_stack, request, requests
from kit.stacks import plan_of, platform, pool, shape, shared_pool, team

HERE = Path(__file__).parent
SHAPES = {ManifestKind.NOTEBOOK: "notebook", ManifestKind.SERVICE: "embedder"}


@pytest.fixture(scope="module")
def local():
    return plan_of_stack(STACKS["local"])


@pytest.mark.parametrize("kind", ManifestKind)
def test_the_manifest_of_each_kind_is_a_file(golden, local, kind):
    one = request(local, kind, "vision", SHAPES.get(kind, "llm-70b"))
    golden(HERE / "golden" / "manifests" / f"{kind}.yaml", manifest_text(local, one))


def test_a_gang_has_all_pods_of_its_shape_and_no_queue_but_that_of_its_team():
    for path in STACKS.values():
        plan = plan_of_stack(path)
        for one in requests(plan):
            workload = manifest_objects(plan, one)[-1]
            labels = workload["metadata"]["labels"]
            assert labels["kueue.x-k8s.io/queue-name"] in one.team.queues
            assert labels.get("kueue.x-k8s.io/priority-class") == one.team.priority
            assert workload["metadata"]["namespace"] == one.team.default_namespace.name


def test_a_notebook_of_a_team_with_idle_reclaim_says_when_it_is_suspended():
    plan = plan_of(
        platform(
            [pool()],
            [team(guarantee={"train": 8}, idle={"after_minutes": 120, "grace_minutes": 30})],
            shapes=[shape("lab", gpus_per_node=1)],
            observability={"prometheus": "install"},
        )
    )
    text = manifest_text(plan, request(plan, ManifestKind.NOTEBOOK, "vision", "lab"))
    assert (
        "# When its GPUs are idle for 120 minutes, it is warned and then scaled to zero.\n" in text
    )


def test_the_author_of_a_gang_is_told_what_its_fabric_needs():
    comments = {}
    for stack, kind in (("aws-training", ManifestKind.JOBSET), ("gcp-training", ManifestKind.JOB)):
        plan = plan_of_stack(STACKS[stack])
        text = manifest_text(plan, request(plan, kind, "vision", "llm-70b"))
        comments[stack] = [line for line in text.splitlines() if line.startswith("#")][1]
    assert comments == {
        "aws-training": "# EFA needs aws-ofi-nccl in the image; FI_PROVIDER, NCCL_PROTO and NCCL_MIN_CHANNELS stay unset.",
        "gcp-training": "# The pods use TCP between nodes: the receive daemon adds NET_ADMIN and mounts /sys,"
        " /proc/sys and /dev/aperture_devices of the node, which Pod Security level baseline rejects.",
    }


def test_a_kind_needs_its_controller_its_runtime_and_its_integration():
    plan = plan_of(
        platform(
            [pool(), shared_pool()],
            [team(guarantee={"train": 8, "dev/shared": 4})],
            shapes=[shape(gpus_per_node=8), shape("share", per_pod={"shares": 1})],
            addons=["kubeflow-trainer", "jobset"],
        )
    )
    whole, share = (place_shape(plan, plan.teams[0], name) for name in ("job", "share"))
    reasons = {kind: kind_obstacle(plan, plan.teams[0], whole, kind)[0] for kind in ManifestKind}
    assert {kind: reason for kind, reason in reasons.items() if reason} == {
        "trainjob": "pool train has no training runtime of torch for shape job",
        "pytorchjob": "Kueue does not queue PyTorchJobs, as its integration is off",
        "rayjob": "the stack has no add-on kuberay",
        "leaderworkerset": "the stack has no add-on leader-worker-set",
    }
    assert tuple(default_kind(plan, plan.teams[0], each) for each in (whole, share)) == (
        "jobset",
        "job",
    )


def test_a_dispatcher_runs_jobs_only():
    plan = plan_of_stack(STACKS["dispatcher"])
    shapes = [each for each in plan.shapes if place_shape(plan, plan.teams[0], each.name)]
    for kind in ManifestKind:
        reason, _ = kind_obstacle(plan, plan.teams[0], shapes[0], kind)
        assert bool(reason) is (kind is not ManifestKind.JOB)


def test_a_shape_is_placed_in_another_pool_where_only_that_has_quota():
    plan = plan_of(
        platform(
            [pool(), pool("spare")],
            [
                team("vision", guarantee={"train": 8}),
                team("speech", guarantee={"spare": 8}),
                team("search", guarantee={"spare": 1}),
            ],
            shapes=[shape(gpus_per_node=8)],
        )
    )
    placed = [place_shape(plan, each, "job") for each in plan.teams]
    assert [each and each.pool for each in placed] == ["train", "spare", None]


def test_a_kind_of_an_add_on_for_other_teams_is_not_written():
    plan = plan_of(
        platform(
            [pool()],
            [team("vision", guarantee={"train": 8}), team("speech", guarantee={"train": 8})],
            shapes=[shape(gpus_per_node=8)],
            addons=[{"name": "jobset", "teams": ["vision"]}],
        )
    )
    kinds = [default_kind(plan, each, plan.shapes[0]) for each in plan.teams]
    assert kinds == ["jobset", "job"]
    assert kind_obstacle(plan, plan.teams[1], plan.shapes[0], ManifestKind.JOBSET) == (
        "team speech may not use add-on jobset",
        "Add the team to its `teams` in `addons`",
    )
