"""The pytest plugin: cheap to load, and usable on anybody's stack."""

import subprocess
import sys

import pytest

import gpuyard_testing

USERS_TEST = """
import pulumi

def program():
    pulumi.export("n", 1)

def test_stack(pulumi_mocks):
    assert pulumi_mocks.run(program).stack_outputs == {"n": 1}
"""


def python(*arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_loading_it_imports_nothing_but_pytest_and_the_standard_library():
    code = (
        "import sys, pytest; before = set(sys.modules); import gpuyard_testing.plugin;"
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    assert python("-c", code) == (0, "['gpuyard_testing']\n")


@pytest.mark.repeats("none: it runs no line that is measured")
def test_a_users_test_runs_a_program_with_the_fixture(tmp_path):
    (tmp_path / "test_stack.py").write_text(USERS_TEST, encoding="utf-8")
    plugins = ["-p", "no:cacheprovider"]
    code, output = python("-m", "pytest", "-q", *plugins, "-c", "/dev/null", ".", cwd=tmp_path)
    assert (code, "1 passed" in output) == (0, True), output


def test_every_public_name_can_be_imported():
    assert sorted(gpuyard_testing.__all__) == sorted(gpuyard_testing._HOMES)
    for name in gpuyard_testing.__all__:
        assert getattr(gpuyard_testing, name) is not None


def test_a_name_it_has_not_is_an_attribute_error_that_lists_what_it_has():
    with pytest.raises(AttributeError, match="has no attribute 'run'; it has UNKNOWN, CrdFolder"):
        gpuyard_testing.run  # noqa: B018
