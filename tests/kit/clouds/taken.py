"""A node of the simulated cluster that a fake cloud interrupts by schedule during a test."""

import time
from collections.abc import Mapping
from typing import Any

from testbed.plugins.cloud.inside.joining import GROUP, NODES
from testbed.plugins.cloud.motion import interrupting
from testbed.plugins.cloud.motion.interrupting import Progress
from testbed.plugins.cloud.motion.notices import NOTICES, PREEMPTION, SPOT
from testbed.plugins.cloud.motion.schedule import Interruption, Schedule

from gpuyard_simulate.api import Api
from kit import waiting

FACTORS: Mapping[str, float] = {SPOT: 0.1, PREEMPTION: 0.4}
"""Twelve seconds each from the notice until the machine is gone: long enough for pods to end before it."""
_BOUGHT = {
    SPOT: {"eks.amazonaws.com/capacityType": "SPOT"},
    PREEMPTION: {"cloud.google.com/gke-spot": "true"},
}


class Machine:
    """The node is in a separate group from the notice on, so that the schedule selects it."""

    def __init__(self, api: Api, node: str, notice: str) -> None:
        self._api, self._path = api, f"{NODES}/{node}"
        self._cloud = NOTICES[notice].cloud
        group = f"groups/{node}/"
        was: dict[str, Any] = api.call("GET", self._path)
        retained = {key: was["metadata"].get(key) or {} for key in ("labels", "annotations")}
        self._again = {**was, "metadata": {"name": node, **retained}}
        mine = {"annotations": {GROUP: group}, "labels": _BOUGHT[notice]}
        api.patch(self._path, {"metadata": mine})
        one = Interruption(0, group, notice)
        self._schedule = Schedule(time.time(), (one,), factor=FACTORS[notice])
        self._progress: Progress = {}
        self.look()

    def look(self) -> bool:
        """Perform what is due; returns whether it is gone."""
        now = time.time()
        interrupting.let_pass(self._api, self._cloud, self._schedule, self._progress, now)
        return [stage for stage, _ in self._progress.values()] == [interrupting.GONE]

    def comes_again(self) -> None:
        """Start a replacement with the same name, once this machine is gone."""
        waiting.until(self.look, what=f"{self._path} to be gone")
        assert self._api.get(self._path) is None
        self._api.call("POST", NODES, self._again)
