"""Every fenced block of the documentation works: it runs, and prints what the page shows.

- `yaml`: parses. With a `config:` it is a stack file and must be accepted; written `yaml refused`,
  it must not be. A first line `# NAME.yaml` puts it in the page's folder for the blocks after it.
- `console`: every line after `$ ` runs in that folder, and prints what follows it. A line `...`
  stands for any lines. Of other programs only `make` with a target that exists is accepted, and it
  is not run here. Commands run inside the test process; some run as processes too, and must write the same.
- `python`: runs in that folder. With a first line `# NAME.py` it is put there instead, for the blocks after
  it; `test_NAME.py` runs under pytest, without the settings of this project.
- `mermaid` and `text` are pictures.

`make golden` writes what commands print into the pages anew.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sizes
from finding_pages import FOLDER as FINDINGS
from kit.inprocess import run_together
from kit.pages import Block, blocks, pages
from rule_pages import FOLDER as RULES

PICTURES = {"mermaid", "text"}
# Named by their folder: pages of the project, not of its tests. Pages about findings and rules are made from
# what the program prints, and test_finding_pages.py and test_rule_pages.py make each of them again.
PAGES = [
    page
    for page in pages()
    if "tests" not in page.relative_to(sizes.ROOT).parts and page.parent not in {FINDINGS, RULES}
]
REFUSED = 3
TERMINAL = {"NO_COLOR": "1", "COLUMNS": "80", "TERM": "dumb"}


def environment() -> dict[str, str]:
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}", **TERMINAL}


def run(words: list[str], folder: Path) -> tuple[int, str]:
    """Run a gpuyard command in this folder, inside this process; returns its exit code and output."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("FORCE_COLOR", raising=False)
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        return run_together(*words[1:])


def process(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )


def folder_for(page: Path, folder: Path) -> Path:
    """A copy of only the files that a reader has: the stacks of the project."""
    (folder / "stacks").symlink_to(sizes.ROOT / "stacks")
    (folder / "examples").symlink_to(sizes.ROOT / "examples")
    return folder


def shown(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def agrees(expected: str, printed: str) -> bool:
    """The same text; a line `...` of the expectation stands for any number of lines.

    The number of all rules may differ, so that a new rule changes no page but its own.
    """
    parts = [re.escape(part) for part in re.split(r"(?m)^\.\.\.$", shown(expected))]
    pattern = re.sub(r"(checked\\ against\\ )\d\d+", r"\1\\d+", "(?s:.*)".join(parts))
    return re.fullmatch(pattern, shown(printed)) is not None


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown under it."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line}\n")
    return found


def refresh(page: Path, command: str, expected: str, printed: str) -> None:
    """Replace the output on the page by the current output; dots keep their place."""
    if agrees(expected, printed):
        return
    text = page.read_text(encoding="utf-8")
    new = text.replace(f"$ {command}\n{expected}", f"$ {command}\n{shown(printed)}\n", 1)
    page.write_text(new, encoding="utf-8")


def check_yaml(block: Block, folder: Path) -> list[str]:
    try:
        content = yaml.safe_load(block.text)
    except yaml.YAMLError as error:
        return [f"{block.where}: not YAML: {error}"]
    first = block.text.partition("\n")[0]
    name = match[1] if (match := re.fullmatch(r"# ([\w.-]+\.yaml)", first)) else "block.yaml"
    path = folder / name
    path.write_text(block.text, encoding="utf-8")
    if not (isinstance(content, dict) and "config" in content):
        return []
    code, printed = run(["gpuyard", "check", str(path)], folder)
    wanted = REFUSED if "refused" in block.info.split() else 0
    if code == wanted:
        return []
    return [f"{block.where}: gpuyard check ends with {code}:\n{printed}"]


def check_console(block: Block, folder: Path) -> list[str]:
    found = []
    for command, expected in commands(block.text):
        words = shlex.split(command)
        if words[0] == "make":
            makefile = (sizes.ROOT / "Makefile").read_text(encoding="utf-8")
            found += [
                f"{block.where}: the Makefile has no target {target}"
                for target in words[1:]
                if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)
            ]
        elif words[0] == "gpuyard":
            _, printed = run(words, folder)
            if os.environ.get("GPUYARD_GOLDEN") == "write":
                refresh(block.path, command, expected, printed)
            elif not agrees(expected, printed):
                found.append(f"{block.where}: `{command}` prints\n{printed}")
        else:
            found.append(f"{block.where}: `{words[0]}` is not run by the tests; use ```text")
    return found


