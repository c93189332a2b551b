"""The control plane of these tests is whole when they begin, whoever else starts one at that moment."""

import os
from pathlib import Path

import control_plane
import pytest
from control_plane import NAME, TRIES, shared

pytestmark = pytest.mark.always

KWOKCTL = """#!/bin/sh
echo "$2" >>{said}
pids=$KWOK_WORKDIR/clusters/{name}/pids
case $2 in
create)
  mkdir -p "$pids"
  [ "$(grep -c create {said})" -gt {lost} ] && {{ echo {alive} >"$pids/etcd.pid"; exit; }}
  echo {pid} >"$pids/kube-controller-manager.pid"
  {then} ;;
delete) rm -rf "$pids" ;;
esac
"""
"""As kwokctl where a part finds its port taken. Its id is above any that there is."""
WELL, WRONG, WAITS = "exit 0", "exit 1", "exec sleep 600"
"""What it makes of that: nothing, for some parts; or it waits for the others to be ready, and gives up."""
GONE = 4194304


@pytest.fixture
def began(tmp_path):
    """Start and end it, with a part that is lost at so many starts; what kwokctl was asked for."""
    said = tmp_path / "said"

    def run(lost: int, then: str = WELL, pid: object = GONE) -> list[str]:
        tool = tmp_path / "kwokctl"
        alive = os.getpid()
        text = KWOKCTL.format(said=said, name=NAME, lost=lost, alive=alive, pid=pid, then=then)
        tool.write_text(text)
        tool.chmod(0o755)
        with shared(tmp_path, tmp_path / "home") as kubeconfig:
            assert isinstance(kubeconfig, Path)
        return said.read_text().split()

    return run


@pytest.mark.parametrize(
    ("then", "pid"), [(WELL, GONE), (WRONG, GONE), (WRONG, "$$"), (WAITS, GONE)]
)
def test_a_control_plane_that_lost_a_part_is_started_anew(began, monkeypatch, then, pid):
    monkeypatch.setattr(control_plane, "LOST_SECONDS", 0.1)
    assert began(2, then, pid) == ["create", "delete"] * 2 + ["create", "scale", "delete"]


def test_a_part_that_is_lost_each_time_is_named(began):
    with pytest.raises(
        AssertionError, match=f"kube-controller-manager ended at each of {TRIES} st"
    ):
        began(lost=TRIES)


def test_after_a_start_in_vain_the_next_to_ask_tries_anew(began):
    with pytest.raises(AssertionError, match="kwokctl ended at each"):
        began(TRIES, WRONG, "")
    assert began(lost=0)[-3:] == ["create", "scale", "delete"]
