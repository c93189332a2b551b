"""The deployed state, from a file or standard input."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular, shown_path
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past

if TYPE_CHECKING:
    from gpuyard.changes.deployed_state import DeployedState

MAX_STATE_BYTES = 64 * 1024 * 1024
"""Maximum size of a state or preview: about twenty thousand resources."""
_SHELL_PIPES = ("/dev/fd/", "/proc/self/fd/")
"""Where shells put the pipe of `<(command)`."""
_WANTED = "the output of `pulumi stack export`, or of `pulumi preview --json --show-sames`"


def read_deployed_state(name: str) -> tuple[str, "DeployedState"]:
    """The display name of the file, and the deployed state in it."""
    from gpuyard.changes.deployed_state import deployed_state, is_deployed_state, omits_unchanged

    if name == STDIN:
        shown, data = "standard input", read_stdin_one_byte_past(MAX_STATE_BYTES)
    elif name and "\0" not in name:
        shown = shown_path(Path(name))
        pipe = name.startswith(_SHELL_PIPES) and Path(name).is_fifo()
        data = _read_pipe(name) if pipe else read_regular(Path(name), MAX_STATE_BYTES, _WANTED)
    else:
        raise UsageError(f"the file name is empty or invalid. Give {_WANTED}, or -.")
    if len(data) > MAX_STATE_BYTES:
        raise UsageError(f"{shown} has more than {MAX_STATE_BYTES // 1024**2} MiB. Give {_WANTED}.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{shown} is not JSON: {problem}. Give {_WANTED}.") from problem
    if not is_deployed_state(value):
        raise UsageError(f"{shown} is neither a state nor a preview. Give {_WANTED}.")
    if omits_unchanged(value):
        raise UsageError(f"{shown} omits unchanged resources. Give {_WANTED}.")
    return shown, deployed_state(value)


def _read_pipe(name: str) -> bytes:
    with Path(name).open("rb") as pipe:
        return pipe.read(MAX_STATE_BYTES + 1)
