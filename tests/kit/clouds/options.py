"""Options of `aws` for a call: the names of its fields in botocore 1.44.5.

Without paging options and those of every call.
"""

OPTIONS = {
    "amp list-rule-groups-namespaces": "name workspace-id",
    "amp list-workspaces": "alias",
    "ec2 describe-capacity-reservations": "capacity-reservation-ids filters",
    "ec2 describe-flow-logs": "filter flow-log-ids",
    "ec2 describe-internet-gateways": "filters internet-gateway-ids",
    "ec2 describe-launch-templates": (
        "filters include-managed-resources launch-template-ids launch-template-names"
    ),
    "ec2 describe-nat-gateways": "filter nat-gateway-ids",
    "ec2 describe-placement-groups": "filters group-ids group-names",
    "ec2 describe-route-tables": "filters route-table-ids",
    "ec2 describe-security-group-rules": "filters security-group-rule-ids",
    "ec2 describe-security-groups": "filters group-ids group-names",
    "ec2 describe-subnets": "filters subnet-ids",
    "ec2 describe-tags": "filters",
    "ec2 describe-vpc-endpoints": "filters vpc-endpoint-ids",
    "ec2 describe-vpcs": "filters vpc-ids",
    "efs describe-access-points": "access-point-id file-system-id",
    "efs describe-file-systems": "creation-token file-system-id",
    "efs describe-mount-targets": "access-point-id file-system-id mount-target-id",
    "eks describe-cluster": "name",
    "eks describe-nodegroup": "cluster-name nodegroup-name",
    "eks list-addons": "cluster-name",
    "eks list-nodegroups": "cluster-name",
    "eks list-pod-identity-associations": "cluster-name namespace service-account",
    "events list-rules": "event-bus-name limit name-prefix next-token",
    "events list-targets-by-rule": "event-bus-name limit next-token rule",
    "fsx describe-data-repository-associations": "association-ids filters",
    "fsx describe-file-systems": "file-system-ids",
    "iam list-instance-profiles": "path-prefix",
    "iam list-role-policies": "role-name",
    "iam list-roles": "path-prefix",
    "kms list-grants": "grant-id grantee-principal key-id",
    "logs describe-log-groups": (
        "account-identifiers include-linked-accounts log-group-class log-group-identifiers "
        "log-group-name-pattern log-group-name-prefix"
    ),
    "resourcegroupstaggingapi get-resources": (
        "exclude-compliant-resources include-compliance-details pagination-token "
        "resource-arn-list resource-type-filters resources-per-page tag-filters tags-per-page"
    ),
    "s3api list-buckets": "bucket-region continuation-token max-buckets prefix",
    "sqs list-queues": "queue-name-prefix",
}
"""By service and operation; an option is such a word after two dashes."""

EVERYWHERE = ("output", "region", "profile")


def unknown_options(words: list[str]) -> list[str]:
    """The options in the words after `aws` that the program would reject."""
    used = {f"--{each}" for each in (*OPTIONS[" ".join(words[:2])].split(), *EVERYWHERE)}
    inputs = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [each for each in inputs if each not in used]
