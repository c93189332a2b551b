"""CPU of the stack program in a cloud: a cold start, and forty pools compared with five.

    python benchmarks/cloud_program.py            about a minute on an idle machine of two cores
    python benchmarks/cloud_program.py --quick    one run each

The program is the one that a stack file deploys (`__main__.py`). The engine is a separate process, whose CPU
is not counted: it creates cloud resources in an account of the fakes, and answers each registration after a
delay, 8 at a time. Every value is the minimum of some fresh processes, because other processes can only add
to it. The exit code is 1 if one exceeds its limit; cloud_program.md has the values.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from shared.serving import serve

ROOT = Path(__file__).resolve().parents[1]
RUNS = 5
COLD_LIMIT = 1.2
"""Seconds of CPU of aws-training, from the start of the interpreter to its end."""
YARDSTICK = 0.22
"""Maximum time of `import pulumi` on the machine of that limit."""
GROWTH_LIMIT = 10
"""Maximum factor of a program's CPU for eight times the pools, imports not counted."""
FEW, MANY = 5, 40
DELAY, AT_ONCE = 0.05, 8  # an engine with its default of 4 for each of two cores
STACKS = {"aws-training": "us-east-1", "gcp-training": "us-central1"}
_MARK = "4dabf18193072939515e22adb298388d"  # the key by which the engine's protocol marks a secret
_LAST_STATE = "pulumi:pulumi:readStackResourceOutputs"


# ── the program ───────────────────────────────────────────────────────────────────────────────────
def platform(stack: str, pools: int) -> str:
    """The first pool of a shipped stack and its teams, without features that the fake engine lacks.

    `pools` copies of that pool, or 0 for the one.
    """
    import yaml

    text = (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.safe_load(text)["config"]["gpuyard:platform"]
    first = raw["pools"][0] | {"capacity": ["on-demand"]}
    raw["pools"] = [first]
    raw["teams"] = [each for each in raw["teams"] if first["name"] in str(each)]
    for key in ("storage", "validation"):
        raw.pop(key)
    if pools:
        raw["pools"] = [first, *({**first, "name": f"p{n}"} for n in range(1, pools))]
        raw.pop("budget")
    return json.dumps(raw)


def child(stack: str, address: str) -> None:
    """Run the program with the engine at an address, and print its CPU: after imports, and in total."""
    import asyncio
    import runpy

    import pulumi
    from pulumi.runtime.settings import Settings, configure
    from pulumi.runtime.stack import run_in_stack

    import gpuyard.resources  # noqa: F401  what comes after is the program's own

    cloud, region = stack.partition("-")[0], STACKS[stack]
    pulumi.runtime.set_config("gpuyard:platform", sys.stdin.read())
    pulumi.runtime.set_config(f"{cloud}:region", region)
    pulumi.runtime.set_config("gcp:project", "lab-1")

    async def main() -> None:
        monitor, engine = address.split(",")
        configure(Settings("bench", "bench", monitor, engine, dry_run=False))
        await run_in_stack(lambda: runpy.run_path(str(ROOT / "__main__.py")) and None)

    before = time.process_time()
    asyncio.run(main())
    used = time.process_time() - before
    whole = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"after": used, "whole": whole.ru_utime + whole.ru_stime}))


