"""The first of two stacks: the cluster that a stack with `cluster.existing` refers to by its name.

On a real account another stack or tool created it. On a fake account it must be created first: the
cluster of the same platform, with nodes for its controllers, as a stack of a separate project.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

STACK = "cluster"
PROJECT = "gpuyard-first"
_COMPONENTS = {"aws": "EksCluster", "gcp": "GkeCluster"}
_SYSTEM = {
    "aws": {"machine": "m7i.xlarge", "nodes": 2},
    "gcp": {"machine": "e2-standard-4", "nodes": 2},
}
_KEPT = ("cloud", "kubernetes", "pools", "system")
_PROGRAM = '''"""A cluster, and nothing in it."""

import pulumi
from gpuyard.resources import {component}

platform = pulumi.Config("gpuyard").require_object("platform")
{component}("first", {{"platform": platform}})
'''


def first_of_two(second: Mapping[str, Any]) -> dict[str, Any] | None:
    """The platform of that cluster; None where the `second` makes its own. The subnets are in the pools' zones."""
    requested = second.get("cluster") or {}
    if not requested.get("existing") or second["cloud"] not in _COMPONENTS:
        return None
    created = {key: value for key, value in requested.items() if key not in {"existing", "network"}}
    retained = {key: second[key] for key in _KEPT if key in second}
    return {
        "name": requested["existing"],
        "system": _SYSTEM[second["cloud"]],
        **retained,
        **({"cluster": created} if created else {}),
    }


def write(folder: Path, second: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Write its project into this folder, next to the stack file of the second; false where there is no first."""
    config: Mapping[str, Any] = second["config"]
    platform = first_of_two(config["gpuyard:platform"])
    if platform is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    program = _PROGRAM.format(component=_COMPONENTS[platform["cloud"]])
    (folder / "__main__.py").write_text(program, encoding="utf-8")
    project = {"name": PROJECT, "runtime": {"name": "python", "options": dict(options)}}
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
    content = {"config": {**config, "gpuyard:platform": platform}}
    target = folder / f"Pulumi.{STACK}.yaml"
    target.write_text(yaml.safe_dump({**content, **salt_in(target)}), encoding="utf-8")
    return True


def salt_in(file: Path) -> dict[str, Any]:
    """What the engine wrote into a stack file; it belongs to the state, not to the file."""
    retained = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {key: value for key, value in retained.items() if key == "encryptionsalt"}
