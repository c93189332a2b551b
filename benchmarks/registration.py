"""Program-side CPU per registered resource: this library compared with plain pulumi_kubernetes.

    python benchmarks/registration.py            all of it, about three minutes
    python benchmarks/registration.py --quick    one run each, N = 250 only

Both sides register the same Kubernetes objects under one component; every value is the median of
three fresh processes on the same machine, measured after imports. The exit code is 1 if ours takes more
than LIMIT times the CPU of plain. benchmarks/registration.md describes the sides.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shared.serving import serve

LIMIT = 1.1
REG_DELAY_MS = 50  # time of a registration by an engine with a provider
REG_PARALLEL = 8  # the CLI's default on two cores, 4 for each
SIZES = (250, 1000)
RUNS = 3
SIDES = ("plain", "plain-settled", "ours-unsettled", "ours")

TEAM = {"app.kubernetes.io/part-of": "gpuyard", "gpuyard.dev/team": "vision"}
QUEUE = {
    "cohort": "research",
    "namespaceSelector": {},
    "resourceGroups": [
        {
            "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
            "flavors": [
                {
                    "name": "train",
                    "resources": [
                        {"name": "cpu", "nominalQuota": "1536"},
                        {"name": "memory", "nominalQuota": "16Ti"},
                        {"name": "nvidia.com/gpu", "nominalQuota": "64", "borrowingLimit": "32"},
                    ],
                }
            ],
        }
    ],
}
CONFIG = {"config.yaml": "version: v1\nflags:\n  migStrategy: mixed\n"}
HARD = {"requests.nvidia.com/gpu": "64", "pods": "200"}
QUEUES = "kueue.x-k8s.io/v1beta1"


def metadata(index: int, *, namespaced: bool = True) -> dict[str, Any]:
    """Metadata of the object with this number."""
    where = {"namespace": f"team-{index // 4}"} if namespaced else {}
    return {"name": f"team-{index // 4}", "labels": TEAM, **where}


def plain_program(count: int) -> Callable[[Any], None]:
    """Register the objects with the SDK's own classes."""
    import pulumi
    from pulumi_kubernetes.apiextensions import CustomResource
    from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, ResourceQuota

    def build(group: Any) -> None:
        opts = pulumi.ResourceOptions(parent=group)
        for index in range(count):
            name, flat = f"o{index}", metadata(index, namespaced=False)
            match index % 4:
                case 0:
                    Namespace(name, metadata=flat, opts=opts)
                case 1:
                    ConfigMap(name, metadata=metadata(index), data=CONFIG, opts=opts)
                case 2:
                    ResourceQuota(name, metadata=metadata(index), spec={"hard": HARD}, opts=opts)
                case _:
                    CustomResource(
                        name, QUEUES, "ClusterQueue", spec=QUEUE, metadata=flat, opts=opts
                    )

    return build


def our_program(count: int) -> Callable[[Any], None]:
    """Register the same objects as plain ones."""
    from gpuyard.resources.objects import register_object

    def obj(index: int) -> dict[str, Any]:
        match index % 4:
            case 0:
                flat = metadata(index, namespaced=False)
                return {"apiVersion": "v1", "kind": "Namespace", "metadata": flat}
            case 1:
                body, kind = {"data": CONFIG}, "ConfigMap"
            case 2:
                body, kind = {"spec": {"hard": HARD}}, "ResourceQuota"
            case _:
                flat = metadata(index, namespaced=False)
                head = {"apiVersion": QUEUES, "kind": "ClusterQueue"}
                return {**head, "metadata": flat, "spec": QUEUE}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata(index), **body}

    def build(group: Any) -> None:
        for index in range(count):
            register_object(group, obj(index))

    return build


