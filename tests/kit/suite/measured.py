"""Rewrites tests/kit/suite/live.txt from a run of all live tests.

    mkdir /tmp/rows && GPUYARD_TURN=all GPUYARD_SECONDS=/tmp/rows make test
    make turns FOLDER=/tmp/rows

The mark `always` is kept: it is set manually (docs/decisions/0072-live-tests-in-turns.md). New tests are
marked `turn`, and printed. Outdated values only make turns uneven and start long tests later than
they should.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kit.suite import live, turns
from kit.suite.live import LIVE, folder_of

WORDS = """\
# Last measurement of live tests: seconds of CPU, whether every run has them, and their name.
# Written by `make turns`; `always` is set manually.
"""


def measured(parts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds of CPU by name, clusters and programs included."""
    results: dict[str, float] = defaultdict(float)
    for part in parts:
        for nodeid, _, spent in part["rows"]:
            if folder_of(nodeid) in LIVE:
                results[live.name_of(nodeid)] += spent["own"] + spent["children"]
    return dict(results)


def written(seconds: Mapping[str, float], before: live.Table) -> str:
    """The file, the most expensive first."""
    lines = []
    for name, spent in sorted(seconds.items(), key=lambda each: (-round(each[1], 1), each[0])):
        when = "always" if name in before and before[name].always else "turn"
        lines.append(f"{spent:7.1f} {when:6} {name}\n")
    return WORDS + "".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Read every file of the folder, and write the table."""
    if len(arguments) != 1 or not (folder := Path(arguments[0])).is_dir():
        print("turns: name the folder that GPUYARD_SECONDS named", file=sys.stderr)
        return 2
    parts = [
        each
        for path in sorted(folder.glob("*.json"))
        for each in json.loads(path.read_text("utf-8"))
    ]
    seconds = measured(parts)
    if not seconds:
        print(f"turns: no live test in {folder}", file=sys.stderr)
        return 1
    before = live.table()
    live.TABLE.write_text(written(seconds, before), encoding="utf-8")
    for name in sorted(seconds.keys() - before.keys()):
        print(f"new, in turns: {name}")
    for name in sorted(before.keys() - seconds.keys()):
        print(f"no more: {name}")
    print(turns.words(1, live.read(live.TABLE.read_text("utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
