"""Runs of a program as copies of a process that has its modules: the same program, with less to start."""

import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpuyard_simulate import processes
from gpuyard_simulate.validation import copies, forking
from gpuyard_simulate.validation.copies import WITH, Run, WarmProcesses
from kit.waiting import SHORTER, until

MAIN = """import sys

from carried.part import main

sys.exit(main())
"""
PART = """import os
import sys
from pathlib import Path

SEEN = []
with open({imported!r}, "a") as file:
    file.write("x")


def main():
    SEEN.append(1)
    print("pid", os.getpid(), "looks", len(SEEN), "told", *sys.argv[1:], flush=True)
    print("beside:", Path("../beside").read_text(), file=sys.stderr)
    return 3
"""


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A letter for each time that the program's part is imported."""
    return tmp_path / "imported"


@pytest.fixture
def program(imported: Path) -> Iterator[WarmProcesses]:
    texts = {"__init__.py": "", "__main__.py": MAIN, "part.py": PART.format(imported=str(imported))}
    files = {f"program/carried/{name}": text for name, text in texts.items()}
    made = WarmProcesses("carried", ("-S", "-B"), {**files, "beside": "none"})
    yield made
    made.end()


def test_each_run_is_a_process_of_its_own_whose_modules_were_imported_once(
    program: WarmProcesses, imported: Path
):
    ended = [program.run(["a", str(n)], {"beside": f"b{n}"}) for n in range(3)]
    assert [one.code for one in ended] == [3, 3, 3]
    pids = {one.output.split()[1] for one in ended}
    assert len(pids) == 3
    assert imported.read_text() == "x"
    for number, one in enumerate(ended):
        (pid,) = (each for each in pids if f" {each} " in one.output)
        told = f"pid {pid} looks 1 told a {number}\n"
        assert one.output == f"{told}beside: b{number}\n", "nothing is left of the run before"


def test_what_is_carried_lies_in_a_folder_that_goes_with_the_process(
    program: WarmProcesses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    program.run([])
    assert len(list((tmp_path / "t").glob("program-*/program/carried"))) == 1
    assert program.end() == 0
    assert list((tmp_path / "t").iterdir()) == []
    assert program.end() is None
    assert program.run([]).code == 3, "another one begins"


def installed(folder: Path, text: str) -> None:
    (folder / "lately").mkdir(exist_ok=True)
    (folder / "lately" / "__init__.py").touch()
    (folder / "lately" / "__main__.py").write_text("import lately.part\nlately.part.main()\n")
    (folder / "lately" / "part.py").write_text(text)


@pytest.fixture
def lately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmProcesses]:
    """A program that is installed, and is edited."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = WarmProcesses("lately")
    yield made
    made.end()


def test_what_runs_is_the_text_as_it_is_then(lately: WarmProcesses, tmp_path: Path):
    installed(tmp_path, "def main():\n    print('one')\n")
    assert lately.run([]) == lately.run([]) == Run(0, "one\n")
    installed(tmp_path, "def main():\n    print('other')\n    raise SystemExit('no more')\n")
    assert lately.run([]) == Run(1, "other\nno more\n")
    installed(tmp_path, "import no_such_thing\n")
    broken = lately.run([])
    assert broken.code == 1
    assert broken.output.endswith("ModuleNotFoundError: No module named 'no_such_thing'\n")
    installed(tmp_path, "print('imported')\n\n\ndef main():\n    pass\n")
    assert lately.run([]) == Run(0, ""), "what is said meanwhile is no answer"


def test_where_it_was_killed_another_one_begins(program: WarmProcesses, imported: Path):
    program.run([])
    assert program._process is not None
    os.kill(program._process.pid, signal.SIGKILL)
    program._process.wait()
    assert program.run([]).code == 3
    assert imported.read_text() == "xx"


def test_a_program_that_kills_what_it_is_a_copy_of_has_failed(
    lately: WarmProcesses, tmp_path: Path
):
    installed(tmp_path, "import os\n\n\ndef main():\n    os.kill(os.getppid(), 9)\n")
    assert lately.run([]) == Run(-9, "lately was ended\n")


def test_a_run_that_is_killed_has_its_code(lately: WarmProcesses, tmp_path: Path):
    installed(tmp_path, "import os\n\n\ndef main():\n    os.kill(os.getpid(), 9)\n")
    assert lately.run([]) == Run(-9, "")


def test_it_is_no_stray_of_a_cluster_and_ends_with_whoever_runs_it(
    lately: WarmProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mark = f"{tmp_path}:agents"
    monkeypatch.setenv(processes.MARK, mark)
    installed(
        tmp_path, f"import os\n\n\ndef main():\n    print(os.environ.get({WITH!r}), os.getppid())\n"
    )
    said, pid = lately.run([]).output.split()
    assert said == mark
    assert processes.marked_processes(mark) == []
    assert processes.start_of(int(pid))
    process = lately._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    until(lambda: process.poll() == 0, seconds=SHORTER)


def test_who_is_let_go_lets_its_process_go():
    made = WarmProcesses("json.tool")
    assert made.run(["--help"]).code == 0
    process = made._process
    assert process is not None
    assert process.poll() is None
    del made
    assert process.poll() == 0


def test_what_the_main_module_imports_is_imported_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "")
    (tmp_path / "alone.py").write_text("import json\nfrom os import path\nfrom . import x\n")
    assert forking.imports("lately") == ["lately.part"]
    assert forking.imports("alone") == ["json", "os"]
    assert forking.imports("no_such_program") == []
    assert forking.imports("sys") == [], "it has no text"


@contextmanager
def own_descriptors() -> Iterator[None]:
    """What is said goes where it went before when this is over."""
    kept = os.dup(1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def test_it_answers_each_line_until_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    asked = [{"program/one.py": "", "a/b": "1"}, {"words": ["w"], "files": {"a/b": "2"}}]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{json.dumps(a)}\n" for a in asked)))
    monkeypatch.setattr(sys, "argv", ["forking.py", "one"])
    monkeypatch.setattr(sys, "path", ["first", *sys.path[1:]])
    monkeypatch.setattr(forking.gc, "freeze", lambda: None)
    monkeypatch.chdir(tmp_path)
    seen = []

    def run(package: str, words: list[str]) -> dict[str, object]:
        seen.append((package, words, Path("../a/b").read_text(), sys.path[0]))
        os.chdir(tmp_path)  # the folder goes
        return {"code": 0, "output": ""}

    monkeypatch.setattr(forking, "run", run)
    with own_descriptors():
        forking.main()
    ((package, words, beside, first),) = seen
    assert (package, words, beside) == ("one", ["w"], "2")
    assert Path(first).name == forking.PROGRAM
    assert not Path(first).exists()
    assert json.loads(capfd.readouterr().out) == {"code": 0, "output": ""}


def test_where_the_process_is_found():
    assert copies.FORKING.samefile(forking.__file__)
