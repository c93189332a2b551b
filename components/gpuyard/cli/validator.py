"""Run the validator as a separate process: it and this library do not import each other."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gpuyard_core.catalogue.known_issues import KNOWN_ISSUES
from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_core.suggestions import nearest_name

PACKAGE = "gpuyard_validator"
_CHECK = re.compile(r"[a-z_]+\.[a-z_]+")
PASSED, CANNOT_RUN, _WRONG_USAGE = 0, 3, 2


def explain_check(check: str) -> str:
    """Describe one check.

    Raises:
        UsageError: no check has this name.
    """
    ended = _run("--explain", check)
    if ended.returncode == _WRONG_USAGE:
        _, _, choices = ended.stderr.partition("choose from")
        raise UsageError(_unknown(check, [*_CHECK.findall(choices), *KNOWN_ISSUES]))
    return ended.stdout


def _unknown(name: str, known: Sequence[str]) -> str:
    """Message with the names of an area, or the nearest name and all areas."""
    area = name.partition(".")[0].lower()
    of_area = [each for each in known if each.startswith(f"{area}.")]
    problem = f"no check or symptom {name!r}"
    if of_area:
        return f"{problem}; those of {area}: {', '.join(of_area)}"
    suggestion = nearest_name(name, known)
    areas = dict.fromkeys(each.partition(".")[0] for each in known)
    return (
        f"{problem}{f', did you mean {suggestion}?' if suggestion else ';'}"
        f" --explain AREA lists the names of an area: {', '.join(areas)}"
    )


def record_machine() -> str:
    """Record a snapshot of this machine.

    Raises:
        EnvironmentMissing: no GPU is accessible.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "machine.json")
        ended = _run("--record", str(file))
        if ended.returncode != PASSED:
            raise _no_gpu(ended.stderr.strip().removeprefix("cannot run: "))
        return file.read_text(encoding="utf-8")


def dump_inventory(machine: str, nodes: str | None) -> str:
    """The machine inventory of a snapshot, with its identical nodes.

    Raises:
        UsageError: the snapshot or the node list is invalid.
    """
    with tempfile.TemporaryDirectory() as folder:
        machine_path, out, like = (Path(folder, name) for name in ("machine", "dump", "nodes"))
        machine_path.write_text(machine, encoding="utf-8")
        words = ["--snapshot", str(machine_path), "--inventory", str(out)]
        if nodes is not None:
            like.write_text(nodes, encoding="utf-8")
            words += ["--nodes", str(like)]
        ended = _run(*words)
        if ended.returncode != PASSED:
            raise UsageError(ended.stderr.strip().removeprefix("cannot run: "))
        return out.read_text(encoding="utf-8")


def installed_gpus(machine: str) -> list[dict[str, Any]]:
    """The GPUs of a machine snapshot.

    Raises:
        UsageError: it is not a snapshot.
        EnvironmentMissing: it has no GPU.
    """
    try:
        result = json.loads(machine)["gpus"]
        gpus = [dict(each) for each in result]
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise UsageError(
            f"this is not a snapshot of `gpuyard validate --record` ({type(problem).__name__})"
        ) from None
    if not gpus:
        raise _no_gpu("the driver responds and reports no GPU")
    return gpus


def validate_machine(
    machine: str, expectations: str, left_out: Iterable[str]
) -> subprocess.CompletedProcess[str]:
    """Validate the machine against the expected values."""
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "--snapshot": Path(folder, "machine.json"),
            "--expect": Path(folder, "wanted.json"),
        }
        for path, text in zip(files.values(), (machine, expectations), strict=True):
            path.write_text(text, encoding="utf-8")
        words = [word for option, path in files.items() for word in (option, str(path))]
        return _run(*words, *(word for name in left_out for word in ("--leave-out", name)))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  our own program, no shell
        [sys.executable, "-m", PACKAGE, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _no_gpu(why: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"no NVIDIA GPU is accessible on this machine: {why}. Run it on a machine with a GPU, its driver and"
        " nvidia-ml-py (gpuyard[validator]), or validate a snapshot that such a machine wrote with --record:"
        " gpuyard validate --snapshot FILE"
    )
