"""The command as a process: streams, exit codes, colour, and what is loaded."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.stacks import platform, pool, stack_file
from kit.waiting import SHORTER

GPUYARD = Path(sys.executable).with_name("gpuyard")
ROOT = Path(__file__).parents[2]
FINE = platform()
REFUSED = platform([pool(machine="p9")])


def start(*args, env=None, **options):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GPUYARD_", "COV_"))}
    return subprocess.run(
        [str(GPUYARD), *map(str, args)],
        check=False,
        env={**inherited, "TERM": "xterm-256color", **(env or {})},
        cwd=ROOT,
        timeout=SHORTER,
        **({"capture_output": True} | options),
    )


@pytest.fixture
def stack(tmp_path):
    def written(raw):
        path = tmp_path / "stack.yaml"
        path.write_bytes(stack_file(raw))
        return path

    return written


@pytest.mark.parametrize(("raw", "code"), [(FINE, 0), (REFUSED, 3)], ids=["fine", "refused"])
def test_findings_are_the_result_and_the_exit_code_says_what_they_mean(stack, raw, code):
    ended = start("check", stack(raw))
    assert (ended.returncode, ended.stderr) == (code, b"")
    assert b"\x1b" not in ended.stdout


def test_wrong_usage_is_on_stderr_with_the_way_to_help():
    for args in (("chek",), ("check",), ("check", "local", "--colour"), ("check", "a", "b")):
        ended = start(*args)
        assert (ended.returncode, ended.stdout) == (2, b""), args
        assert ended.stderr.startswith(b"gpuyard: ")
        assert b"--help`." in ended.stderr
        assert b"Traceback" not in ended.stderr


def test_without_a_command_it_shows_what_there_is():
    ended = start()
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"Commands:" in ended.stderr


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
)
def test_colour_only_where_it_is_wanted_and_never_the_only_sign(stack, env, coloured):
    ended = start("check", stack(REFUSED), env=env)
    assert (b"\x1b[" in ended.stdout) is coloured
    assert b"error" in ended.stdout


@pytest.mark.parametrize(("columns", "most"), [("60", 60), ("", 80), ("500", 100), ("x", 80)])
def test_text_keeps_to_the_width_there_is(stack, columns, most):
    ended = start("check", stack(REFUSED), env={"COLUMNS": columns})
    words = [line for line in ended.stdout.decode().splitlines() if "/" not in line]
    assert max(len(line) for line in words) <= most


def test_a_reader_who_leaves_early_changes_nothing(stack):
    path = stack(REFUSED)
    for args, code in ((("check", path), 3), (("schema",), 0), (("--help",), 0)):
        reader, writer = os.pipe()
        os.close(reader)
        ended = start(*args, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert (ended.returncode, ended.stderr) == (code, b""), args


UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


@UNBUFFERED
@pytest.mark.parametrize("args", [("check", "local"), ("schema",)])
def test_a_full_disk_is_the_environment_s_fault(args, unbuffered):
    env = {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:  # noqa: PTH123  a device
        ended = start(*args, env=env, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 4
    assert ended.stderr == b"gpuyard: can't write: No space left on device\n"


@UNBUFFERED
def test_a_document_that_is_written_in_part_is_not_a_success(tmp_path, unbuffered):
    written = tmp_path / "schema.json"
    ended = subprocess.run(
        ["bash", "-c", f"ulimit -f 64; {GPUYARD} schema >{written}"],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert written.stat().st_size == 64 * 1024
    assert (ended.returncode, ended.stderr) == (4, b"gpuyard: can't write: File too large\n")


def test_a_closed_stdout_changes_nothing(stack):
    command = f"{GPUYARD} check {stack(REFUSED)} >&-"
    ended = subprocess.run(["bash", "-c", command], check=False, capture_output=True)
    assert (ended.returncode, ended.stderr) == (3, b"")


def test_a_stream_that_knows_only_ascii_shows_codes(stack):
    ended = start("mig", "A100-40", "3g.20gb:2", env={"PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 0
    assert b"## ## ## ## .  .  .  ." in ended.stdout
    assert start("plan", "local", env={"PYTHONIOENCODING": "ascii"}).returncode == 0


def test_an_interrupt_ends_with_130_and_without_a_traceback(tmp_path):
    program = (
        "import signal, sys, time\n"
        "from gpuyard.cli import app, main\n"
        # a job in the background of a shell inherits that interrupts are ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "app.build_app = lambda: (print('ready', flush=True), time.sleep(60))\n"
        "sys.exit(main(['check', 'local']))\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=SHORTER)
    assert (started.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_a_check_loads_no_engine_no_sdk_no_cluster_client():
    program = (
        "import sys\n"
        "from gpuyard.cli import main\n"
        "code = main(['check', 'local'])\n"
        "heavy = {'pulumi', 'pulumi_kubernetes', 'kubernetes', 'grpc', 'asyncio', 'boto3', 'google'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, cwd=ROOT
    )
    assert (ended.returncode, ended.stderr) == (0, b"[]\n")


def test_a_check_in_a_pipe_loads_no_painter_and_builds_the_models_once():
    program = (
        "import sys\n"
        "from gpuyard.spec.platform import PlatformSpec\n"
        "from gpuyard.spec.queueing import QueueingSpec\n"
        "from gpuyard.spec.pools import Pool, CapacityOptionSpec, Sharing\n"
        "models = (PlatformSpec, QueueingSpec, Pool, CapacityOptionSpec, Sharing)\n"
        "assert not any(model.__pydantic_complete__ for model in models)\n"
        "from gpuyard.cli import main\n"
        "code = main(['check', 'local'])\n"
        "assert PlatformSpec.__pydantic_complete__\n"
        "assert 'rich' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, cwd=ROOT
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
