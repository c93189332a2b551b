"""The speed gate: CPU of the command line as ratios within one run, so that a slow machine changes little.

    python benchmarks/speed.py

Growth is the CPU for four times the input relative to that for the input, in this process. A start is the CPU of
a separate process relative to one that imports pulumi. Both parts of a ratio are measured FEWEST times in turn,
and up to MOST while the ratio of the minimums exceeds its limit. The exit code is 1 if it still does.
benchmarks/speed.md has figures.
"""

import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import registration
import whatif
from check_scale import stack_text

from gpuyard.cli import main as gpuyard
from gpuyard_advisor.replay import ReplayOptions, replay
from lint import cpu_seconds, deployments, linter

ROOT = Path(__file__).resolve().parents[1]
FEWEST, MOST = 2, 4
SMALL, LARGE = 250, 1000
GROWTH, GROWTH_OF_POOLS, GROWTH_OF_FOLDERS = 4.6, 4.2, 6.0
IMPORTS, COLD, REGISTRATION = 8.0, 3.0, registration.LIMIT
FEW_JOBS, JOB_NODES, GROWTH_OF_JOBS = 2000, 20, 12.0
"""A tenth of the jobs of a replay, on nodes of which they use half, and the limit for ten times as many."""
LARGE_FILES, BYTES = 6, 300_000
"""Number of files of the repository, and minimum size of a file with copies of each."""
OPERATOR = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator, namespace: argocd}
spec:
  source: {repoURL: https://helm.ngc.nvidia.com/nvidia, chart: gpu-operator, targetRevision: v25.10.0}
---
"""
"""A GPU Operator that uses CDI: it determines the effect of the variable below in each Deployment."""
REFERRING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin-N}
data: {any: "version: v1\\nflags: {migStrategy: mixed}\\n"}
---
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: policy-N}
spec: {mig: {strategy: single}}
---
apiVersion: v1
kind: Service
metadata: {name: exporter-N, labels: {app: nvidia-dcgm-exporter, release: r-N}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: exporter-N}
spec: {selector: {matchLabels: {app: nvidia-dcgm-exporter, release: r-N}}, endpoints: [{port: http}]}
---
apiVersion: v1
kind: Pod
metadata: {name: exporter-N, labels: {app: nvidia-dcgm-exporter, release: r-N}}
spec: {containers: [{name: exporter, image: nvcr.io/nvidia/k8s/dcgm-exporter:4.4.0-4.5.0-ubuntu22.04}]}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: exporter-N}
spec:
  selector: {matchLabels: {app: nvidia-dcgm-exporter, release: r-N}}
  podMetricsEndpoints: [{port: http}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: pool-N}
spec: {nodeLabels: {pool: pool-N}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: queue-N}
spec:
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: pool-N, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: queue, namespace: team-N}
spec: {clusterQueue: queue-N}
---
"""
"""One of each kind that refers to another: rules look up each by its name or its labels."""
SHARED = """\
resource "google_container_node_pool" "pool-N" {
  cluster = "research"
  node_config {
    labels = { pool = "pool-N" }
    taint {
      key    = "team"
      value  = "team-N"
      effect = "NO_SCHEDULE"
    }
    guest_accelerator {
      type  = "nvidia-l4"
      count = 1
      gpu_sharing_config {
        gpu_sharing_strategy       = "TIME_SHARING"
        max_shared_clients_per_gpu = 2
      }
    }
  }
}
"""
"""A node pool whose GPUs are shared, for the teams whose queues have the flavor of its label."""
_ENV = "            - name: CACHE\n              value: /cache\n"
_DEVICES = "            - name: NVIDIA_VISIBLE_DEVICES\n              value: all\n"

Measure = Callable[[], float]
Ratio = tuple[str, Measure, Measure, float]
"""The title, the CPU, the CPU by which it is divided, and the limit."""


def bypassing(count: int) -> str:
    """So many Deployments that set NVIDIA_VISIBLE_DEVICES, with the GPU Operator."""
    return OPERATOR + deployments(count).replace(_ENV, _DEVICES)


def referring(count: int) -> dict[str, str]:
    """So many resources of each kind that refer to others."""
    texts = {"resources.yaml": REFERRING, "pools.tf": SHARED}
    return {
        name: "".join(text.replace("-N", f"-{n}") for n in range(count))
        for name, text in texts.items()
    }


def large_files() -> list[Path]:
    """The largest YAML files among the corpus of lint and the golden renders."""
    folders = (ROOT / "tests/lint/corpus", ROOT / "tests/render/golden")
    found = sorted(path for folder in folders for path in folder.rglob("*.yaml"))
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)[:LARGE_FILES]


