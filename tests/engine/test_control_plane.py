"""The control plane of these tests is whole when they begin, whoever else starts one at that moment."""

import os
from pathlib import Path

import pytest
from control_plane import NAME, TRIES, shared

KWOKCTL = """#!/bin/sh
echo "$2" >>{said}
pids=$KWOK_WORKDIR/clusters/{name}/pids
case $2 in
create)
  mkdir -p "$pids"
  [ "$(grep -c create {said})" -gt {lost} ] && pid={alive} || pid=4194304
  echo "$pid" >"$pids/kube-controller-manager.pid" ;;
delete) rm -rf "$pids" ;;
esac
"""
"""As kwokctl where a part finds its port taken: all is well. The id is above any that there is."""


@pytest.fixture
def began(tmp_path):
    """Start and end it, with a part that is lost at so many starts; what kwokctl was asked for."""
    said = tmp_path / "said"

    def run(lost: int) -> list[str]:
        tool = tmp_path / "kwokctl"
        tool.write_text(KWOKCTL.format(said=said, name=NAME, lost=lost, alive=os.getpid()))
        tool.chmod(0o755)
        with shared(tmp_path, tmp_path / "home") as kubeconfig:
            assert isinstance(kubeconfig, Path)
        return said.read_text().split()

    return run


def test_a_control_plane_that_lost_a_part_is_started_anew(began):
    assert began(lost=2) == ["create", "delete"] * 2 + ["create", "scale", "delete"]


def test_a_part_that_is_lost_each_time_is_named(began):
    with pytest.raises(
        AssertionError, match=f"kube-controller-manager ended at each of {TRIES} st"
    ):
        began(lost=TRIES)
