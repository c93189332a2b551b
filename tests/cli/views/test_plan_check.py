"""What `gpuyard plan` says of the check of hardware."""

import pytest

from kit.stacks import cut_pool, platform, pool

IMAGE = {"image": "registry.example.org/ml/base:1"}
ON_AWS = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}
LOWER = {
    "pool": "train",
    "check": "pcie.width",
    "value": 8,
    "reason": "risers of eight lanes",
    "until": "2027-03-31",
}
WAIT = "later nodes accept no jobs until they have passed"
PART = [pool(machine="g6f.xlarge"), cut_pool()]


@pytest.mark.parametrize(
    ("raw", "says", "later"),
    [
        (platform(), "not requested", ""),
        (
            platform(validation={"required": False}),
            "quick: no node is validated, because no image is set",
            "",
        ),
        (
            platform([pool(), cut_pool()], validation=IMAGE),
            "quick, required: validated nodes: 4 of train, 1 of serve",
            WAIT,
        ),
        (
            platform([pool(nodes="0..4")], validation=IMAGE, **ON_AWS),
            "quick, required: validated nodes: none",
            WAIT,
        ),
        (
            platform(PART, validation=IMAGE | {"required": False, "profile": "full"}, **ON_AWS),
            "full: validated nodes: 1 of serve",
            "later nodes are validated and labelled",
        ),
        (
            platform(validation=IMAGE | {"gate": "none"}),
            "quick, required: validated nodes: 4 of train",
            "",
        ),
        (
            platform(validation=IMAGE | {"gate": "none", "accepted_thresholds": [LOWER]}),
            "quick, required: validated nodes: 4 of train",
            "pcie.width on train: 8 lanes accepted until 2027-03-31: risers of eight lanes",
        ),
    ],
)
def test_the_plan_says_which_nodes_a_deployment_checks(gpuyard, write, raw, says, later):
    ended = gpuyard("plan", write(raw))
    assert ended.code == 0
    _, _, told = ended.out.partition("Hardware validation\n")
    first, second, *_ = [line.strip() for line in told.splitlines()] + [""]
    assert first == says
    assert second == later or (not later and "come later" not in second)
