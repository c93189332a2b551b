"""What AWS is asked for each kind of resource, what it can be allowed on, and which roles are passed on the way."""

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
    bucket_part,
    ec2,
    row,
    rule,
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
    "aws:ec2/internetGateway:InternetGateway": row(
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
    "aws:ec2/route:Route": row(
        "ec2",
        TABLE,
        create="CreateRoute",
        read="DescribeRouteTables DescribeNetworkInterfaces",
        update="ReplaceRoute",
        delete="DeleteRoute",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": row(
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
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": rule("Ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": rule("Egress"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": row(
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
    "aws:ec2/flowLog:FlowLog": row(
        "ec2",
        f"{EC2}vpc-flow-log/*",
        create="CreateFlowLogs",
        read="DescribeFlowLogs",
        delete="DeleteFlowLogs",
        tags="CreateTags DeleteTags",
        additional_resources={"ec2:CreateFlowLogs": (VPC,)},
        passed_roles=(PassedRole("iamRoleArn", ("vpc-flow-logs.amazonaws.com",)),),
    ),
    "aws:cloudwatch/logGroup:LogGroup": row(
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
    "aws:iam/role:Role": row(
        "iam",
        "iam::{account}:role/{own}",
        create="CreateRole",
        read="GetRole ListRolePolicies ListAttachedRolePolicies GetRolePolicy",
        update="UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy",
        delete="DeleteRole ListInstanceProfilesForRole ListRolePolicies ListAttachedRolePolicies",
        tags="TagRole UntagRole",
    ),
    "aws:iam/rolePolicy:RolePolicy": row(
        "iam",
        "iam::{account}:role/{role}",
        create="PutRolePolicy",
        read="GetRolePolicy",
        update="PutRolePolicy",
        delete="DeleteRolePolicy",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": row(
        "iam",
        "iam::{account}:role/{role}",
        create="AttachRolePolicy",
        read="ListAttachedRolePolicies",
        delete="DetachRolePolicy",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:iam/instanceProfile:InstanceProfile": row(
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
    "aws:kms/key:Key": row(
        "kms",
        KEYS,
        create="CreateKey EnableKeyRotation PutKeyPolicy",
        read="DescribeKey GetKeyPolicy GetKeyRotationStatus ListResourceTags",
        update="DisableKey DisableKeyRotation EnableKey EnableKeyRotation PutKeyPolicy UpdateKeyDescription",
        delete="ScheduleKeyDeletion",
        tags="TagResource UntagResource",
    ),
    "aws:kms/alias:Alias": row(
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
    # The key is another's: it is named by its ARN, and no tag of ours is on it.
    "aws:kms/grant:Grant": row(
        "kms",
        "{keyId}",
        create="CreateGrant",
        read="ListGrants",
        delete="RevokeGrant",
    ),
    # ── EKS ──
    "aws:eks/cluster:Cluster": row(
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
    "aws:eks/nodeGroup:NodeGroup": row(
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
    "aws:eks/addon:Addon": row(
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
    "aws:eks/accessEntry:AccessEntry": row(
        "eks",
        (f"{EKS}access-entry/{{clusterName}}/*", f"{EKS}cluster/{{clusterName}}"),
        create="CreateAccessEntry",
        read="DescribeAccessEntry ListTagsForResource",
        update="UpdateAccessEntry",
        delete="DeleteAccessEntry",
        tags="TagResource UntagResource",
        ownership_tag="",
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": row(
        "eks",
        f"{EKS}access-entry/{{clusterName}}/*",
        create="AssociateAccessPolicy",
        read="ListAssociatedAccessPolicies",
        delete="DisassociateAccessPolicy",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": row(
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
    # ── what becomes of nodes ──
    "aws:sqs/queue:Queue": row(
        "sqs",
        "sqs:{region}:{account}:{own}",
        create="CreateQueue",
        read="GetQueueAttributes ListQueueTags GetQueueUrl",
        update="SetQueueAttributes",
        delete="DeleteQueue",
        tags="TagQueue UntagQueue",
        ownership_tag="",
    ),
    "aws:sqs/queuePolicy:QueuePolicy": row(
        "sqs",
        "sqs:{region}:{account}:{queueUrl}",
        create="SetQueueAttributes",
        read="GetQueueAttributes ListQueueTags",
        update="SetQueueAttributes",
        delete="SetQueueAttributes",
    ),
    "aws:cloudwatch/eventRule:EventRule": row(
        "events",
        "events:{region}:{account}:rule/{own}",
        create="PutRule",
        read="DescribeRule ListTagsForResource",
        update="PutRule",
        delete="DeleteRule",
        tags="TagResource UntagResource",
        ownership_tag="",
    ),
    "aws:cloudwatch/eventTarget:EventTarget": row(
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
    # Nothing gives a block back: the provider forgets it. What is bought already is told by its tag.
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": ec2(
        "capacity-reservation",
        create="PurchaseCapacityBlock tag:GetResources",
        read="DescribeCapacityReservations",
        delete="",
    ),
    "aws:autoscaling/tag:Tag": row(
        "autoscaling",
        "autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/eks-*",
        create="CreateOrUpdateTags",
        read="DescribeTags",
        update="CreateOrUpdateTags",
        delete="DeleteTags",
        ownership_tag=EKS_GROUP,
    ),
    # ── file systems ──
    "aws:efs/fileSystem:FileSystem": row(
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
    "aws:efs/backupPolicy:BackupPolicy": row(
        "elasticfilesystem",
        f"{EFS}file-system/*",
        create="PutBackupPolicy",
        read="DescribeBackupPolicy",
        update="PutBackupPolicy",
        delete="PutBackupPolicy",
        ownership_tag=MANAGED_TAG,
    ),
    "aws:efs/mountTarget:MountTarget": row(
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
    "aws:efs/accessPoint:AccessPoint": row(
        "elasticfilesystem",
        f"{EFS}access-point/*",
        create="CreateAccessPoint",
        read="DescribeAccessPoints ListTagsForResource",
        delete="DeleteAccessPoint",
        tags="TagResource UntagResource",
        additional_resources={"elasticfilesystem:CreateAccessPoint": (f"{EFS}file-system/*",)},
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": row(
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
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": row(
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
    "aws:s3/bucket:Bucket": row(
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
    # These two the provider answers itself; for who asks, nobody needs a permission.
    "aws:index/getRegion:getRegion": ((), ""),
    "aws:index/getPartition:getPartition": ((), ""),
    "aws:index/getCallerIdentity:getCallerIdentity": ((), ""),
}
"""What a question asks AWS, and of what; nothing where the provider knows."""
