"""What `gpuyard plan` says of the check of hardware."""

import pytest

from kit.stacks import cut_pool, platform, pool

IMAGE = {"image": "registry.example.org/ml/base:1"}
ON_AWS = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}
PART = [pool(machine="g6f.xlarge"), cut_pool()]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (platform(), "not asked for"),
        (
            platform(validation={"required": False}),
            "quick: nothing is checked, for no image is named",
        ),
        (
            platform([pool(), cut_pool()], validation=IMAGE),
            "quick, required: nodes that are checked: 4 of train, 1 of serve",
        ),
        (
            platform([pool(nodes="0..4")], validation=IMAGE, **ON_AWS),
            "quick, required: nodes that are checked: none",
        ),
        (
            platform(PART, validation=IMAGE | {"required": False, "profile": "full"}, **ON_AWS),
            "full: nodes that are checked: 1 of serve",
        ),
    ],
)
def test_the_plan_says_which_nodes_a_deployment_checks(gpuyard, write, raw, says):
    ended = gpuyard("plan", write(raw))
    assert ended.code == 0
    _, _, told = ended.out.partition("Hardware check\n")
    assert told.splitlines()[0] == f"  {says}"
