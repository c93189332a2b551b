"""What only a run of kustomize tells is asked of the program at hand, where nothing comes from elsewhere."""

import os
import stat

import pytest

from gpuyard_lint.cli import programs
from gpuyard_lint.cli.files import read_all
from gpuyard_lint.combined.kustomize_build import BUILD_SKIPPED
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.every import every

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: a
      image: m:latest
      resources: {limits: {nvidia.com/gpu: 1}}
"""
OVER = """resources: [../base]
namePrefix: x-
replacements:
  - source: {kind: ConfigMap, name: versions, fieldPath: data.image}
    targets:
      - select: {kind: Pod}
        fieldPaths: ["spec.containers.[name=a].image"]
"""
FILES = {
    "base/kustomization.yaml": "resources: [pod.yaml]\n",
    "base/pod.yaml": POD,
    "over/kustomization.yaml": OVER,
}


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in {**FILES, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")

    write()
    return write


@pytest.fixture
def program(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def does(name, script):
        made = folder / name
        made.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        made.chmod(made.stat().st_mode | stat.S_IEXEC)

    return does


def printing(text):
    return f"cat <<'END'\n{text}END"


def told(render=True):
    reading, _ = read_all(["."], render=render)
    hits = [(h.rule.id, f"{h.file}:{h.line}") for h in build_report(reading, RULES).hits]
    return hits, [(u.file, u.reason) for u in reading.skipped if not u.is_unrecognized]


def moved(image, name="x-p"):
    return POD.replace("m:latest", image).replace("{name: p}", f"{{name: {name}}}")


WHY = "over/kustomization.yaml"


@every("name", ["kustomize", "kubectl"])
def test_what_a_replacement_gives_is_known(there, program, name, tmp_path):
    for made in (tmp_path / "bin").iterdir():
        made.unlink()
    program(name, f"echo $* > {tmp_path}/words\n" + printing(moved("m:1.2")))
    assert told() == ([], [])
    verb, folder = (tmp_path / "words").read_text().split()
    assert verb == ("build" if name == "kustomize" else "kustomize")
    assert folder.endswith("/over")
    assert not folder.startswith(str(tmp_path))


def test_what_stays_wrong_is_told_where_it_stands(there, program):
    program("kustomize", printing(moved("m:latest")))
    assert told() == ([("GPU-POD-03", "base/pod.yaml:7")], [])


def test_what_it_does_not_make_again_is_judged_as_it_stands(there, program):
    """Replacements are unknown there, as without the program."""
    program("kustomize", printing(moved("m:latest", "other") + "---\n" + moved("n:latest", "p-p")))
    assert told() == ([("GPU-POD-03", "base/pod.yaml:7")], [])


def test_without_the_program_it_is_said(there, program, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    reason = "kustomization not built: to build it, put `kustomize` or `kubectl` on PATH"
    assert told() == ([], [(WHY, reason)])
    assert told(render=False) == ([], [(WHY, BUILD_SKIPPED)])


@every(
    ("script", "why"),
    [
        ("echo 'Error: no such file' >&2; exit 1", "no such file"),
        ("sleep 60", "kustomize took longer than 1 s"),
    ],
)
def test_why_it_makes_nothing_is_said(there, program, monkeypatch, script, why):
    monkeypatch.setattr(programs, "SECONDS", 1)
    program("kustomize", script)
    assert told() == ([], [(WHY, f"kustomization not built: {why}")])


def test_there_is_a_time_for_all_of_them(there, program, monkeypatch):
    monkeypatch.setattr(programs, "ALL_SECONDS", -1)
    program("kustomize", "exit 1")
    why = "kustomization not built: the time limit of -1 s for helm and kustomize is used up: check this folder alone"
    assert told() == ([], [(WHY, why)])


def test_what_it_writes_that_is_no_yaml_tells_nothing(there, program):
    program("kustomize", "echo 'a: ['")
    assert told() == ([], [])
    program("kustomize", "echo 'a: 1'")
    assert told() == ([], [])


@every(
    "files",
    [
        {"over/kustomization.yaml": "resources: [../base]\nimages: [{name: m, newTag: '1'}]\n"},
        {"base/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n"},
    ],
)
def test_one_that_needs_no_run_is_not_built(there, program, tmp_path, files):
    program("kustomize", f"touch {tmp_path}/ran")
    there(**files)
    assert told()[1] == []
    there()
    assert not (tmp_path / "ran").exists()


def test_the_top_of_what_is_looked_at_may_be_one(there, program, tmp_path):
    (tmp_path / "over" / "kustomization.yaml").unlink()
    there_is = {"kustomization.yaml": OVER.replace("../base", "base")}
    (tmp_path / "kustomization.yaml").write_text(there_is["kustomization.yaml"], encoding="utf-8")
    program("kustomize", printing(moved("m:1.2")))
    assert told() == ([], [])
