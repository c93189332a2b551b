"""Rules across fields: each rejects a bad case and accepts the corresponding good one."""

import json

from testbed.plugins.cloud import facts
from testbed.plugins.cloud.rules import (
    aws,
    aws_service,
    gcp,
    gcp_service,
    of_provider,
    of_service,
)
from testbed.plugins.kubernetes.values import UNKNOWN

from kit.cases.cloud_rules import OF_CLUSTERS
from kit.every import every

GROUP, POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"
CLUSTER, GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NAT, PLACE = "aws:ec2/natGateway:NatGateway", "aws:ec2/placementGroup:PlacementGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
FIREWALL, LUSTRE = "gcp:compute/firewall:Firewall", "aws:fsx/lustreFileSystem:LustreFileSystem"
BLOCK = {"instanceMarketOptions": {"marketType": "capacity-block"}, "instanceType": "p5.48xlarge"}
TARGET = {
    "capacityReservationSpecification": {
        "capacityReservationTarget": {"capacityReservationId": "cr-1"}
    }
}
AUTO = {
    "computeConfig": {"enabled": True},
    "storageConfig": {"blockStorage": {"enabled": True}},
    "kubernetesNetworkConfig": {"elasticLoadBalancing": {"enabled": True}},
}
SURGE = {"strategy": "BLUE_GREEN", "maxSurge": 1}
ROLLOUTS = {"standardRolloutPolicy": {"batchNodeCount": 1}, "autoscaledRolloutPolicy": {"a": 1}}
FREE = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}


def _named(**more):
    affinity = {"key": "compute.googleapis.com/reservation-name", "values": ["r"], **more}
    return {"reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION", **affinity}}


def _gpus(**sharing):
    return {
        "nodeConfig": {
            "guestAccelerators": [{"type": "t4", "count": 1, "gpuSharingConfig": sharing}]
        }
    }


