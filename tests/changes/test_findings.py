"""Every word about a loss that the stacks of the other tests have no place for."""

from gpuyard.changes.findings import change_findings
from gpuyard.changes.planned_changes import Disruption, Effect, PlannedChanges
from gpuyard.changes.platforms import DrainedPool, RemovedGuarantee, ReportedPlatform
from gpuyard.changes.retained_content import ResourceContent
from kit.every import every
from kit.stacks import plan_of, platform, pool

LOSS = {
    "subject": "Key key",
    "path": ("cluster",),
    "reason": "a change of usage replaces it",
    "digest": "sha256:1",
}


def said(**rest):
    loss = Disruption(effect=Effect.REPLACES, **{**LOSS, **rest})
    told = PlannedChanges(
        platform="platform",
        resources=(),
        disruptions=(loss,),
        reduced_quotas=(),
        unplanned_removals=(),
    )
    return change_findings(plan_of(platform()), told)[0]


def test_a_loss_that_takes_nothing_else_says_so():
    assert said().problem.endswith("; nothing runs on it")
    assert said().fix.value == "sha256:1"


def test_a_pool_of_which_little_is_known_is_named_all_the_same():
    assert "pool a is drained" in said(drained_pools=(DrainedPool("a", None, None),)).problem
    assert (
        "up to 2 nodes with an unknown number of GPUs"
        in said(drained_pools=(DrainedPool("a", 2, None),)).problem
    )


def test_a_guarantee_of_a_team_that_is_gone_is_said_of_all_teams():
    lost = RemovedGuarantee("gone", "train", "nvidia.com/gpu", 4)
    told = PlannedChanges(
        platform="platform",
        resources=(),
        disruptions=(),
        reduced_quotas=((lost, 0),),
        unplanned_removals=(),
    )
    (found,) = change_findings(plan_of(platform()), told)
    assert (found.id, found.where) == ("change.lowers", "teams")


def test_a_report_of_an_earlier_release_may_lack_words():
    report = ReportedPlatform(
        {"train": {}}, {"vision": {"guarantee": None}, "speech": {"guarantee": {"dev x": 1}}}
    )
    assert report.drained("train") == DrainedPool("train", None, None)
    assert list(report.guarantees("train")) == []


TRAIN = RemovedGuarantee("vision", "train", "nvidia.com/gpu", 16)


@every(
    ("cloud", "does", "holds", "ends"),
    [
        (
            "aws",
            Effect.REPLACES,
            (ResourceContent.NODES,),
            "until new nodes are ready: 1 to 7 minutes, if",
        ),
        (
            *("aws", Effect.REPLACES, (ResourceContent.CLUSTER, ResourceContent.NODES)),
            "until a new cluster and new nodes are ready: 14 to 24 minutes, if",
        ),
        (
            *("gcp", Effect.REPLACES, (ResourceContent.CLUSTER,)),
            "until a new cluster and new nodes are ready: 6 to 21 minutes for the nodes, if",
        ),
        (
            *("gcp", Effect.ROLLS, ()),
            "in part, until the last node is replaced: 6 to 21 minutes for each batch",
        ),
        (
            "aws",
            Effect.REPARTITIONS,
            (),
            "until every node is repartitioned, one node at a time",
        ),
        ("aws", Effect.DELETES, (ResourceContent.NODES,), "permanently"),
        ("simulated", Effect.REPLACES, (), "until new nodes are ready"),
    ],
)
def test_how_long_a_guarantee_is_lost_is_said_as_far_as_it_is_known(cloud, does, holds, ends):
    machine = {"machine": "a2-highgpu-8g"} if cloud == "gcp" else {}
    loss = Disruption(**{**LOSS, "effect": does, "lost_content": holds, "guarantees": (TRAIN,)})
    told = PlannedChanges(
        platform="platform",
        resources=(),
        disruptions=(loss,),
        reduced_quotas=(),
        unplanned_removals=(),
    )
    found = change_findings(plan_of(platform([pool(**machine)], cloud=cloud)), told)[0]
    assert f"teams lose vision 16 nvidia.com/gpu of train {ends}" in found.problem
