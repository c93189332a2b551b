"""Node groups of eksctl are those of EKS that it makes, and are found where they are written."""

import pytest
import yaml

from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.rules.run import FindingState
from gpuyard_lint.rules.subjects.pools import gpu_pool
from kit.every import every

HEAD = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-west-2}
"""
BAD = (
    HEAD
    + """managedNodeGroups:
  - name: g5
    instanceType: g5.12xlarge
    amiFamily: AmazonLinux2
    spot: true
    ssh:
      allow: true
    nodeRepairConfig: {enabled: true}
    tags: {owner: a, cost-center: b}
nodeGroups:
  - name: p4
    taints: {nvidia.com/gpu: "true:NoSchedule"}
    tags: {owner: a, cost-center: b}
    instancesDistribution:
      instanceTypes: [p4d.24xlarge]
      onDemandBaseCapacity: 0
      onDemandPercentageAboveBaseCapacity: 0
"""
)
SOUND = (
    HEAD
    + """managedNodeGroups:
  - name: g6
    instanceTypes: [g6.12xlarge, g5.12xlarge]
    privateNetworking: true
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
    nodeRepairConfig: {enabled: true}
    tags: {owner: a, cost-center: b}
  - name: web
    instanceType: m7i.large
    ssh: {allow: false, publicKeyName: k}
"""
)


def items(text):
    reading = read(text.encode(), "cluster.yaml")
    assert reading.skipped == ()
    return reading.items


def group(field="managedNodeGroups", **given):
    text = HEAD + yaml.safe_dump({field: [{"name": "g", **given}]})
    _, item = items(text)
    return item.resource


def test_what_is_wrong_is_told_by_rules_for_eks_at_its_line_in_words_of_eksctl():
    hits = build_report(read(BAD.encode(), "cluster.yaml"), RULES).hits
    assert {hit.state for hit in hits} == {FindingState.OPEN}
    assert {(hit.rule.id, hit.line, hit.diagnostic.location) for hit in hits} == {
        ("GPU-CAP-01", 5, "taints"),
        ("GPU-AWS-08", 7, "amiFamily"),
        ("GPU-CAP-03", 8, "spot"),
        ("GPU-NET-01", 9, "ssh"),
        ("GPU-CAP-03", 14, "spot"),
    }


def test_a_sound_file_and_nodes_without_gpus_are_fine():
    assert build_report(read(SOUND.encode(), "cluster.yaml"), RULES).hits == ()


@every(
    ("given", "image"),
    [
        ({"instanceType": "g6.xlarge"}, "AL2023_x86_64_NVIDIA"),
        ({"instanceType": "m7i.large"}, "AL2023_x86_64_STANDARD"),
        ({}, "AL2023_x86_64_STANDARD"),
        ({"instanceType": "g6.xlarge", "amiFamily": "Bottlerocket"}, "BOTTLEROCKET_x86_64_NVIDIA"),
        (
            {"instanceTypes": ["m7i.large", "p5.48xlarge"], "amiFamily": "AmazonLinux2"},
            "AL2_x86_64_GPU",
        ),
        ({"instanceType": "g6.xlarge", "amiFamily": "Ubuntu2404"}, "CUSTOM"),
        ({"instanceType": "g6.xlarge", "ami": "ami-1"}, "CUSTOM"),
        ({"launchTemplate": {"id": "lt-1"}}, "CUSTOM"),
    ],
)
def test_the_image_is_the_one_that_eksctl_takes_for_the_machines(given, image):
    assert group(**given).properties["amiType"] == image


MIXED = {"instanceType": "mixed", "instancesDistribution": {"instanceTypes": ["g6.xlarge"]}}


@every(
    ("given", "machines"),
    [
        ({"instanceType": "g6.xlarge"}, ["g6.xlarge"]),
        ({"instanceTypes": ["g6.xlarge", 5]}, ["g6.xlarge"]),
        (MIXED, ["g6.xlarge"]),
        ({"instancesDistribution": {"maxPrice": 1}}, []),
        ({"launchTemplate": {"id": "lt-1"}}, UNKNOWN),
        ({"instanceSelector": {"gpus": 1}}, UNKNOWN),
        ({"launchTemplate": {"id": "lt-1"}, "instanceTypes": ["g6.xlarge"]}, ["g6.xlarge"]),
    ],
)
def test_what_machines_it_may_be_is_what_is_written_or_unknown(given, machines):
    assert group(**given).properties["instanceTypes"] == machines


def shared(**given):
    return {"instancesDistribution": given}


@every(
    ("given", "spot"),
    [
        ({}, False),
        ({"spot": True}, True),
        (shared(onDemandPercentageAboveBaseCapacity=0), True),
        (shared(onDemandPercentageAboveBaseCapacity=0, onDemandBaseCapacity=1), False),
        (shared(onDemandPercentageAboveBaseCapacity=50), False),
        (shared(spotInstancePools=2), False),
    ],
)
def test_nodes_are_spot_where_all_of_them_are(given, spot):
    pool = gpu_pool(group(ami="ami-1", instanceTypes=["g6.xlarge"], **given))
    assert (pool.may_use_spot, pool.on_demand) == (spot, not spot)


@every(
    ("given", "most"),
    [
        ({"maxSize": 8, "desiredCapacity": 1}, 8),
        ({"desiredCapacity": 3}, 3),
        ({"minSize": 4}, 4),
        ({}, 2),
    ],
)
def test_a_group_has_a_bound_also_where_it_says_none(given, most):
    assert group(**given).properties["scalingConfig"] == {"maxSize": most}


@every(
    ("given", "open_to"),
    [
        ({}, None),
        ({"ssh": {"allow": True}}, []),
        ({"ssh": {"publicKeyPath": "k.pub"}}, []),
        ({"ssh": {"allow": False, "publicKeyPath": "k.pub"}}, None),
        ({"ssh": {"allow": True, "sourceSecurityGroupIds": ["sg-1"]}}, ["sg-1"]),
        ({"ssh": {"allow": True}, "privateNetworking": True}, ["its network"]),
        ({"ssh": {"enableSsm": True}}, None),
    ],
)
def test_ssh_is_open_to_whom_eksctl_opens_it(given, open_to):
    assert group(**given).properties["remoteAccess"].get("sourceSecurityGroupIds") == open_to


@pytest.mark.parametrize("field", ["managedNodeGroups", "nodeGroups"])
def test_taints_are_a_list_or_stand_by_key(field):
    written = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}, 5]
    assert group(field, taints=written).properties["taints"] == written[:1]
    by_key = {"nvidia.com/gpu": "true:NoSchedule", "a": "NoExecute"}
    found = group(field, taints=by_key).properties["taints"]
    assert {each["key"]: each["effect"] for each in found} == {
        "nvidia.com/gpu": "NoSchedule",
        "a": "NoExecute",
    }
    assert group(field, taints="none").properties["taints"] == []
    by_variable = {"a": "b:${EFFECT}", "c": "${TAINT:=b:NoSchedule}"}
    found = group(field, taints=by_variable).properties["taints"]
    assert [each["effect"] for each in found] == ["${EFFECT}", "${TAINT:=b:NoSchedule}"]
    assert group(field, taints="${TAINTS}").properties["taints"] == "${TAINTS}"
    assert group(field, taints=["${TAINT}", 5]).properties["taints"] == ["${TAINT}"]


def test_tags_of_the_cluster_are_those_of_its_groups_too():
    text = HEAD.replace("us-west-2}", "us-west-2, tags: {owner: a, team: b}}")
    _, item = items(text + "managedNodeGroups: [{name: g, tags: {team: c}}]\n")
    assert item.resource.properties["tags"] == {"owner": "a", "team": "c"}


def test_what_is_no_group_is_passed_over():
    config, unnamed = items(HEAD + "managedNodeGroups: [5, {}]\nnodeGroups: 5\n")
    assert config.resource.kind == "eksctl.io/v1alpha5/ClusterConfig"
    assert unnamed.resource.name == "(no name)"


OPEN = (
    HEAD
    + """vpc:
  clusterEndpoints: {privateAccess: false}
  publicAccessCIDRs: [0.0.0.0/0]
