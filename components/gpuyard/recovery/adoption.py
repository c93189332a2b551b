"""Taking live objects into a state under the names that the program has for them."""

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
    """Import all of `ours` at once, with the components above them that the state has not yet.

    `planned` is all that the program would make, `known` are the URNs in the state.
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
    """What was imported has the program's inputs where it is what the program wants.

    An import takes all that a cluster has added for the program's words: the next `up` would take it away
    again, and a Job, of which no pod can be changed, would be made anew and run again.
    """
    for each in deployment.get("resources") or []:
        one = ours.get(each["urn"])
        if one is not None and _within(one.inputs, each.get("inputs")):
            each["inputs"] = one.inputs
            if "__inputs" in (each.get("outputs") or {}):
                each["outputs"]["__inputs"] = one.inputs
    return deployment


def _within(expected: Any, actual: Any) -> bool:
    """Whether all that is wanted is there; more may be."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(key in actual and _within(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_within, expected, actual))
    return bool(expected == actual)


def import_file(
    ours: Iterable[Creation], planned: Mapping[str, Creation], known: set[str]
) -> dict[str, Any]:
    """What `pulumi import --file` takes: a key for each URN that is named, and resources, parents first."""
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
    """Keys of the file must be unique, which names in a program need not be."""
    return {"type": one.token, "name": f"new-{number}", "logicalName": one.name}


def import_command(stack: PulumiStack, one: Creation) -> str:
    """The same for one resource, to be run by hand."""
    words = ["pulumi", "import", "--stack", stack.name, one.token, one.name]
    words.append(one.identity if one.is_object else "ID")
    words += ["--parent", f"parent={one.parent}"] if one.parent else []
    words += ["--provider", f"provider={one.provider}"] if one.provider else []
    return shlex.join([*words, "--protect=false", "--generate-code=false"])
