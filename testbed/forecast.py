"""The first screen: what is downloaded and built, and how long that usually takes."""

import textwrap
from collections.abc import Sequence

from testbed.families import DEFAULT_FAMILIES, ENGINE, FAMILIES
from testbed.golang import present_go
from testbed.official import choose_engine
from testbed.progress import clock
from testbed.releases import Sources
from testbed.work import Work, missing
from testbed.workspace import Workspace

WIDTH = 80
FIRST = "First, once, the missing tools (durations: two idle cores, nothing cached):"
LAST = "If interrupted, run the same command again to continue."
BUILT_GB = 6
"""Size of sources, caches and binaries where everything is built."""
TAKEN_GB = 1
"""Size of the releases."""


def lacking(workspace: Workspace, sources: Sources) -> list[Work]:
    """The missing tools that `make up` needs for engine and cluster."""
    families = [FAMILIES[name] for name in DEFAULT_FAMILIES]
    if choose_engine(workspace.bin).source == "official":
        families.remove(ENGINE)
    return missing(families, workspace, present_go(workspace), sources)


def forecast(works: Sequence[Work], sources: Sources) -> list[str]:
    """The steps and their usual durations; no lines at all when nothing is missing."""
    if not works:
        return []
    coming = {
        name
        for work in works
        for download in sources.downloads(work.tools)
        for name, _ in download.programs
    }
    everything = sum(work.usual_seconds for work in works)
    rest = [work.only(lambda tool: tool.name not in coming) for work in works]
    steps = []
    if coming:
        names = [tool.name for work in works for tool in work.tools if tool.name in coming]
        steps.append(
            f"download {', '.join(names)} from the projects' releases, verified by SHA-256"
        )
    for work in rest:
        if work.tools:
            steps.append(f"build {work.what}: usually {clock(work.usual_seconds)}")
        elif work.shared:
            steps.append(f"copy {work.what} from their modules")
    if coming and sources.choice == "auto":
        steps.append(
            f"build tools whose release cannot be reached: usually {clock(everything)} for all of it"
        )
    messages = [line for step in steps for line in _wrapped(step)]
    return [FIRST, *messages, _room(taken=bool(coming), built=any(w.tools for w in rest)), LAST]


def _room(*, taken: bool, built: bool) -> str:
    """Disk space; releases that cannot be reached are built."""
    most = f"about {BUILT_GB} GB of disk in .testbed/"
    if built or not taken:
        return f"It needs {most}, and 900 MiB of memory while it runs."
    return f"It needs {TAKEN_GB} GB of disk in .testbed/, up to {BUILT_GB} GB if it must build."


def _wrapped(step: str) -> list[str]:
    """A step in lines that fit a terminal."""
    return textwrap.wrap(
        step, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
