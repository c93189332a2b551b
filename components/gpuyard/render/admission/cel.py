"""CEL from the files of `policies`, in which it calls functions and names constants of gpuyard.

CEL has no functions of its own, so a call `%name(…)` is replaced by the text of the function, in which `$x` is a
parameter. `%{module.NAME}` is a constant as a literal, and `%say(REQUIREMENT, module.SENTENCE, x=…)` a message with
expressions for its placeholders. `%choose(module.NAME, name, default)` tries a function with each entry of a constant.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from types import MappingProxyType, ModuleType
from typing import Any

from gpuyard.render.data_files import read_data
from gpuyard_core import names
from gpuyard_core.admission import (
    bypass,
    host,
    images,
    owned_objects,
    parameters,
    placement,
    priority_and_termination,
    queued,
    remaining_pods,
    requirements,
)
from gpuyard_core.admission.requirement import Requirement, ViolationTemplate, violation_templates

_MODULES = {
    "bypass": bypass,
    "host": host,
    "images": images,
    "names": names,
    "owned_objects": owned_objects,
    "parameters": parameters,
    "placement": placement,
    "queued": queued,
    "remaining_pods": remaining_pods,
    "termination": priority_and_termination,
}
_GLUE = re.compile(r"(?<=[(\[{])\s*\n\s*|\s*\n\s*(?=[.)\]}])")
"""Line breaks that stand for no space."""
_CALL = re.compile(r"%\{([\w.]+)\}|%(\w+)\(")
_PARAMETER = re.compile(r"\$(\w+)")
_TOKEN = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[()\[\]{},]""")
_GAP = re.compile(r"\{(\w+)\}")


def quoted(text: str) -> str:
    """Text as a CEL literal: CEL has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)


def literal(value: object) -> str:
    """A text, a number, or a list of them; of a mapping its keys."""
    if isinstance(value, AbstractSet):
        return literal(sorted(value))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"[{', '.join(map(literal, value))}]"
    return quoted(value) if isinstance(value, str) else str(value)


def optional(value: str, path: str, default: str) -> str:
    """The value at a path of which every part may be missing."""
    return f"{value}.?{path.replace('.', '.?')}.orValue({default})"


def message_expression(requirement: Requirement, sentence: ViolationTemplate, **values: str) -> str:
    """A message of a requirement, as the sum of its parts and of expressions for its values."""
    parts = _GAP.split(f"{requirement.id}: {sentence.problem}; {sentence.fix}")
    texts = [
        values[part] if index % 2 else quoted(part) for index, part in enumerate(parts) if part
    ]
    return " + ".join(texts)


def read_policy(name: str) -> Mapping[str, Any]:
    """A file of `policies`."""
    found: Mapping[str, Any] = read_data(f"admission/policies/{name}.yaml")
    return found


class PolicyText:
    """The expressions of a policy file.

    `natives` are functions whose text depends on tables, `constants` those that no module has.
    """

    def __init__(
        self,
        name: str,
        natives: Mapping[str, Callable[..., str]] = MappingProxyType({}),
        constants: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self._file = read_policy(name)
        self._natives, self._constants = natives, {**_MODULES, **constants}
        declared = {**read_policy("functions"), **self._file.get("functions", {})}
        heads = ((head.rstrip(")").split("("), body) for head, body in declared.items())
        self._functions = {
            name: (re.findall(r"\w+", listed), _line(body)) for (name, listed), body in heads
        }
        self._expanded: dict[str, str] = {}

    def variables(self) -> Iterator[tuple[str, str]]:
        """The variables of the policy, including all messages."""
        for name, text in self._file["variables"].items():
            yield name, self.expand(_line(text))

    def expression(self, key: str) -> str:
        """Another expression of the file; empty without it."""
        return self.expand(_line(self._file.get(key, "")))

    def expand(self, text: str) -> str:
        """The text without calls and names of constants."""
        if text in self._expanded:
            return self._expanded[text]
        results, at = list[str](), 0
        while found := _CALL.search(text, at):
            results.append(text[at : found.start()])
            at = found.end()
            if found[1]:
                results.append(literal(self._constant(found[1])))
            else:
                values, at = _arguments(text, at)
                results.append(self._call(found[2], *values))
        self._expanded[text] = "".join((*results, text[at:]))
        return self._expanded[text]

    def _call(self, name: str, *values: str) -> str:
        if name == "say":
            return self._message(*values)
        if name == "choose":
            *table, default = values
            return " : ".join((*self._calls(*table), self.expand(default)))
        if name == "sum":
            return " + ".join(self._calls(*values))
        values = tuple(map(self.expand, values))
        if name in self._natives:
            return self._natives[name](*values)
        parameters, body = self._functions[name]
        bound = dict(zip(parameters, values, strict=True))
        return self.expand(_PARAMETER.sub(lambda found: bound[found[1]], body))

    def _message(self, requirement: str, sentence: str, *values: str) -> str:
        own = self._file.get("messages", {}).get(sentence)
        template = ViolationTemplate(*own) if own else violation_templates()[sentence]
        given = dict(each.split("=", 1) for each in values)
        expressions = {key: self.expand(value) for key, value in given.items()}
        return message_expression(
            getattr(requirements, requirement),
            template,
            **{"kind": "variables.it.kind", **expressions},
        )

    def _calls(self, constant: str, function: str) -> Iterator[str]:
        """A call with each item of a constant: of a mapping, with key and value."""
        table = self._constant(constant)
        rows = table.items() if isinstance(table, Mapping) else zip(table)
        return (self._call(function, *map(literal, row)) for row in rows)

    def _constant(self, path: str) -> Any:
        first, *keys = path.split(".")
        value: Any = self._constants[first]
        for key in keys:
            is_module = isinstance(value, ModuleType)
            value = getattr(value, key) if is_module else value[int(key) if key.isdigit() else key]
        return value


def _line(text: str) -> str:
    """An expression without line breaks."""
    return re.sub(r"\s*\n\s*", " ", _GLUE.sub("", text))


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """The arguments of the call whose bracket ends at `start`, and the end of the call."""
    depth, cuts, tokens = 0, [start], _TOKEN.finditer(text, start)
    while depth >= 0:
        token = next(tokens)
        depth += (token[0] in {"(", "[", "{"}) - (token[0] in {")", "]", "}"})
        if depth < 0 or (token[0] == "," and not depth):
            cuts.append(token.end())
    values = [text[begin : end - 1].strip() for begin, end in pairwise(cuts)]
    return [] if values == [""] else values, cuts[-1]
