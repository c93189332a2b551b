"""The list of commands: what it says of each, and that it loads none of them."""

import re
import subprocess
import sys

import pytest

from gpuyard.cli.app import COMMANDS, load
from gpuyard_core.errors import GpuYardError
from gpuyard_core.terminal import exit_codes


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_the_first_sentence_of_the_command_itself(name):
    words = load(name).help.partition("\n\n")[0].replace("\n", " ")
    assert words.startswith(COMMANDS[name].summary)
    assert COMMANDS[name].summary.endswith(".")


@pytest.mark.parametrize(
    ("slip", "meant"), [("chek", "check"), ("pak", "pack"), ("verson", "version")]
)
def test_a_misspelt_command_is_answered_with_the_one_that_is_meant(gpuyard, slip, meant):
    ended = gpuyard(slip)
    assert ended.code == exit_codes.USAGE
    assert ended.err.startswith(f"gpuyard: No such command '{slip}'. Did you mean '{meant}'")


@pytest.mark.parametrize(
    ("args", "loaded"),
    [
        (["--help"], []),
        (["chek"], []),
        (["--version"], ["gpuyard.cli.commands.about"]),
        (["check", "--help"], ["gpuyard.cli.commands.check"]),
        (["pack", "--help"], ["gpuyard_advisor.cli.commands.pack"]),
    ],
    ids=" ".join,
)
def test_only_the_command_that_is_asked_for_is_loaded(args, loaded):
    program = (
        "import sys\n"
        "from gpuyard.cli import main\n"
        f"main({args})\n"
        "print('', *sorted(n for n in sys.modules if '.cli.commands.' in n), file=sys.stderr)\n"
        "assert 'gpuyard.plan' not in sys.modules\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    last = ended.stderr.decode().splitlines()[-1]
    assert last.split() == loaded


def codes() -> dict[str, int]:
    return {name: value for name, value in vars(exit_codes).items() if name.isupper()}


def test_each_exit_code_is_told_by_help_and_means_one_thing(gpuyard):
    told = re.search(r"Exit codes: (.*?)\n\n", gpuyard("--help").out, re.DOTALL)
    assert told is not None
    numbers = [int(n) for n in re.findall(r"\d+", told[1])]
    assert numbers == sorted(codes().values())
    assert len(set(numbers)) == len(numbers)


def test_every_error_ends_with_one_of_the_exit_codes():
    kinds = [GpuYardError, *GpuYardError.__subclasses__()]
    assert {kind.exit_code for kind in kinds} <= set(codes().values()) - {exit_codes.OK}
