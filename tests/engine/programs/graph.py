"""Registers the graph of `graph.json` as it stands; a value `$name.output` is a reference."""

import json
import re
from pathlib import Path
from typing import Any

import pulumi

graph = json.loads(Path("graph.json").read_text())
made: dict[str, Any] = {}


def reference(name: str) -> Any:
    holder, _, output = name.partition(".")
    found = made[holder]
    return found.id if output == "id" else pulumi.Output.from_input(pulumi.get(found, output))


def settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: settled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [settled(each) for each in value]
    if isinstance(value, str) and re.fullmatch(r"\$[\w-]+\.\w+", value):
        return reference(value[1:])
    if isinstance(value, str) and value.startswith("secret:"):
        return pulumi.Output.secret(value.removeprefix("secret:"))
    return value


for each in graph["resources"]:
    read = dict.fromkeys(each.get("reads", []))
    options = pulumi.ResourceOptions(
        version=graph["version"],
        depends_on=[made[name] for name in each.get("after", [])],
        ignore_changes=each.get("ignores"),
        import_=each.get("import"),
        custom_timeouts=None,
    )
    inputs = {**read, **settled(each["inputs"])}
    made[each["name"]] = pulumi.CustomResource(each["kind"], each["name"], inputs, options)
for name in graph.get("exports", []):
    pulumi.export(name, reference(name))
for token, arguments in graph.get("asks", {}).items():
    options = pulumi.InvokeOptions(version=graph["version"])
    pulumi.export(token, pulumi.runtime.invoke(token, arguments, options).value)
