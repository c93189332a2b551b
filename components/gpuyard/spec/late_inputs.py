"""Values of a program that only its deployment knows, such as the id of a VPC of the same program.

A marker takes the place of such a value, so that a spec and all that is derived from it stay plain
values. The resources layer replaces each marker by the output that it stands for.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Diagnostic, Fix, Path, error

LATE_INPUTS: Mapping[str, Mapping[str, str]] = {
    "cluster.existing": {
        "aws:eks/cluster:Cluster": "name",
        "gcp:container/cluster:Cluster": "name",
    },
    "cluster.network.id": {
        "aws:ec2/vpc:Vpc": "id",
        "aws:ec2/defaultVpc:DefaultVpc": "id",
        "gcp:compute/network:Network": "name",
    },
    "cluster.network.subnets.private": {},
    "cluster.network.subnets.private.*": {
        "aws:ec2/subnet:Subnet": "id",
        "aws:ec2/defaultSubnet:DefaultSubnet": "id",
        "gcp:compute/subnetwork:Subnetwork": "name",
    },
    "cluster.network.subnets.public": {},
    "cluster.network.subnets.public.*": {
        "aws:ec2/subnet:Subnet": "id",
        "aws:ec2/defaultSubnet:DefaultSubnet": "id",
    },
    "cluster.network.security_groups": {},
    "cluster.network.security_groups.*": {"aws:ec2/securityGroup:SecurityGroup": "id"},
    "cluster.key": {"aws:kms/key:Key": "arn", "gcp:kms/cryptoKey:CryptoKey": "id"},
    "cluster.admins.*": {
        "aws:iam/role:Role": "arn",
        "aws:iam/user:User": "arn",
        "gcp:serviceaccount/account:Account": "member",
    },
    "cluster.roles.cluster": {"aws:iam/role:Role": "arn"},
    "cluster.roles.nodes": {
        "aws:iam/role:Role": "arn",
        "gcp:serviceaccount/account:Account": "email",
    },
    "storage.datasets.*.bucket": {
        "aws:s3/bucket:Bucket": "id",
        "aws:s3/bucketV2:BucketV2": "id",
        "gcp:storage/bucket:Bucket": "name",
    },
    "storage.datasets.*.file_system": {"aws:efs/fileSystem:FileSystem": "id"},
    "storage.checkpoints.bucket": {
        "aws:s3/bucket:Bucket": "id",
        "aws:s3/bucketV2:BucketV2": "id",
        "gcp:storage/bucket:Bucket": "name",
    },
}
"""Fields that a program may set to an output or a resource: the output of each resource that is used.

`*` is an index. A field with `.*` is a list: outputs are its items, or one output is the whole list.
"""
_MARKER = re.compile(r"\$\{(inputs?):([^{}]+)\}")
INPUT = "input"
"""First step of the name of the late value that a marker stands for: `input.cluster.key`."""


def late_input_field(path: Path) -> str | None:
    """The field of LATE_INPUTS at a path."""
    word = ".".join("*" if isinstance(step, int) else step for step in path)
    return word if word in LATE_INPUTS else None


def input_marker(path: Path, *, is_list: bool = False) -> str:
    """The marker of the value at a path: `${input:cluster.key}`."""
    return f"${{input{'s' if is_list else ''}:{'.'.join(map(str, path))}}}"


def is_late_input(value: object) -> bool:
    """Whether a text contains a marker."""
    return isinstance(value, str) and "${input" in value and _MARKER.search(value) is not None


def is_late_list(value: object) -> bool:
    """Whether a value is the marker of a whole list."""
    return isinstance(value, str) and value.startswith("${inputs:") and is_late_input(value)


def first_of(values: tuple[str, ...]) -> str:
    """The first value, also of a list that is known only later."""
    match = _MARKER.fullmatch(values[0]) if is_late_list(values[0]) else None
    return f"${{input:{match[2]}.0}}" if match else values[0]


def is_input_name(name: str) -> bool:
    """Whether a late value is an output of the user's program."""
    return name.startswith(f"{INPUT}.")


def late_input_names(text: str) -> Iterator[str]:
    """The late values of a text: `input.cluster.key`."""
    if "${input" in text:
        yield from (f"{INPUT}.{match[2]}" for match in _MARKER.finditer(text))


def fill_markers(text: str, known: Callable[[str], Any]) -> Any:
    """The text with its values; the value itself if the text is one marker."""
    if (whole := _MARKER.fullmatch(text)) is not None:
        return known(f"{INPUT}.{whole[2]}")
    return _MARKER.sub(lambda match: str(known(f"{INPUT}.{match[2]}")), text)


def marker_findings(value: object, path: Path = ()) -> Iterator[Diagnostic]:
    """Rejects markers that were written by hand: only a program's outputs become markers."""
    if is_late_input(value):
        yield error(
            "spec.late_input",
            path,
            "the text is reserved for outputs that a program passes",
            given=str(value),
            allowed="a value; in a Pulumi program also an output or a resource",
            fix=Fix(message="write the value"),
        )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from marker_findings(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from marker_findings(inner, (*path, index))