# ── the engine ────────────────────────────────────────────────────────────────────────────────────
def monitor_of(stack: str, delay: float) -> Any:
    """The monitor service for registrations and function calls."""
    from google.protobuf import empty_pb2, json_format
    from pulumi.runtime.mocks import MockMonitor
    from pulumi.runtime.proto import (
        provider_pb2,
        resource_pb2,
        resource_pb2_grpc,
    )
    from testbed.plugins.cloud import asking, preparing
    from testbed.plugins.cloud.account import Account
    from testbed.plugins.cloud.shapes import Place

    cloud, region = stack.partition("-")[0], STACKS[stack]
    account, place = Account(), Place(cloud, region=region, project="lab-1")
    busy, own = threading.Semaphore(AT_ONCE), threading.Lock()

    def made(kind: str, name: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        naming = preparing.Naming(name, name.encode())
        with own:
            done = account.create(kind, name, preparing.prepared(kind, naming, {}, inputs), place)
        return done.id, {**inputs, **dict(done.state)}

    class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
        def GetDeploymentInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 the protocol's name
            del context
            return MockMonitor.GetDeploymentInfo(None, request)

        def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
            del context
            said: dict[str, Any] = {"outputs": {}}
            if request.tok != _LAST_STATE:
                asked = json_format.MessageToDict(request.args)
                said = asking.answer(request.tok, asked, account, place)
            return provider_pb2.InvokeResponse(**{"return": _struct(said)})

        def RegisterResource(self, request: Any, context: Any) -> Any:  # noqa: N802
            del context
            id_, state = "", request.object
            if request.custom:
                with busy:
                    time.sleep(delay)
                id_ = f"{request.name}-id"
            if request.custom and request.type.startswith(("aws:", "gcp:")):
                inputs = _plain(json_format.MessageToDict(request.object))
                id_, found = made(request.type, request.name, inputs)
                state = _struct(found)
            urn = f"urn:pulumi:bench::bench::{request.type}::{request.name}"
            return resource_pb2.RegisterResourceResponse(urn=urn, id=id_, object=state)

        def nothing(self, request: Any, context: Any) -> Any:
            del request, context
            return empty_pb2.Empty()

        RegisterResourceOutputs = RegisterErrorHook = RegisterResourceHook = nothing
        SignalAndWaitForShutdown = nothing

    return Monitor()


def log_of() -> Any:
    """The log service: errors are printed."""
    from google.protobuf import empty_pb2
    from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

    class Engine(engine_pb2_grpc.EngineServicer):
        def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 the protocol's name
            del context
            if request.severity == engine_pb2.ERROR:
                print(request.message, file=sys.stderr)
            return empty_pb2.Empty()

    return Engine()


def _struct(value: dict[str, Any]) -> Any:
    from google.protobuf import struct_pb2

    made = struct_pb2.Struct()
    made.update(json.loads(json.dumps(value, default=_text)))
    return made


def _text(value: Any) -> Any:
    """JSON encoding of other values: a secret's text."""
    return getattr(value, "value", str(value))


def _plain(value: Any) -> Any:
    """Inputs without the engine's marks: secrets in plain text, whole numbers as int."""
    if isinstance(value, dict):
        if _MARK in value:
            return _plain(value["value"])
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────
def measured(stack: str, pools: int, delay: float) -> dict[str, float]:
    """One program with its own engine."""
    own = [sys.executable, __file__]
    serving = [*own, "--serve", stack, str(delay)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    # At the end its stdin is closed, and it ends.
    with subprocess.Popen(serving, **pipes) as engine:
        command = [*own, "--child", stack, engine.stdout.readline().strip()]
        done = subprocess.run(
            command, input=platform(stack, pools), capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def least(what: str, stack: str, pools: int, delay: float, runs: int) -> float:
    """The minimum of some processes, after one that warms the file cache."""
    measured(stack, pools, delay)
    return min(measured(stack, pools, delay)[what] for _ in range(runs))


def yardstick(runs: int) -> float:
    """CPU of a program that only imports Pulumi."""
    code = "import pulumi.runtime.stack, os; print(sum(os.times()[:2]))"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(runs))


def main() -> int:
    """Measure, print, compare with the limits."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="one run each")
    runs = 1 if arguments.parse_args().quick else RUNS
    print(
        f"minimum of {runs} processes, CPU seconds; `import pulumi` alone takes {yardstick(runs):.2f}"
    )
    good = True
    for stack in STACKS:
        cold = least("whole", stack, 0, 0.0, runs)
        print(f"{stack}: cold start {cold:.2f}, limit {COLD_LIMIT}")
        few, many = (least("after", stack, pools, DELAY, runs) for pools in (FEW, MANY))
        sizes = f"{FEW} pools {few:.2f}, {MANY} pools {many:.2f}"
        print(f"{stack}: {sizes}, {many / few:.1f} times, limit {GROWTH_LIMIT}")
        good = good and cold <= COLD_LIMIT and many / few <= GROWTH_LIMIT
    print("ok" if good else "FAIL")
    return int(not good)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "components"), str(ROOT)]
    if sys.argv[1:2] == ["--serve"]:
        serve(monitor_of(sys.argv[2], float(sys.argv[3])), log_of())
    elif sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main())
