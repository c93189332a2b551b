"""Launch templates: interfaces, disks, metadata and user data of a group's nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.fabric import Interface, interfaces
from gpuyard.catalogue.kubernetes.eks_nodes import DATA_DISKS, SYSTEM_DISKS
from gpuyard.catalogue.machines import Machine
from gpuyard.names import PLATFORM_LABEL
from gpuyard.render.aws.foundation import ClusterFoundation, StringInput
from gpuyard.render.cloud.graph import Base64, CloudResource

DISK_GIB = 200
"""Where the stack file says nothing: images of GPU frameworks are large."""
_IMAGES_MIB_S = 500
"""Of the disk that images are unpacked on: gp3 gives it for its 3,000 operations a second."""
_YES = "true"
"""The provider has some switches as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """What nodes of a group are when they start."""

    machines: tuple[Machine, ...]
    variant: str
    """Their image, as EKS calls it; CUSTOM where `image` is its id."""
    disk_gib: int = DISK_GIB
    user_data: Base64 | None = None
    image: StringInput | None = None


def launch_template(
    name: str,
    part: str,
    boot: Boot,
    bought: Mapping[str, Any],
    foundation: ClusterFoundation,
    tags: Mapping[str, str],
) -> CloudResource:
    """The template of one group; a new version of it rolls the group's nodes, no change of it replaces."""
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
    """The interfaces that each of these machines can take; none unless the primary one is among them."""
    first, *others = machines
    shared = [one for one in interfaces(first) if all(one in interfaces(m) for m in others)]
    return shared if shared and shared[0].card == 0 else []


def _network(machines: Sequence[Machine], foundation: ClusterFoundation) -> dict[str, Any]:
    """Security groups stand inside the interfaces where there are any: EC2 refuses them beside."""
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
def _disks(boot: Boot, foundation: ClusterFoundation) -> list[dict[str, Any]]:
    family = boot.variant.partition("_")[0]
    system = SYSTEM_DISKS.get(family)
    disks = [_disk(system, foundation)] if system else []
    size = disk_needs(boot.machines, boot.disk_gib)
    return [*disks, _disk(DATA_DISKS[family], foundation, size)]


def disk_needs(machines: Sequence[Machine], gib: int) -> dict[str, int]:
    """How large the disk is that images are on, and how fast it must be."""
    size = {"volumeSize": gib}
    if any(machine.is_gpu_machine and not machine.nvme_gb for machine in machines):
        size["throughput"] = _IMAGES_MIB_S  # no disks of its own that images could be unpacked on
    return size


def _disk(
    device: str, foundation: ClusterFoundation, size: Mapping[str, Any] | None = None
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
