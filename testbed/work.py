"""Missing tools of the requested families: download releases, build the others."""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import shared_files
from testbed.families import Family, Tool, module_versions
from testbed.fetching import Fetching, answering
from testbed.golang import Go, fetch_go, present_go
from testbed.progress import Progress
from testbed.releases import Download, Sources
from testbed.workspace import Lacks, Stamp, Workspace, check_disk, inputs_of


@dataclass(frozen=True, slots=True)
class Work:
    """What one family lacks: tools that are missing or outdated, and its shared files."""

    family: Family
    tools: tuple[Tool, ...]
    shared: bool

    @property
    def what(self) -> str:
        """The family and its description, or the affected tools."""
        is_complete = self.tools == self.family.tools
        names = self.family.about if is_complete else ", ".join(tool.name for tool in self.tools)
        return f"{self.family.name} ({names or 'its shared files'})"

    @property
    def usual_seconds(self) -> int:
        """Maximum usual build time: most tools of a family share what it compiles."""
        return self.family.usual_seconds if self.tools else 0

    def only(self, keep: Callable[[Tool], bool]) -> "Work":
        """The same with fewer tools."""
        return Work(self.family, tuple(tool for tool in self.tools if keep(tool)), self.shared)


def missing(
    families: Iterable[Family], workspace: Workspace, go: Go | None, sources: Sources
) -> list[Work]:
    """Tools to download or build, by family; empty when nothing is missing."""
    results = []
    for family in families:
        inputs = inputs_of(family)
        tools = tuple(
            tool for tool in family.tools if not _fresh(tool, inputs, workspace, go, sources)
        )
        shared = not shared_files.are_fresh(workspace, family, inputs)
        if tools or shared:
            results.append(Work(family, tools, shared))
    return results


def _fresh(tool: Tool, inputs: str, workspace: Workspace, go: Go | None, sources: Sources) -> bool:
    """Whether the program exists and was installed in a permitted way."""
    offers = sources.downloads([tool])
    if any(workspace.is_fresh(tool, offer.stamp, None) for offer in offers):
        return True
    if offers and sources.choice == "releases":
        return False
    return workspace.is_fresh(tool, inputs, go.version if go else None)


def get(lacking: Sequence[Work], workspace: Workspace, sources: Sources) -> None:
    """Download available releases and build the rest meanwhile; then build what could not be downloaded.

    Raises:
        WrongChecksum: a file differs from its pinned checksum.
    """
    downloads = _answered(sources, [d for work in lacking for d in sources.downloads(work.tools)])
    coming = {name for download in downloads for name, _ in download.programs}
    with Fetching(downloads, workspace, sources.mirror) as fetching:
        _build(_part(lacking, lambda tool: tool.name not in coming), workspace, fetching.check)
        dropped = _finished(fetching, sources)
    _build(
        _part(lacking, lambda tool: tool.name in dropped, shared=False), workspace, fetching.check
    )


def _answered(sources: Sources, downloads: Sequence[Download]) -> Sequence[Download]:
    """Downloads whose hosts answer; one line reports the others."""
    answered, silent = answering(downloads, sources.mirror)
    if silent:
        reasons = "; ".join(f"{', '.join(hosts)}: {why}" for why, hosts in silent.items())
        if sources.choice == "releases":
            raise Lacks(
                f"Releases cannot be downloaded here ({reasons}), and GPUYARD_TOOLS_FROM=releases"
                " forbids building instead; set GPUYARD_TOOLS_MIRROR to a mirror, or use auto."
            )
        print(
            f"Releases cannot be downloaded here ({reasons}); building from source instead.",
            file=sys.stderr,
        )
    return answered


def _finished(fetching: Fetching, sources: Sources) -> Collection[str]:
    """Names of tools whose download failed; a line reports each."""
    if not fetching.downloads:
        return ()
    progress = Progress("releases", None)
    dropped = fetching.finish(progress.show)
    for name, why in dropped.items():
        if sources.choice == "releases":
            raise Lacks(
                f"The release of {name} could not be downloaded: {why}; run the same command again."
            )
        print(f"{name}: its release could not be downloaded ({why}); building it", file=sys.stderr)
    return dropped


def _part(
    lacking: Iterable[Work], keep: Callable[[Tool], bool], *, shared: bool = True
) -> list[Work]:
    """The work for these tools only; families without any are dropped."""
    parts = [work.only(keep) for work in lacking]
    return [part for part in parts if part.tools or (part.shared and shared)]


def _build(lacking: Sequence[Work], workspace: Workspace, check: Callable[[], None]) -> None:
    """Compile family by family, while the modules of the next one are downloaded."""
    if not lacking:
        return
    go = present_go(workspace) or fetch_go(workspace)
    check_disk([workspace.folder, *go.caches()], [work.family for work in lacking if work.tools])
    for number, work in enumerate(lacking):
        with contextlib.ExitStack() as meanwhile:
            for following in lacking[number + 1 : number + 2]:
                family, packages = following.family, following.family.packages(following.tools)
                meanwhile.enter_context(
                    go.fetching_modules(family.folder, family.build_tags(), packages)
                )
            _build_family(work, workspace, go, check)


def _build_family(work: Work, workspace: Workspace, go: Go, check: Callable[[], None]) -> None:
    """Compile tools of one family into a separate folder, then move the programs into place."""
    family = work.family
    inputs = inputs_of(family)
    progress = Progress(work.what, work.usual_seconds)

    def heard(lines: Sequence[str]) -> None:
        check()
        progress.show(describe(lines))

    target = workspace.partial / family.name
    if work.tools:
        folder = with_added_files(go, family, workspace.partial) if family.added else family.folder
        go.install(folder, family.install_flags(), family.packages(work.tools), target, heard)
    for tool in work.tools:
        created = target / tool.built_as
        size = created.stat().st_size
        created.replace(workspace.bin / tool.name)
        workspace.write_stamp(tool.name, Stamp(inputs, go.version, size))
    left_out = shared_files.take_files(go, workspace, family, inputs) if work.shared else ()
    progress.done(f"{len(work.tools)} built")
    for what in left_out:
        print(f"{family.name}: could not copy {what}", file=sys.stderr)


def with_added_files(go: Go, family: Family, partial: Path) -> Path:
    """A copy of a family's folder in which the module of its first tool has the added files."""
    package = family.packages(family.tools)[0]
    module = package.partition("/cmd/")[0]
    version = module_versions((family.folder / "go.mod").read_text(encoding="utf-8"))[module]
    folder = partial / f"{family.name}-module"
    shutil.copytree(family.folder, folder)
    answer = go.answer(["mod", "download", "-json", f"{module}@{version}"], folder)
    source = json.loads(answer)["Dir"]
    shutil.copytree(source, folder / "source", copy_function=shutil.copyfile)
    for path in (folder / "source", *(folder / "source").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for name in family.added:
        file = folder / "source" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("<!doctype html><p>No web pages here: use amtool or /api/v2.\n")
    with (folder / "go.mod").open("a", encoding="utf-8") as go_mod:
        go_mod.write(f"\nreplace {module} => ./source\n")
    return folder


def describe(lines: Sequence[str]) -> str:
    """Go's current activity, from its output so far, so that the wait shows progress."""
    fetched = sum(line.startswith("go: downloading") for line in lines)
    compiled = sum(1 for line in lines if line and not line.startswith("go: "))
    now = lines[-1].removeprefix("go: ") if lines else "starting"
    return f"{fetched} modules downloaded, {compiled} packages compiled, now {now}"
