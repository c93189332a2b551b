"""What the first screen says: what is about to be fetched and built, and how long that usually takes."""

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
FIRST = "Not here yet, and first, once (durations: two idle cores, nothing cached):"
LAST = "Interrupted, the same command goes on where it stopped."
BUILT_GB = 6
"""What sources, caches and binaries of everything take where all is built."""
TAKEN_GB = 1
"""What the releases take."""


def lacking(workspace: Workspace, sources: Sources) -> list[Work]:
    """What `make up` finds missing of the engine and the cluster."""
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
        steps.append(f"take {', '.join(names)} from the projects' releases, by their SHA-256")
    for work in rest:
        if work.tools:
            steps.append(f"build {work.what}: usually {clock(work.usual_seconds)}")
        elif work.shared:
            steps.append(f"copy {work.what} out of their modules")
    if coming and sources.choice == "auto":
        steps.append(f"build what cannot be reached: usually {clock(everything)} for all of it")
    messages = [line for step in steps for line in _wrapped(step)]
    return [FIRST, *messages, _room(taken=bool(coming), built=any(w.tools for w in rest)), LAST]


def _room(*, taken: bool, built: bool) -> str:
    """How much disk it takes; what comes from releases is built where they are out of reach."""
    most = f"about {BUILT_GB} GB of disk in .testbed/"
    if built or not taken:
        return f"It takes {most}, and 900 MiB of memory while it runs."
    return f"It takes {TAKEN_GB} GB of disk in .testbed/, up to {BUILT_GB} GB where it must build."


def _wrapped(step: str) -> list[str]:
    """A step in lines that fit a terminal."""
    return textwrap.wrap(
        step, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
