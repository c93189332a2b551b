"""A reservation that will not do is one message of a preview and of an `up`, and nothing is made."""

import json

import pytest
from testbed.plugins.cloud import faults
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.service import reservations

from kit.stacks import platform, pool
from stacks import STACK

EC2 = {"id": "cr-0123456789abcdef0", "instanceType": "p5.48xlarge", "instanceCount": 4}
GCE = {"name": "held", "machineType": "a3-megagpu-8g", "count": 4}
POOLS = {
    "aws": {"zones": ["us-east-1a"], "capacity": [{"reserved": EC2["id"], "nodes": 4}]},
    "gcp": {
        "machine": GCE["machineType"],
        "zones": ["us-central1-a"],
        "capacity": [{"reserved": "held", "nodes": 4}],
    },
}
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "my-project"}
COMPONENTS = {"aws": "EksCluster", "gcp": "GkeCluster"}
ASKED = {
    "aws": "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation",
    "gcp": "gcp:compute/getReservation:getReservation",
}
DENIED = {
    "aws": "https response error StatusCode: 403, api error UnauthorizedOperation: not authorized",
    "gcp": "googleapi: Error 403: Required 'compute.reservations.get' permission, forbidden",
}
CASES = {
    "aws": [
        ({}, f"reservation {EC2['id']} does not exist"),
        ({**EC2, "availabilityZone": "us-east-1b"}, f"reservation {EC2['id']} is in us-east-1b"),
        (
            {**EC2, "availabilityZone": "us-east-1a", "instanceCount": 2},
            f"reservation {EC2['id']} has 2 machines",
        ),
        (
            {**EC2, "availabilityZone": "us-east-1a", "instanceType": "p4d.24xlarge"},
            f"reservation {EC2['id']} has the machine type p4d.24xlarge",
        ),
    ],
    "gcp": [
        ({}, "reservation held does not exist in us-central1-a"),
        ({**GCE, "zone": "us-central1-b"}, "reservation held does not exist in us-central1-a"),
        ({**GCE, "zone": "us-central1-a", "count": 2}, "reservation held has 2 machines"),
        (
            {**GCE, "zone": "us-central1-a", "machineType": "a2-highgpu-8g"},
            "reservation held has the machine type a2-highgpu-8g",
        ),
    ],
}
GOOD = {"aws": {**EC2, "availabilityZone": "us-east-1a"}, "gcp": {**GCE, "zone": "us-central1-a"}}


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_what_will_not_do_is_refused_and_what_nobody_tells_is_not(of_clouds, tmp_path, cloud):
    lab, folder = of_clouds, tmp_path / "cloud"
    for key, value in PLACES.items():
        lab.run("config", "set", "--stack", STACK, key, value)
    raw = platform([pool(**POOLS[cloud])], cloud=cloud, cluster={"protect": False})
    (lab.folder / "platform.json").write_text(json.dumps(raw))
    (lab.folder / "__main__.py").write_text(
        "import json\nfrom pathlib import Path\n"
        f"from gpuyard.resources import {COMPONENTS[cloud]} as Cluster\n"
        'Cluster("lab", {"platform": json.loads(Path("platform.json").read_text())})\n'
    )
    for number, (there, said) in enumerate(CASES[cloud]):
        reservations.write(folder, {cloud: [there] if there else []})
        command = lab.preview if number else lab.up  # both ask; one of them each is enough
        output = " ".join(command(fails=True).output.split())
        assert f"error live.reservation pools[0].capacity: {said}" in output
        assert output.count("live.reservation") == 1
        assert Account(folder, cloud).all() == []
        made = [each["type"] for each in lab.state().get("resources", [])]
        assert not [each for each in made if each.startswith((f"{cloud}:", "kubernetes:"))]

    kind = ASKED[cloud]
    refuse = {"fault": "refuse", "at": "ask", "kind": kind, "message": DENIED[cloud]}
    faults.write(folder, {"faults": [refuse]})
    output = " ".join(lab.preview().output.split())
    assert (
        f"the query {kind} got no response, so gpuyard cannot check it before the deployment"
        in output
    )
    assert "403" in output

    faults.write(folder, {"faults": []})
    reservations.write(folder, {cloud: [GOOD[cloud]]})
    output = lab.preview().output
    assert "to create" in output
    assert "got no response" not in output