def _policy(**statement):
    return {"policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})}


def _trust(**statement):
    return {"assumeRolePolicy": json.dumps({"Statement": statement})}


CASES = [
    *OF_CLUSTERS,
    # rule, kind, rejected input, message, accepted input
    (
        aws.placement_group,
        PLACE,
        {"strategy": "cluster", "partitionCount": 2},
        "partitionCount is for strategy partition",
        {"strategy": "partition", "partitionCount": 2},
    ),
    (
        aws.placement_group,
        PLACE,
        {"strategy": "cluster", "spreadLevel": "rack"},
        "spreadLevel is for strategy spread",
        {"strategy": "cluster"},
    ),
    (
        aws.nat_gateway,
        NAT,
        {"connectivityType": "private", "allocationId": "e"},
        "allocationId is not for connectivityType private",
        {"allocationId": "e"},
    ),
    (
        aws.nat_gateway,
        NAT,
        {"secondaryPrivateIpAddressCount": 1},
        "not for connectivityType public",
        {"connectivityType": "private", "secondaryPrivateIpAddressCount": 1},
    ),
    (
        aws.route,
        "aws:ec2/route:Route",
        {"gatewayId": "local"},
        "can only be imported",
        {"gatewayId": "igw-1"},
    ),
    (aws.auto_mode, CLUSTER, {"computeConfig": {"enabled": True}}, "all true or all false", AUTO),
    (
        aws.lustre,
        LUSTRE,
        {"deploymentType": "SCRATCH_2", "metadataConfiguration": {"mode": "AUTOMATIC"}},
        "deploymentType PERSISTENT_2",
        {"deploymentType": "PERSISTENT_2", "metadataConfiguration": {"mode": "AUTOMATIC"}},
    ),
    (
        aws.lustre,
        LUSTRE,
        {"storageType": "INTELLIGENT_TIERING"},
        "needs throughputCapacity",
        {"storageType": "INTELLIGENT_TIERING", "throughputCapacity": 4000},
    ),
    (
        aws.topic,
        "aws:sns/topic:Topic",
        {"contentBasedDeduplication": True},
        "needs fifoTopic true",
        {"contentBasedDeduplication": True, "fifoTopic": True},
    ),
    (
        aws.queue,
        "aws:sqs/queue:Queue",
        {"name": "a", "fifoQueue": True},
        "an end in .fifo",
        {"name": "a.fifo", "fifoQueue": True},
    ),
    (
        aws.queue,
        "aws:sqs/queue:Queue",
        {"contentBasedDeduplication": True},
        "needs fifoQueue true",
        {"contentBasedDeduplication": True, "fifoQueue": True},
    ),
    (
        aws.subscription,
        "aws:sns/topicSubscription:TopicSubscription",
        {"filterPolicyScope": "MessageBody"},
        "needs filterPolicy",
        {"filterPolicyScope": "MessageBody", "filterPolicy": "{}"},
    ),
    (
        aws.one_source,
        INGRESS,
        {"cidrIpv4": "10.0.0.0/8", "prefixListId": "pl-1"},
        "exactly one of",
        {"referencedSecurityGroupId": UNKNOWN},
    ),
    (
        aws_service.scaling,
        GROUP,
        {"scalingConfig": {"minSize": 3, "desiredSize": 3, "maxSize": 2}},
        "minSize 3 is more than maxSize 2",
        {"scalingConfig": {"minSize": 0, "desiredSize": 2, "maxSize": 2}},
    ),
    (
        aws_service.scaling,
        GROUP,
        {"scalingConfig": {"minSize": 1, "desiredSize": 0, "maxSize": 2}},
        "desiredSize 0 is less than minSize 1",
        {"scalingConfig": UNKNOWN},
    ),
    (
        aws_service.with_template,
        GROUP,
        {"launchTemplate": {"id": "lt-1"}, "diskSize": 20},
        "diskSize cannot be given",
        {"diskSize": 20},
    ),
    (
        aws_service.with_template,
        GROUP,
        {"instanceTypes": ["a"] * 21},
        "20 at most",
        {"instanceTypes": ["a"] * 20},
    ),
    (
        aws_service.capacity_block,
        GROUP,
        {"capacityType": "CAPACITY_BLOCK"},
        "needs a launchTemplate",
        {"capacityType": "CAPACITY_BLOCK", "launchTemplate": UNKNOWN},
    ),
    (
        aws_service.machine,
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"instanceType": "P5_48XLARGE"},
        "do not exist: [P5_48XLARGE]",
        {"instanceType": "p6e-gb200.36xlarge"},
    ),
    (
        aws_service.warm_pool,
        GROUP,
        {"amiType": "BOTTLEROCKET_x86_64", "warmPoolConfig": {"reuseOnScaleIn": True}},
        "not for Bottlerocket",
        {"amiType": "AL2023_x86_64_NVIDIA", "warmPoolConfig": {"reuseOnScaleIn": True}},
    ),
    (
        aws_service.access_entry,
        "aws:eks/accessEntry:AccessEntry",
        {"type": "EC2_LINUX", "principalArn": "arn:aws:iam::1:user/a"},
        "takes an IAM role",
        {"type": "EC2_LINUX", "principalArn": "arn:aws:iam::1:role/a"},
    ),
    (
        aws_service.access_scope,
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        {"accessScope": {"type": "galaxy"}},
        "neither cluster nor namespace",
        {"accessScope": {"type": "cluster"}},
    ),
    (
        aws_service.access_scope,
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        {"accessScope": {"type": "namespace"}},
        "needs accessScope.namespaces",
        {"accessScope": {"type": "namespace", "namespaces": ["a"]}},
    ),
    (
        aws_service.service_range,
        CLUSTER,
        {"kubernetesNetworkConfig": {"ipFamily": "ipv6", "serviceIpv4Cidr": "10.0.0.0/16"}},
        "with ipFamily ipv6",
        {"kubernetesNetworkConfig": {"ipFamily": "ipv6"}},
    ),
    (
        aws_service.template_of_a_block,
        TEMPLATE,
        BLOCK,
        "capacityReservationId",
        {**BLOCK, **TARGET},
    ),
    (
        aws_service.groups_once,
        TEMPLATE,
        {"vpcSecurityGroupIds": ["s"], "networkInterfaces": [{"securityGroups": ["s"]}]},
        "give one",
        {"vpcSecurityGroupIds": ["s"], "networkInterfaces": [{"deviceIndex": 0}]},
    ),
    (
        aws_service.reservation_end,
        "aws:ec2/capacityReservation:CapacityReservation",
        {"endDateType": "limited"},
        "go together",
        {"endDateType": "limited", "endDate": UNKNOWN},
    ),
    (
        aws_service.endpoint,
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        {"subnetIds": ["s"]},
        "not for an endpoint of type Gateway",
        {"routeTableIds": ["r"]},
    ),
    (
        aws_service.endpoint,
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        {"vpcEndpointType": "Interface", "routeTableIds": ["r"]},
        "of type Interface",
        {"vpcEndpointType": UNKNOWN, "subnetIds": ["s"]},
    ),
    (
        aws_service.ports,
        INGRESS,
        {"ipProtocol": "-1", "fromPort": 0},
        "with ipProtocol -1",
        {"ipProtocol": "tcp", "fromPort": 0},
    ),
    (
        aws_service.throughput,
        "aws:efs/fileSystem:FileSystem",
        {"provisionedThroughputInMibps": 1},
        "it is bursting",
        {"provisionedThroughputInMibps": 1, "throughputMode": "provisioned"},
    ),
    (
        aws_service.policy_document,
        "aws:iam/policy:Policy",
        _policy(Effect="Allow", Action="*", Resource="x"),
        "Resource x must be in ARN format or *.",
        _policy(Effect="Allow", Action="*", Resource="*"),
    ),
    (
        aws_service.policy_document,
        "aws:iam/rolePolicy:RolePolicy",
        _policy(Effect="Allow"),
        "must contain actions",
        _policy(Effect="Deny", NotAction="*", NotResource="*"),
    ),
    (
        aws_service.policy_document,
        "aws:iam/policy:Policy",
        _policy(Action="*"),
        "needs Effect",
        {"policy": UNKNOWN},
    ),
    (aws_service.policy_document, "aws:iam/policy:Policy", {"policy": "{}"}, "Syntax errors", {}),
    (
        aws_service.trust_document,
        "aws:iam/role:Role",
        _trust(Effect="Allow"),
        "needs a Principal",
        _trust(Principal="*"),
    ),
    (
        aws_service.trust_document,
        "aws:iam/role:Role",
        _trust(Principal="*", Resource="*"),
        "Has prohibited field",
        {"assumeRolePolicy": UNKNOWN},
    ),
    (
        aws_service.trust_document,
        "aws:iam/role:Role",
        {"assumeRolePolicy": "no"},
        "invalid Json",
        {},
    ),
    (gcp.firewall, FIREWALL, {}, "needed for direction INGRESS", {"direction": "EGRESS"}),
    (
        gcp.versions,
        GKE,
        {"nodeVersion": "1", "removeDefaultNodePool": True},
        "cannot be given with removeDefaultNodePool",
        {"removeDefaultNodePool": True},
    ),
    (
        gcp.versions,
        GKE,
        {"nodeVersion": "1", "minMasterVersion": "2"},
        "minMasterVersion's 2",
        {"nodeVersion": "1", "minMasterVersion": "1"},
    ),
    (
        gcp.locations,
        GKE,
        {"location": "us-central1-a", "nodeLocations": ["us-central1-a"]},
        "the cluster's own zone",
        {"location": "us-central1", "nodeLocations": ["us-central1-a"]},
    ),
    (
        gcp.pools_once,
        GKE,
        {"skipNodePoolRefresh": True, "nodePools": [{}]},
        "cannot be given with nodePools",
        {"skipNodePoolRefresh": True},
    ),
    (
        gcp.upgrade_of_new_pools,
        GKE,
        {"clusterAutoscaling": {"autoProvisioningDefaults": {"upgradeSettings": SURGE}}},
        "it is BLUE_GREEN",
        {},
    ),
    (
        gcp.upgrade,
        POOL,
        {"upgradeSettings": SURGE},
        "maxSurge is for strategy SURGE",
        {"upgradeSettings": {"maxSurge": 1}},
    ),
    (
        gcp.upgrade,
        POOL,
        {"upgradeSettings": {"strategy": "SURGE", "blueGreenSettings": ROLLOUTS}},
        "exclude each other",
        {
            "upgradeSettings": {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {"nodePoolSoakDuration": "1s"},
            }
        },
    ),
    (
        gcp_service.bounds,
        POOL,
        {"autoscaling": {"totalMaxNodeCount": 1, "maxNodeCount": 1}},
        "exclude each other",
        {"autoscaling": {"totalMaxNodeCount": 1}},
    ),
    (
        gcp_service.bounds,
        POOL,
        {"autoscaling": {"minNodeCount": 2, "maxNodeCount": 1}},
        "minNodeCount 2 is more",
        {"autoscaling": {"minNodeCount": UNKNOWN, "maxNodeCount": 1}},
    ),
    (
        gcp_service.sharing,
        POOL,
        _gpus(gpuSharingStrategy="mps"),
        "allowed: TIME_SHARING, MPS",
        _gpus(gpuSharingStrategy="MPS", maxSharedClientsPerGpu=48),
    ),
    (
        gcp_service.sharing,
        POOL,
        _gpus(gpuSharingStrategy="MPS", maxSharedClientsPerGpu=49),
        "2 to 48",
        _gpus(gpuSharingStrategy=UNKNOWN),
    ),
    (
        gcp_service.flex_start,
        POOL,
        {
            "nodeConfig": {"flexStart": True, **FREE},
            "nodeCount": 1,
            "management": {"autoRepair": True},
        },
        "cannot have nodeCount",
        {"nodeConfig": {"flexStart": True, **FREE}, "management": {"autoRepair": False}},
    ),
    (
        gcp_service.flex_start,
        POOL,
        {"nodeConfig": {"flexStart": True, "spot": True}},
        "exclude each other",
        {"nodeConfig": {"spot": True}},
    ),
    (
        gcp_service.flex_start,
        POOL,
        {
            "nodeConfig": {"flexStart": True, "machineType": "a3-highgpu-8g", **FREE},
            "placementPolicy": {"type": "COMPACT"},
        },
        "is not for a3-highgpu-8g",
        {
            "nodeConfig": {"flexStart": True, "machineType": "a3-ultragpu-8g", **FREE},
            "placementPolicy": {"type": "COMPACT"},
        },
    ),
    (
        gcp_service.run_duration,
        POOL,
        {"nodeConfig": {"maxRunDuration": "8 days"}},
        "seconds with an s",
        {"nodeConfig": {"maxRunDuration": "604800s"}},
    ),
    (
        gcp_service.run_duration,
        POOL,
        {"nodeConfig": {"maxRunDuration": "604801s", "flexStart": True}},
        "or less with flexStart",
        {"nodeConfig": {"maxRunDuration": "604801s"}},
    ),
    (
        gcp_service.queued,
        POOL,
        {"queuedProvisioning": {"enabled": True}, "nodeConfig": FREE},
        "needs autoscaling",
        {
            "queuedProvisioning": {"enabled": True},
            "nodeConfig": FREE,
            "autoscaling": {"totalMinNodeCount": 0},
        },
    ),
    (
        gcp_service.queued,
        POOL,
        {
            "queuedProvisioning": {"enabled": True},
            "placementPolicy": {"type": "COMPACT"},
            "nodeConfig": {**FREE, "guestAccelerators": [{}]},
            "autoscaling": {"minNodeCount": 1},
        },
        "cannot have placementPolicy COMPACT",
        {"queuedProvisioning": {"enabled": False}},
    ),
    (
        gcp_service.spot,
        POOL,
        {"nodeConfig": {"spot": True, **_named()}},
        "needs nodeConfig.reservationAffinity",
        {"nodeConfig": {"spot": True}},
    ),
    (
        gcp_service.compact,
        POOL,
        {"placementPolicy": {"type": "COMPACT"}, "nodeLocations": ["a", "b"]},
        "needs one zone",
        {"placementPolicy": {"type": "COMPACT"}, "nodeLocations": ["a"]},
    ),
    (
        gcp_service.compact,
        POOL,
        {"placementPolicy": {"type": "COMPACT"}, "upgradeSettings": {"strategy": "BLUE_GREEN"}},
        "BLUE_GREEN",
        {"upgradeSettings": {"strategy": "BLUE_GREEN"}},
    ),
    (
        gcp_service.reservation,
        POOL,
        {"nodeConfig": _named(key="name")},
        "reservationAffinity.key is 'name'",
        {"nodeConfig": _named(), "nodeLocations": ["a"]},
    ),
    (
        gcp_service.reservation,
        POOL,
        {"nodeConfig": _named(values=[])},
        "has 0 items",
        {"nodeConfig": _named(values=UNKNOWN, key=UNKNOWN), "nodeLocations": ["a"]},
    ),
    (
        gcp_service.reservation,
        POOL,
        {
            "nodeConfig": {
                "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION", "key": "k"}
            }
        },
        "is for SPECIFIC_RESERVATION",
        {"nodeConfig": {}},
    ),
    (gcp_service.first_pool, GKE, {}, "initialNodeCount is 0", {"initialNodeCount": 1}),
    (
        gcp_service.subnetworks,
        "gcp:compute/routerNat:RouterNat",
        {"subnetworks": [{}], "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"},
        "LIST_OF_SUBNETWORKS",
        {"subnetworks": [{}], "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"},
    ),
    (
        gcp_service.nat_ranges,
        "gcp:compute/routerNat:RouterNat",
        {"subnetworks": [{"sourceIpRangesToNats": ["ALL"]}]},
        "sourceIpRangesToNats has 'ALL'",
        {"subnetworks": [{"sourceIpRangesToNats": ["ALL_IP_RANGES"]}]},
    ),
    (
        gcp_service.key_purpose,
        "gcp:kms/cryptoKey:CryptoKey",
        {"purpose": "ENCRYPT"},
        "purpose is 'ENCRYPT'",
        {"purpose": "ENCRYPT_DECRYPT"},
    ),
    (
        gcp_service.address_purpose,
        "gcp:compute/globalAddress:GlobalAddress",
        {"purpose": "PEERING"},
        "purpose is 'PEERING'",
        {"purpose": "VPC_PEERING"},
    ),
    (
        gcp_service.tier,
        "gcp:filestore/instance:Instance",
        {"tier": "FAST"},
        "tier is 'FAST'",
        {"tier": "ZONAL"},
    ),
    (
        gcp_service.direction,
        FIREWALL,
        {"direction": "EGRESS", "sourceRanges": ["a"]},
        "not for direction EGRESS",
        {"direction": "EGRESS", "destinationRanges": ["a"]},
    ),
]


@every(("rule", "kind", "bad", "said", "good"), CASES)
def test_a_rule_refuses_the_one_and_passes_the_other(rule, kind, bad, said, good):
    assert any(said in each for each in rule(bad)), list(rule(bad))
    assert list(rule(good)) == []
    assert any(said in each for each in (*of_provider(kind, bad), *of_service(kind, bad)))


def test_each_rule_has_a_case_and_says_where_it_is_from():
    ruled = {
        rule
        for module in (aws, aws_service, gcp, gcp_service)
        for rules in module.RULES.values()
        for rule in rules
    }
    assert ruled == {case[0] for case in CASES}
    for rule in ruled:
        assert (rule.__doc__ or "").startswith(
            ("[tf]", "[api]", "[ug]", "[ct]", "[disc]", "[doc]", "[moto]")
        )


def test_what_is_judged_are_fields_that_the_tables_have():
    for rule, kind, bad, _, good in CASES:
        names = set((facts.resource(kind) or {})["inputs"])
        assert {*bad, *good} <= names, rule
