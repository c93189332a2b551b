"""A clock that only advances when it sleeps."""

from testbed.plugins.cloud.motion.pace import Clock


class Hand(Clock):
    """A manual clock; it records every sleep."""

    def __init__(self, now: float = 1000.0) -> None:
        self.at = now
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
