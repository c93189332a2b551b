"""Import of live objects into the state under their names in the program."""

import json
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuyard.recovery.creations import Creation
from gpuyard.recovery.stack import PulumiStack

_QUIET = ("--generate-code=false", "--protect=false", "--yes", "--skip-preview")


def adopt(
    stack: PulumiStack, ours: Sequence[Creation], planned: Iterable[Creation], known: set[str]
) -> None:
    """Import all of `ours` at once, with their parent components that are not yet in the state.

    `planned` is everything that the program would create, `known` are the URNs in the state.
    """
    if not ours:
        return
    content = import_file(ours, {each.urn: each for each in planned}, known)
    with tempfile.TemporaryDirectory(prefix="gpuyard-") as folder:
        file = Path(folder) / "adopt.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        stack.query("import", "--file", str(file), *_QUIET)
    stack.edit(
        lambda deployment: with_planned_inputs(deployment, {each.urn: each for each in ours})
    )


def with_planned_inputs(deployment: dict[str, Any], ours: Mapping[str, Creation]) -> dict[str, Any]:
    """Set the program's inputs on imported resources that match them.

    An import takes fields that the cluster added for inputs of the program: the next `up` would remove them,
    and a Job, whose pod template is immutable, would be replaced and run again.
    """
    for each in deployment.get("resources") or []:
        one = ours.get(each["urn"])
        if one is not None and _within(one.inputs, each.get("inputs")):
            each["inputs"] = one.inputs
            if "__inputs" in (each.get("outputs") or {}):
                each["outputs"]["__inputs"] = one.inputs
    return deployment


def _within(expected: Any, actual: Any) -> bool:
    """Whether all expected values are present; there may be more."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(key in actual and _within(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_within, expected, actual))
    return bool(expected == actual)


def import_file(
    ours: Iterable[Creation], planned: Mapping[str, Creation], known: set[str]
) -> dict[str, Any]:
    """The import file of `pulumi import --file`: a name table of URNs, and resources, parents first."""
    resources: dict[str, dict[str, Any]] = {}
    table: dict[str, str] = {}

    def key(urn: str) -> str:
        if urn in known:
            return table.setdefault(urn, f"known-{len(table)}")
        component(planned[urn])
        return str(resources[urn]["name"])

    def component(one: Creation) -> None:
        if one.urn not in resources:
            above = {"parent": key(one.parent)} if one.parent else {}
            resources[one.urn] = _named(one, len(resources)) | {"component": True} | above

    for one in ours:
        above = {"parent": key(one.parent)} if one.parent else {}
        below = _named(one, len(resources)) | {"id": one.identity}
        resources[one.urn] = below | above | {"provider": key(one.provider)}
    return {
        "nameTable": {name: urn for urn, name in table.items()},
        "resources": list(resources.values()),
    }


def _named(one: Creation, number: int) -> dict[str, Any]:
    """Keys of the file must be unique; names in a program need not be."""
    return {"type": one.token, "name": f"new-{number}", "logicalName": one.name}


def import_command(stack: PulumiStack, one: Creation) -> str:
    """The `pulumi import` command for one resource."""
    words = ["pulumi", "import", "--stack", stack.name, one.token, one.name]
    words.append(one.identity if one.is_object else "ID")
    words += ["--parent", f"parent={one.parent}"] if one.parent else []
    words += ["--provider", f"provider={one.provider}"] if one.provider else []
    return shlex.join([*words, "--protect=false", "--generate-code=false"])