def work(*command: str) -> Measure:
    """CPU of a command in this process, with everything imported."""

    def measure() -> float:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):  # noqa: PTH123  a device
            started = time.process_time()
            gpuyard(list(command))
            return time.process_time() - started

    return measure


def replayed(count: int) -> Measure:
    """CPU of a replay of this many jobs on nodes."""
    plan, jobs = whatif.research_plan(JOB_NODES), whatif.many_jobs(count, JOB_NODES, 0.5)

    def measure() -> float:
        started = time.process_time()
        replay(plan, jobs, options=ReplayOptions(nodes=True))
        return time.process_time() - started

    return measure


def process(*command: str) -> Measure:
    """CPU of a separate process; with findings its exit code is 1."""
    return lambda: cpu_seconds(list(command), (0, 1))


def registered(side: str) -> Measure:
    """CPU milliseconds of one registration, of 250 with the mocks of Pulumi."""
    return lambda: registration.measure(side, SMALL, 1, "")[0]


def growth_of_folders() -> Ratio:
    """The ratio of the CPU for linting two such folders, which stay in the folder of this run."""
    for size in (SMALL, LARGE):
        Path(str(size)).mkdir()
        for file, text in referring(size).items():
            Path(str(size), file).write_text(text, encoding="utf-8")
    small, large = work("lint", str(SMALL)), work("lint", str(LARGE))
    title = f"lint, {LARGE:,} : {SMALL:,} resources of each kind that name others"
    return title, large, small, GROWTH_OF_FOLDERS


def growth(name: str, command: str, text: Callable[[int], str], sizes: tuple[int, int]) -> Ratio:
    """The ratio of a command's CPU with two files, which stay in the folder of this run."""
    small, large = (Path(f"{name.replace('/', '-')}-{size}.yaml") for size in sizes)
    for path, size in ((small, sizes[0]), (large, sizes[1])):
        path.write_text(text(size), encoding="utf-8")
    limit = GROWTH_OF_POOLS if command == "check" else GROWTH
    title = f"{command}, {sizes[1]:,} : {sizes[0]:,} {name}"
    return title, work(command, str(large)), work(command, str(small)), limit


def ratios() -> list[Ratio]:
    """Every ratio of the gate."""
    found = [
        growth("Deployments", "lint", deployments, (SMALL, LARGE)),
        growth("Deployments with the operator", "lint", bypassing, (SMALL, LARGE)),
        growth_of_folders(),
        growth("pools", "check", lambda pools: stack_text(pools, 100), (SMALL, LARGE)),
    ]
    for path in large_files():
        text = path.read_text(encoding="utf-8")

        def copies(count: int, text: str = text) -> str:
            return "\n---\n".join([text] * count)

        small = -(-BYTES // len(text))
        found.append(growth(path.name, "lint", copies, (small, 4 * small)))
    large, few = replayed(FEW_JOBS * 10), replayed(FEW_JOBS)
    found.append((f"replay, {FEW_JOBS * 10:,} : {FEW_JOBS:,} jobs", large, few, GROWTH_OF_JOBS))
    pulumi = process(sys.executable, "-c", "import pulumi")
    file = Path(f"Deployments-{LARGE}.yaml").resolve()
    command = str(Path(sys.executable).with_name("gpuyard"))
    local = process(command, "check", str(ROOT / "stacks/Pulumi.local.yaml"))
    return [
        *found,
        (f"lint {LARGE:,} Deployments : import pulumi", process(*linter(file)), pulumi, IMPORTS),
        ("check local : import pulumi", local, pulumi, COLD),
        ("registration : plain", registered("ours"), registered("plain"), REGISTRATION),
    ]


def judge(ratio: Ratio) -> bool:
    """Measure one, print its line, and return whether it is within its limit."""
    title, ours, theirs, limit = ratio
    above = below = math.inf
    for count in range(1, MOST + 1):
        above, below = min(above, ours()), min(below, theirs())
        if count >= FEWEST and above <= limit * below:
            break
    within = above <= limit * below
    verdict = "ok" if within else "OVER"
    print(f"| {title} | {above:.2f} | {below:.2f} | {above / below:.2f} | {limit:g} | {verdict} |")
    return within


def main() -> int:
    """Measure, print, compare with the limits."""
    print(f"Python {platform.python_version()}, CPU seconds; of a registration milliseconds\n")
    print("| ratio | CPU | of | ratio | limit | |\n|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        over = [ratio[0] for ratio in ratios() if not judge(ratio)]
        os.chdir(ROOT)
    if over:
        print(f"\nover the limit: {'; '.join(over)}. Profile the command with cProfile.")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
