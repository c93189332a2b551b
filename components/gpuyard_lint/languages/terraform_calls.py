"""Variables of a folder that other folders in the input call as a module, by a path and with literals.

Its calls must agree: a variable that two of them set differently, or one of a folder without callers, is
unknown. A variable that no call sets has its default. Calls in examples do not count.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown
from gpuyard_core.yaml.parse_budget import ParseBudgetExceeded
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.languages.hcl import HclBlock, HclError, parse_hcl
from gpuyard_lint.languages.hcl_values import Module

_CALLS = re.compile(rb'^[ \t]*source\s*=\s*"\.\.?(?:/|")', re.MULTILINE)
_FROM_ELSEWHERE = re.compile(
    rb'^[ \t]*source\s*=\s*"(?!\.\.?/)[^"\n]*(?:eks|gke|kubernetes|karpenter)', re.MULTILINE
)
_SAYS = re.compile(rb"^[ \t]*(?:variable|locals)\b", re.MULTILINE)
_OPTIONAL = b"optional("
_OF_TERRAFORM = frozenset({"source", "version", "count", "for_each", "providers", "depends_on"})
Folders = Mapping[str, Mapping[str, bytes]]
"""By folder, its Terraform files."""


def calls_external_cluster_module(data: bytes) -> bool:
    """Whether a file calls a module of EKS or GKE that only Terraform can fetch."""
    return _FROM_ELSEWHERE.search(data) is not None


@dataclass(slots=True)
class ModuleCalls:
    """Every call by a path among some folders."""

    folders: Folders
    samples: Collection[str] = ()
    parsed: dict[str, list[HclBlock]] = field(default_factory=dict[str, list[HclBlock]])
    known: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    _callers: dict[str, list[tuple[str, HclBlock]]] | None = None

    def module_inputs(self, folder: str) -> Mapping[str, Any]:
        """The known variables of a folder."""
        if folder not in self.known:
            self.known[folder] = {}  # a cycle, which Terraform rejects
            self.known[folder] = self._inputs(folder)
        return self.known[folder]

    def _inputs(self, folder: str) -> dict[str, Any]:
        callers = self._by_target().get(folder, ())
        if not callers:
            return {}
        files = self.folders[folder].values()
        partly = any(_OPTIONAL in data for data in files)  # a type may add defaults to a call
        defaults = dict(self._defaults(folder))
        calls = [self._arguments(caller, block) for caller, block in callers]
        return {
            name: _softened(value, partly=partly)
            for name, default in defaults.items()
            if (value := _agreed([call.get(name, default) for call in calls])) is not UNKNOWN
        }

    def _by_target(self) -> Mapping[str, list[tuple[str, HclBlock]]]:
        if self._callers is None:
            self._callers = {}
            for folder, files in self.folders.items():
                if any(_CALLS.search(data) for data in files.values()):
                    for target, block in self._calls_of(folder):
                        self._callers.setdefault(target, []).append((folder, block))
        return self._callers

    def _calls_of(self, folder: str) -> Iterator[tuple[str, HclBlock]]:
        for block in self._blocks(folder):
            source = block.attributes.get("source") if block.type == "module" else None
            path = Module({}).value(source.value) if source else None
            if isinstance(path, str) and path.startswith("."):
                target = posixpath.normpath(posixpath.join(folder, path))
                yield ("" if target == "." else target), block

    def _arguments(self, caller: str, block: HclBlock) -> dict[str, Any]:
        module = Module(
            {
                name: each
                for result in self._blocks(caller)
                if result.type == "locals"
                for name, each in result.attributes.items()
            },
            self.module_inputs(caller),
        )
        return {
            name: UNKNOWN if (value := module.value(each.value)) is None else value
            for name, each in block.attributes.items()
            if name not in _OF_TERRAFORM
        }

    def _defaults(self, folder: str) -> Iterator[tuple[str, Any]]:
        for block in self._blocks(folder):
            if block.type == "variable" and block.labels:
                default = block.attributes.get("default")
                yield block.labels[0], Module({}).value(default.value) if default else UNKNOWN

    def _blocks(self, folder: str) -> list[HclBlock]:
        """Files that are deployed; a file that cannot be read is reported when it is read itself."""
        if folder not in self.parsed:
            results: list[HclBlock] = []
            for file, data in self.folders[folder].items():
                match = _CALLS.search(data) or _SAYS.search(data)
                if match and file not in self.samples and len(data) <= MAX_BYTES:
                    results += _parsed(data)
            self.parsed[folder] = results
        return self.parsed[folder]


def _parsed(data: bytes) -> list[HclBlock]:
    try:
        return parse_hcl(data.decode("utf-8-sig")).blocks
    except (HclError, ParseBudgetExceeded, UnicodeDecodeError):
        return []


def _agreed(values: list[Any]) -> Any:
    return values[0] if all(each == values[0] for each in values) else UNKNOWN


def _softened(value: Any, *, partly: bool) -> Any:
    """The value with mappings that may have more keys."""
    if isinstance(value, list):
        return [_softened(each, partly=partly) for each in value]
    if not isinstance(value, Mapping):
        return value
    results = {key: _softened(each, partly=partly) for key, each in value.items()}
    return PartlyKnown(results) if partly or isinstance(value, PartlyKnown) else results
