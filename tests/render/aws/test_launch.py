"""Launch templates: interfaces, disks, metadata."""

from dataclasses import replace

import pytest

from gpuyard.render.aws.launch import fabric_interfaces
from gpuyard_core.catalogue.fabric import efa_interfaces_to_launch
from gpuyard_core.catalogue.machines import MACHINES
from kit.clouds.node_groups import GROUND, TEMPLATE, aws, graph_of, late
from kit.stacks import pool


def template(foundation=GROUND, **rest):
    found = [
        t
        for t in graph_of(aws([pool(**rest)]), foundation).resources_of_kind(TEMPLATE)
        if t.part == "train"
    ]
    assert len(found) == 1
    return found[0].inputs


# ── interfaces ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("machine", "first", "others", "device"),
    [
        ("p5.48xlarge", "efa", 31, 1),
        ("p6-b200.48xlarge", "efa", 7, 1),
        ("p6-b300.48xlarge", "interface", 16, 1),
        ("p4d.24xlarge", "efa", 3, 1),
        ("g6e.24xlarge", "efa", 1, 1),
        ("g6.8xlarge", "efa", 0, 1),
    ],
)
def test_every_efa_of_a_machine_is_there_and_one_interface_has_an_address(
    machine, first, others, device
):
    primary, *rest = template(machine=machine)["networkInterfaces"]
    assert (primary["networkCardIndex"], primary["deviceIndex"]) == (0, 0)
    assert primary["interfaceType"] == first
    assert [each["networkCardIndex"] for each in rest] == list(range(1, others + 1))
    assert {each["interfaceType"] for each in rest} <= {"efa-only"}
    assert {each["deviceIndex"] for each in rest} <= {device}


def test_the_odd_cards_of_a_rack_take_one_efa_each():
    found = template(
        machine="p6e-gb200.36xlarge",
        capacity=[{"block": "cr-0b", "nodes": 9}],
        nodes="0..9",
        zones=["us-east-1a"],
        scaling="autoscaler",
    )["networkInterfaces"]
    assert [each["networkCardIndex"] for each in found] == [0, 1, 3, 5, 7, 9, 11, 13, 15]
    assert {each["deviceIndex"] for each in found} == {0}


def test_security_groups_stand_inside_the_interfaces_and_nowhere_else():
    with_efa = template()
    assert "vpcSecurityGroupIds" not in with_efa
    for each in with_efa["networkInterfaces"]:
        assert each["securityGroups"] == [late("group")]
        assert each["deleteOnTermination"] == "true"
        assert "subnetId" not in each
    without = template(machine="g5.xlarge")
    assert without["vpcSecurityGroupIds"] == [late("group")]
    assert "networkInterfaces" not in without


def test_machines_that_are_no_twins_get_what_each_of_them_can_take():
    one, two = MACHINES["g6e.12xlarge"], MACHINES["g6e.24xlarge"]
    assert (
        fabric_interfaces((one, two))
        == fabric_interfaces((two, one))
        == list(efa_interfaces_to_launch(one))
    )
    assert fabric_interfaces((two,)) == list(efa_interfaces_to_launch(two))
    assert fabric_interfaces((two, MACHINES["g5.xlarge"])) == []
    assert fabric_interfaces((MACHINES["p6-b300.48xlarge"], MACHINES["p5.48xlarge"])) == []


# ── disks ─────────────────────────────────────────────────────────────────────────────────────────
def test_disks_are_encrypted_and_go_with_their_node():
    (disk,) = template()["blockDeviceMappings"]
    assert disk == {
        "deviceName": "/dev/xvda",
        "ebs": {
            "volumeType": "gp3",
            "encrypted": "true",
            "deleteOnTermination": "true",
            "volumeSize": 200,
        },
    }


def test_a_key_of_the_clusters_encrypts_every_disk():
    keyed = replace(GROUND, disk_key=late("endpoint"))
    for disk in template(keyed, image="bottlerocket-nvidia")["blockDeviceMappings"]:
        assert disk["ebs"]["kmsKeyId"] == late("endpoint")


def test_images_that_are_unpacked_on_the_disk_get_a_fast_one():
    (disk,) = template(machine="g5g.xlarge", disk_gib=500)["blockDeviceMappings"]
    assert (disk["ebs"]["volumeSize"], disk["ebs"]["throughput"]) == (500, 500)


def test_controllers_get_a_disk_of_usual_size_and_speed():
    (disk,) = graph_of(aws()).resource("system-template").inputs["blockDeviceMappings"]
    assert (disk["ebs"]["volumeSize"], "throughput" in disk["ebs"]) == (100, False)


def test_bottlerocket_has_its_images_on_a_disk_of_their_own():
    system, data = template(image="bottlerocket-nvidia", disk_gib=300)["blockDeviceMappings"]
    assert (system["deviceName"], "volumeSize" in system["ebs"]) == ("/dev/xvda", False)
    assert (data["deviceName"], data["ebs"]["volumeSize"]) == ("/dev/xvdb", 300)


def test_ubuntu_has_its_disk_elsewhere():
    (disk,) = template(image="ubuntu-eks")["blockDeviceMappings"]
    assert disk["deviceName"] == "/dev/sda1"


# ── the rest ──────────────────────────────────────────────────────────────────────────────────────
def test_no_pod_gets_the_credentials_of_its_node_and_nobody_a_shell():
    said = template()
    assert said["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    assert not {"keyName", "iamInstanceProfile"} & said.keys()
    assert said["updateDefaultVersion"] is True
    assert said["monitoring"] == {"enabled": True}


def test_what_is_started_says_whose_it_is():
    for each in template()["tagSpecifications"]:
        assert each["resourceType"] in {"instance", "volume", "network-interface"}
        assert each["tags"]["Name"] == "lab-train-on-demand"
        assert each["tags"]["gpuyard.dev/pool"] == "train"
