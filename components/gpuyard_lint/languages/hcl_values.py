"""Values of HCL expressions: literals, locals, and functions that encode or decode; all else is unknown.

An unknown part of a text is a marker until the text is parsed, for example as YAML; a text with a marker
is then unknown as a whole.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown
from gpuyard_core.manifests.placeholders import substituted
from gpuyard_core.yaml.positions import Marks
from gpuyard_core.yaml_tree import Document, parse_documents
from gpuyard_lint.languages.hcl import HclAttribute, HclForm, HclTerm

UNKNOWN_PART = "\ue000"
"""An unused character that marks the unknown parts of a text."""
_SAME = frozenset(
    {
        *("yamlencode", "jsonencode", "tolist", "toset", "tomap", "tostring", "tonumber", "tobool"),
        *("base64encode", "trimspace", "chomp", "sensitive", "nonsensitive"),
    }
)
"""Functions that return their argument: rules check encoded text in its original form."""
_DECODED = frozenset({"yamldecode", "jsondecode"})
_OPENED = frozenset({"file", "templatefile"})
_FILLED = re.compile(r"(\$?)\$\{([^{}]*)\}")
_DIRECTIVE = "%{"
_MOST_STEPS = 50
_MOST_VALUES = 500_000
"""Maximum size of locals, where a part of a text counts as a value."""
_STRETCH = 64


@dataclass(slots=True)
class Places:
    """The places of values in a document, filled during reading."""

    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    columns: dict[Path, int] = field(default_factory=dict[Path, int])
    blocks: set[Path] = field(default_factory=set[Path])
    document: Document = field(init=False)

    def __post_init__(self) -> None:
        self.document = Document([], self.lines, self.columns, self.blocks)

    def mark(self, path: Path, line: int, column: int) -> None:
        """Records a place; of a duplicate the first counts."""
        self.lines.setdefault(path, line)
        self.columns.setdefault(path, column)

    def mark_all(self, path: Path, inside: Document, first_line: int, indent: int) -> None:
        """The values of a text that starts after a line."""
        lines, columns = (
            each.by_path()
            if isinstance(each, Marks)
            else each  # the path of each is resolved separately
            for each in (inside.lines, inside.columns)
        )
        for below, line in lines.items():
            self.mark((*path, *below), first_line + line, indent + columns.get(below, 1))
        self.blocks |= {(*path, *below) for below in inside.blocks}


@dataclass(slots=True)
class Module:
    """The locals of a folder, which is a Terraform module."""

    attributes: Mapping[str, HclAttribute]
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Variables, if the callers set them."""
    known: dict[str, tuple[Any, int]] = field(default_factory=dict[str, tuple[Any, int]])
    """Values by name, with their sizes."""
    folder: str = ""
    text_of: Callable[[str], str] | None = None
    """The text of a file in the folder, "" if it is not in the input; None if files are not opened."""
    opened_files: list[str] = field(default_factory=list[str])
    steps_used: int = 0
    evaluating: list[str] = field(default_factory=list[str])

    def value(self, expression: HclTerm, path: Path = (), into: Places | None = None) -> Any:
        """Its value; literals record the place of each part."""
        result: Any = UNKNOWN
        match expression.form:
            case HclForm.LITERAL:
                result = expression.value
            case HclForm.TEMPLATE:
                result = self._template(expression, path, into)
            case HclForm.LIST:
                result = self._items(expression, path, into)
            case HclForm.OBJECT:
                result = self._pairs(expression, path, into)
            case HclForm.REFERENCE:
                result = self._reference(expression.value)
            case HclForm.CALL:
                result = self._call(expression, path, into)
            case _:
                pass
        return result

    def decoded(self, expression: HclTerm, path: Path, into: Places) -> list[Any]:
        """The YAML documents of a text, or the value to encode as such; [UNKNOWN] if unknown."""
        value = self.value(expression, path, into)
        documents = _documents(value)
        if documents is None:
            return [value if not isinstance(value, str) else UNKNOWN]
        if expression.heredoc and len(documents) == 1:
            into.mark_all(path, documents[0], expression.line, expression.indent)
        return [each.value for each in documents]

    def decoded_text(self, value: Any) -> Any:
        """The same for a value from elsewhere."""
        documents = _documents(value)
        if documents is None:
            return value if not isinstance(value, str) else UNKNOWN
        return documents[0].value if len(documents) == 1 else UNKNOWN

    def _items(self, expression: HclTerm, path: Path, into: Places | None) -> list[Any]:
        results: list[Any] = []
        for index, each in enumerate(expression.parts):
            here = (*path, index)
            if into is not None:
                into.mark(here, each.line, each.column)
            results.append(self.value(each, here, into))
        return results

    def _pairs(self, expression: HclTerm, path: Path, into: Places | None) -> dict[Any, Any]:
        results: dict[Any, Any] = {}
        is_complete = True
        for key, each in expression.parts:
            name = self.value(key)
            if isinstance(name, bool) or not isinstance(name, str | int | float):
                is_complete = False  # its result is unknown
                continue
            here = (*path, str(name))
            if into is not None:
                into.mark(here, key.line, key.column)
            results[str(name)] = self.value(each, here, into)
        return results if is_complete else PartlyKnown(results)

    def _template(self, expression: HclTerm, path: Path, into: Places | None) -> Any:
        if len(expression.parts) == 1 and isinstance(expression.parts[0], HclTerm):
            return self.value(expression.parts[0])
        if None in expression.parts:
            return UNKNOWN  # a condition or a loop: its lines are unknown
        texts = [self._text(part, expression) for part in expression.parts]
        if into is not None and expression.heredoc:
            into.blocks.add(path)
        text = "".join(texts)
        if expression.indent:
            return "".join(
                line[min(expression.indent, len(line) - len(line.lstrip(" \t"))) :]
                for line in text.splitlines(keepends=True)
            )
        return text

    def _text(self, part: Any, parent: HclTerm) -> str:
        """The replacement of a part; one with several lines would move those after it, and is unknown."""
        if isinstance(part, str):
            return part
        value = self.value(part)
        if isinstance(value, bool):
            return str(value).lower()
        if not isinstance(value, str | int | float) or (parent.heredoc and "\n" in str(value)):
            return UNKNOWN_PART
        return str(value)

    def _reference(self, steps: tuple[str | int, ...]) -> Any:
        whose, name = steps[:2] if len(steps) > 1 else ("", "")
        if whose == "var" and name in self.inputs:
            result = self.inputs[str(name)]
            return self._part(result, _size(result), steps[2:])
        if whose == "path" and self.text_of is not None:
            return "."  # in a folder without callers they are all the same
        if whose != "local" or not isinstance(name, str) or name not in self.attributes:
            return UNKNOWN
        if name not in self.known:
            if name in self.evaluating or len(self.evaluating) >= _MOST_STEPS:
                return UNKNOWN  # Terraform rejects a cycle
            self.evaluating.append(name)
            value = self.value(self.attributes[name].value)
            self.known[name] = value, _size(value)
            self.evaluating.pop()
        return self._part(*self.known[name], steps[2:])

    def _part(self, value: Any, size: int, steps: tuple[str | int, ...]) -> Any:
        self.steps_used += size
        if self.steps_used > _MOST_VALUES:
            return UNKNOWN  # locals of locals can grow without limit in a few lines
        for step in steps:
            value = _below(value, step)
        return value

    def _call(self, expression: HclTerm, path: Path, into: Places | None) -> Any:
        name, arguments = expression.value, expression.parts
        if name in _SAME and len(arguments) == 1:
            return self.value(arguments[0], path, into)
        if name in _DECODED and len(arguments) == 1:
            result = self.decoded(arguments[0], path, into or Places())
            return result[0] if len(result) == 1 else UNKNOWN
        if name in _OPENED and arguments and self.text_of is not None:
            return self._file(arguments, self.text_of)
        if name == "merge":
            return merge_overlays([self.value(each, path, into) for each in arguments])
        return UNKNOWN

    def _file(self, arguments: tuple[Any, ...], text_of: Callable[[str], str]) -> Any:
        """The text of a file, or of a template with its variables; unknown if it is not in the input."""
        named = self.value(arguments[0])
        if not isinstance(named, str) or UNKNOWN_PART in named:
            return UNKNOWN
        path = posixpath.normpath(posixpath.join(self.folder, named))
        text = text_of(path)
        if not text:
            return UNKNOWN
        self.opened_files.append(path)
        if len(arguments) > 1:
            value = self.value(arguments[1])
            if _DIRECTIVE in text:
                return UNKNOWN
            text = _filled(text, value)
        return self._part(text, _size(text), ())


