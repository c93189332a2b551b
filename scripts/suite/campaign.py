"""Long random searches and repeated fault injections, of which `make test` runs a small fixed sample.

    make campaign                                  lists the campaigns
    make campaign NAME=mutations                   runs one
    make campaign NAME=mutations COUNT=500 SEED=2  with another count and seed
    make campaign NAME=all                         runs all, one after the other; hours

benchmarks/campaigns.md has the last result of each, with its date. The exit code is that of the first failure.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Run:
    """A campaign's process: arguments of python, and environment variables."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Campaign:
    """One search, its default count, and its requirements."""

    says: str
    count: int
    unit: str
    make: Callable[[int, int], Run | list[Run]]
    """From the count and the seed."""
    needs: str = ""
    """Required test levels; without them the campaign fails instead of skipping."""


def pytest(*places: str, needs: str = "", **environment: object) -> Run:
    """Tests at these paths, with environment variables; "" removes one."""
    inputs = {name: str(value) for name, value in environment.items()}
    if needs:
        inputs["GPUYARD_REQUIRE"] = needs
    return Run((*PYTEST, *places), inputs)


LIVE = "engine,cluster"
ON_REAL_PARTS = ("tests/cluster", "tests/engine", "tests/yard")
PROPERTIES = "hypothesis and not engine and not cluster and not gpu"
"""Without `CI` examples differ each time, and a failed one is tried first the next time."""

CAMPAIGNS: Mapping[str, Campaign] = {
    "mutations": Campaign(
        "broken stack files, each reported with path and reason",
        100_000,
        "files",
        lambda count, seed: pytest(
            "tests/cli/test_mutated_stacks.py", "-n", "2",
            GPUYARD_MUTATIONS=f"{seed * count}:{(seed + 1) * count}",
        ),
    ),
    "properties": Campaign(
        "every property, with so many times the examples of `make test`, different each time",
        20,
        "times the examples",
        lambda count, seed: pytest(
            "tests", "-n", "2", "--timeout", "3600", "-m", PROPERTIES, "--hypothesis-seed", str(seed),
            CI="", GPUYARD_TIMES=count,
        ),
    ),
    "graphs": Campaign(
        "machines in any configuration at AWS and Google; a finding rejects it, or every check of graphs accepts it",
        5000,
        "platforms",
        lambda count, seed: pytest(
            "tests/testbed/cloud/test_any_graph.py", "-n", "2", "--timeout", "3600",
            GPUYARD_GRAPHS=f"{seed * count}:{(seed + 1) * count}",
        ),
    ),
    "limits": Campaign(
        "files as large as the linter reads, each processed in bounded time and memory",
        1,
        "rounds",
        lambda _, __: pytest(
            "tests/cli/commands/linting/test_lint_hostile.py", "-k", "at_the_limit", GPUYARD_LIMITS="whole"
        ),
    ),
    "accidents": Campaign(
        "`up` and `destroy` interrupted and killed; the next run converges without duplicates",
        20,
        "accidents",
        lambda count, _: pytest("tests/yard/test_interruption.py", needs=LIVE, GPUYARD_SEEDS=count),
        LIVE,
    ),
    "kills": Campaign(
        "the engine killed at random steps of a program",
        20,
        "kills",
        lambda count, _: pytest(
            "tests/engine/test_engine.py", "-k", "killed_at_random",
            needs=LIVE, GPUYARD_SEEDS=count,
        ),
        LIVE,
    ),
    "live": Campaign(
        "every test on real parts; required for a release",
        1,
        "rounds",
        lambda count, _: [pytest(*ON_REAL_PARTS, "-n", "auto", needs=LIVE)] * count,
        LIVE,
    ),
    "stutter": Campaign(
        "cluster tests while parts of their clusters pause; tests that measure time fail, rightly",
        1,
        "rounds",
        lambda count, seed: [
            pytest("tests/cluster", needs=LIVE, GPUYARD_STUTTER=each)
            for each in range(seed, seed + count)
        ],
        LIVE,
    ),
    "reality": Campaign(
        "`gpuyard explain` against a real Kueue and scheduler on generated platforms",
        30,
        "platforms",
        lambda count, seed: pytest(
            "tests/cluster/explained/test_explain_reality.py", "--timeout", "7200",
            needs=LIVE, GPUYARD_REALITY=f"{seed * count}:{(seed + 1) * count}",
        ),
        LIVE,
    ),
    "walks": Campaign(
        "from one stack to another and back on a real API server; the next `up` can apply every change",
        100,
        "stacks",
        lambda count, seed: pytest(
            "tests/cluster/test_walks.py", "--timeout", "7200",
            needs=LIVE, GPUYARD_WALKS=f"{seed * count}:{(seed + 1) * count}",
        ),
        LIVE,
    ),
    "hostile": Campaign(
        "three teams with random attacks; every GPU in use is counted by a queue",
        3600,
        "seconds",
        lambda count, seed: pytest(
            "tests/cluster/admission/test_hostile.py", "-s", needs=LIVE, GPUYARD_HOSTILE=f"{count}:{seed}"
        ),
        LIVE,
    ),
    "notices": Campaign(
        "nodes that disappear under gangs at random times; each gang stops whole, queues again and completes",
        100,
        "notices",
        lambda count, seed: pytest(
            "tests/cluster/simulated/test_interruption.py", "-s", "-n", "0", "--timeout", "7200",
            needs=LIVE, GPUYARD_NOTICES=f"{count}:{seed}",
        ),
        LIVE,
    ),
    "queues": Campaign(
        "jobs of two public traces through a real Kueue and kube-scheduler, and the replay of the same jobs",
        1000,
        "jobs of each",
        lambda count, _: Run(("benchmarks/whatif_live.py", "--jobs", str(count)), {}),
        LIVE,
    ),
    "karpenter": Campaign(
        "a real Karpenter: nodes as predicted and explained, kept, and no gang disturbed for so long",
        30,
        "minutes",
        lambda count, _: pytest(
            "tests/cluster/simulated/test_karpenter.py", "tests/cluster/simulated/test_karpenter_nodes.py",
            "tests/cluster/simulated/test_karpenter_moves.py",
            "tests/cluster/simulated/test_karpenter_explained.py",
            "-s", "-n", "0", "--timeout", "7200", needs=LIVE,
            GPUYARD_KARPENTER_MINUTES=count, GPUYARD_KARPENTER_NODES=250,
            GPUYARD_KARPENTER=os.environ.get("GPUYARD_KARPENTER", ".testbed/bin/karpenter"),
        ),
        LIVE,
    ),
    "jobset": Campaign(
        "a JobSet that loses a node in each of four ways, then `notices` to JobSets and Jobs together",
        100,
        "notices",
        lambda count, seed: pytest(
            "tests/cluster/simulated/test_jobset.py", "-s", "-n", "0", "--timeout", "7200", needs=LIVE,
            GPUYARD_NOTICES=f"{count}:{seed}",
        ),
        LIVE,
    ),
    "snapshots": Campaign(
        "machines with strange values, each with a verdict",
        100_000,
        "snapshots",
        lambda count, seed: pytest(
            "tests/validator/test_documents.py", "-k", "mutilated", "--timeout", "7200",
            GPUYARD_SNAPSHOTS=f"{seed * count}:{(seed + 1) * count}",
        ),
    ),
}  # fmt: skip


