"""No folder is a heap: a newcomer sees at a glance what is in it."""

from collections import Counter
from pathlib import Path

import sizes

MODULES = 16
"""Modules in one folder, its `__init__` not counted; karpenter's largest has as many."""
LARGER = {
    "testbed/plugins/kubernetes": "the stand-in for a provider that is one program elsewhere",
}
"""Folders that may be larger, and why."""


def modules_by_folder(files: list[Path], root: Path) -> Counter[str]:
    folders = (path.relative_to(root).parent for path in files if path.name != "__init__.py")
    return Counter(folder.as_posix() for folder in folders)


def heaps(files: list[Path], root: Path) -> dict[str, int]:
    return {
        folder: count
        for folder, count in modules_by_folder(files, root).items()
        if count > MODULES and folder not in LARGER
    }


def test_no_folder_is_a_heap():
    files = sizes.below(sizes.tracked(), *sizes.SOURCE, "scripts/", "benchmarks/", "tests/")
    assert heaps(files, sizes.ROOT) == {}, "group them by subject, in folders named for it"


def test_a_folder_that_may_be_larger_still_is():
    files = sizes.below(sizes.tracked(), *sizes.SOURCE)
    counts = modules_by_folder(files, sizes.ROOT)
    assert [folder for folder in LARGER if counts[folder] <= MODULES] == []


def test_the_seventeenth_module_of_a_folder_is_one_too_many(tmp_path):
    files = [tmp_path / "a" / f"m{n}.py" for n in range(MODULES)] + [tmp_path / "a" / "__init__.py"]
    assert heaps(files, tmp_path) == {}
    assert heaps([*files, tmp_path / "a" / "more.py"], tmp_path) == {"a": MODULES + 1}