def _filled(text: str, variables: Any) -> str:
    """A template with plain names substituted; other results are unknown."""

    def part(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        value = variables.get(match[2].strip()) if isinstance(variables, Mapping) else UNKNOWN
        if isinstance(value, bool):
            return str(value).lower()
        plain = isinstance(value, str | int | float) and "\n" not in str(value)
        return str(value) if plain else UNKNOWN_PART

    return substituted(_FILLED, part, text)


def _documents(value: Any) -> list[Document] | None:
    """The values of a YAML text."""
    if not isinstance(value, str):
        return None
    try:
        return parse_documents(value.encode(), "a text")
    except (UsageError, UnicodeEncodeError):
        return None


def merge_overlays(values: list[Any], *, deep: bool = False) -> Any:
    """Merged mappings, the last wins; values below an unknown one are unknown."""
    is_complete, result = True, dict[Any, Any]()
    for value in values:
        if value is None:
            continue
        if not isinstance(value, Mapping):
            is_complete, result = False, {}
        else:
            is_complete = is_complete and not isinstance(value, PartlyKnown)
            if isinstance(value, PartlyKnown):
                result = {}  # it may override any of them
            result = _deeper(result, value, whole=is_complete) if deep else {**result, **value}
    return result if is_complete else PartlyKnown(result)


def _deeper(under: Mapping[Any, Any], over: Mapping[Any, Any], *, whole: bool) -> dict[Any, Any]:
    """As in Helm: mappings are merged, other values are replaced."""
    results = dict(under)
    for key, each in over.items():
        before = results.get(key)
        if isinstance(each, Mapping):
            both = [before, each] if isinstance(before, Mapping) else [each]
            results[key] = merge_overlays(both if whole else [UNKNOWN, *both], deep=True)
        else:
            results[key] = each
    return results


def without_unknowns(value: Any) -> Any:
    """The value with every partly unknown text replaced by unknown."""
    if isinstance(value, str):
        return UNKNOWN if UNKNOWN_PART in value else value
    if isinstance(value, list):
        return [without_unknowns(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    results = {
        key: without_unknowns(each) for key, each in value.items() if UNKNOWN_PART not in str(key)
    }
    is_complete = len(results) == len(value) and not isinstance(value, PartlyKnown)
    return results if is_complete else PartlyKnown(results)


def _size(value: Any) -> int:
    """The number of values below, with itself; counted only up to the limit."""
    total, todo = 0, [value]
    while todo and total <= _MOST_VALUES:
        item = todo.pop()
        total += 1
        if isinstance(item, str):
            total += len(item) // _STRETCH
        elif isinstance(item, Mapping):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    return total


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(str(step), UNKNOWN)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return UNKNOWN