def child(side: str, count: int, address: str) -> None:
    """Run one side once in this process and print its times."""
    import asyncio

    import pulumi
    from pulumi.runtime.mocks import MockEngine, MockMonitor, Mocks
    from pulumi.runtime.settings import Settings, configure
    from pulumi.runtime.stack import run_in_stack

    from gpuyard.resources.registrations import await_registrations

    class Echo(Mocks):
        def call(self, args: Any) -> Any:
            raise NotImplementedError(args.token)

        def new_resource(self, args: Any) -> Any:
            return f"{args.name}-id", args.inputs

    class Group(pulumi.ComponentResource):
        def __init__(self, build: Callable[[Any], None]) -> None:
            super().__init__("bench:index:Group", "g", {})
            build(self)
            self.register_outputs({})

    build = our_program(count) if side.startswith("ours") else plain_program(count)

    def program() -> None:
        Group(build)
        if side in {"ours", "plain-settled"}:
            await_registrations()

    monitor, engine = address.split(",") if address else (MockMonitor(Echo()), MockEngine(None))

    async def main() -> None:
        configure(Settings("bench", "bench", monitor, engine, dry_run=False))
        await run_in_stack(program)

    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(main())
    cpu = time.process_time() - cpu
    wall = time.perf_counter() - began
    print(json.dumps({"cpu": cpu, "wall": wall}))


def echo() -> None:
    """Run an engine that echoes inputs."""
    from google.protobuf import empty_pb2
    from pulumi.runtime.mocks import MockMonitor
    from pulumi.runtime.proto import engine_pb2_grpc, resource_pb2, resource_pb2_grpc

    class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
        def GetDeploymentInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 the protocol's name
            del context
            return MockMonitor.GetDeploymentInfo(None, request)

        def RegisterResource(self, request: Any, context: Any) -> Any:  # noqa: N802
            del context
            if request.custom:
                busy.acquire()
                time.sleep(REG_DELAY_MS / 1000)
                busy.release()
            urn = f"urn:pulumi:bench::bench::{request.type}::{request.name}"
            return resource_pb2.RegisterResourceResponse(
                urn=urn, id=f"{request.name}-id" if request.custom else "", object=request.object
            )

        def RegisterResourceOutputs(self, request: Any, context: Any) -> Any:  # noqa: N802
            del request, context
            return empty_pb2.Empty()

        def SignalAndWaitForShutdown(self, request: Any, context: Any) -> Any:  # noqa: N802
            del request, context
            return empty_pb2.Empty()

    class Engine(engine_pb2_grpc.EngineServicer):
        def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 the protocol's name
            del request, context
            return empty_pb2.Empty()

    busy = threading.Semaphore(REG_PARALLEL)
    serve(Monitor(), Engine())


def measure(side: str, count: int, runs: int, address: str) -> list[float]:
    """Return the median (CPU, wall) of some fresh processes, in ms for each resource."""
    command = [sys.executable, __file__, "--child", side, str(count), address]
    found = []
    for _ in range(runs):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        found.append(json.loads(done.stdout))
    each = [statistics.median(one[what] for one in found) for what in ("cpu", "wall")]
    return [1000 * one / count for one in each]


def compare(engine: str, address: str, sizes: Sequence[int], runs: int) -> list[float]:
    """Measure and print every side; return the ratios of ours to plain."""
    ratios = []
    for count in sizes:
        figures = {side: measure(side, count, runs, address) for side in SIDES}
        plain, ours = figures["plain"][0], figures["ours"][0]
        ratios.append(ours / plain)
        for side, (cpu, wall) in figures.items():
            print(f"{engine:6} {count:6} {side:16} {cpu:8.2f} {wall:8.2f} {cpu / plain:8.2f}")
    return ratios


def main() -> int:
    """Measure both engines, print the table, and compare with the limit."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="one run each, N = 250 only")
    quick = arguments.parse_args().quick
    sizes, runs = (SIZES[:1], 1) if quick else (SIZES, RUNS)
    packages = ("pulumi", "pulumi-kubernetes", "grpcio", "protobuf")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(f"Python {platform.python_version()}, {versions}")
    print(f"engine over gRPC: {REG_DELAY_MS} ms per registration, {REG_PARALLEL} at a time")
    print(f"median of {runs}; milliseconds for each resource\n")
    print(f"{'engine':6} {'N':>6} {'side':16} {'CPU':>8} {'wall':>8} {':plain':>8}")
    ratios = compare("mocks", "", sizes, runs)
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        ratios += compare("gRPC", server.stdout.readline().strip(), sizes, runs)
    finally:
        server.stdin.close()
        server.wait(timeout=10)
    worst = max(ratios)
    print(
        f"\nours : plain, maximum {worst:.2f}, limit {LIMIT}: {'ok' if worst <= LIMIT else 'FAIL'}"
    )
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "components"))
    if sys.argv[1:2] == ["--serve"]:
        echo()
    elif sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(main())
