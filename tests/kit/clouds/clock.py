"""A clock that stands until somebody sleeps by it."""

from testbed.plugins.cloud.motion.pace import Clock


class Hand(Clock):
    """Seconds that are told; every sleep is written down."""

    def __init__(self, now: float = 1000.0) -> None:
        self.at = now
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
