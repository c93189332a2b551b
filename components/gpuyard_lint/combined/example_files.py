"""Files that are not deployed: examples, test data, vendored copies, old versions."""

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from gpuyard_core.manifests.fields import at_path
from gpuyard_lint.items import LintInput
from gpuyard_lint.rules.rule import read_table

_NAMES = frozenset(read_table("example_folders"))
_SET_ASIDE = ("-disabled", "_disabled", ".disabled")
_PUT_BY = re.compile(r"(?:^|[-_.])(?:backup|bak)(?:[-_.]|$)", re.IGNORECASE)
"""Names of backup files."""
_A_COPY = re.compile(
    r"(?:copy[-_ ]of[-_ ]|old[-_]).*|.*(?:[-_. ](?:old|orig|copy|outdated|deprecated)|\(\d+\))",
    re.IGNORECASE,
)
"""Names, without their extension, of files marked as old, or of copies."""
_VERSION = re.compile(r"(?:v|version-)\d+(?:[._]\d+)*(?:[.x-]\w*)?")
_DOCUMENTATION = frozenset({"doc", "docs", "documentation", "site", "website", "content"})
_TEST = "test"
"""At the top of a repository the tests; below, as in clusters/test, a stage in use."""


def is_example_file(below: str) -> bool:
    """Whether a file is one, by its folders below the linted path: naming an example explicitly includes it."""
    folders = [part.lower() for part in PurePath(below).parts[:-1]]
    if _PUT_BY.search(PurePath(below).name) or _A_COPY.fullmatch(PurePath(below).stem):
        return True
    documented = False
    for depth, folder in enumerate(folders):
        named = folder in _NAMES or folder.endswith(_SET_ASIDE)
        if named or (folder == _TEST and not depth) or "{{" in folder:
            return True
        if documented and _VERSION.fullmatch(folder):
            return True
        documented |= folder in _DOCUMENTATION
    return False


def exported_objects(reading: LintInput) -> frozenset[str]:
    """Files of objects exported from a cluster (`kubectl get -o yaml`) next to files that are applied."""
    keys = ("uid", "resourceVersion")
    is_export = _each_object(reading, lambda v: all(at_path(v, ("metadata", k)) for k in keys))
    results = frozenset(file for file, all_given in is_export.items() if all_given)
    return frozenset() if len(results) == len(is_export) else results  # if all are, they are meant


def _each_object(reading: LintInput, fits: Callable[[Mapping[str, Any]], bool]) -> dict[str, bool]:
    """By file with Kubernetes objects: whether each of them fits."""
    results: dict[str, bool] = {}
    for item in reading.items:
        if "/" in item.resource.kind and ":" not in item.resource.kind:
            file = item.place.file
            results[file] = results.get(file, True) and fits(item.resource.properties)
    return results


_HOOK = "helm.sh/hook"
_TESTS = frozenset({"test", "test-success", "test-failure"})


def chart_tests(reading: LintInput) -> set[str]:
    """Files in which each object is for `helm test`: they are not deployed."""

    def is_test(value: Mapping[str, Any]) -> bool:
        hooks = at_path(value, ("metadata", "annotations", _HOOK))
        return isinstance(hooks, str) and {each.strip() for each in hooks.split(",")} <= _TESTS

    return {file for file, all_tests in _each_object(reading, is_test).items() if all_tests}