secretsEncryption: {keyARN: arn:aws:kms:k}
cloudWatch:
  clusterLogging: {enableTypes: [api]}
accessConfig:
  authenticationMode: CONFIG_MAP
managedNodeGroups:
  - name: g5
    instanceType: g5.12xlarge
    taints: [{key: a, effect: NoSchedule}]
    nodeRepairConfig: {enabled: true}
"""
)


def told(text, state=FindingState.OPEN):
    hits = build_report(read(text.encode(), "cluster.yaml"), RULES).hits
    return {(hit.rule.id, hit.line, hit.diagnostic.location) for hit in hits if hit.state is state}


def test_a_cluster_is_told_what_it_says_itself_at_its_line_in_words_of_eksctl():
    assert told(OPEN) == {
        ("GPU-AWS-01", 6, "vpc.publicAccessCIDRs"),
        ("GPU-AWS-03", 8, "cloudWatch"),
        ("GPU-AWS-06", 10, "accessConfig.bootstrapClusterCreatorAdminPermissions"),
    }
    assert told(OPEN, FindingState.ADVISORY) == {
        ("GPU-AWS-01", 4, "vpc.clusterEndpoints"),
        ("GPU-AWS-06", 11, "accessConfig.authenticationMode"),
    }


@every(
    ("said", "rules"),
    [
        ("", set()),
        ("vpc: {clusterEndpoints: {privateAccess: true}}", {"GPU-AWS-01"}),
        ("vpc: {clusterEndpoints: {privateAccess: true, publicAccess: false}}", set()),
        ("vpc: {publicAccessCIDRs: [10.0.0.0/8]}", set()),
        ("vpc: {publicAccessCIDRs: all}", {"GPU-AWS-01"}),
        ('cloudWatch: {clusterLogging: {enableTypes: ["*"]}}', set()),
        ("cloudWatch: {clusterLogging: {enableTypes: [audit, authenticator]}}", set()),
        ("secretsEncryption: {keyARN: arn:aws:kms:k}", set()),
        (
            "accessConfig: {authenticationMode: API, bootstrapClusterCreatorAdminPermissions: false}",
            set(),
        ),
    ],
)
def test_what_a_file_leaves_out_of_its_cluster_is_unknown(said, rules):
    text = f"{SOUND}{said}\n"
    assert {rule for rule, _, _ in told(text)} == rules


def test_a_cluster_without_gpus_is_nobody_s_here():
    text = OPEN.replace("g5.12xlarge", "m7i.large").replace("{name: c, region: us-west-2}", "c")
    assert told(text) == set()
    assert {rule for rule, _, _ in told(OPEN.replace("{name: c, region: us-west-2}", "c"))} >= {
        "GPU-AWS-01"
    }
