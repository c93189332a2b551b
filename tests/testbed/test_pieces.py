"""Small parts of the builder: versions, progress, disk, pins."""

import io
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from testbed.families import CLUSTER, DEFAULT_FAMILIES, ENGINE, FAMILIES, Family, module_versions  # noqa: E402
from testbed.work import describe  # noqa: E402
from testbed.workspace import inputs_of  # noqa: E402

from testbed import families, golang, progress, workspace  # noqa: E402


@pytest.mark.parametrize("family", FAMILIES.values(), ids=str)
def test_every_family_is_pinned_with_sums_and_a_tool_block(family: Family):
    text = (family.folder / "go.mod").read_text()
    assert text.startswith(f"module gpuyard.dev/testbed/{family.name}\n")
    assert "\ntool " in text
    assert (family.folder / "go.sum").stat().st_size > 0
    for tool in family.tools:
        assert tool.built_as in text or tool.built_as == "karpenter"


def test_versions_linked_into_programs_come_from_the_module_file():
    flags = " ".join(CLUSTER.install_flags())
    assert "version.gitVersion=v1.36.3" in flags
    assert "version.GitVersion=v0.19.2" in flags
    assert "consts.Version=0.8.0" in flags
    assert "version.gitMinor=36" in flags, "the minor version stands twice and must agree"
    assert "version.Version=v3.259.0" in " ".join(ENGINE.install_flags())
    assert DEFAULT_FAMILIES == ("engine", "cluster")


def test_module_versions_reads_blocks_and_single_lines():
    text = "go 1.26.0\nrequire helm.sh/helm/v4 v4.3.1\nrequire (\n\tk8s.io/api v0.36.3 // indirect\n)\n"
    assert module_versions(text) == {"helm.sh/helm/v4": "v4.3.1", "k8s.io/api": "v0.36.3"}


@pytest.mark.parametrize(
    ("version", "enough"),
    [("1.26.6", True), ("1.26.5", False), ("1.27", True), ("1.26", False), ("2.0.0", True)],
)
def test_new_enough(version: str, enough: bool):
    assert golang.is_new_enough(version) is enough


@pytest.mark.parametrize(
    ("seconds", "says"), [(0, "0s"), (59.9, "59s"), (60, "1m 00s"), (185, "3m 05s")]
)
def test_clock(seconds: float, says: str):
    assert progress.clock(seconds) == says


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_is_redrawn(monkeypatch: pytest.MonkeyPatch):
    out = Terminal()
    shown = progress.Progress("engine", 215, out)
    monkeypatch.setattr(progress, "REDRAW_EVERY_SECONDS", 0)
    shown.show("compiling a")
    shown.show("compiling b")
    shown.done("1 built")
    assert out.getvalue().count("\n") == 2, "the first and the last line stay"
    assert "\r\x1b[Kengine: compiling b · 0s of usually 3m 35s" in out.getvalue()


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch):
    out = io.StringIO()
    shown = progress.Progress("engine", 215, out)
    shown.show("too soon")
    monkeypatch.setattr(progress, "LINE_EVERY_SECONDS", 0)
    shown.show("compiling a")
    assert [line.partition(": ")[2] for line in out.getvalue().splitlines()] == [
        "usually 3m 35s on two cores from nothing, less with a warm cache",
        "compiling a · 0s of usually 3m 35s",
    ]


def test_a_download_has_no_usual_time():
    out = Terminal()
    shown = progress.Progress("releases", None, out)
    shown._shown -= 1
    shown.show("3 of 9 MiB")
    assert out.getvalue() == "\r\x1b[Kreleases: 3 of 9 MiB · 0s"


def test_a_note_takes_the_place_of_the_line_that_is_redrawn(monkeypatch: pytest.MonkeyPatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    progress.note("etcd: taken")
    assert out.getvalue() == "\r\x1b[Ketcd: taken\n"


def test_what_go_says_is_counted():
    assert describe([]) == "0 modules downloaded, 0 packages compiled, now starting"
    lines = ["go: downloading a v1", "go: downloading b v1", "net/http"]
    assert describe(lines) == "2 modules downloaded, 1 packages compiled, now net/http"


def test_too_little_disk_is_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workspace, "_free_gib", lambda place: 1.5 if place == tmp_path else 100.0)
    with pytest.raises(workspace.Lacks) as caught:
        workspace.check_disk([Path("/"), tmp_path], [ENGINE, CLUSTER])
    assert str(caught.value) == (
        f"Not enough disk space to build engine and cluster: 1.5 GiB free at {tmp_path},"
        " about 6 GiB needed; free some and run the same command again."
    )
    workspace.check_disk([Path("/")], [ENGINE, CLUSTER])


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path: Path):
    assert workspace._free_gib(tmp_path / "a" / "b") > 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"inputs": "x"}'])
def test_an_unreadable_stamp_is_none(tmp_path: Path, text: str):
    place = workspace.Workspace(tmp_path)
    place.stamp_path("x").parent.mkdir()
    place.stamp_path("x").write_text(text)
    assert place.read_stamp("x") is None


@pytest.mark.parametrize(
    "line", ["go: a: 403 Forbidden", "reading b: 404 Not Found", 'Get "c": x509: unknown authority']
)
def test_a_registry_that_says_no_is_not_a_compile_error(line: str):
    assert isinstance(golang.explain_failure([line], "building x", "p"), workspace.Lacks)


def test_a_change_of_our_own_go_source_builds_again(tmp_path, monkeypatch):
    family = FAMILIES["sdk-generator"]
    copy = shutil.copytree(family.folder, tmp_path / family.name)
    monkeypatch.setattr(families, "GO_FOLDER", tmp_path)
    before = inputs_of(family)
    with (copy / "pulumi-generate-sdk" / "main.go").open("a") as source:
        source.write("// changed\n")
    assert inputs_of(family) != before
