"""AWS actions for each kind of resource, the resources on which they can be allowed, and passed roles."""

from collections.abc import Mapping

from gpuyard.catalogue.permissions.aws_forms import (
    EC2,
    EFS,
    EKS,
    EKS_GROUP,
    FSX,
    GROUP,
    KEYS,
    MANAGED_TAG,
    SUBNET,
    TABLE,
    VPC,
    AwsKind,
    PassedRole,
    ServiceRole,
    aws_kind,
    bucket_part,
    ec2,
    security_group_rule_kind,
)

AWS_KINDS: Mapping[str, AwsKind] = {
    # ── network ──
    "aws:ec2/vpc:Vpc": ec2(
        "vpc",
        create="CreateVpc ModifyVpcAttribute",
        read="DescribeVpcs DescribeVpcAttribute DescribeNetworkAcls DescribeRouteTables DescribeSecurityGroups",
        update="ModifyVpcAttribute",
        delete="DeleteVpc",
    ),
    "aws:ec2/subnet:Subnet": ec2(
        "subnet",
        create="CreateSubnet ModifySubnetAttribute",
        read="DescribeSubnets",
        update="ModifySubnetAttribute",
        delete="DeleteSubnet DescribeNetworkInterfaces",
        additional_actions=(VPC,),
    ),
    "aws:ec2/internetGateway:InternetGateway": aws_kind(
        "ec2",
        f"{EC2}internet-gateway/*",
        create="CreateInternetGateway AttachInternetGateway",
        read="DescribeInternetGateways",
        update="AttachInternetGateway DetachInternetGateway",
        delete="DetachInternetGateway DeleteInternetGateway",
        tags="CreateTags DeleteTags",
        additional_resources={
            "ec2:AttachInternetGateway": (VPC,),
            "ec2:DetachInternetGateway": (VPC,),
        },
    ),
    "aws:ec2/eip:Eip": ec2(
        "elastic-ip",
        create="AllocateAddress",
        read="DescribeAddresses DescribeAddressesAttribute",
        delete="ReleaseAddress",
    ),
    "aws:ec2/natGateway:NatGateway": ec2(
        "natgateway",
        create="CreateNatGateway",
        read="DescribeNatGateways",
        delete="DeleteNatGateway",
        additional_actions=(SUBNET, f"{EC2}elastic-ip/*"),
    ),
    "aws:ec2/routeTable:RouteTable": ec2(
        "route-table",
        create="CreateRouteTable",
        read="DescribeRouteTables",
        delete="DeleteRouteTable",
        additional_actions=(VPC,),
    ),
    "aws:ec2/route:Route": aws_kind(
        "ec2",
        TABLE,
        create="CreateRoute",
        read="DescribeRouteTables DescribeNetworkInterfaces",
        update="ReplaceRoute",
        delete="DeleteRoute",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": aws_kind(
        "ec2",
        (TABLE, SUBNET),
        create="AssociateRouteTable",
        read="DescribeRouteTables DescribeSubnets",
        update="ReplaceRouteTableAssociation",
        delete="DisassociateRouteTable",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:ec2/securityGroup:SecurityGroup": ec2(
        "security-group",
        create="CreateSecurityGroup RevokeSecurityGroupEgress",
        read="DescribeSecurityGroups",
        update="RevokeSecurityGroupEgress RevokeSecurityGroupIngress",
        delete="DeleteSecurityGroup DescribeNetworkInterfaces RevokeSecurityGroupEgress RevokeSecurityGroupIngress"
        " DescribeSecurityGroupRules",
        additional_actions=(VPC,),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": security_group_rule_kind(
        "Ingress"
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": security_group_rule_kind("Egress"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": aws_kind(
        "ec2",
        f"{EC2}vpc-endpoint/*",
        create="CreateVpcEndpoint",
        read="DescribeVpcEndpoints DescribePrefixLists DescribeSubnets DescribeSecurityGroups DescribeVpcs",
        update="ModifyVpcEndpoint",
        delete="DeleteVpcEndpoints",
        tags="CreateTags DeleteTags",
        additional_resources={
            "ec2:CreateVpcEndpoint": (VPC, SUBNET, GROUP, TABLE),
            "ec2:ModifyVpcEndpoint": (SUBNET, GROUP, TABLE),
        },
    ),
    "aws:ec2/flowLog:FlowLog": aws_kind(
        "ec2",
        f"{EC2}vpc-flow-log/*",
        create="CreateFlowLogs",
        read="DescribeFlowLogs",
        delete="DeleteFlowLogs",
        tags="CreateTags DeleteTags",
        additional_resources={"ec2:CreateFlowLogs": (VPC,)},
        passed_roles=(PassedRole("iamRoleArn", ("vpc-flow-logs.amazonaws.com",)),),
    ),
    "aws:cloudwatch/logGroup:LogGroup": aws_kind(
        "logs",
        ("logs:{region}:{account}:log-group:{name}", "logs:{region}:{account}:log-group:{name}:*"),
        create="CreateLogGroup PutRetentionPolicy",
        read="DescribeLogGroups ListTagsForResource",
        update="PutRetentionPolicy DeleteRetentionPolicy",
        delete="DeleteLogGroup",
        tags="TagResource UntagResource",
        ownership_tag="",
    ),
    # ── identity and keys ──
    "aws:iam/role:Role": aws_kind(
        "iam",
        "iam::{account}:role/{own}",
        create="CreateRole",
        read="GetRole ListRolePolicies ListAttachedRolePolicies GetRolePolicy",
        update="UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy",
        delete="DeleteRole ListInstanceProfilesForRole ListRolePolicies ListAttachedRolePolicies",
        tags="TagRole UntagRole",
    ),
    "aws:iam/rolePolicy:RolePolicy": aws_kind(
        "iam",
        "iam::{account}:role/{role}",
        create="PutRolePolicy",
        read="GetRolePolicy",
        update="PutRolePolicy",
        delete="DeleteRolePolicy",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": aws_kind(
        "iam",
        "iam::{account}:role/{role}",
        create="AttachRolePolicy",
        read="ListAttachedRolePolicies",
        delete="DetachRolePolicy",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:iam/instanceProfile:InstanceProfile": aws_kind(
        "iam",
        "iam::{account}:instance-profile/{own}",
        create="CreateInstanceProfile AddRoleToInstanceProfile",
        read="GetInstanceProfile",
        update="RemoveRoleFromInstanceProfile AddRoleToInstanceProfile",
        delete="RemoveRoleFromInstanceProfile DeleteInstanceProfile",
        tags="TagInstanceProfile UntagInstanceProfile",
        ownership_tag="",
        passed_roles=(PassedRole("role", ("ec2.amazonaws.com",)),),
    ),
    "aws:kms/key:Key": aws_kind(
        "kms",
        KEYS,
        create="CreateKey EnableKeyRotation PutKeyPolicy",
        read="DescribeKey GetKeyPolicy GetKeyRotationStatus ListResourceTags",
        update="DisableKey DisableKeyRotation EnableKey EnableKeyRotation PutKeyPolicy UpdateKeyDescription",
        delete="ScheduleKeyDeletion",
        tags="TagResource UntagResource",
    ),
    "aws:kms/alias:Alias": aws_kind(
        "kms",
        "kms:{region}:{account}:{name}",
        create="CreateAlias",
        read="ListAliases",
        update="UpdateAlias",
        delete="DeleteAlias",
        additional_resources=dict.fromkeys(
            ("kms:CreateAlias", "kms:UpdateAlias", "kms:DeleteAlias"), (KEYS,)
        ),
    ),
    # The key is not managed by gpuyard: it is referenced by its ARN, and has no tag of gpuyard.
    "aws:kms/grant:Grant": aws_kind(
        "kms",
        "{keyId}",
        create="CreateGrant",
        read="ListGrants",
        delete="RevokeGrant",
    ),
    # ── EKS ──
    "aws:eks/cluster:Cluster": aws_kind(
        "eks",
        f"{EKS}cluster/{{name}}",
        create="CreateCluster CreateAccessEntry ec2:DescribeSubnets ec2:DescribeVpcs",
        read="DescribeCluster ListTagsForResource",
        update="UpdateClusterConfig UpdateClusterVersion DescribeUpdate",
        delete="DeleteCluster",
        tags="TagResource UntagResource",
        ownership_tag="",
        passed_roles=(PassedRole("roleArn", ("eks.amazonaws.com",)),),
        linked=(ServiceRole("eks.amazonaws.com", "AWSServiceRoleForAmazonEKS"),),
        keys=("encryptionConfig.provider.keyArn",),
    ),
    "aws:eks/nodeGroup:NodeGroup": aws_kind(
        "eks",
        (f"{EKS}nodegroup/{{clusterName}}/*/*", f"{EKS}cluster/{{clusterName}}"),
        create="CreateNodegroup ec2:DescribeSubnets ec2:DescribeVpcs ec2:DescribeSecurityGroups"
        " ec2:DescribeRouteTables ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions",
        read="DescribeNodegroup ListTagsForResource",
        update="UpdateNodegroupConfig UpdateNodegroupVersion DescribeUpdate ListUpdates",
        delete="DeleteNodegroup",
        tags="TagResource UntagResource",
        ownership_tag="",
        passed_roles=(PassedRole("nodeRoleArn", ("ec2.amazonaws.com", "eks.amazonaws.com")),),
        linked=(ServiceRole("eks-nodegroup.amazonaws.com", "AWSServiceRoleForAmazonEKSNodegroup"),),
    ),
    "aws:eks/addon:Addon": aws_kind(
        "eks",
        (
            f"{EKS}addon/{{clusterName}}/{{addonName}}/*",
            f"{EKS}cluster/{{clusterName}}",
            f"{EKS}podidentityassociation/{{clusterName}}/*",
        ),
        create="CreateAddon CreatePodIdentityAssociation DescribeAddonVersions",
        read="DescribeAddon DescribePodIdentityAssociation ListTagsForResource",
        update="UpdateAddon UpdatePodIdentityAssociation DeletePodIdentityAssociation DescribeUpdate",
        delete="DeleteAddon DeletePodIdentityAssociation",
        tags="TagResource UntagResource",
        ownership_tag="",
        passed_roles=(PassedRole("podIdentityAssociations.roleArn", ("pods.eks.amazonaws.com",)),),
    ),
    "aws:eks/accessEntry:AccessEntry": aws_kind(
        "eks",
        (f"{EKS}access-entry/{{clusterName}}/*", f"{EKS}cluster/{{clusterName}}"),
        create="CreateAccessEntry",
        read="DescribeAccessEntry ListTagsForResource",
        update="UpdateAccessEntry",
        delete="DeleteAccessEntry",
        tags="TagResource UntagResource",
        ownership_tag="",
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": aws_kind(
        "eks",
        f"{EKS}access-entry/{{clusterName}}/*",
        create="AssociateAccessPolicy",
        read="ListAssociatedAccessPolicies",
        delete="DisassociateAccessPolicy",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": aws_kind(
        "eks",
        (f"{EKS}podidentityassociation/{{clusterName}}/*", f"{EKS}cluster/{{clusterName}}"),
        create="CreatePodIdentityAssociation",
        read="DescribePodIdentityAssociation",
        update="UpdatePodIdentityAssociation",
        delete="DeletePodIdentityAssociation",
        tags="TagResource UntagResource",
        ownership_tag="",
        passed_roles=(PassedRole("roleArn", ("pods.eks.amazonaws.com",)),),
    ),
    # ── interruption events of nodes ──
    "aws:sqs/queue:Queue": aws_kind(
        "sqs",
        "sqs:{region}:{account}:{own}",
        create="CreateQueue",
        read="GetQueueAttributes ListQueueTags GetQueueUrl",
        update="SetQueueAttributes",
        delete="DeleteQueue",
        tags="TagQueue UntagQueue",
        ownership_tag="",
    ),
    "aws:sqs/queuePolicy:QueuePolicy": aws_kind(
        "sqs",
        "sqs:{region}:{account}:{queueUrl}",
        create="SetQueueAttributes",
        read="GetQueueAttributes ListQueueTags",
        update="SetQueueAttributes",
        delete="SetQueueAttributes",
    ),
    "aws:cloudwatch/eventRule:EventRule": aws_kind(
        "events",
        "events:{region}:{account}:rule/{own}",
        create="PutRule",
        read="DescribeRule ListTagsForResource",
        update="PutRule",
        delete="DeleteRule",
        tags="TagResource UntagResource",
        ownership_tag="",
    ),
    "aws:cloudwatch/eventTarget:EventTarget": aws_kind(
        "events",
        "events:{region}:{account}:rule/{rule}",
        create="PutTargets",
        read="ListTargetsByRule",
        update="PutTargets",
        delete="RemoveTargets",
    ),
    # ── nodes ──
    "aws:ec2/launchTemplate:LaunchTemplate": ec2(
        "launch-template",
        create="CreateLaunchTemplate",
        read="DescribeLaunchTemplates DescribeLaunchTemplateVersions DescribeInstanceTypes",
        update="CreateLaunchTemplateVersion ModifyLaunchTemplate",
        delete="DeleteLaunchTemplate",
    ),
    "aws:ec2/placementGroup:PlacementGroup": ec2(
        "placement-group",
        create="CreatePlacementGroup",
        read="DescribePlacementGroups",
        delete="DeletePlacementGroup",
    ),
    # A block cannot be returned: the provider only forgets it. A purchased block is found by its tag.
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": ec2(
        "capacity-reservation",
        create="PurchaseCapacityBlock tag:GetResources",
        read="DescribeCapacityReservations",
        delete="",
    ),
    "aws:autoscaling/tag:Tag": aws_kind(
        "autoscaling",
        "autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/eks-*",
        create="CreateOrUpdateTags",
        read="DescribeTags",
        update="CreateOrUpdateTags",
        delete="DeleteTags",
        ownership_tag=EKS_GROUP,
    ),
    # ── file systems ──
    "aws:efs/fileSystem:FileSystem": aws_kind(
        "elasticfilesystem",
        f"{EFS}file-system/*",
        create="CreateFileSystem PutLifecycleConfiguration UpdateFileSystemProtection",
        read="DescribeFileSystems DescribeLifecycleConfiguration ListTagsForResource",
        update="UpdateFileSystem UpdateFileSystemProtection PutLifecycleConfiguration",
        delete="DeleteFileSystem",
        tags="TagResource UntagResource",
        linked=(
            ServiceRole(
                "elasticfilesystem.amazonaws.com", "AWSServiceRoleForAmazonElasticFileSystem"
            ),
        ),
        keys=("kmsKeyId",),
    ),
    "aws:efs/backupPolicy:BackupPolicy": aws_kind(
        "elasticfilesystem",
        f"{EFS}file-system/*",
        create="PutBackupPolicy",
        read="DescribeBackupPolicy",
        update="PutBackupPolicy",
        delete="PutBackupPolicy",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:efs/mountTarget:MountTarget": aws_kind(
        "elasticfilesystem",
        f"{EFS}file-system/*",
        create="CreateMountTarget ec2:DescribeSubnets ec2:DescribeNetworkInterfaces ec2:CreateNetworkInterface",
        read="DescribeMountTargets DescribeMountTargetSecurityGroups",
        update="ModifyMountTargetSecurityGroups",
        delete="DeleteMountTarget ec2:DeleteNetworkInterface",
        ownership_tag=MANAGED_TAG,
        additional_resources={
            "ec2:CreateNetworkInterface": (f"{EC2}network-interface/*", SUBNET, GROUP),
            "ec2:DeleteNetworkInterface": (f"{EC2}network-interface/*",),
        },
    ),
    "aws:efs/accessPoint:AccessPoint": aws_kind(
        "elasticfilesystem",
        f"{EFS}access-point/*",
        create="CreateAccessPoint",
        read="DescribeAccessPoints ListTagsForResource",
        delete="DeleteAccessPoint",
        tags="TagResource UntagResource",
        additional_resources={"elasticfilesystem:CreateAccessPoint": (f"{EFS}file-system/*",)},
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": aws_kind(
        "fsx",
        f"{FSX}file-system/*",
        create="CreateFileSystem ec2:DescribeSubnets ec2:DescribeSecurityGroups ec2:DescribeVpcs",
        read="DescribeFileSystems ListTagsForResource",
        update="UpdateFileSystem",
        delete="DeleteFileSystem",
        tags="TagResource UntagResource",
        linked=(ServiceRole("fsx.amazonaws.com", "AWSServiceRoleForAmazonFSx"),),
        keys=("kmsKeyId",),
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": aws_kind(
        "fsx",
        (f"{FSX}association/*/*", f"{FSX}file-system/*"),
        create="CreateDataRepositoryAssociation",
        read="DescribeDataRepositoryAssociations ListTagsForResource",
        update="UpdateDataRepositoryAssociation",
        delete="DeleteDataRepositoryAssociation",
        tags="TagResource UntagResource",
        linked=(
            ServiceRole(
                "s3.data-source.lustre.fsx.amazonaws.com", "AWSServiceRoleForFSxS3Access_*"
            ),
        ),
    ),
    # ── buckets ──
    "aws:s3/bucket:Bucket": aws_kind(
        "s3",
        "s3:::{bucket}",
        create="CreateBucket",
        read="ListBucket GetBucketTagging GetBucketPolicy GetBucketAcl GetBucketCORS GetBucketWebsite"
        " GetBucketVersioning GetAccelerateConfiguration GetBucketRequestPayment GetBucketLogging"
        " GetLifecycleConfiguration GetReplicationConfiguration GetEncryptionConfiguration"
        " GetBucketObjectLockConfiguration ListTagsForResource",
        delete="DeleteBucket",
        tags="PutBucketTagging TagResource UntagResource",
        ownership_tag="",
    ),
    "aws:s3/bucketVersioning:BucketVersioning": bucket_part(
        "GetBucketVersioning", "PutBucketVersioning"
    ),
    "aws:s3/bucketPolicy:BucketPolicy": bucket_part(
        "GetBucketPolicy", "PutBucketPolicy", "DeleteBucketPolicy"
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": bucket_part(
        "GetBucketPublicAccessBlock", "PutBucketPublicAccessBlock"
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": bucket_part(
        "GetLifecycleConfiguration", "PutLifecycleConfiguration"
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": bucket_part(
        "GetEncryptionConfiguration", "PutEncryptionConfiguration"
    ),
    "aws:s3/bucketLogging:BucketLogging": bucket_part("GetBucketLogging", "PutBucketLogging"),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": bucket_part(
        "GetBucketOwnershipControls", "PutBucketOwnershipControls"
    ),
}
AWS_CALLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "aws:eks/getCluster:getCluster": (("eks:DescribeCluster",), f"{EKS}cluster/{{name}}"),
    "aws:ssm/getParameter:getParameter": (("ssm:GetParameter",), "ssm:{region}:*:parameter{name}"),
    "aws:ec2/getSubnets:getSubnets": (("ec2:DescribeSubnets",), ""),
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": (
        ("ec2:DescribeInstanceTypeOfferings",),
        "",
    ),
    "aws:ec2/getVpc:getVpc": (
        ("ec2:DescribeVpcs", "ec2:DescribeVpcAttribute", "ec2:DescribeRouteTables"),
        VPC,
    ),
    "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation": (
        ("ec2:DescribeCapacityReservations",),
        "",
    ),
    "aws:resourcegroupstaggingapi/getResources:getResources": (("tag:GetResources",), ""),
    "aws:index/getAvailabilityZones:getAvailabilityZones": (("ec2:DescribeAvailabilityZones",), ""),
    # The provider answers these two without a permission.
    "aws:index/getRegion:getRegion": ((), ""),
    "aws:index/getPartition:getPartition": ((), ""),
    "aws:index/getCallerIdentity:getCallerIdentity": ((), ""),
}
"""Actions of each provider function and their resource; empty if the provider needs no API call."""
