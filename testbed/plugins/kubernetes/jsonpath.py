"""The part of JSONPath (RFC 9535) that `pulumi.com/waitFor` needs.

provider/pkg/jsonpath of the official provider.

Names, quoted names, indexes, wildcards and `[?(@.a=="b")]` with `==` and `!=`. Anything else is
rejected with an error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from testbed.plugins.kubernetes.failures import ProviderError
from testbed.plugins.kubernetes.values import Object

_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_][\w-]*)
      | \.(?P<star>\*) | \[(?P<wild>\*)\]
      | \[(?P<index>-?\d+)\]
      | \[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]
      | \[\?\(?@(?P<key>(?:\.[A-Za-z_][\w-]*)+)\s*(?P<op>==|!=)\s*(?P<value>'[^']*'|"[^"]*"|[\w.+-]+)\)?\]""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Expression:
    """A parsed `jsonpath={…}` with an optional value to compare with."""

    written: str
    steps: tuple[re.Match[str], ...]
    value: str

    def matches(self, obj: Object) -> tuple[bool, str]:
        """Whether the object satisfies it, and what was found instead."""
        nodes: list[Any] = [obj]
        for step in self.steps:
            nodes = [child for node in nodes for child in _select(node, step)]
        if not nodes:
            return False, f"{self.written} selected nothing"
        result = nodes[0]
        if isinstance(result, dict | list):
            if self.value:
                raise ProviderError(f'"{self.written}" has a non-primitive value ({result})')
            return True, ""
        # The values are compared as Go prints them.
        text = (
            {True: "true", False: "false", None: "<nil>"}.get(result, str(result))
            if not _number(result)
            else str(result)
        )
        return (not self.value or text == self.value), f'found "{text}"'


def parse(raw: str) -> Expression:
    """Parse `jsonpath={.path}` or `jsonpath={.path}=value`."""
    body = raw.removeprefix("jsonpath=")
    match = re.fullmatch(r"(?P<path>\{.*\})(?:=(?P<value>.*))?", body, re.DOTALL)
    if body.startswith("'"):
        raise ProviderError(f"{body} should omit shell quotes")
    if match is None:
        raise ProviderError(f"{body} should be wrapped in brackets {{ ... }}")
    if match["value"] == "":
        raise ProviderError(f"{match['path']}= requires a value")
    inner = match["path"][1:-1].strip().removeprefix("$")
    steps, position = [], 0
    while position < len(inner):
        step = _STEP.match(inner, position)
        if step is None:
            raise ProviderError(f'parsing "{match["path"]}": unexpected {inner[position:]!r}')
        steps.append(step)
        position = step.end()
    return Expression(match["path"], tuple(steps), match["value"] or "")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _select(node: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or (_unquote(step["quoted"]) if step["quoted"] else None)
    if name is not None:
        return [node[name]] if isinstance(node, dict) and name in node else []
    if step["index"]:
        index = int(step["index"])
        return [node[index]] if isinstance(node, list) and -len(node) <= index < len(node) else []
    children = (
        list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    )
    return [child for child in children if step["key"] is None or _filtered(child, step)]


def _filtered(child: Any, step: re.Match[str]) -> bool:
    value = child
    for key in step["key"].split(".")[1:]:
        value = value.get(key) if isinstance(value, dict) else None
    expected = _unquote(step["value"]) if step["value"][0] in "'\"" else json.loads(step["value"])
    return bool((value == expected) == (step["op"] == "=="))


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
