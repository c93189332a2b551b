"""Live tests, which need a cluster or an engine: their folders, and their distribution to workers.

`make test` runs those marked `always`, `make test-all` runs all (docs/decisions/0081-two-sets-of-live-tests.md).

Live tests mostly wait for clusters, so they get more workers than there are cores. Tests that share a cluster run
on one worker, and the longest groups start first: a group of three minutes that starts last leaves the other
workers idle for three minutes. Unit tests are distributed one by one.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from xdist.scheduler import LoadScopeScheduling

BY_FILE = ("cluster", "yard")
"""Folders whose files prepare one cluster for all of their tests; elsewhere each test is independent."""
LIVE = (*BY_FILE, "engine")
TOGETHER = {
    "tests/engine/clouds/test_twice.py": "tests/engine/test_ways_out.py",
    "tests/engine/clouds/test_up.py": "tests/engine/test_ways_out.py",
    "tests/engine/test_kept_teams.py": "tests/engine/test_ways_out.py",
    "tests/engine/test_kueue_chart.py": "tests/engine/test_ways_out.py",
    "tests/engine/test_recover.py": "tests/engine/test_ways_out.py",
    "tests/engine/test_ways_out.py": "tests/engine/test_ways_out.py",
    "tests/yard/test_engine_judgements.py": "tests/yard/test_local_platform.py",
    "tests/yard/test_interruption.py": "tests/yard/test_local_platform.py",
    "tests/yard/test_layouts.py": "tests/yard/test_local_platform.py",
    "tests/yard/test_local_platform.py": "tests/yard/test_local_platform.py",
    "tests/yard/test_policy_pack.py": "tests/yard/test_local_platform.py",
}
"""Files whose tests are one group. They would wait for each other (the control plane of the engine's tests
can run one Kueue), deploy the same objects of kube-system, or start the same platform twice."""
ONCE = ("tests/typed/test_typed.py", "tests/wheel/test_release.py", "tests/wheel/test_wheel.py")
"""Files without a cluster whose tests share one slow run of a program: two workers would each run it."""


def folder_of(nodeid: str) -> str:
    """The folder below tests/ of a test."""
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "tests" else ""


def group_of(nodeid: str) -> str:
    """The name of the group of tests that one worker runs in sequence."""
    file = nodeid.partition("::")[0]
    return TOGETHER.get(file) or (file if folder_of(nodeid) in BY_FILE or file in ONCE else nodeid)


def rank_of(group: str) -> int:
    """0 for groups of several files, which take longest, 1 for files with a cluster, 2 for all others."""
    return 0 if group in TOGETHER.values() else 1 if folder_of(group) in BY_FILE else 2


def ends_clusters(nodeid: str) -> bool:
    """Whether a test comes after all that need a cluster of their worker: groups are distributed in that order."""
    return rank_of(group_of(nodeid)) == 2


def workers(arguments: list[str], cores: int) -> int:
    """The number of workers for `-n auto`: for only live tests, twice the cores."""
    live = bool(arguments) and all(folder_of(f"{one.rstrip('/')}/_") in LIVE for one in arguments)
    return max(4, 2 * cores) if live else max(2, cores)


class Places(list[str]):
    """The tests of a worker with an index for each: a list search would scan half of it on average."""

    def __init__(self, results: Iterable[str]) -> None:
        super().__init__(results)
        self._places = {nodeid: place for place, nodeid in enumerate(self)}

    def index(self, nodeid: str, *_: Any) -> int:
        return self._places[nodeid]


class LongestFirst(LoadScopeScheduling):
    """Distributes groups, the longest first.

    pytest-xdist has `--dist loadgroup` for groups; its 3.8.0 finds none under pytest 9.2, which stores the id
    of a test elsewhere.
    """

    _in_order = False

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Store a worker's tests with an index."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Places(collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Drop a finished group.

        The base class iterates over all groups of a worker after each of its tests: with ten thousand groups that
        takes as long as many tests.
        """
        nodeid = self.registered_collections[node][item_index]
        mine, group = self.assigned_work[node], group_of(nodeid)
        mine[group][nodeid] = True
        if all(mine[group].values()):
            del mine[group]
        self._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if not self._in_order:
            longest = sorted(self.workqueue.items(), key=lambda one: rank_of(one[0]))
            self.workqueue = OrderedDict(longest)
            self._in_order = True
        super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        """Give a worker its next group when it is down to its last test, which it starts only then.

        The base class does so two tests earlier, and a group that is assigned early waits while others are idle.
        """
        if self.workqueue and self._pending_of(self.assigned_work[node]) > 1:
            return
        super()._reschedule(node)
