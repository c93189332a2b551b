"""What a type checker knows of a platform: generated from the spec, and strict about a user's program."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, is_typeddict

import pytest

import generate_types
import reference
import sizes
from gpuyard import typed
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, MachineShape
from gpuyard.spec.read import platform_spec
from gpuyard.spec.sections import Addon, MachinePrice, TrainingRuntime
from gpuyard.spec.sharing import MigGroup, Sharing
from gpuyard.spec.teams import TeamNamespace
from kit.every import every

PROGRAMS = Path(__file__).parent / "programs"
MARK = "# refused"
FORMS = {
    Addon,
    MigGroup,
    CapacityOptionSpec,
    Sharing,
    MachinePrice,
    TeamNamespace,
    TrainingRuntime,
}
"""Models that people write in several forms: a union here, not one mapping."""
MODELS = [model for model in reference.models(PlatformSpec) if model not in FORMS]


def mapping_of(model):
    named = "PlatformDict" if model is PlatformSpec else model.__name__.removesuffix("Spec")
    return getattr(typed, named)


def test_the_module_is_what_the_spec_generates(golden):
    golden(generate_types.TYPED, generate_types.typed())


@every("model", MODELS, ids=lambda each: each.__name__)
def test_every_field_is_there_and_required_only_where_it_has_no_default(model):
    mapping = mapping_of(model)
    assert is_typeddict(mapping)
    assert set(mapping.__annotations__) == set(model.model_fields)
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    assert mapping.__required_keys__ == required


def test_a_word_of_a_fixed_set_is_a_literal_with_every_word():
    assert set(get_args(typed.Cloud)) == {each.value for each in Cloud}


def test_every_name_is_exported_and_every_export_is_a_name():
    defined = {name for name in vars(typed) if name[0].isupper()}
    imported = {
        *("TYPE_CHECKING", "Any", "Literal", "Mapping"),
        *("Iterator", "NotRequired", "Protocol", "Sequence", "TypeAlias", "TypedDict", "TypeVar"),
    }
    assert set(typed.__all__) == defined - imported
    assert MachineShape.__name__ in typed.__all__


def test_a_mapping_made_by_its_name_is_read_as_one_that_is_written_out():
    made = typed.PlatformDict(
        name="lab",
        cloud="none",
        kubernetes="1.36",
        pools=[typed.Pool(name="train", machine="p5.48xlarge", nodes="2..4")],
    )
    written = {"name": "train", "machine": "p5.48xlarge", "nodes": "2..4"}
    assert made == {"name": "lab", "cloud": "none", "kubernetes": "1.36", "pools": [written]}
    assert str(platform_spec(made).pools[0].nodes) == "2..4"


def marked(program: Path) -> set[int]:
    """The lines of a program in which a slip is."""
    lines = program.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(MARK)}


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, dict[int, str]]:
    """What mypy says of the users' programs, strictly: by program and line."""
    folder = tmp_path_factory.mktemp("strict")
    settings = folder / "mypy.ini"
    settings.write_text(
        f"[mypy]\nstrict = true\nfollow_imports = silent\npython_version = 3.11\n"
        f"mypy_path = {sizes.ROOT / 'components'}\ncache_dir = {folder / 'cache'}\n"
        # The programs use neither SDK, and mypy would read two million lines of them.
        "[mypy-pulumi_aws.*,pulumi_gcp.*]\nfollow_imports = skip\n",
        encoding="utf-8",
    )
    programs = sorted(PROGRAMS.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--config-file", settings, *programs]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"(checked {len(programs)} source files)" in ended.stdout, ended.stdout + ended.stderr
    said: dict[str, dict[int, str]] = {}
    for file, line, message in re.findall(
        r"^(\S+):(\d+): error: (.*)$", ended.stdout, re.MULTILINE
    ):
        lines = said.setdefault(Path(file).name, {})
        lines[int(line)] = f"{lines.get(int(line), '')}{message}"
    return said


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("program", ["good.py", "own_resources.py"])
def test_a_strict_type_checker_has_nothing_against_a_good_program(found, program):
    assert found.get(program, {}) == {}


def test_a_strict_type_checker_finds_every_slip_in_its_line_and_nothing_else(found):
    assert set(found.get("bad.py", {})) == marked(PROGRAMS / "bad.py")


@pytest.mark.parametrize(
    ("line", "says"),
    [("cloud: Cloud = ", "Literal['azure']"), ('{"nam": "train"', 'Extra key "nam"')],
)
def test_the_type_checker_names_what_is_wrong(found, line, says):
    lines = (PROGRAMS / "bad.py").read_text(encoding="utf-8").splitlines()
    number = next(number for number, each in enumerate(lines, 1) if line in each)
    assert says in found["bad.py"][number]
