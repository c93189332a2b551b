"""The language host: runs programs, policy packs and component plugins for the engine.

pulumi/pulumi, proto/pulumi/language.proto and sdk/python/cmd/pulumi-language-python/main.go.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from importlib import metadata
from pathlib import Path
from typing import IO, Any, TypeAlias

import grpc  # type: ignore[import-untyped]  # has no stubs of its own
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import language_pb2 as wire
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

from testbed.plugins import orphans
from testbed.plugins.language import interpreter, others
from testbed.plugins.warm.child import Child, start, start_read

# The program ended and has already shown its error.
BAIL = 32
STOP_SECONDS = 5.0
PROGRAM = Path(__file__).with_name("program.py")
Context: TypeAlias = grpc.ServicerContext


class Host(language_pb2_grpc.LanguageRuntimeServicer):
    """One language host process, which may run a program and several packs and plugins."""

    def __init__(self, engine_address: str, language: str) -> None:
        self.engine_address = engine_address
        self.language = language
        self.children: set[Child] = set()

    def Handshake(
        self, request: wire.LanguageHandshakeRequest, context: Context
    ) -> wire.LanguageHandshakeResponse:
        self.engine_address = request.engine_address or self.engine_address
        return wire.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    def GetRequiredPackages(
        self, request: wire.GetRequiredPackagesRequest, context: Context
    ) -> wire.GetRequiredPackagesResponse:
        # None: there is nothing to download, and the engine requests each plugin when the program
        # needs it.
        return wire.GetRequiredPackagesResponse()

    def GetRequiredPlugins(
        self, request: wire.GetRequiredPluginsRequest, context: Context
    ) -> wire.GetRequiredPluginsResponse:
        return wire.GetRequiredPluginsResponse()

    def GetProgramDependencies(
        self, request: wire.GetProgramDependenciesRequest, context: Context
    ) -> wire.GetProgramDependenciesResponse:
        return wire.GetProgramDependenciesResponse()

    def RuntimeOptionsPrompts(
        self, request: wire.RuntimeOptionsRequest, context: Context
    ) -> wire.RuntimeOptionsResponse:
        return wire.RuntimeOptionsResponse()

    def About(self, request: wire.AboutRequest, context: Context) -> wire.AboutResponse:
        try:
            python = interpreter.resolve(
                Path(request.info.root_directory or "."), _options(request.info)
            )
        except interpreter.BadOptions:
            python = Path(sys.executable)
        shown = subprocess.run(
            [str(python), "--version"], capture_output=True, text=True, check=False
        )
        return wire.AboutResponse(
            executable=str(python), version=shown.stdout.strip().removeprefix("Python ")
        )

    def InstallDependencies(
        self, request: wire.InstallDependenciesRequest, context: Context
    ) -> Iterator[wire.InstallDependenciesResponse]:
        with _told(context):
            if self.language == "python":
                _check_environment(request)
            else:
                others.install(self.language, Path(request.info.program_directory))
        yield from ()

    def GeneratePackage(
        self, request: wire.GeneratePackageRequest, context: Context
    ) -> wire.GeneratePackageResponse:
        with _told(context):
            others.generate(self.language, request)
        return wire.GeneratePackageResponse()

    def Link(self, request: wire.LinkRequest, context: Context) -> wire.LinkResponse:
        if self.language == "python":
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "install the generated SDK yourself")
        with _told(context):
            return wire.LinkResponse(import_instructions=others.link(self.language, request))

    def Cancel(self, request: empty_pb2.Empty, context: Context) -> empty_pb2.Empty:
        for child in list(self.children):
            _stop(child)
        return empty_pb2.Empty()

    # Programs

    def Run(self, request: wire.RunRequest, context: Context) -> wire.RunResponse:
        environment = _environment(request)
        inputs = self._inputs(request)
        with tempfile.TemporaryDirectory(prefix="pulumi-program-") as folder:
            try:
                if self.language == "nodejs":
                    command = others.node_command(request, inputs)
                elif self.language == "go":
                    command = others.go_command(request, folder)
                    environment |= others.go_variables(inputs)
                else:
                    command = _python_command(request, inputs)
            except (interpreter.BadOptions, others.Failed) as error:
                return wire.RunResponse(error=str(error))
            child = start(command, environment, request.pwd or None)
            self.children.add(child)
            context.add_callback(lambda: _stop(child))
            code = child.wait()
            self.children.discard(child)
        if code == BAIL:
            return wire.RunResponse(bail=True)
        return wire.RunResponse(
            error=f"program exited with non-zero exit code: {code}" if code else ""
        )

    def _inputs(self, request: wire.RunRequest) -> dict[str, str]:
        named = {
            "monitor": request.monitor_address,
            "engine": self.engine_address,
            "project": request.project,
            "root_directory": request.info.root_directory,
            "stack": request.stack,
            "pwd": request.pwd,
            "dry_run": str(request.dryRun).lower(),
            "parallel": str(request.parallel),
            "organization": request.organization,
        }
        return {name: value for name, value in named.items() if value}

    # Policy packs and component plugins

    def RunPlugin(
        self, request: wire.RunPluginRequest, context: Context
    ) -> Iterator[wire.RunPluginResponse]:
        folder = Path(request.info.program_directory or request.program)
        try:
            command = _plugin_command(request, folder)
        except interpreter.BadOptions as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            raise
        environment = dict(os.environ)
        for item in request.env:
            name, _, value = item.partition("=")
            environment[name] = value
        # A policy pack runs in its own folder, a component in the program's folder.
        place = str(folder) if request.kind == "analyzer" else request.pwd or None
        child = start_read(command, environment, place)
        self.children.add(child)
        context.add_callback(lambda: _stop(child))
        yield from _pump(child)
        self.children.discard(child)


def _python_command(request: wire.RunRequest, inputs: dict[str, str]) -> list[str]:
    python = interpreter.resolve(Path(request.info.root_directory), _options(request.info))
    named = [text for name, value in inputs.items() for text in (f"--{name}", value)]
    program = request.info.entry_point or request.program or "."
    return [str(python), str(PROGRAM), *named, program, *request.args]


def _check_environment(request: wire.InstallDependenciesRequest) -> None:
    """The stand-in installs nothing, as the environment of the tests is complete."""
    options = _options(request.info)
    interpreter.resolve(Path(request.info.root_directory), options, plugin=request.is_plugin)


@contextlib.contextmanager
def _told(context: Context) -> Iterator[None]:
    """Report a failure to the engine by its message."""
    try:
        yield
    except (interpreter.BadOptions, others.Failed) as error:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


def _plugin_command(request: wire.RunPluginRequest, folder: Path) -> list[str]:
    analyzer = request.kind == "analyzer"
    root = Path(request.info.root_directory or folder)
    python = interpreter.resolve(root, _options(request.info), plugin=not analyzer)
    if analyzer:
        return [str(python), "-u", "-m", "pulumi.policy", *request.args, str(folder)]
    if (root / "__main__.py").is_file():
        return [str(python), "-u", str(folder), *request.args]
    name = _distribution(root)
    return [str(python), "-u", "-m", "pulumi.run.plugin", name, *request.args]


def _distribution(root: Path) -> str:
    """The distribution of a plugin without `__main__.py`."""
    import tomllib

    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text()).get("project", {}) if file.is_file() else {}
    if not project.get("name"):
        raise interpreter.BadOptions(
            "plugin is not runnable, it provides neither __main__.py nor a buildable pyproject.toml"
        )
    return str(project["name"])


def _pump(child: Child) -> Iterator[wire.RunPluginResponse]:
    """The plugin's output as it is printed, then its exit code."""
    messages: queue.Queue[wire.RunPluginResponse | None] = queue.Queue()

    def read(stream: IO[bytes] | None, wrap: Callable[[bytes], wire.RunPluginResponse]) -> None:
        while stream is not None and (data := stream.read(1 << 14)):
            messages.put(wrap(data))
        messages.put(None)

    wraps: list[tuple[IO[bytes] | None, Callable[[bytes], wire.RunPluginResponse]]] = [
        (child.stdout, lambda data: wire.RunPluginResponse(stdout=data)),
        (child.stderr, lambda data: wire.RunPluginResponse(stderr=data)),
    ]
    for stream, wrap in wraps:
        threading.Thread(target=read, args=(stream, wrap), daemon=True).start()
    remaining = 2
    while remaining:
        message = messages.get()
        if message is None:
            remaining -= 1
        else:
            yield message
    yield wire.RunPluginResponse(exitcode=child.wait())


def _options(info: wire.ProgramInfo) -> dict[str, Any]:
    return dict(json_format.MessageToDict(info.options))


def _environment(request: wire.RunRequest) -> dict[str, str]:
    """Configuration is passed in the environment, as the SDK expects: pulumi/runtime/config.py."""
    environment = dict(os.environ)
    environment["PULUMI_CONFIG"] = json.dumps(dict(request.config))
    environment["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
    return environment


def _stop(child: Child) -> None:
    """Interrupt it, and kill it if it does not end in time."""
    if child.poll() is not None:
        return
    child.send_signal(signal.SIGINT)
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def main() -> None:
    """Serve until the engine ends this process. The first line of stdout is the port."""
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    options = [("grpc.max_receive_message_length", 400 << 20)]
    server = grpc.server(futures.ThreadPoolExecutor(16), options=options)
    language = next(
        (each.partition("=")[2] for each in sys.argv[1:] if each.startswith("--language=")),
        "python",
    )
    host = Host(addresses[-1] if addresses else "", language)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def end(*_: object) -> None:
        for child in list(host.children):
            child.terminate()
        os._exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    orphans.end_with_parent(end)
    print(port, flush=True)  # the plugin protocol
    server.wait_for_termination()
