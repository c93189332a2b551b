"""Platforms in a cloud, by number: every machine in turn, with random capacity, sharing, images and placement."""

import random
from collections.abc import Mapping
from typing import Any

from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard_core.catalogue.purchasing import ULTRASERVERS
from gpuyard_core.catalogue.software.images import images_of
from kit.stacks import platform, pool, team

SOLD = [m for m in MACHINES.values() if m.cloud in {"aws", "gcp"} and m.is_gpu_machine]
REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}
_HELD = {Capacity.RESERVED, Capacity.BLOCK}
_ZONES = {
    "aws": ["us-east-1a", "us-east-1b", "us-east-1c"],
    "gcp": ["us-central1-a", "us-central1-b", "us-central1-c"],
}
_NETWORKS: Mapping[str, tuple[Any, ...]] = {
    "aws": (
        {},
        {"cidr": "10.64.0.0/16", "nat": "per_zone"},
        {"nat": "none", "flow_logs": False},
        {"endpoints": "interface", "services": "192.168.0.0/20"},
    ),
    "gcp": ({}, {"cidr": "10.64.0.0/20", "pods": "10.128.0.0/14"}, {"flow_logs": False}),
}
_STORAGE: Mapping[str, tuple[Any, ...]] = {
    "aws": (
        None,
        {"datasets": [{"name": "home", "kind": "efs"}], "checkpoints": {}},
        {"datasets": [{"name": "fast", "kind": "fsx-lustre", "zone": "us-east-1a"}]},
        {"datasets": [{"name": "web", "kind": "bucket"}]},
    ),
    "gcp": (
        None,
        {"datasets": [{"name": "home", "kind": "filestore"}], "checkpoints": {}},
        {"datasets": [{"name": "fast", "kind": "managed-lustre", "zone": "us-central1-a"}]},
        {"datasets": [{"name": "web", "kind": "bucket"}]},
    ),
}


def platform_in_a_cloud(number: int) -> dict[str, Any]:
    """The platform of this number; its plan may be rejected."""
    rng = random.Random(f"cloud {number}")  # noqa: S311  no secret is made of it
    machine = SOLD[number * 37 % len(SOLD)]
    cloud = str(machine.cloud)
    options, blocked = _capacity_options(machine, rng)
    low = rng.choice([0, 1, blocked or 4])
    zones = _ZONES[cloud][: 1 if blocked else rng.randint(0, 3)]
    one = {
        "nodes": f"{low}..{max(low, blocked) or 4}",
        "capacity": options,
        "zones": zones,
        "sharing": rng.choice(
            ["none", "none", {"time_slicing": 4}, {"mps": 4}, "dra", _cut(machine)]
        ),
        "image": rng.choice([None, *(image.name for image in images_of(cloud))]),
        "numa": rng.choice([None, "restricted", "best-effort"]),
        "topology": rng.choice([None, True]),
        "disk_gib": rng.choice([None, 500]),
    }
    inputs = {key: value for key, value in one.items() if value not in (None, [])}
    cluster = {"network": rng.choice(_NETWORKS[cloud])}
    if zones[1:] and rng.random() < 0.5:
        cluster["zones"] = zones
    more = {"storage": rng.choice(_STORAGE[cloud])}
    return platform(
        [pool(machine=machine.name, **inputs)],
        [team()],
        cloud=cloud,
        cluster=cluster,
        kubernetes=rng.choice(["1.34", "1.35"]),
        **{key: value for key, value in more.items() if value},
    )


def _capacity_options(machine: Machine, rng: random.Random) -> tuple[list[Any], int]:
    """Capacity options, and the number of their reserved nodes."""
    sold = sorted(machine.sold)
    picked = rng.sample(sold, k=rng.randint(1, min(3, len(sold))))
    size = 9 if machine.name in ULTRASERVERS else rng.choice([2, 4])
    name = "cr-0123456789abcdef0" if machine.cloud == "aws" else "held"
    blocked = [{mode.value: name, "nodes": size} for mode in picked if mode in _HELD][:1]
    return [*blocked, *(mode.value for mode in picked if mode not in _HELD)], size * len(blocked)


def _cut(machine: Machine) -> Any:
    """A layout of the smallest slices that the model has."""
    if machine.gpu is None or not machine.gpu.mig:
        return "none"
    return {"mig": {"1g.10gb": 7}} if machine.gpu.name.startswith("H") else {"mig": {"1g.5gb": 7}}
