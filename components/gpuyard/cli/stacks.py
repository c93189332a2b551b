"""From the STACK argument to a validated platform: find the file, read it, validate it."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from gpuyard_core.local_files import file_reader, read_regular, shown_path
from gpuyard_core.stack_files import find_stack
from gpuyard_core.today import today
from gpuyard_core.yaml_tree import MAX_BYTES

if TYPE_CHECKING:
    from gpuyard.spec.sections.inventory import Files
    from gpuyard.stack_validation import ValidatedStack

_PROJECT_FILE = "Pulumi.yaml"


def validate_stack(stack: str) -> "ValidatedStack":
    """Read, plan and validate a stack; UsageError when there is no file."""
    path = find_stack(stack)
    files = file_reader(_project_of(path))
    return validate_text(read_regular(path, MAX_BYTES), shown_path(path), today(), files)


def validate_text(
    data: bytes, shown: str, day: date, files: "Files | None" = None
) -> "ValidatedStack":
    """Plan and validate the content of a stack file, as of a day; UsageError when it is not YAML."""
    # imported here: stack names and missing files need no plan
    from gpuyard.spec.read import read_stack_file
    from gpuyard.stack_validation import validate

    return validate(read_stack_file(data, shown, files), day, shown)


def _project_of(stack: Path) -> Path:
    """The folder of files that a stack names: that of Pulumi.yaml, else that of the stack file."""
    folder = stack.absolute().parent
    results = (each for each in (folder, *folder.parents) if (each / _PROJECT_FILE).is_file())
    return next(results, folder)
