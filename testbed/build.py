#!/usr/bin/env python3
"""Get the tools of the test bed: `python testbed/build.py [family …]`, by default engine and cluster.

They are downloaded from the projects' own releases where those are reachable and their checksums are known,
else built. Needs only Python's standard library, so that any Python 3.11 runs it before an environment exists.
Exit codes: 0 done · 1 the build failed, or a download has a wrong checksum · 2 wrong usage · 4 the machine
lacks something · 130 interrupted.
"""

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):
    sys.path[0] = str(ROOT)  # run as a script: this folder must not shadow top-level names

from testbed.families import DEFAULT_FAMILIES, ENGINE, FAMILIES, Family  # noqa: E402 - the path is set just above
from testbed.fetching import WrongChecksum  # noqa: E402
from testbed.golang import BuildFailed, present_go  # noqa: E402
from testbed.official import Engine, choose_engine  # noqa: E402
from testbed.releases import Sources, sources_of  # noqa: E402
from testbed.work import get, missing  # noqa: E402
from testbed.workspace import Lacks, Workspace, only_one, write_whole  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parse(arguments)
    workspace = Workspace(options.into.resolve())
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        if options.print_env:
            print(environment_text(workspace), end="")
            return 0
        expected = [FAMILIES[name] for name in options.families or DEFAULT_FAMILIES]
        return build(expected, workspace, options.sources)
    except (Lacks, BuildFailed, WrongChecksum) as problem:
        print(f"testbed: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("\ntestbed: interrupted; run the same command again to continue.", file=sys.stderr)
        return 130


def build(expected: Sequence[Family], workspace: Workspace, sources: Sources) -> int:
    """Bring the requested families up to date."""
    engine = choose_engine(workspace.bin)
    families = [family for family in expected if family is not ENGINE or engine.source == "built"]
    if ENGINE in expected and engine.source == "official":
        print(f"engine: using the official {engine.path}, nothing to build", file=sys.stderr)
    go = present_go(workspace)
    if not missing(families, workspace, go, sources):
        _record(workspace, engine)
        print(
            f"All tools are installed: {', '.join(family.name for family in expected)} in {workspace.bin}",
            file=sys.stderr,
        )
        return 0
    with only_one(workspace.folder):
        workspace.prepare()
        try:
            # Another run may have built them while we waited.
            get(missing(families, workspace, go, sources), workspace, sources)
        finally:  # what was finished before an interruption counts
            _record(workspace, engine)
            shutil.rmtree(workspace.partial, ignore_errors=True)
    return 0


def _record(workspace: Workspace, engine: Engine) -> None:
    """Write `tools.json` for other programs; rewritten only when it would change."""
    tools = {
        tool.name: {"path": str(workspace.bin / tool.name), "source": workspace.come_by(tool)}
        for family in FAMILIES.values()
        for tool in family.tools
        if (workspace.bin / tool.name).is_file()
    }
    if engine.source == "official":
        tools["pulumi"] = {"path": str(engine.path), "source": "official"}
    text = json.dumps(tools, indent=2, sort_keys=True) + "\n"
    path = workspace.folder / "tools.json"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_whole(path, text)


def environment_text(workspace: Workspace) -> str:
    """Lines a shell can read: where the tools are and which engine is used.

    With an official engine its own folder stays first on PATH, and gpuyard's plugins are not named.
    """
    engine = choose_engine(workspace.bin)
    folders = [str(workspace.bin)]
    if engine.needs_our_plugins:
        folders.append(str(ROOT / "testbed" / "plugins" / "bin"))
    else:
        folders.insert(0, str(engine.path.parent))
    return (
        f"GPUYARD_TOOLS={workspace.bin}\n"
        f"GPUYARD_ENGINE={engine.source}\n"
        f"GPUYARD_PULUMI={engine.path}\n"
        f"GPUYARD_TOOL_PATH={os.pathsep.join(folders)}\n"
    )


def _as_interrupt(_signal: int, _frame: object) -> None:
    """End on SIGTERM as on Ctrl-C: stop the compiler and print how to continue."""
    raise KeyboardInterrupt


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="testbed/build.py",
        description="Install the tools of the test bed: download releases, build what has none.",
        epilog="GPUYARD_TOOLS_FROM: auto (default), source (build all), releases (never build a tool that has one)."
        " GPUYARD_TOOLS_MIRROR: download from <mirror>/<host>/<path> instead of https://<host>/<path>.",
    )
    lines = "; ".join(f"{family.name}: {family.about}" for family in FAMILIES.values())
    parser.add_argument("families", nargs="*", metavar="family", help=lines)
    parser.add_argument(
        "--into",
        type=Path,
        default=ROOT / ".testbed",
        help="folder of the tools (default: .testbed)",
    )
    parser.add_argument(
        "--print-env", action="store_true", help="print the paths of the tools as NAME=value lines"
    )
    options = parser.parse_args(arguments)
    try:
        options.sources = sources_of(os.environ)
    except ValueError as problem:
        parser.error(str(problem))
    if unknown := [name for name in options.families if name not in FAMILIES]:
        parser.error(f"no family named {unknown[0]}; available: {', '.join(FAMILIES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
