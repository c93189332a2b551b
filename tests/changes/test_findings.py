"""Every word about a loss that the stacks of the other tests have no place for."""

from gpuyard.changes.announced import Announced, Does, Loss
from gpuyard.changes.findings import change_findings
from gpuyard.changes.holding import Holds
from gpuyard.changes.platforms import Drained, LostGuarantee, Reported
from kit.every import every
from kit.stacks import plan_of, platform, pool

LOSS = {
    "what": "Key key",
    "path": ("cluster",),
    "why": "a change of usage makes it anew",
    "digest": "sha256:1",
}


def said(**rest):
    loss = Loss(does=Does.REPLACES, **{**LOSS, **rest})
    told = Announced(platform="platform", resources=(), losses=(loss,), lowered=(), unforeseen=())
    return change_findings(plan_of(platform()), told)[0]


def test_a_loss_that_takes_nothing_else_says_so():
    assert said().problem.endswith("; nothing runs on it")
    assert said().fix.value == "sha256:1"


def test_a_pool_of_which_little_is_known_is_named_all_the_same():
    assert "pool a is drained" in said(drains=(Drained("a", None, None),)).problem
    assert (
        "up to 2 nodes with an unknown number of GPUs"
        in said(drains=(Drained("a", 2, None),)).problem
    )


def test_a_guarantee_of_a_team_that_is_gone_is_said_of_all_teams():
    lost = LostGuarantee("gone", "train", "nvidia.com/gpu", 4)
    told = Announced(
        platform="platform", resources=(), losses=(), lowered=((lost, 0),), unforeseen=()
    )
    (found,) = change_findings(plan_of(platform()), told)
    assert (found.id, found.where) == ("change.lowers", "teams")


def test_a_report_of_an_earlier_release_may_lack_words():
    report = Reported(
        {"train": {}}, {"vision": {"guarantee": None}, "speech": {"guarantee": {"dev x": 1}}}
    )
    assert report.drained("train") == Drained("train", None, None)
    assert list(report.guarantees("train")) == []


TRAIN = LostGuarantee("vision", "train", "nvidia.com/gpu", 16)


@every(
    ("cloud", "does", "holds", "ends"),
    [
        ("aws", Does.REPLACES, (Holds.NODES,), "until new nodes have come: 1 to 7 minutes, where"),
        (
            *("aws", Does.REPLACES, (Holds.CLUSTER, Holds.NODES)),
            "until a new cluster and new nodes have come: 14 to 24 minutes, where",
        ),
        (
            *("gcp", Does.REPLACES, (Holds.CLUSTER,)),
            "until a new cluster and new nodes have come: 6 to 21 minutes for nodes, where",
        ),
        (
            *("gcp", Does.ROLLS, ()),
            "in part, until the last node is new: 6 to 21 minutes for each turn",
        ),
        ("aws", Does.RECUTS, (), "until the GPUs of every node are cut, one node after the other"),
        ("aws", Does.DELETES, (Holds.NODES,), "for good"),
        ("simulated", Does.REPLACES, (), "until new nodes have come"),
    ],
)
def test_how_long_a_guarantee_is_lost_is_said_as_far_as_it_is_known(cloud, does, holds, ends):
    machine = {"machine": "a2-highgpu-8g"} if cloud == "gcp" else {}
    loss = Loss(**{**LOSS, "does": does, "holds": holds, "guarantees": (TRAIN,)})
    told = Announced(platform="platform", resources=(), losses=(loss,), lowered=(), unforeseen=())
    found = change_findings(plan_of(platform([pool(**machine)], cloud=cloud)), told)[0]
    assert f"teams lose vision 16 nvidia.com/gpu of train {ends}" in found.problem
