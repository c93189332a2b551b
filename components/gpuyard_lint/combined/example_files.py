"""Files that are not deployed: examples, test data, vendored copies, old versions."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Any

from gpuyard_lint.charts import chart_name_in
from gpuyard_lint.combined.flux_sources import undeployed_by_flux
from gpuyard_lint.combined.undeployed_files import superseded_files, undeployed_files
from gpuyard_lint.items import LintInput
from gpuyard_lint.unused.argo import undeployed_by_argo
from gpuyard_lint.unused.disabled_paths import chart_testing_values, disabled_paths
from gpuyard_lint.unused.ignored import disabled_release_values, fleet_ignored_files

_NAMES = frozenset(
    {
        *("example", "examples", "sample", "samples"),
        *("testdata", "test-data", "test_data", "tests", "fixtures", "e2e", "golden", "__tests__"),
        *("vendor", "third_party", "third-party", "thirdparty"),
        *("versioned_docs", "versioned-docs"),
        *("archive", ".archive", "_archive", "archived", "attic", "backup", "backups", "obsolete"),
        *("deactivated", "deprecated", "disabled", "unused", "no_deploy", "no-deploy"),
        *(
            "old",
            "_old",
            ".old",
            "wip",
            "scratch",
            "tmp",
            "retired",
            "outdated",
            "graveyard",
            "trash",
        ),
        *("draft", "drafts", "snippets", "skeleton", "skeletons", "exercise", "exercises"),
    }
)
_SET_ASIDE = ("-disabled", "_disabled", ".disabled")
_PUT_BY = re.compile(r"(?:^|[-_.])(?:backup|bak)(?:[-_.]|$)", re.IGNORECASE)
"""Names of backup files."""
_A_COPY = re.compile(
    r"(?:copy[-_ ]of[-_ ]|old[-_]).*|.*(?:[-_. ](?:old|orig|copy|outdated|deprecated)|\(\d+\))",
    re.IGNORECASE,
)
"""Names, without their extension, of files marked as old, or of copies."""
_TO_BE_FILLED = re.compile(rb"\{\{-?\s*cookiecutter\.|\$\{\{\s*values\.")
"""Placeholders of cookiecutter and of developer-portal templates."""
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


_MOST_HELD = 32 * 1024 * 1024
"""Maximum bytes of texts in memory during the search for deployed files."""


def undeployed_examples(
    reading: LintInput, view: Sequence[str], head: Callable[[str], bytes]
) -> set[str]:
    """Files that are not used, judged by the files next to them; `view` also contains scripts and documents.

    `head` returns the beginning of a file.
    """
    once = _once(head)
    ways = (_copies_of_defaults, _copies_of_charts, _templates, _called_old, undeployed_by_flux)
    result = _dumps(reading).union(file for way in ways for file in way(reading, once))
    of_all = (
        *(superseded_files(reading, view, once), undeployed_files(reading, view, once)),
        *(undeployed_by_argo(reading, view, once), disabled_paths(reading, view, once)),
        *(chart_testing_values(reading, view, once), fleet_ignored_files(reading, view, once)),
        disabled_release_values(reading, view, once),
    )
    return result.union(*of_all)


def _once(head: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """The same, each file read once as far as memory permits: every check reads most of them."""
    seen: dict[str, bytes] = {}
    free = _MOST_HELD

    def held(file: str) -> bytes:
        nonlocal free
        if file in seen:
            return seen[file]
        text = head(file)
        if len(text) <= free:
            free -= len(text)
            seen[file] = text
        return text

    return held


_CALLED_OLD = re.compile(
    rb"#[\W_]*(?:deprecated|obsolete|superseded|unused|no longer (?:used|deployed|applied)"
    rb"|(?:do not|don't) (?:use|apply|deploy))\b",
    re.IGNORECASE,
)
"""A line of a leading comment of a file."""


def _called_old(reading: LintInput, head: Callable[[str], bytes]) -> Iterator[str]:
    """Objects whose file says in its first lines that it must not be used."""
    for file in {item.place.file for item in reading.items if not item.place.prefix}:
        if file.lower().endswith((".yaml", ".yml")) and any(
            map(_CALLED_OLD.match, _leading_comment(head(file)))
        ):
            yield file


def _leading_comment(text: bytes) -> Iterator[bytes]:
    """The lines of a file's leading comment."""
    lines = map(bytes.strip, text.splitlines())
    return takewhile(lambda line: not line or line.startswith((b"#", b"---")), lines)