def check_python(block: Block, folder: Path) -> list[str]:
    first = block.text.partition("\n")[0]
    name = match[1] if (match := re.fullmatch(r"# (\w+\.py)", first)) else "block.py"
    (folder / name).write_text(block.text, encoding="utf-8")
    if name.startswith("test_"):
        command = ["-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider", name]
    else:  # the tests below it run a program of the engine
        command = [name] if name == "block.py" else ["-m", "py_compile", name]
    ended = process([sys.executable, *command], folder)
    return [] if ended.returncode == 0 else [f"{block.where}: {ended.stdout}"]


CHECKS = {"yaml": check_yaml, "console": check_console, "python": check_python}


def failures(page: Path, folder: Path) -> list[str]:
    found = []
    for block in blocks(page):
        language = block.info.split()[0] if block.info else ""
        if language in CHECKS:
            found += CHECKS[language](block, folder)
        elif language not in PICTURES:
            allowed = ", ".join(sorted({*CHECKS, *PICTURES}))
            found.append(f"{block.where}: a block of {language or 'nothing'}; allowed: {allowed}")
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(sizes.ROOT)))
def test_every_block_of_the_page_is_true(page, tmp_path, golden):
    assert failures(page, folder_for(page, tmp_path)) == []


@pytest.mark.parametrize(
    "words",
    [
        ["gpuyard", "check", "stacks/Pulumi.local.yaml"],
        ["gpuyard", "plan", "stacks/Pulumi.local.yaml", "--format", "json"],
        ["gpuyard", "check", "refused.yaml"],
        ["gpuyard", "check", "missing.yaml"],
        ["gpuyard", "check", "--nonsense"],
        ["gpuyard", "--help"],
    ],
    ids=" ".join,
)
def test_a_process_writes_the_same_bytes_as_a_command_inside_this_one(tmp_path, words):
    folder = folder_for(tmp_path, tmp_path)
    (folder / "refused.yaml").write_text("config: {gpuyard:platform: {x: 1}}\n", encoding="utf-8")
    ended = process(words, folder)
    assert (ended.returncode, ended.stdout) == run(words, folder)
    assert ended.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```yaml\na: 1\n```", []),
        ("```yaml\na: [\n```", ["not YAML"]),
        ("```console\n$ make test\n```", []),
        ("```console\n$ make test coffee\n```", ["no target coffee"]),
        ("```console\n$ curl example.com\n```", ["`curl` is not run"]),
        ("```python\nassert 1 + 1 == 2\n```", []),
        ("```python\nassert 1 + 1 == 3\n```", ["AssertionError"]),
        ("```yaml\n# a.yaml\nx: 1\n```\n\n```python\nopen('a.yaml').close()\n```", []),
        ("```\nwhat\n```", ["a block of nothing"]),
        ("```python\n# a.py\nn = 1\n```\n\n```python\nimport a\nassert a.n == 1\n```", []),
        ("```python\n# a.py\nn = (\n```", ["SyntaxError"]),
        ("```python\n# test_a.py\ndef test_one(pulumi_mocks):\n    assert pulumi_mocks\n```", []),
        ("```python\n# test_a.py\ndef test_one():\n    assert 1 == 2\n```", ["1 failed"]),
        ("```ruby\nputs\n```", ["a block of ruby"]),
        ("```mermaid\ngraph TD\n```", []),
    ],
)
def test_a_false_block_is_found_and_a_true_one_is_not(tmp_path, text, expected):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    found = failures(page, tmp_path)
    assert len(found) == len(expected)
    assert all(part in each for part, each in zip(expected, found, strict=True))


def test_what_a_command_prints_is_written_into_its_page(tmp_path, monkeypatch):
    monkeypatch.delenv("GPUYARD_GOLDEN", raising=False)
    page = tmp_path / "page.md"
    before = "A page.\n\n```console\n$ gpuyard --version\nold\nlines\n$ make test\n```\n"
    page.write_text(before, encoding="utf-8")
    assert len(failures(page, tmp_path)) == 1
    monkeypatch.setenv("GPUYARD_GOLDEN", "write")
    assert failures(page, tmp_path) == []
    monkeypatch.delenv("GPUYARD_GOLDEN")
    after = page.read_text(encoding="utf-8")
    assert "old" not in after
    assert after.startswith("A page.\n\n```console\n$ gpuyard --version\n")
    assert after.endswith("\n$ make test\n```\n")
    assert failures(page, tmp_path) == []


def test_a_console_block_is_commands_with_their_output():
    text = "$ gpuyard one\na\nb\n$ gpuyard two\n"
    assert commands(text) == [("gpuyard one", "a\nb\n"), ("gpuyard two", "")]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb\n", "a  \nb\n\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...", "a\nb\nc\n", True),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
        ("", "a\n", False),
        ("checked against 70\nrules", "checked against 71\nrules", True),
        ("checked against 2\nrules", "checked against 3\nrules", False),
    ],
)
def test_output_agrees_when_it_is_the_same_but_for_what_dots_leave_out(expected, printed, same):
    assert agrees(expected, printed) is same
