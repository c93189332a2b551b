"""The first screen of `make up`: downloads, builds, and their durations."""

from pathlib import Path

import pytest
from testbed.families import CLUSTER, ENGINE
from testbed.forecast import WIDTH, forecast, lacking
from testbed.progress import clock
from testbed.releases import Sources
from testbed.workspace import Workspace
from testbed.yard import up

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
BUILD_ALL = Sources("source")


@pytest.fixture
def screen(place, monkeypatch: pytest.MonkeyPatch):
    """The lines for a folder, on a machine with its PATH."""
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("testbed.releases.platform.system", lambda: "Linux")
    monkeypatch.setattr("testbed.releases.platform.machine", lambda: "x86_64")

    def lines(sources: Sources) -> list[str]:
        return forecast(lacking(Workspace(place.into), sources), sources)

    return lines


def test_everything_that_will_be_built_is_named_with_its_usual_time(screen):
    assert screen(BUILD_ALL) == [
        "First, once, the missing tools (durations: two idle cores, nothing cached):",
        f"  build engine (the Pulumi engine): usually {clock(ENGINE.usual_seconds)}",
        "  build cluster (a Kubernetes control plane, kwok and Kueue): usually 6m 30s",
        "It needs about 6 GB of disk in .testbed/, and 900 MiB of memory while it runs.",
        "If interrupted, run the same command again to continue.",
    ]


def test_a_tool_with_a_release_is_downloaded_and_the_build_time_is_printed(screen):
    lines = " ".join(line.strip() for line in screen(Sources()))
    assert (
        "download pulumi, etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kueue, kwok,"
        " kwokctl from the projects' releases, verified by SHA-256"
    ) in lines
    assert "copy cluster (its shared files) from their modules" in lines
    both = clock(ENGINE.usual_seconds + CLUSTER.usual_seconds)
    assert f"build tools whose release cannot be reached: usually {both} for all of it" in lines
    assert "It needs 1 GB of disk in .testbed/, up to 6 GB if it must build." in lines


def test_what_has_no_release_is_built_meanwhile(screen, mirror, monkeypatch: pytest.MonkeyPatch):
    mirror.publish("pulumi", "etcd")
    monkeypatch.setattr("testbed.releases.TABLE", mirror.table)
    lines = " ".join(line.strip() for line in screen(Sources()))
    assert "download pulumi, etcd from the projects' releases" in lines
    assert (
        "build cluster (kube-apiserver, kube-controller-manager, kube-scheduler, kueue, kwok, kwokctl):"
        f" usually {clock(CLUSTER.usual_seconds)}"
    ) in lines


def test_without_a_fallback_no_build_time_is_printed(screen):
    assert "cannot be reached" not in " ".join(screen(Sources("releases")))


def test_when_all_tools_exist_nothing_is_printed(place, screen):
    assert place.run().returncode == 0
    assert screen(BUILD_ALL) == []
    assert screen(Sources()) == [], "what was built is not taken again"


def test_only_missing_tools_are_printed(place, screen):
    place.run()
    (place.into / "bin" / "pulumi").unlink()
    assert [line for line in screen(BUILD_ALL) if line.startswith("  ")] == [
        f"  build engine (the Pulumi engine): usually {clock(ENGINE.usual_seconds)}"
    ]


def test_shared_files_that_are_missing_are_copied_not_built(place, screen):
    place.run()
    (place.into / "stamps" / "shared-files.json").unlink()
    assert [line for line in screen(BUILD_ALL) if line.startswith("  ")] == [
        "  copy cluster (its shared files) from their modules"
    ]


def test_shared_files_are_fetched_when_nothing_was_compiled_here(place):
    place.run()
    (place.into / "stamps" / "shared-files.json").unlink()
    (place.folder / "not-fetched").touch()
    result = place.run("cluster")
    assert result.returncode == 0, result.stderr
    assert place.builds() == ["engine", "cluster"], "and nothing is compiled for them"


def test_an_official_engine_is_not_announced(place, screen):
    place.program("pulumi", "#!/bin/sh\necho v3.260.1\n")
    assert not any("pulumi" in line.lower() for line in screen(Sources()))


def test_the_lines_fit_a_terminal(screen):
    for sources in (BUILD_ALL, Sources(), Sources("releases")):
        assert max(map(len, screen(sources))) <= WIDTH


def test_make_up_says_it_after_the_plan_and_before_it_builds(
    screen, place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def stop() -> None:
        up.say("building")
        raise up.StepFailed(4)

    monkeypatch.setattr(up, "show_plan", lambda: up.say("the plan"))
    monkeypatch.setattr(up, "local_plan", lambda: None)
    monkeypatch.setattr(up, "build_tools", stop)
    monkeypatch.setattr(up, "ROOT", place.folder)
    assert up.main() == 4
    said = capsys.readouterr().err.splitlines()
    assert said == ["the plan", *screen(BUILD_ALL), "building", "up: stopped (exit code 4)"]
    place.run()
    assert up.main() == 4
    assert capsys.readouterr().err.splitlines()[:2] == ["the plan", "building"]


def test_a_wish_that_is_none_is_left_to_the_builder(
    screen, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    monkeypatch.setenv("GPUYARD_TOOLS_FROM", "sauce")
    monkeypatch.setattr(up, "ROOT", tmp_path)
    up.announce()
    assert capsys.readouterr().err == ""
