"""Texts and files that the tree must not contain, and those that it must."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import sizes

TEXT = {
    "",
    ".cfg",
    ".go",
    ".ini",
    ".json",
    ".lock",
    ".md",
    ".mod",
    ".py",
    ".sh",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
}
# Concatenated, so that this file is not its own finding.
NOTES = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")
INDEX_HOSTS = re.compile(
    "|".join(
        re.escape(host)
        for host in (
            "pypi" + ".org",
            "files.python" + "hosted.org",
            "registry.npm" + "js.org",
            "registry.yarn" + "pkg.com",
            "proxy.golang" + ".org",
            "sum.golang" + ".org",
            "crates" + ".io",
            "repo1.maven" + ".org",
            "deb.debian" + ".org",
        )
    )
)
RETIRED = [
    (re.compile(rf"(?<![A-Za-z])(?:{each['pattern']})(?![A-Za-z])", re.IGNORECASE), each)
    for each in yaml.safe_load(
        Path(__file__).with_name("retired_words.yaml").read_text(encoding="utf-8")
    )["words"]
]
OF_WORDS = ("components/", "docs/", "policies/", "scripts/", "stacks/", "testbed/", "Makefile")
# Go's checksum files and the licence text are not written by the project.
FOREIGN = {"go.sum", "LICENSE"}
CLOUDS = {"aws", "gcp"}
KNOW_CLOUDS = (
    "gpuyard_core/catalogue/",  # facts of the machines that a cloud sells
    "gpuyard/provider.py",
    "gpuyard/providers/",
    "gpuyard/spec/platform.py",
)
"""Modules of components/ that may name a cloud; all others ask the provider."""


def lines(files: list[Path]) -> Iterator[tuple[str, str]]:
    """Each line of the text files, with its place."""
    for path in files:
        if path.suffix not in TEXT or path.name in FOREIGN or path.name.endswith(".sum"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            yield f"{path}:{number}", line


def offences(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    return [f"{at} {match[0]}" for at, line in lines(files) if (match := pattern.search(line))]


def retired(line: str) -> list[str]:
    """Retired words of a line outside their exceptions, each with what to write."""
    return [
        f"{hit[0]!r}: write {word['write']}"
        for pattern, word in RETIRED
        if (hit := pattern.search(line))
        and not any(each in line for each in word.get("except", ()))
    ]


def test_no_name_message_or_page_uses_a_retired_word():
    paths = ((path, path.relative_to(sizes.ROOT).as_posix()) for path in sizes.tracked())
    files = [path for path, name in paths if name.startswith(OF_WORDS) or "/" not in name]
    assert [f"{at} {each}" for at, line in lines(files) for each in retired(line)] == []


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("def json_of_nobody(): ...", 1),
        ("Kueue evicts the workload.", 0),
        ("see `cohort.nobody`", 1),
        ("run as `nobody`", 0),
        ("somebody must mend it", 2),
    ],
)
def test_retired_words_are_found_in_names_and_sentences(text, hits):
    assert len(retired(text)) == hits


def test_no_note_to_self_is_left_in_the_tree():
    assert offences(NOTES, sizes.tracked()) == [], "do it, or file an issue"


def test_no_package_index_is_named_anywhere():
    assert offences(INDEX_HOSTS, sizes.tracked()) == [], (
        "a site uses the index that it has configured; docs/decisions/0006-lock-without-an-index.md"
    )


def test_offences_name_file_and_line(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x = 1\n# " + "TO" + "DO: later\n", encoding="utf-8")
    assert offences(NOTES, [path]) == [f"{path}:2 {'TO' + 'DO'}"]


def test_the_lock_names_no_index_and_has_a_hash_for_every_package():
    lock = (sizes.ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    requirements = lock.replace("\\\n", " ").splitlines()
    bare = [
        line.split()[0]
        for line in requirements
        if "==" in line and not line.lstrip().startswith("#") and "--hash=sha256:" not in line
    ]
    assert bare == []


def test_the_lock_has_every_direct_dependency():
    project = tomllib.loads((sizes.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    members = sorted((sizes.ROOT / "components").glob("*/pyproject.toml"))
    files = [sizes.ROOT / "pyproject.toml", *members]
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in files]
    own = {each["name"] for each in projects}
    wanted = [line for each in projects for line in each["dependencies"]]
    wanted += [
        line
        for each in projects
        for extra in each.get("optional-dependencies", {}).values()
        for line in extra
    ]
    wanted += project["dependency-groups"]["dev"]
    names = {re.split(r"[\[<>=! ]", line)[0].lower() for line in wanted} - own
    lock = (sizes.ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {
        line.split("==")[0].split("[")[0].lower() for line in lock.splitlines() if "==" in line
    }
    assert sorted(names - locked) == [], (
        "run the `uv pip compile` line of docs/contributing/releases.md"
    )


def test_no_cloud_sdk_is_installed_for_those_who_do_not_use_it():
    project = tomllib.loads((sizes.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = "\n".join(project["project"]["dependencies"])
    lock = (sizes.ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"^(pulumi-aws|pulumi-gcp|boto3|google-cloud)", needed, re.MULTILINE)
    assert not re.search(r"^(boto3|google-cloud)", lock, re.MULTILINE)


@pytest.mark.parametrize("root", ["components", "tests", "scripts", "policies", "testbed"])
def test_no_top_level_module_hides_one_of_the_standard_library(root):
    parts = [path.relative_to(sizes.ROOT).parts for path in sizes.tracked()]
    names = {each[1].removesuffix(".py") for each in parts if each[0] == root and len(each) > 1}
    assert sorted(names & set(sys.stdlib_module_names) - {"__main__"}) == []


def test_every_pure_layer_is_in_the_contract_that_keeps_it_pure():
    project = tomllib.loads((sizes.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    pure = next(each for each in contracts if each["name"].startswith("the pure layers"))
    package = sizes.ROOT / "components" / "gpuyard"
    layers = (
        *("admission", "advice", "catalogue", "errors", "explain", "findings", "lint", "manifests"),
        *("names", "plan", "render", "replay", "rules", "scheduler", "spec"),
    )
    present = {
        f"gpuyard.{name}"
        for name in layers
        if (package / f"{name}.py").exists() or (package / name / "__init__.py").exists()
    }
    assert sorted(present - set(pure["source_modules"])) == []


def cloud_tests(code: str) -> list[int]:
    """Lines that test which cloud it is: members of Cloud, and comparisons with its name."""
    return [node.lineno for node in ast.walk(ast.parse(code)) if _names_cloud(node)]


def _names_cloud(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in {"AWS", "GCP"} and ast.unparse(node.value) == "Cloud"
    if not isinstance(node, ast.Compare):
        return False
    constants = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return not CLOUDS.isdisjoint(each for each in constants if isinstance(each, str))


def test_only_a_provider_knows_which_cloud_it_is():
    found = [
        f"{path}:{line}"
        for path in sizes.below(sizes.tracked(), "components/")
        if path.suffix == ".py"
        and not path.relative_to(sizes.ROOT / "components").as_posix().startswith(KNOW_CLOUDS)
        for line in cloud_tests(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "add an attribute or a method to gpuyard.provider.Provider"


@pytest.mark.parametrize(
    ("code", "hits"),
    [
        ("if plan.cloud is Cloud.AWS: ...", 1),
        ("names = {Cloud.GCP: 1}", 1),
        ("if plan.cloud.value in {'aws', 'gcp'}: ...", 1),
        ("if plan.cloud is Cloud.NONE: ...", 0),
        ("if plan.provider.sells_machines: ...", 0),
        ("kind = 'aws'", 0),
    ],
)
def test_a_test_of_the_cloud_is_found(code, hits):
    assert len(cloud_tests(code)) == hits


def test_every_ruff_ignore_says_why():
    text = (sizes.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.pydocstyle]")]
    bare = [line for line in lint.splitlines() if re.match(r'\s+"[A-Z]+\d*",\s*$', line)]
    assert bare == []


def test_every_folder_of_source_is_typed():
    project = tomllib.loads((sizes.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    roots = {
        path.relative_to(sizes.ROOT).parts[0]
        for path in sizes.below(sizes.tracked(), *sizes.SOURCE, "scripts/")
        if path.name != "__main__.py"
    }
    assert sorted(roots - set(project["tool"]["mypy"]["files"])) == []
