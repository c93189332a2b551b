"""CPU of the stack program in a cloud, compared with one written by hand, and forty pools compared with five.

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
import tempfile
import threading
import time
import typing
from pathlib import Path
from typing import Any

from shared.serving import serve

ROOT = Path(__file__).resolve().parents[1]
RUNS = 5
BY_HAND_LIMIT = 1.05
"""Maximum factor of a program's CPU, imports included, compared with one that has a line of the SDKs for each resource."""
GROWTH_LIMIT = 10
"""Maximum factor of a program's CPU for eight times the pools, imports not counted."""
FEW, MANY = 5, 40
OURS = str(ROOT / "__main__.py")
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


def child(stack: str, address: str, program: str) -> None:
    """Run a program with the engine at an address, and print its CPU: after imports, and in total."""
    import asyncio
    import runpy

    import pulumi
    from pulumi.runtime.settings import Settings, configure
    from pulumi.runtime.stack import run_in_stack

    if program == OURS:
        from gpuyard.resources import Platform  # noqa: F401  what comes after is the program's own

    cloud, region = stack.partition("-")[0], STACKS[stack]
    pulumi.runtime.set_config("gpuyard:platform", sys.stdin.read())
    pulumi.runtime.set_config(f"{cloud}:region", region)
    pulumi.runtime.set_config("gcp:project", "my-project")

    async def main() -> None:
        monitor, engine = address.split(",")
        configure(Settings("bench", "bench", monitor, engine, dry_run=False))
        await run_in_stack(lambda: runpy.run_path(program) and None)

    before = time.process_time()
    asyncio.run(main())
    used = time.process_time() - before
    whole = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"after": used, "whole": whole.ru_utime + whole.ru_stime}))


# ── the same by hand ──────────────────────────────────────────────────────────────────────────────
def by_hand(registrations: list[dict[str, Any]]) -> str:
    """The source of a program that registers these resources through classes of the SDKs, one line each."""
    from gpuyard import sdk_classes

    lines, made = ["import pulumi"], dict[str, str]()
    for number, each in enumerate(registrations):
        token, inputs = each["type"], each["inputs"]
        found = sdk_classes.resource_class(token) if each["custom"] else None
        if found is None and token.startswith("kubernetes:"):
            found = sdk_classes.resource_class("kubernetes:apiextensions.k8s.io/v1:CustomResource")
            known = ("apiVersion", "kind", "metadata", "spec")
            inputs = {key: inputs[key] for key in known if key in inputs}
        arguments = {} if found is None else _by_keyword(sdk_classes.args_class(found), inputs)
        module = "pulumi" if found is None else found.__module__.rpartition(".")[0]
        name = f"{token!r}, {each['name']!r}" if found is None else repr(each["name"])
        given = [f"{key}={_text_of(value, made)}" for key, value in arguments.items()]
        if parent := made.get(each["parent"]):
            given.append(f"opts=pulumi.ResourceOptions(parent={parent})")
        call = f"{module}.{found.__name__ if found else 'ComponentResource'}"
        if each["type"] != "pulumi:pulumi:Stack":
            lines += [f"import {module}", f"each_{number} = {call}({', '.join([name, *given])})"]
            made |= {each["urn"]: f"each_{number}", each["id"]: f"each_{number}.id"}
    return "\n".join(lines)


def _text_of(value: Any, made: dict[str, str]) -> str:
    """The source of a value; ids of earlier resources are references to them."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_text_of(each, made)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_text_of(each, made) for each in value)}]"
    return made.get(value, repr(value)) if value and isinstance(value, str) else repr(value)


def _by_keyword(args: Any, value: Any) -> Any:
    """Inputs with the SDK's names, as its documentation writes them: dictionaries of TypedDicts."""
    from pulumi import _types

    if isinstance(value, list):
        return [_by_keyword(args, each) for each in value]
    if args is None or not isinstance(value, dict):
        return value
    names = {wire: keyword for keyword, wire in _types.input_type_py_to_pulumi_names(args).items()}
    types = _types.input_type_types(args)
    return {
        names.get(key, key): _by_keyword(_object_type(types.get(key)), each)
        for key, each in value.items()
    }


