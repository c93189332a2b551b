"""Every manifest that `gpuyard job new` can write for a stack file, with all add-ons of its kinds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.read import read_stack_file
from gpuyard_advisor.job_manifests import (
    WITHOUT_IMAGE,
    ManifestKind,
    ManifestRequest,
    default_image,
    kind_obstacle,
    place_shape,
)
from gpuyard_core.local_files import file_reader

ADDONS = ("jobset", "kubeflow-trainer", "kuberay", "leader-worker-set")
STACKS = {
    path.stem.removeprefix("Pulumi."): path
    for folder, pattern in (("stacks", "Pulumi.*.yaml"), ("tests/golden_stacks", "*.yaml"))
    for path in sorted((sizes.ROOT / folder).glob(pattern))
}
SERVER = "registry.example/server:1.2.3"


WITHOUT_WHOLE_GPUS = {"slices"}
"""Stacks on which no training runtime is possible."""


def with_every_kind(raw: dict[str, Any], *, training: bool = True) -> dict[str, Any]:
    """The platform with the controllers of all kinds."""
    named = [each if isinstance(each, str) else each["name"] for each in raw.get("addons", ())]
    more = [each for each in ADDONS if each not in named]
    # a platform that dispatches its jobs has neither
    runs = not raw.get("queueing", {}).get("clusters")
    runtimes = {"training": ["torch"]} if training and runs else {}
    workloads = {**raw.get("workloads", {}), **runtimes}
    queueing = {**raw.get("queueing", {}), **({"integrations": ["pytorchjob"]} if runs else {})}
    addons = [*raw.get("addons", ()), *more]
    return {**raw, "addons": addons, "workloads": workloads, "queueing": queueing}


def plan_of_stack(path: Path) -> PlatformPlan:
    """The plan of a stack file with the controllers of all kinds."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    config = content["config"]
    training = path.stem not in WITHOUT_WHOLE_GPUS
    config["gpuyard:platform"] = with_every_kind(config["gpuyard:platform"], training=training)
    data = yaml.safe_dump(content).encode()
    return plan_or_raise(read_stack_file(data, path.name, file_reader(sizes.ROOT)).spec)


def request(plan: PlatformPlan, kind: ManifestKind, team: str, shape: str, **rest: Any) -> Any:
    """What the command makes of its options; None where it refuses."""
    owner = plan.team(team)
    placed = place_shape(plan, owner, shape)
    if placed is None or kind_obstacle(plan, owner, placed, kind)[0]:
        return None
    image = SERVER if kind in WITHOUT_IMAGE else default_image(kind)
    options = {"name": shape, "queue": owner.local_queue, "image": image, **rest}
    return ManifestRequest(kind=kind, team=owner, shape=placed, **options)


def requests(plan: PlatformPlan) -> Iterator[ManifestRequest]:
    """Every kind of every shape for every team."""
    for shape in plan.shapes:
        for team in plan.teams:
            for kind in ManifestKind:
                if found := request(plan, kind, team.name, shape.name):
                    yield found
