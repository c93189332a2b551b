"""A missing level is skipped visibly, and fails if it is required."""

import os
from types import SimpleNamespace

import pytest

from kit import levels


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("GPUYARD_REQUIRE", "GPUYARD_UPSTREAM", "CI"):
        monkeypatch.delenv(name, raising=False)


def test_an_available_level_goes_on(monkeypatch):
    monkeypatch.setenv("GPUYARD_REQUIRE", "engine")
    levels.require_level("engine", True, "never asked")


def test_a_missing_level_is_skipped_with_its_reason():
    with pytest.raises(pytest.skip.Exception, match="engine not available: no pulumi"):
        levels.require_level("engine", None, "no pulumi")


def test_a_missing_level_that_was_promised_fails(monkeypatch):
    monkeypatch.setenv("GPUYARD_REQUIRE", "engine, cluster")
    with pytest.raises(pytest.fail.Exception, match=r"required by GPUYARD_REQUIRE.*no etcd"):
        levels.require_level("cluster", False, "no etcd")


def test_a_level_that_was_not_promised_is_skipped(monkeypatch):
    monkeypatch.setenv("GPUYARD_REQUIRE", "engine")
    with pytest.raises(pytest.skip.Exception):
        levels.require_level("gpu", False, "no device")


def test_an_unknown_level_is_an_error_of_use(monkeypatch):
    with pytest.raises(pytest.UsageError, match="engine, cluster, gpu, browser"):
        levels.require_level("motor", True, "")
    monkeypatch.setenv("GPUYARD_REQUIRE", "engines")
    with pytest.raises(
        pytest.UsageError, match="names engines; allowed: engine, cluster, gpu, browser, upstream"
    ):
        levels.required_levels()


@pytest.mark.parametrize(
    ("marker", "asked", "timed"),
    [(None, None, False), ("its own", None, True), (None, 7200.0, True)],
)
def test_a_test_that_is_given_hours_is_not_held_to_half_of_one(marker, asked, timed):
    """Campaigns are started with `--timeout 7200`, which a marker would override."""
    given = {"timeout": asked}
    config = SimpleNamespace(getoption=given.get)
    item = SimpleNamespace(get_closest_marker={"timeout": marker}.get, config=config)
    assert levels.is_timed(item) is timed


def test_an_upstream_file_is_found(monkeypatch, tmp_path):
    (tmp_path / "crds").mkdir()
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path))
    assert levels.upstream("crds") == tmp_path / "crds"
    assert levels.upstream() == tmp_path


def test_an_upstream_file_missing_from_the_folder_given_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match=r"no crds/kueue\.yaml in GPUYARD_UPSTREAM="):
        levels.upstream("crds", "kueue.yaml")


def test_without_upstream_a_test_skips_and_fails_where_it_was_promised(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match="needs upstream file crds: set GPUYARD_UPST"):
        levels.upstream("crds")
    monkeypatch.setenv("GPUYARD_REQUIRE", "engine,upstream")
    with pytest.raises(pytest.fail.Exception, match="needs upstream file crds"):
        levels.upstream("crds")


def test_a_test_in_this_folder_is_a_unit_test(request):
    assert request.node.get_closest_marker("unit")


@pytest.mark.engine
def test_a_marked_test_has_its_level_and_its_time(request):
    assert not request.node.get_closest_marker("unit")
    assert request.node.get_closest_marker("timeout").args == (1800,)


def test_a_golden_file_is_compared_and_not_written(golden, tmp_path, monkeypatch):
    monkeypatch.delenv("GPUYARD_GOLDEN", raising=False)
    path = tmp_path / "a" / "plan.yaml"
    with pytest.raises(pytest.fail.Exception, match="make golden"):
        golden(path, "x\n")
    assert not path.parent.exists()
    monkeypatch.setitem(os.environ, "GPUYARD_GOLDEN", "write")
    golden(path, "x\n")
    monkeypatch.delenv("GPUYARD_GOLDEN")
    golden(path, "x\n")
    with pytest.raises(AssertionError, match="differs"):
        golden(path, "y\n")
