"""A pool that a dump of its machine describes, deployed: the program finds the file where Pulumi.yaml is."""

import json

import pytest

from kit.cases.dumps import hall_dump
from kit.stacks import pool, team

TOPOLOGY = "kueue.x-k8s.io/v1beta2"
ROW, RACK, HOST = "site.example/row", "site.example/rack", "kubernetes.io/hostname"


def levels(api):
    """Of each topology that the cluster has."""
    found = api.cluster.list(TOPOLOGY, "Topology", None)
    return [[level["nodeLabel"] for level in one["spec"]["levels"]] for one in found]


@pytest.mark.always
def test_levels_come_from_the_file_that_the_stack_names(stack, api, kueue, lab):
    file = stack.folder / "machines" / "hall.json"
    file.parent.mkdir()
    file.write_text(json.dumps(hall_dump()))
    hall = pool(
        machine={"gpu": "H200", "gpus": 8, "cpu": 192, "memory_gib": 2048},
        nodes=8,
        topology=True,
        fabric={"kind": "infiniband"},
        inventory="machines/hall.json",
    )
    lab(pools=[hall], teams=[team(guarantee={"train": 64}, protect=False)])
    stack.up()
    assert levels(api) == [[ROW, RACK, HOST]]
    stack.unchanged()

    file.write_text(json.dumps(hall_dump(gpus=hall_dump()["gpus"][:4])))
    said = stack.preview(fails=True).output
    assert "pools[0].machine.gpus: h200-a1-1 has 4 GPUs" in said
    file.unlink()
    said = " ".join(stack.preview(fails=True).output.split())
    assert "pools[0].inventory: the machine inventory cannot be read: " in said
    assert "machines/hall.json: no such file" in said

    file.write_text(json.dumps(hall_dump()))
    stack.destroy()
    assert levels(api) == []