def _dumps(reading: LintInput) -> set[str]:
    """Objects exported from a cluster (`kubectl get -o yaml`) next to files that are applied."""
    is_dump: dict[str, bool] = {}
    for item in reading.items:
        if (
            "/" in item.resource.kind
            and ":" not in item.resource.kind
            and not item.is_described_by_values
        ):
            file = item.place.file
            is_dump[file] = is_dump.get(file, True) and _is_given(item.resource.properties)
    results = {file for file, all_given in is_dump.items() if all_given}
    return set() if len(results) == len(is_dump) else results  # if all are, they are meant


def _is_given(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    keys = ("uid", "resourceVersion")
    return isinstance(metadata, Mapping) and all(metadata.get(key) for key in keys)


def _templates(reading: LintInput, head: Callable[[str], bytes]) -> Iterator[str]:
    """Files that a project generator fills in."""
    yield from (
        file
        for file in dict.fromkeys(item.place.file for item in reading.items)
        if _TO_BE_FILLED.search(head(file))
    )


_HOOK = "helm.sh/hook"
_TESTS = frozenset({"test", "test-success", "test-failure"})


def chart_tests(reading: LintInput) -> set[str]:
    """Files in which each object is for `helm test`: they are not deployed."""
    results: dict[str, bool] = {}
    for item in reading.items:
        if (
            "/" in item.resource.kind
            and ":" not in item.resource.kind
            and not item.is_described_by_values
        ):
            file = item.place.file
            results[file] = results.get(file, True) and _is_test(item.resource.properties)
    return {file for file, all_tests in results.items() if all_tests}


def _is_test(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    hooks = annotations.get(_HOOK) if isinstance(annotations, Mapping) else None
    return isinstance(hooks, str) and {each.strip() for each in hooks.split(",")} <= _TESTS


_DEFAULTS = b"# Default values for "
"""The beginning of the default values of a chart, its own or a copy for reference."""


def _copies_of_defaults(reading: LintInput, head: Callable[[str], bytes]) -> Iterator[str]:
    """Default values of a chart, next to custom values and without the chart."""
    results: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in reading.items:
        if item.resource.kind.startswith("values:") and not item.place.prefix:
            folder = posixpath.dirname(item.place.file)
            results[folder, item.resource.kind].add(item.place.file)
    for (folder, _), files in results.items():
        if len(files) > 1 and posixpath.join(folder, "Chart.yaml") not in reading.files:
            copies = {each for each in files if head(each).lstrip().startswith(_DEFAULTS)}
            yield from copies if copies != files else ()


_COPIED = frozenset(
    {
        "gpu-operator",
        "nvidia-device-plugin",
        "dcgm-exporter",
        "kueue",
        "karpenter",
        "cluster-autoscaler",
    }
)
_OF_A_VENDOR = re.compile(
    rb"github\.com/(?:nvidia|kubernetes-sigs|aws/karpenter|kubernetes/autoscaler)|docs\.nvidia\.com",
    re.IGNORECASE,
)
"""URLs of the home or the sources of such a chart."""


def _copies_of_charts(reading: LintInput, head: Callable[[str], bytes]) -> Iterator[str]:
    """Files of a vendor's chart that is copied below the linted path."""
    for file in reading.files:
        folder, _, name = file.rpartition("/")
        if folder and name == "Chart.yaml":
            chart = head(file)
            named = chart_name_in(chart)
            if named in _COPIED and _is_the_vendors(chart, named.encode()):
                yield from (each for each in reading.files if each.startswith(f"{folder}/"))


def _is_the_vendors(chart: bytes, name: bytes) -> bool:
    """Whether it names its source, and is not a custom parent chart."""
    dependency = rb"^(?:[ \t]*-[ \t]+|[ \t]+)name:[ \t]*[\"']?" + re.escape(name) + rb"\b"
    within = re.compile(dependency, re.MULTILINE)
    return _OF_A_VENDOR.search(chart) is not None and not within.search(chart)
