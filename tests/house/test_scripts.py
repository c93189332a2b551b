"""The one command surface: its scripts work, with fakes of the tools they call."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import sizes
from kit.waiting import SHORTER

MAIN = ["environment", "test", "quick", "check", "golden", "up", "down", "bench", "help"]
FURTHER = [
    "release",
    "test-all",
    "test-packages",
    "demo",
    "shell",
    "tools",
    "docs",
    "campaign",
    "facts",
    "advisories",
]


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def run(*command: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {"HOME": os.environ.get("HOME", "/"), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=SHORTER,
    )


@pytest.fixture
def scratch(tmp_path):
    """A checkout with only the real scripts."""
    root = tmp_path / "checkout"
    shutil.copytree(sizes.ROOT / "scripts", root / "scripts")
    shutil.copytree(sizes.ROOT / ".ci", root / ".ci")
    shutil.copy(sizes.ROOT / "Makefile", root)
    (root / "requirements.lock").write_text("lock\n", encoding="utf-8")
    (root / "pyproject.toml").write_text("project\n", encoding="utf-8")
    return root


@pytest.fixture
def uv(tmp_path):
    """A uv that records its arguments, and creates the interpreter that a real one would create."""
    log = tmp_path / "uv.log"
    program(
        tmp_path / "bin" / "uv",
        f"""
        if [ "$1" = --version ]; then echo "uv ${{FAKE_UV:-99.0.0}} (here)"; exit; fi
        echo "$1 $2 compile=${{UV_COMPILE_BYTECODE:-0}} downloads=$UV_PYTHON_DOWNLOADS" >>{log}
        if [ "$1" = venv ]; then
          mkdir -p "${{@: -1}}/bin"
          printf '#!/bin/sh\\n' >"${{@: -1}}/bin/python"
          chmod +x "${{@: -1}}/bin/python"
        fi
        """,
    )

    def asked() -> list[str]:
        found = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    return asked


def bootstrap(scratch, tmp_path, **environment):
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return run(scratch / "scripts" / "bootstrap", folder=scratch, PATH=path, **environment)


SYNC = "pip sync compile=1 downloads=never"
INSTALL = "pip install compile=0 downloads=never"


def test_the_environment_is_made_once(scratch, tmp_path, uv):
    first = bootstrap(scratch, tmp_path)
    assert first.returncode == 0, first.stderr
    assert uv() == ["venv --quiet compile=0 downloads=never", SYNC, INSTALL]
    assert bootstrap(scratch, tmp_path).returncode == 0
    assert uv() == []


def test_a_new_lock_is_installed_into_the_environment_there_is(scratch, tmp_path, uv):
    bootstrap(scratch, tmp_path)
    uv()
    (scratch / "requirements.lock").write_text("another lock\n", encoding="utf-8")
    assert bootstrap(scratch, tmp_path).returncode == 0
    assert uv() == [SYNC, INSTALL]


def test_a_new_project_file_installs_the_project_only(scratch, tmp_path, uv):
    bootstrap(scratch, tmp_path)
    uv()
    (scratch / "pyproject.toml").write_text("another project\n", encoding="utf-8")
    assert bootstrap(scratch, tmp_path).returncode == 0
    assert uv() == [INSTALL]


def test_an_environment_that_failed_half_way_is_made_again(scratch, tmp_path, uv):
    program(
        scratch / "broken" / "uv", "[ $1 != --version ] || { echo uv 99.0.0; exit; }; [ $1 = venv ]"
    )
    path = f"{scratch / 'broken'}{os.pathsep}{os.environ['PATH']}"
    failed = run(scratch / "scripts" / "bootstrap", folder=scratch, PATH=path)
    assert failed.returncode == 4
    assert failed.stderr.endswith(
        "the packages of requirements.lock could not be installed; the reason is above\n"
    )
    assert bootstrap(scratch, tmp_path).returncode == 0
    assert SYNC in uv()


def test_without_a_python_the_environment_lacks_something(scratch, tmp_path):
    tools = tmp_path / "only"
    tools.mkdir()
    for name in ("bash", "cat", "cut", "dirname", "env", "head", "sort"):
        (tools / name).symlink_to(shutil.which(name))
    ended = run(scratch / "scripts" / "bootstrap", folder=scratch, PATH=str(tools))
    assert ended.returncode == 4
    assert ended.stderr == (
        "bootstrap: no Python 3.11 or newer on PATH; install one (none is downloaded for you)\n"
    )


def test_a_uv_that_is_too_old_is_not_used(scratch, tmp_path, uv):
    program(
        tmp_path / "bin" / "python3.11",
        f"""
        case "$*" in
          *print*executable*) echo {tmp_path}/bin/python3.11 ;;
          *hashlib*) cat >/dev/null; echo digest ;;
          "-m venv "*) echo "no venv module here" >&2; exit 1 ;;
        esac
        """,
    )
    ended = bootstrap(scratch, tmp_path, FAKE_UV="0.4.30")
    assert ended.returncode == 4
    assert "no uv from 0.9.0 on in PATH; installing it into .tools/uv" in ended.stderr
    assert "install its venv module (Debian: python3-venv), or uv" in ended.stderr
    assert uv() == []


def test_the_main_targets_are_listed_and_the_others_named(scratch):
    listed, _, named = run("make", folder=scratch).stdout.partition("further targets:")
    assert sorted(re.findall(r"^  make (\w+) +\S", listed, re.MULTILINE)) == sorted(MAIN)
    assert re.findall(r"[a-z-]+", named.partition("(")[0]) == FURTHER


@pytest.mark.parametrize(
    ("target", "script"),
    [(name, name) for name in ("test", "check", "bench", "tools")]
    + [("test-all", "test --all"), ("up", "yard up"), ("down", "yard down"), ("demo", "yard demo")],
)
def test_a_target_makes_the_environment_and_calls_its_script(scratch, target, script):
    program(scratch / "scripts/bootstrap", "echo environment")
    name = script.partition(" ")[0]
    program(scratch / "scripts" / name, f"echo {name} $*")
    assert run("make", target, folder=scratch).stdout.split() == ["environment", *script.split()]


def fake_tools(scratch, failing: str = "") -> None:
    for name in ("ruff", "mypy", "lint-imports", "python", "coverage"):
        ends = "echo the reason; exit 1" if name == failing else "exit 0"
        program(scratch / ".venv/bin" / name, f'echo "{name} $*" >>calls\n{ends}')


def test_check_runs_every_gate_and_is_silent_about_those_that_pass(scratch):
    fake_tools(scratch)
    ended = run(scratch / "scripts/check", folder=scratch)
    assert ended.returncode == 0
    names = ["format", "house", "layers", "lint", "mypy", "speed"]
    assert sorted(line.split()[:2] for line in ended.stdout.splitlines()) == [
        ["ok", name] for name in names
    ]


def test_check_leaves_the_gates_that_are_tests_to_who_runs_all_tests_next(scratch):
    fake_tools(scratch, failing="mypy")
    ended = run(scratch / "scripts/check", "static", folder=scratch)
    assert ended.returncode == 1
    assert "house" not in ended.stdout
    assert ended.stdout.endswith("1 gate(s) failed: mypy\n")


def test_check_goes_on_after_a_failure_and_names_it_last(scratch):
    fake_tools(scratch, failing="mypy")
    ended = run(scratch / "scripts/check", folder=scratch)
    assert ended.returncode == 1
    assert "the reason" in ended.stdout
    assert "ok    house" in ended.stdout
    assert ended.stdout.endswith("1 gate(s) failed: mypy\n")


def test_only_the_whole_suite_is_held_to_the_coverage_gates(scratch):
    fake_tools(scratch)
    assert run(scratch / "scripts/test", "tests/plan", folder=scratch).returncode == 0
    calls = (scratch / "calls").read_text(encoding="utf-8")
    assert calls == "python -m pytest tests/plan\n"


@pytest.mark.parametrize(("given", "marked"), [((), True), (("--all",), False)])
def test_live_tests_are_those_of_each_run_unless_all_are_asked_for(scratch, given, marked):
    fake_tools(scratch)
    assert run(scratch / "scripts/test", *given, folder=scratch).returncode == 0
    calls = (scratch / "calls").read_text(encoding="utf-8").splitlines()
    live = [
        line
        for line in calls
        if line.endswith(" tests/browser tests/cluster tests/engine tests/yard")
    ]
    assert ["-m always" in line for line in live] == [marked]
    assert sum("--cov" in line for line in calls) == 1, "the others run, with the gates"


@pytest.mark.parametrize("failing", ["python", "coverage"])
def test_the_suite_fails_with_its_tests_and_with_its_coverage(scratch, failing):
    fake_tools(scratch)
    assert run(scratch / "scripts/test", folder=scratch).returncode == 0
    fake_tools(scratch, failing=failing)
    assert run(scratch / "scripts/test", folder=scratch).returncode == 1


@pytest.mark.parametrize(
    ("live", "alone", "code"),
    [(1, 1, 1), (1, 0, 0), (3, 0, 3)],
    ids=["fails again", "unsteady", "the run itself broke"],
)
def test_live_tests_that_fail_run_once_more_alone(scratch, live, alone, code):
    fake_tools(scratch)
    fake = f"""case "$*" in
      *--last-failed*) echo alone; exit {alone} ;;
      *" tests/cluster "*) echo a cluster is gone; exit {live} ;;
    esac"""
    program(scratch / ".venv/bin/python", fake)
    ended = run(scratch / "scripts/test", folder=scratch)
    assert ended.returncode == code
    assert "live tests:\na cluster is gone\n" in ended.stdout
    assert ("\nalone\n" in ended.stdout) is (live == 1)


def test_every_benchmark_runs_also_after_one_has_failed(scratch):
    program(scratch / ".venv/bin/python", 'echo "ran $1"; [ "$1" != benchmarks/first.py ]')
    for name in ("first", "second"):
        program(scratch / f"benchmarks/{name}.py", "")
    ended = run(scratch / "scripts/bench", folder=scratch)
    assert ended.returncode == 1
    assert "ran benchmarks/first.py" in ended.stdout
    assert "ran benchmarks/second.py" in ended.stdout
    assert run(scratch / "scripts/bench", "second", folder=scratch).returncode == 0


def test_an_unknown_benchmark_is_refused_with_those_there_are(scratch):
    program(scratch / "benchmarks/registration.py", "")
    ended = run(scratch / "scripts/bench", "registrations", folder=scratch)
    assert ended.returncode == 2
    assert ended.stderr == "bench: no benchmark registrations; available: registration\n"


def ci(scratch, tmp_path, **environment):
    path = f"{tmp_path / 'ci'}{os.pathsep}{os.environ['PATH']}"
    return run(scratch / ".ci/run", folder=tmp_path, PATH=path, **environment)


def test_ci_runs_the_gates_and_the_tests_and_fails_when_one_of_them_does(scratch, tmp_path):
    (scratch / "scripts/tools").unlink(missing_ok=True)
    program(tmp_path / "ci/make", 'echo "$1 $CI ${GPUYARD_UPSTREAM:-none}"; [ "$1" != "$BROKEN" ]')
    ended = ci(scratch, tmp_path)
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[:3] == [
        "environment true none",
        "check true none",
        "test true none",
    ]
    ended = ci(scratch, tmp_path, BROKEN="check")
    assert ended.returncode == 1
    assert "test true none" in ended.stdout


def test_ci_requires_the_levels_that_it_has_built(scratch, tmp_path):
    program(tmp_path / "ci/make", 'echo "$1 ${GPUYARD_REQUIRE:-nothing}"')
    (scratch / "scripts/tools").unlink(missing_ok=True)
    assert "test nothing\n" in ci(scratch, tmp_path).stdout
    program(scratch / "scripts/tools", "")
    assert ci(scratch, tmp_path).stdout.splitlines()[:4] == [
        "environment nothing",
        "tools nothing",
        "check engine,cluster",
        "test engine,cluster",
    ]


def test_ci_runs_the_suite_as_on_a_fresh_clone_and_then_what_skipped_with_upstream_files(
    scratch, tmp_path
):
    listing = 'echo "tests/a.py::test_b[c d]" >>"$GPUYARD_LACKING_UPSTREAM"'
    skipped = f'[ "$1" != test ] || {listing}'
    program(tmp_path / "ci/make", f'echo "$1 ${{GPUYARD_UPSTREAM:-none}}"; {skipped}')
    program(
        scratch / "scripts/test", 'echo "again $GPUYARD_UPSTREAM $GPUYARD_REQUIRE"; cat "${4#@}"'
    )
    (scratch / "scripts/tools").unlink(missing_ok=True)
    said = ci(scratch, tmp_path).stdout
    assert "test none\n" in said
    assert "again" not in said
    beside = tmp_path / "shared" / "upstream"
    beside.mkdir(parents=True)
    said = ci(scratch, tmp_path).stdout
    assert f"test none\nagain {beside} upstream\ntests/a.py::test_b[c d]\n" in said
    assert "again /given upstream\n" in ci(scratch, tmp_path, GPUYARD_UPSTREAM="/given").stdout
