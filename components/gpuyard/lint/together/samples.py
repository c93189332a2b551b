"""Folders whose files nobody deploys: examples, data of tests, copies of others' work, old documentation."""

import re
from pathlib import PurePath

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