def _object_type(expected: Any) -> Any:
    """The input class inside a type such as `Input[Sequence[Input[SubnetArgs]]]`, None without one."""
    from pulumi import _types

    if _types.is_input_type(expected):
        return expected
    return next(filter(None, map(_object_type, typing.get_args(expected))), None)


# ── the engine ────────────────────────────────────────────────────────────────────────────────────
def monitor_of(stack: str, delay: float, seen: list[dict[str, Any]]) -> Any:
    """The monitor service for registrations and function calls.

    It answers as to registrations that were `seen` before, and adds others.
    """
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
    account, place = Account(), Place(cloud, region=region, project="my-project")
    answers = {each["name"]: each for each in seen}
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
            inputs = _plain(json_format.MessageToDict(request.object))
            if request.custom:
                with busy:
                    time.sleep(delay)
                id_ = f"{request.name}-id"
            if known := answers.get(request.name):
                id_, state = known["id"], _struct(known["state"])
            elif request.custom and request.type.startswith(("aws:", "gcp:")):
                id_, found = made(request.type, request.name, inputs)
                state = _struct(found)
            urn = f"urn:pulumi:bench::bench::{request.type}::{request.name}"
            one = {each: getattr(request, each) for each in ("type", "name", "custom", "parent")}
            one |= {"urn": urn, "id": id_, "inputs": inputs}
            seen.append(one | {"state": _plain(json_format.MessageToDict(state))})
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
def measured(
    stack: str, pools: int, delay: float, program: str = OURS, record: str = ""
) -> dict[str, float]:
    """One program with its own engine; what it registers is written to the file `record`, or answered from it."""
    own = [sys.executable, __file__]
    serving = [*own, "--serve", stack, str(delay), record]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    # At the end its stdin is closed, and it ends.
    with subprocess.Popen(serving, **pipes) as engine:
        command = [*own, "--child", stack, engine.stdout.readline().strip(), program]
        done = subprocess.run(
            command, input=platform(stack, pools), capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


class Pair:
    """A stack's program, and one that registers the same by hand, each answered alike."""

    def __init__(self, stack: str, folder: Path) -> None:
        self.stack, self.record = stack, folder / f"{stack}.json"
        self.measured()
        program = folder / f"{stack}.py"
        program.write_text(by_hand(json.loads(self.record.read_text("utf-8"))), encoding="utf-8")
        self.programs = OURS, str(program)

    def measured(self, program: str = OURS) -> float:
        """CPU of one process, imports included."""
        return measured(self.stack, 0, 0.0, program, str(self.record))["whole"]

    def compared(self, runs: int) -> tuple[float, float]:
        """The minimum of some processes of each, in turn."""
        found = [[self.measured(each) for each in self.programs] for _ in range(runs)]
        return min(ours for ours, _ in found), min(by_hand for _, by_hand in found)


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
        with tempfile.TemporaryDirectory() as folder:
            cold, hand = Pair(stack, Path(folder)).compared(runs)
        compared = f"whole program {cold:.2f}, by hand {hand:.2f}"
        print(f"{stack}: {compared}, {cold / hand:.2f} times, limit {BY_HAND_LIMIT}")
        few, many = (least("after", stack, pools, DELAY, runs) for pools in (FEW, MANY))
        sizes = f"{FEW} pools {few:.2f}, {MANY} pools {many:.2f}"
        print(f"{stack}: {sizes}, {many / few:.1f} times, limit {GROWTH_LIMIT}")
        good = good and cold <= BY_HAND_LIMIT * hand and many / few <= GROWTH_LIMIT
    print("ok" if good else "FAIL")
    return int(not good)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "components"), str(ROOT)]
    if sys.argv[1:2] == ["--serve"]:
        record = Path(sys.argv[4])
        registered = json.loads(record.read_text("utf-8")) if record.is_file() else []
        serve(monitor_of(sys.argv[2], float(sys.argv[3]), registered), log_of())
        if sys.argv[4] and not record.is_file():
            record.write_text(json.dumps(registered), encoding="utf-8")
    elif sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], sys.argv[4])
    else:
        sys.exit(main())
