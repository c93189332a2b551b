"""Modules and functions stay within the limits of scripts/sizes.py."""

import subprocess
from pathlib import Path

import sizes


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_no_module_is_over_the_hard_limit():
    files = sizes.tracked()
    tall = {
        str(path.relative_to(sizes.ROOT)): sizes.lines(path)
        for path in sizes.below(files, *sizes.SOURCE, *sizes.TESTS, "scripts/", "benchmarks/")
        if sizes.lines(path) > sizes.MODULE_LINES_HARD
    }
    assert not tall, f"split these; at most {sizes.MODULE_LINES_HARD} lines each: {tall}"


def test_nine_functions_of_ten_fit_on_a_screen():
    source = sizes.below(sizes.tracked(), *sizes.SOURCE)
    found = [function for path in source for function in sizes.functions(path)]
    measured = sizes.percentile((function.lines for function in found), 0.9)
    longest = sorted(found, key=lambda function: -function.lines)[:10]
    assert measured <= sizes.FUNCTION_LINES_P90, [
        f"{each.path.relative_to(sizes.ROOT)}:{each.line} {each.name} {each.lines}"
        for each in longest
    ]


def test_tracked_files_are_the_known_and_the_new_without_the_ignored_and_the_deleted(tmp_path):
    root = repository(tmp_path)
    write(root / ".gitignore", "ignored.py\n")
    write(root / "ignored.py", "")
    write(root / "new.py", "")
    gone = write(root / "gone.py", "")
    subprocess.run(["git", "-C", str(root), "add", "gone.py"], check=True)
    gone.unlink()
    assert [path.name for path in sizes.tracked(root)] == [".gitignore", "new.py"]


def test_a_prefix_selects_python_files_only(tmp_path):
    files = [tmp_path / "tests/test_a.py", tmp_path / "tests/a.yaml", tmp_path / "other/a.py"]
    assert sizes.below(files, "tests/", root=tmp_path) == [tmp_path / "tests/test_a.py"]


def test_a_function_counts_from_its_first_decorator_to_its_last_line(tmp_path):
    path = write(
        tmp_path / "module.py",
        "@first\n@second\ndef outer():\n    def inner():\n        return 1\n    return inner\n",
    )
    assert [(each.name, each.line, each.lines) for each in sizes.functions(path)] == [
        ("outer", 3, 6),
        ("inner", 4, 2),
    ]


def test_the_percentile_is_a_value_of_the_list():
    assert sizes.percentile([], 0.9) == 0
    assert sizes.percentile([7], 0.9) == 7
    assert sizes.percentile(range(1, 11), 0.9) == 9
    assert sizes.percentile(range(1, 12), 0.9) == 10


def test_the_report_names_large_modules_and_folders(tmp_path):
    root = repository(tmp_path)
    write(root / "components/big.py", "x = 1\n" * (sizes.MODULE_LINES_SOFT + 1))
    for n in range(sizes.MODULES_HINT):
        write(root / f"components/m{n}.py", "x = 1\n")
        write(root / f"policies/m{n}.py", "x = 1\n")
    report = sizes.report(root)
    assert "components/big.py 401" in report
    assert "m1.py" not in report
    assert report.endswith(f"(a hint): components {sizes.MODULES_HINT + 1}")
