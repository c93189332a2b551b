"""Launch templates: interfaces, disks, metadata options and user data of a node group's nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.render.aws.foundation import EksNodeInputs, StringInput
from gpuyard.render.cloud.graph import Base64, CloudResource
from gpuyard_core.catalogue.fabric import Interface, efa_interfaces_to_launch
from gpuyard_core.catalogue.kubernetes.eks_nodes import DATA_DISKS, SYSTEM_DISKS
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.names import PLATFORM_LABEL

DISK_GIB = 200
"""Default of the stack file: images of GPU frameworks are large."""
_IMAGES_MIB_S = 500
"""Of the disk for container images: gp3 offers it at its baseline of 3,000 operations a second."""
_YES = "true"
"""The provider has some booleans as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBootSettings:
    """Boot settings of the nodes of a group."""

    machines: tuple[Machine, ...]
    variant: str
    """The name of the image at EKS; CUSTOM if `image` is its id."""
    disk_gib: int = DISK_GIB
    user_data: Base64 | None = None
    image: StringInput | None = None


def launch_template(
    name: str,
    part: str,
    boot: NodeBootSettings,
    bought: Mapping[str, Any],
    foundation: EksNodeInputs,
    tags: Mapping[str, str],
) -> CloudResource:
    """The template of one group; a new version rolls its nodes, no change replaces the group."""
    inputs: dict[str, Any] = {
        "updateDefaultVersion": True,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
        },
        "monitoring": {"enabled": True},
        "blockDeviceMappings": _disks(boot, foundation),
        **_network(boot.machines, foundation),
        **bought,
        "tagSpecifications": [
            {"resourceType": kind, "tags": {"Name": f"{tags[PLATFORM_LABEL]}-{name}", **tags}}
            for kind in ("instance", "volume", "network-interface")
        ],
        "tags": dict(tags),
    }
    if boot.image is not None:
        inputs["imageId"] = boot.image
    if boot.user_data is not None:
        inputs["userData"] = boot.user_data
    return CloudResource(
        kind="aws:ec2/launchTemplate:LaunchTemplate",
        name=f"{name}-template",
        inputs=inputs,
        part=part,
        outputs=("latestVersion",),
        ignores=("imageId",) if boot.image is not None else (),
    )


# ── interfaces ────────────────────────────────────────────────────────────────────────────────────
def fabric_interfaces(machines: Sequence[Machine]) -> list[Interface]:
    """The interfaces that all these machines support; none unless they include the primary one."""
    first, *others = machines
    shared = [
        one
        for one in efa_interfaces_to_launch(first)
        if all(one in efa_interfaces_to_launch(m) for m in others)
    ]
    return shared if shared and shared[0].card == 0 else []


def _network(machines: Sequence[Machine], foundation: EksNodeInputs) -> dict[str, Any]:
    """Explicit interfaces contain the security groups: EC2 then rejects them at the top level."""
    groups = list(foundation.security_groups)
    result = fabric_interfaces(machines)
    if not result:
        return {"vpcSecurityGroupIds": groups}
    return {
        "networkInterfaces": [
            {
                "networkCardIndex": one.card,
                "deviceIndex": one.device,
                "interfaceType": one.kind,
                "deleteOnTermination": _YES,
                "securityGroups": groups,
            }
            for one in result
        ]
    }


# ── disks ─────────────────────────────────────────────────────────────────────────────────────────
def _disks(boot: NodeBootSettings, foundation: EksNodeInputs) -> list[dict[str, Any]]:
    family = boot.variant.partition("_")[0]
    system = SYSTEM_DISKS.get(family)
    disks = [_disk(system, foundation)] if system else []
    size = disk_needs(boot.machines, boot.disk_gib)
    return [*disks, _disk(DATA_DISKS[family], foundation, size)]


def disk_needs(machines: Sequence[Machine], gib: int) -> dict[str, int]:
    """The minimum size and speed of the disk for container images."""
    size = {"volumeSize": gib}
    if any(machine.is_gpu_machine and not machine.nvme_gb for machine in machines):
        size["throughput"] = _IMAGES_MIB_S  # no local disks that could hold container images
    return size


def _disk(
    device: str, foundation: EksNodeInputs, size: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    key = {} if foundation.disk_key is None else {"kmsKeyId": foundation.disk_key}
    ebs = {
        "volumeType": "gp3",
        "encrypted": _YES,
        "deleteOnTermination": _YES,
        **key,
        **(size or {}),
    }
    return {"deviceName": device, "ebs": ebs}
