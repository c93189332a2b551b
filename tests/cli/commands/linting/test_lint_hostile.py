"""`gpuyard lint` on files that nobody meant well: a reason, the right exit code, bounded time and memory."""

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gpuyard_core import yaml_tree
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.cli.files import MOST_KEPT
from gpuyard_lint.read import TIMES

QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus, labels: &labels {a: b, c: "d"}}
spec:
  hard: {limits.nvidia.com/gpu: 8, other: *labels}
data:
  config.yaml: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: t}
spec: {template: {spec: {runtimeClassName: nvidia, containers: [{name: a, image: "x:latest"}]}}}
"""
STATE = (
    '{"version": 3, "deployment": {"resources": [{"urn": "urn:pulumi:a::b::c::d", "protect": true,'
    ' "type": "aws:eks/nodeGroup:NodeGroup", "inputs": {"instanceTypes": ["p5.48xlarge"],'
    ' "scalingConfig": {"maxSize": 5000}, "taints": []}}]}}'
)
PLAN = (
    '{"planned_values": {"root_module": {"resources": [{"address": "a.b", "mode": "managed",'
    ' "type": "aws_eks_node_group", "values": {"instance_types": ["p5.48xlarge"],'
    ' "scaling_config": [{"max_size": 5000}]}}], "child_modules": [{"resources": []}]}},'
    ' "resource_changes": [{"address": "a.b", "change": {"after_unknown": {"id": true}}}]}'
)
VALUES = "driver: {version: 1.2.3, enabled: true}\ntoolkit: {}\nmigManager: {config: {data: {}}}\n"
SEEDS = {"quota": QUOTA, "state": STATE, "plan": PLAN, "values": VALUES}
ENDS = {0, 2, 3}
MUTANTS = 125
WORDS = [b"{", b"}", b"[", b"]", b":", b"- ", b"&a ", b"*a", b"|", b"\n", b"\t", b"\x00", b"\xff"]
WORDS += [
    b"null",
    b"true",
    b"~",
    b"1e999",
    b"-",
    b"'",
    b'"',
    b"!!python/object:os.system ",
    b"%",
    b"\x85",
]


def mutant(data: bytes, chance: random.Random) -> bytes:
    """A few bytes other than they were: changed, put in, taken out, doubled."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(4):
            case 0:
                made[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                made[at:at] = chance.choice(WORDS)
            case 2:
                del made[at : at + chance.randint(1, 30)]
            case _:
                made[at:at] = made[at : at + chance.randint(1, 60)]
    return bytes(made)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_with_a_few_bytes_changed_is_judged_or_refused(gpuyard, tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    chance = random.Random(f"gpuyard {seed}")  # noqa: S311  the same mutants every time
    seen = set()
    for number in range(MUTANTS):
        path = Path(f"{number}.yaml")
        path.write_bytes(mutant(SEEDS[seed].encode(), chance))
        ended = gpuyard("lint", path)
        assert ended.code in ENDS, (path.read_bytes(), ended.err)
        assert "Traceback" not in ended.err
        assert "the rule failed" not in ended.out, path.read_bytes()
        assert ended.out or ended.err
        seen.add(ended.code)
    assert len(seen) > 1  # neither all harmless nor all noise


def test_a_mutant_is_read_alike_in_every_format(gpuyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = random.Random("gpuyard formats")  # noqa: S311
    for number in range(15):
        path = Path(f"{number}.yaml")
        path.write_bytes(mutant(QUOTA.encode(), chance))
        codes = {
            gpuyard("lint", path, "--format", f).code for f in ("json", "sarif", "junit", "github")
        }
        assert codes == {gpuyard("lint", path).code}


DEEP = "[" * 5000 + "]" * 5000
LAUGHS = "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty: it contains no document"),
        (b"\n# only a comment\n", "empty: it contains no document"),
        (b"---\n---\n", "empty: it contains no document"),
        (b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", "not text (byte"),
        (b"\xff\xfea:\x00", "not text (byte 0 is not UTF-8)"),
        (b"a: \x00b", "not YAML: "),
        (DEEP.encode(), "nested more than 60 deep"),
        (f"a: &a [x]\n{LAUGHS}".encode(), "exceeds the memory limit of one run"),
        (b"a: &a [*a]\n", "*a has no complete anchor &a before it"),
        (b"a: *b\n", "*b has no complete anchor &b before it"),
        (b"{[1]: 2}", "a mapping or list as a key"),
        (b"a: [1, 2", "not YAML: line 1, at its end: did not find expected"),
        (b"a: !!binary [", "not YAML: "),
        (b"just words", "no known format"),
        (b"[]", "no known format"),
        (b"a: {{ .Values.x }}\n", "a template, not YAML"),
    ],
    ids=range(16),
)
def test_what_cannot_be_read_is_said_with_its_reason(gpuyard, tmp_path, monkeypatch, data, said):
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_bytes(data)
    ended = gpuyard("lint", "x.yaml")
    assert said in " ".join(ended.err.split())
    assert ended.code == 2
    # in a folder it is said as well, and what stands beside it is judged
    Path("quota.yaml").write_text(QUOTA)
    ended = gpuyard("lint", ".")
    assert ended.code == 3
    assert "x.yaml" in ended.err


def test_a_strange_object_is_an_object(gpuyard, tmp_path):
    path = tmp_path / "x.yaml"
    for text in (
        "{apiVersion: v1, kind: List, items: [1, null, {}]}",
        "{apiVersion: v1, kind: List, items: {a: 1}}",
        "{apiVersion: '', kind: ''}",
        "{apiVersion: a/b/c/d, kind: Pod, metadata: 3, spec: [1]}",
        "{apiVersion: v1, kind: Pod, metadata: {name: {}, namespace: []}, spec: null}",
        "{apiVersion: v1, kind: ConfigMap, data: {a: [1], b: 5, c: 'apiVersion: *x\\n'}}",
        '{"steps": [1, {"newState": 4}, {"newState": {"type": ":::"}}, null]}',
        '{"version": 3, "deployment": {"resources": {"a": 1}}}',
        '{"planned_values": {"root_module": {"resources": [5, {"type": 3, "values": {}}]}}}',
        '{"planned_values": {"root_module": [], "x": 1}, "resource_changes": [{"change": 4}, 3]}',
    ):
        path.write_text(text)
        ended = gpuyard("lint", path)
        assert ended.code in {0, 2, 3}, text
        assert "Traceback" not in ended.err + ended.out
        assert "the rule failed" not in ended.out, text


# ── what is no file, or may not be read ──


def test_links_that_go_round_are_said_and_end(gpuyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("a/again").symlink_to(tmp_path / "a", target_is_directory=True)
    Path("a/loop.yaml").symlink_to("loop.yaml")
    Path("a/quota.yaml").write_text(QUOTA)
    ended = gpuyard("lint", "a", "--format", "json")
    assert ended.code == 3
    assert '"a/quota.yaml"' in ended.out
    assert "again/quota.yaml" not in ended.out
    assert gpuyard("lint", "a/loop.yaml").code == 2


def test_a_pipe_is_said_and_never_waited_for(gpuyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yaml")
    ended = gpuyard("lint", "pipe.yaml")
    assert ended.code == 2
    assert "pipe.yaml: a pipe, not a file" in " ".join(ended.err.split())
    ended = gpuyard("lint", ".")
    assert ended.code == 0
    assert "pipe.yaml" in ended.err


def test_a_folder_with_the_name_of_a_file_is_a_folder(gpuyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").mkdir()
    Path("x.yaml/quota.yaml").write_text(QUOTA)
    assert gpuyard("lint", "x.yaml").code == 3
    assert gpuyard("lint", ".").code == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_said(gpuyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("secret.yaml").write_text(QUOTA)
    Path("secret.yaml").chmod(0)
    ended = gpuyard("lint", "secret.yaml")
    assert ended.code == 2
    assert "secret.yaml: no permission to read it" in ended.err
    ended = gpuyard("lint", ".")
    assert ended.code == 0
    assert "secret.yaml: no permission to read it" in ended.err


@pytest.mark.parametrize("named", ["a/closed", "a/closed/"])
def test_a_folder_that_may_not_be_listed_is_said_as_a_file_is(
    gpuyard, tmp_path, monkeypatch, named
):
    monkeypatch.chdir(tmp_path)
    Path("a/closed").mkdir(parents=True)
    Path("a/quota.yaml").write_text(QUOTA)
    listed = os.scandir

    def denied(folder: str) -> object:
        if Path(folder).name == "closed":  # root lists everything
            raise PermissionError(13, "Permission denied", folder)
        return listed(folder)

    monkeypatch.setattr("os.scandir", denied)
    said = "a/closed:1: permission denied: the folder is not read"
    ended = gpuyard("lint", "a")
    assert ended.code == 3
    assert said in " ".join(ended.err.split())
    assert "not read" in ended.out
    assert "closed" not in gpuyard("lint", "a", "--exclude", "closed").err
    ended = gpuyard("lint", named)
    assert ended.code == 2
    assert said.replace(":1:", ":") in " ".join(ended.err.split()).replace("closed/:", "closed:")


def test_no_permission_is_said_whoever_asks(gpuyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("secret.yaml").write_text(QUOTA)

    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gpuyard_core.stack_files.os.open", denied)
    ended = gpuyard("lint", "secret.yaml")
    assert ended.code == 2
    assert "secret.yaml: no permission to read it" in ended.err


@pytest.mark.parametrize(
    "name", ["a" * 300 + ".yaml", "\x1b[31mred.yaml", "ü #%.yaml", "-dash.yaml"]
)
def test_a_file_of_an_odd_name_is_said_or_read(gpuyard, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    try:
        Path(name).write_text(QUOTA)
    except OSError:
        assert gpuyard("lint", name).code == 2  # too long for a file
        return
    ended = gpuyard("lint", "--", name)
    assert ended.code == 3
    assert "\x1b" not in ended.out + ended.err


# ── bounded ──

LIMIT = MAX_BYTES * TIMES
CODE = """
import sys
from gpuyard.cli import main
from gpuyard_core import yaml_tree
yaml_tree.MAX_VALUES //= int(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""
MEMORY = 2 * 1024**3
SHARE = 1 if os.environ.get("GPUYARD_LIMITS") == "whole" else 8
"""A file of millions of values takes half a minute: by default an eighth of it, with an eighth of the limit
of values, and a quarter of the seconds and memory. `make campaign NAME=limits` reads them whole."""


def limited(path: Path, share: int = 1, memory: int = MEMORY) -> tuple[int, str, float]:
    """A process of its own, with so much memory and no more; its code, its words, its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(share), "lint", str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        ended.returncode,
        ended.stderr,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(64 * 1024**3)  # a hole: it takes no room
    code, said, seconds = limited(path)
    assert code == 2
    assert "68,719,476,736 bytes; at most 33,554,432 are read" in " ".join(said.split())
    assert seconds < 3


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("name", "unit", "codes"),
    [
        ("one-text", b"x", {2}),
        ("many-objects", b"{apiVersion: v1, kind: Pod}\n---\n", {2}),
        ("brackets", b"[", {2}),
        ("empty-documents", b"---\n", {2}),
        ("comments", b"# a\n", {2}),
    ],
)
def test_a_file_at_the_limit_ends_in_bounded_time_and_memory(tmp_path, name, unit, codes):
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(unit * (LIMIT // len(unit)))
    code, said, seconds = limited(path)
    assert code in codes, said
    assert "Traceback" not in said
    assert seconds < 40


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "unit"), [("values", b"- a\n"), ("anchors", b"- &a a\n")])
def test_values_at_the_limit_end_in_bounded_time_and_memory(tmp_path, name, unit):
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(unit * (LIMIT // SHARE // len(unit)))
    memory = MEMORY if SHARE == 1 else MEMORY // 4
    code, said, seconds = limited(path, SHARE, memory)
    most = yaml_tree.MAX_VALUES // SHARE * yaml_tree.MORE_VALUES
    by_itself = f"more than {most:,} values once anchors"
    assert code == 2, said
    assert (by_itself if most < MOST_KEPT else BUDGET_EXCEEDED) in " ".join(said.split())
    assert seconds < (40 if SHARE == 1 else 10)


MOST_MEMORY = 300
"""MiB, of any repository."""
KEEPING = """
import re, sys
from pathlib import Path
from gpuyard.cli import main
from gpuyard_lint.cli import files
files.MOST_KEPT //= int(sys.argv[1])
code = main(sys.argv[3:])
status = Path("/proc/self/status").read_text()
Path(sys.argv[2]).write_text(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
sys.exit(code)
"""
GROUP = 'resource "aws_eks_node_group" "g%d" {{\n  {}\n}}\n'
OBJECT = 'resource "kubernetes_manifest" "g%d" {{\n  manifest = {{{}}}\n}}\n'
CONTAINER = '{name="a",image="a",resources={limits={"nvidia.com/gpu"=1}}}'
TERRAFORM_UNITS = {
    "findings": GROUP.format(
        'instance_types = ["p5.48xlarge"]\n  ami_type = "AL2_x86_64_GPU"',
    ),
    "numbers": GROUP.format(f"instance_types = [{'0,' * 16}]"),
    "objects": OBJECT.format(
        'apiVersion="v1",kind="Pod",metadata={name="a"},spec={hostIPC=true,containers=['
        f"{CONTAINER}]}}",
    ),
}


def memory_of(folder: Path) -> tuple[int, str]:
    """The most memory that linting it had, in MiB, and what was said of files that were not read.

    By its own word: what its starter is told holds what that had itself when it was started.
    """
    most = folder.parent / f"{folder.name}-kib"
    command = [sys.executable, "-c", KEEPING, str(SHARE), str(most), "lint", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode in ENDS, run.stderr
    return int(most.read_text()) // 1024, " ".join(run.stderr.split())


@pytest.mark.timeout(180)
@pytest.mark.parametrize("unit", TERRAFORM_UNITS)
def test_terraform_of_any_size_is_read_in_bounded_memory_and_the_rest_is_named(tmp_path, unit):
    (tmp_path / "0.tf").write_text("# eks nvidia\n" + TERRAFORM_UNITS[unit] % 0)
    least, said = memory_of(tmp_path)
    assert "not read" not in said
    number, whole = 1, 9 * 1024**2 // SHARE
    for name in range(9):
        size, text = 0, []
        while size < whole // 9:
            text.append(TERRAFORM_UNITS[unit] % (number := number + 1))
            size += len(text[-1])
        (tmp_path / f"{name + 1}.tf").write_text("".join(text))
    most, said = memory_of(tmp_path)
    assert BUDGET_EXCEEDED in said
    assert most < least + (MOST_MEMORY - least) / SHARE