def listed() -> str:
    """All campaigns, one line each."""
    wide = max(map(len, CAMPAIGNS))
    lines = [
        f"  {name:{wide}}  {each.count:,} {each.unit}: {each.says}"
        + (" (needs `make tools`)" if each.needs else "")
        for name, each in CAMPAIGNS.items()
    ]
    usage = "make campaign NAME=mutations [COUNT=…] [SEED=…], or NAME=all"
    return "\n".join([usage, *lines])


def started(run: Run) -> int:
    """Run it to its end; returns its exit code."""
    retained = {name: value for name, value in os.environ.items() if name not in run.environment}
    inputs = {**retained, **{name: value for name, value in run.environment.items() if value}}
    return subprocess.run(
        [sys.executable, *run.arguments], cwd=ROOT, env=inputs, check=False
    ).returncode


def campaign(name: str, count: int | None, seed: int) -> int:
    """Run one, and print its parameters and result."""
    each = CAMPAIGNS[name]
    many = each.count if count is None else count
    print(f"campaign {name}: {many:,} {each.unit}, seed {seed}: {each.says}", flush=True)
    began = time.monotonic()
    created = each.make(many, seed)
    codes = [started(run) for run in (created if isinstance(created, list) else [created])]
    code = next((code for code in codes if code), 0)
    ended = "passed" if code == 0 else f"failed (exit code {code})"
    print(f"campaign {name}: {ended} after {time.monotonic() - began:,.0f} s", flush=True)
    return code


def arguments(inputs: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*CAMPAIGNS, "all"])
    parser.add_argument(
        "--count", type=positive, help="the count; each campaign has its own default"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed than the default")
    return parser.parse_args(inputs)


def positive(text: str) -> int:
    """A positive count; 0 would test nothing."""
    if (value := int(text)) < 1:
        raise ValueError(text)
    return value


def main(inputs: Sequence[str]) -> int:
    """List campaigns, or run the named one."""
    requested = arguments(inputs)
    if requested.name is None:
        print(listed())
        return 0
    names = list(CAMPAIGNS) if requested.name == "all" else [requested.name]
    codes = [campaign(name, requested.count, requested.seed) for name in names]
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
