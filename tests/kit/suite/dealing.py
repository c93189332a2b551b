"""How tests are dealt to workers: what shares a cluster stays together, and the longest comes first.

Live tests wait for clusters most of their time, so there are more workers for them than cores; units do not,
and come one by one when no live test is left. Order matters: a group of three minutes that is dealt
last is three minutes in which the other workers have nothing to do.
"""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdist.scheduler import LoadScopeScheduling

from kit.suite import live
from kit.suite.live import BY_FILE, LIVE, folder_of

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
    "tests/yard/test_policy_pack.py": "tests/yard/test_local_platform.py",
}
"""Files whose tests are one group. They would wait for each other (the control plane of the engine's tests
has room for one Kueue), deploy the same objects of kube-system, or start the same platform twice."""
ONCE = ("tests/typed/test_typed.py", "tests/wheel/test_wheel.py")
"""Files without a cluster whose tests share one dear run of a program: two workers would each have one."""
UNKNOWN = 20.0
"""Seconds of a live group that nobody has measured: early enough that it does no harm if it is a long one."""


def group_of(nodeid: str) -> str:
    """The name that tests share which one worker runs one after the other."""
    file = nodeid.partition("::")[0]
    return TOGETHER.get(file) or (file if folder_of(nodeid) in BY_FILE or file in ONCE else nodeid)


@functools.cache
def measured() -> Mapping[str, float]:
    """What each live group took last, all of its files and tests together: seconds of CPU.

    On the clock all take longer, and long ones about as much longer as short ones: the order is the same.
    """
    results: dict[str, float] = defaultdict(float)
    for name, row in live.table().items():
        results[group_of(name)] += row.seconds
    return dict(results)


def seconds_of(group: str) -> float:
    """What a group is expected to take; units count as nothing, so that they come last."""
    return measured().get(group, UNKNOWN) if folder_of(group) in LIVE else 0.0


def place_of(group: str) -> tuple[bool, float]:
    """The longest come first, but what takes little and needs no cluster comes behind all that need one."""
    seconds = seconds_of(group)
    return folder_of(group) not in BY_FILE and seconds <= UNKNOWN, -seconds


def ends_clusters(nodeid: str) -> bool:
    """Whether a test comes behind all that need a cluster of their worker: groups are dealt in that order."""
    return place_of(group_of(nodeid))[0]


def workers(arguments: list[str], cores: int) -> int:
    """How many workers `-n auto` means: where only live tests are asked for, twice the cores."""
    live = bool(arguments) and all(folder_of(f"{one.rstrip('/')}/_") in LIVE for one in arguments)
    return max(4, 2 * cores) if live else max(2, cores)


class Places(list[str]):
    """What a worker has found, each test with its place: in a list half of it is gone through for that."""

    def __init__(self, results: Iterable[str]) -> None:
        super().__init__(results)
        self._places = {nodeid: place for place, nodeid in enumerate(self)}

    def index(self, nodeid: str, *_: Any) -> int:
        return self._places[nodeid]


class LongestFirst(LoadScopeScheduling):
    """Deals groups out, the longest first.

    pytest-xdist has `--dist loadgroup` for groups; its 3.8.0 finds none under pytest 9.2, which keeps the id
    of a test elsewhere.
    """

    _in_order = False

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Keep what a worker has found so that a test's place is known at once."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Places(collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a group that is over.

        The base class counts through all that a worker ever had at each of its tests: of ten thousand groups
        that is as long as many tests are.
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
            longest = sorted(self.workqueue.items(), key=lambda one: place_of(one[0]))
            self.workqueue = OrderedDict(longest)
            self._in_order = True
        super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        """Give a worker its next group when it is down to its last test, which it starts only then.

        The base class does so two tests earlier, and a group that is dealt early waits while others are idle.
        """
        if self.workqueue and self._pending_of(self.assigned_work[node]) > 1:
            return
        super()._reschedule(node)
