"""Hundreds of golden stacks gone wrong: each is answered, with where and why, in bounded time."""

import io
import json
import os
import time
from pathlib import Path

import pytest

from gpuyard.cli.commands.check import show_judged
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.cost import show_cost
from gpuyard.cli.views.findings import document
from gpuyard.cli.views.plan import show_plan
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from gpuyard_core.terminal.console import Console
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.text import clean
from kit.generated import stack_files
from kit.searches import numbers

NUMBERS = numbers(os.environ.get("GPUYARD_MUTATIONS", "500"))
"""A sample; `make campaign NAME=mutations` answers a hundred thousand."""
PART = 250
SECONDS = 2
"""The most CPU that the answer to one of these files may take."""


def reached(tree, path):
    """How many steps of a path lead somewhere."""
    for number, step in enumerate(path):
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return number
    return len(path)


def is_sentence(text, path):
    """Names the file, then says something that is safe to show."""
    return text.startswith(f"{path}: ") and len(text) > len(str(path)) + 10 and clean(text) == text


def answer(path: Path) -> int:
    """Check a file as the command does; the exit code, once everything it says has been looked at."""
    try:
        judged = validate_stack(str(path))
    except UsageError as e:
        return e.exit_code if is_sentence(str(e), path) else -1
    root = judged.reading.document.value
    refuses = [f for f in judged.findings if f.severity is Severity.ERROR]
    assert (judged.plan is None) == bool(refuses)
    for finding in judged.findings:
        assert finding.problem.strip(), finding
        assert finding.id.count(".") == 1, finding
        assert "\n" not in finding.problem + finding.given + finding.allowed
        if finding.id not in {"spec.no_platform", "spec.duplicate_key"}:
            assert finding.path or finding.id.startswith("spec."), finding
            # what is missing or could be said has no place yet; everything above it has
            # a region and a project stand beside the platform
            above = () if finding.id.startswith("stack.") else ("config", "gpuyard:platform")
            least = len(above) + len(finding.path) - 1
            assert reached(root, (*above, *finding.path)) >= least, finding
            assert judged.line_of(finding), finding
    screen = io.StringIO()
    show_judged(judged, Console(screen), Severity.ERROR)
    if judged.plan is not None:
        show_plan(judged.plan, Console(screen))
        show_cost(judged.plan, Console(screen))
    text = screen.getvalue()
    assert all(line.isprintable() for line in text.split("\n"))
    for finding in refuses[:20]:
        assert finding.id in text
    said = json.loads(as_json(document("check", judged)), parse_constant=pytest.fail)
    assert len(said["findings"]) == len(judged.findings)
    return 3 if refuses else 0


@pytest.mark.search
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", NUMBERS[::PART])
def test_a_mutated_stack_is_answered(tmp_path, first):
    path = tmp_path / "stack.yaml"
    codes = []
    for number in range(first, min(first + PART, NUMBERS.stop)):
        path.write_bytes(stack_files.mutated(number))
        started = time.process_time()
        try:
            codes.append(answer(path))
        except Exception as e:
            e.add_note(f"mutation {number}: python tests/kit/generated/stack_files.py {number}")
            raise
        assert time.process_time() - started < SECONDS, number
    # the mutations reach every layer: files that are not YAML, findings, and platforms that are still sound
    assert set(codes) == {0, 2, 3}


def test_the_command_says_the_same(gpuyard, tmp_path):
    for number in range(50):
        path = tmp_path / "stack.yaml"
        path.write_bytes(stack_files.mutated(number))
        ended = gpuyard("check", path)
        assert ended.code == answer(path), number
        assert "Traceback" not in ended.out + ended.err


def test_a_number_gives_the_same_file_always():
    assert stack_files.mutated(4711) == stack_files.mutated(4711)
    assert len({stack_files.mutated(number) for number in range(200)}) > 190
