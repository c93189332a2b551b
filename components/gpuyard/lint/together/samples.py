"""Folders whose files nobody deploys: examples, data of tests, copies of others' work, old documentation."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import PurePath

from gpuyard.lint.items import FilesRead

_NAMES = frozenset(
    {
        *("example", "examples", "sample", "samples"),
        *("testdata", "test-data", "test_data", "tests", "fixtures", "e2e", "golden", "__tests__"),
        *("vendor", "third_party", "third-party", "thirdparty"),
        *("versioned_docs", "versioned-docs"),
    }
)
_VERSION = re.compile(r"(?:v|version-)\d+(?:[._]\d+)*(?:[.x-]\w*)?")
_DOCUMENTATION = frozenset({"doc", "docs", "documentation", "site", "website", "content"})
_TEST = "test"
"""At the top of a repository its tests; below, as in clusters/test, a stage that people use."""


def is_sample(below: str) -> bool:
    """Whether a file is one, by its folders below what was asked for: who names a sample means it."""
    folders = [part.lower() for part in PurePath(below).parts[:-1]]
    documented = False
    for depth, folder in enumerate(folders):
        if folder in _NAMES or (folder == _TEST and not depth):
            return True
        if documented and _VERSION.fullmatch(folder):
            return True
        documented |= folder in _DOCUMENTATION
    return False


_DEFAULTS = b"# Default values for "
"""How the values begin that come with a chart, its own or a copy of them to look things up in."""


def copies_of_defaults(reading: FilesRead, head: Callable[[str], bytes]) -> Iterator[str]:
    """Values as a chart brings them, kept beside those that somebody wrote for it, and without the chart."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in reading.items:
        if item.resource.kind.startswith("values:") and not item.place.prefix:
            folder = posixpath.dirname(item.place.file)
            found[folder, item.resource.kind].add(item.place.file)
    for (folder, _), files in found.items():
        if len(files) > 1 and posixpath.join(folder, "Chart.yaml") not in reading.files:
            copies = {each for each in files if head(each).lstrip().startswith(_DEFAULTS)}
            yield from copies if copies != files else ()
