"""Run a stack program on the strict mock monitor, any number of times in one process.

Each run has its own event loop and its own copy of the SDK's context variables, so nothing of it
remains when it returns. The SDK calls the engine from a thread pool; here the calls run in the loop
itself, which makes the order of registrations the same in every run.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import runpy
import sys
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from pulumi.runtime import resource as sdk_resource
from pulumi.runtime import set_all_config
from pulumi.runtime import settings as sdk_settings
from pulumi.runtime.proto import source_pb2
from pulumi.runtime.stack import run_in_stack

from gpuyard_testing.checks import ResourceChecks
from gpuyard_testing.crds import CrdFolder
from gpuyard_testing.graph import (
    Graph,
    Registered,
    StackViolation,
    StackViolations,
    graph_difference,
)
from gpuyard_testing.monitor import Answers, CallAnswer, OutputsOf, RecordingEngine, StrictMonitor
from gpuyard_testing.values import is_object

Program = Callable[[], object] | Path | str
"""A function that registers resources (plain or async), or a folder with a `__main__.py`."""


@dataclass(frozen=True, kw_only=True)
class StackRunner:
    """Runs stack programs without an engine; the fixture `pulumi_mocks` is one.

    Not for use inside a running event loop: each run starts its own.
    """

    project: str | None = None
    """Project name; by default the one in the folder's Pulumi.yaml, else `project`."""
    stack: str = "stack"
    crds: Path | str | None = None
    """Folder of CRD files: custom resources of Kubernetes are checked against them."""
    outputs: OutputsOf | Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict[str, Mapping[str, Any]]
    )
    """Outputs that providers compute in addition to the inputs: by type token, or a function of the
    resource.
    """
    calls: Mapping[str, CallAnswer] = field(default_factory=dict[str, CallAnswer])
    """Results of provider functions, by token."""
    allow_top_level: bool | frozenset[str] = False
    """Custom resources directly under the stack: all (True), none, or those of these types."""
    require_checks: bool = False
    """Report custom resources whose fields cannot be checked as violations."""

    def with_settings(self, **changes: Any) -> StackRunner:
        """Return the same runner with some fields changed."""
        return replace(self, **changes)

    def run(
        self,
        program: Program,
        *,
        config: Mapping[str, Any] | Path | str | None = None,
        secrets: Mapping[str, Any] | None = None,
        preview: bool = False,
        unknown_outputs: bool = False,
        strict: bool = True,
    ) -> Graph:
        """Run a program and return what it registered.

        `config` is a mapping or a Pulumi.<stack>.yaml; a key without `project:` gets this
        project's. `secrets` are configuration too, marked secret. With `unknown_outputs` every
        output and id is unknown, as in the preview of an empty stack. With `strict=False`
        violations are left in the graph instead of raised.

        Any exception of the program, also in an apply, is raised here; the violations up to then
        are in its notes.
        """
        project = self.project or _project_name(program)
        monitor = StrictMonitor(
            Answers(
                project=project,
                stack=self.stack,
                unknown_outputs=unknown_outputs,
                outputs=self._outputs_of(),
                calls=self.calls,
            ),
            ResourceChecks(
                crds=CrdFolder(self.crds) if self.crds is not None else None,
                allow_top_level=self.allow_top_level,
                reject_unchecked=self.require_checks,
            ),
        )
        values = {**_config(config, project), **_config(secrets, project)}
        settings = _RunSettings(
            project, self.stack, preview or unknown_outputs, values, list(_config(secrets, project))
        )
        try:
            with _clean_defaults(), _no_stack_traces(), _program(program) as function:
                contextvars.copy_context().run(_run, function, monitor, settings)
        except Exception as error:
            for violation in monitor.graph.violations:
                error.add_note(str(violation))
            raise
        graph = monitor.finish()
        if strict and graph.violations:
            raise StackViolations(graph.violations)
        return graph

    def assert_same_when_unknown(self, program: Program, **options: Any) -> tuple[Graph, Graph]:
        """Assert that a preview with unknown outputs registers the same resources as an update.

        A resource that only one of them has is created in an apply, or under a condition on an
        output: the first preview would not show it. Returns both graphs, the one with known outputs
        first.
        """
        known = self.run(program, **options)
        unknown = self.run(program, **options, unknown_outputs=True)
        difference = graph_difference(known, unknown)
        if difference:
            raise StackViolations(
                [
                    StackViolation("unknown", urn, _UNKNOWN_MESSAGES[side])
                    for side, urns in difference.items()
                    for urn in urns
                ]
            )
        return known, unknown

    def _outputs_of(self) -> OutputsOf:
        if callable(self.outputs):
            return self.outputs
        by_type = self.outputs

        def outputs(resource: Registered) -> Mapping[str, Any] | None:
            return by_type.get(resource.type)

        return outputs


_STACK_TRACE = "_get_stack_trace"
"""The SDK's function (pulumi/runtime/resource.py) that records where a resource is created."""
_UNKNOWN_MESSAGES = {
    "only_first": "is missing from a preview with unknown outputs; register it outside apply",
    "only_second": "is registered only while outputs are unknown; do not branch on is_dry_run",
}


@dataclass(frozen=True)
class _RunSettings:
    project: str
    stack: str
    preview: bool
    config: dict[str, str]
    secret_keys: list[str]


class _InLoopExecutor(ThreadPoolExecutor):
    """Runs submitted functions immediately; a returned coroutine runs to its end in the loop."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 an executor hands every exception to its future
            future.set_exception(error)
            return future
        if inspect.iscoroutine(result):
            _forward(asyncio.ensure_future(result), future)
        else:
            future.set_result(result)
        return future


def _forward(task: asyncio.Task[Any], future: Future[Any]) -> None:
    def done(task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            future.cancel()
        elif (error := task.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())

    task.add_done_callback(done)


def _run(function: Callable[[], object], monitor: StrictMonitor, settings: _RunSettings) -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(_InLoopExecutor())
        sdk_settings.ROOT.set(None)
        sdk_settings.configure(
            sdk_settings.Settings(
                project=settings.project,
                stack=settings.stack,
                monitor=monitor,
                engine=RecordingEngine(monitor.graph),
                dry_run=settings.preview,
                organization="organization",
            )
        )
        set_all_config(settings.config, settings.secret_keys)
        try:
            await run_in_stack(function)  # type: ignore[arg-type]  # reason: it awaits or ignores what comes back
        except BaseException:
            # Dependents of a failed task fail too; asyncio would print each when it is collected.
            asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
            raise
        finally:
            await _drain()

    with asyncio.Runner() as runner:
        runner.run(main(), context=contextvars.copy_context())


async def _drain() -> None:
    """Finish tasks that are not awaited: the SDK logs about a resource from one."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=0.5)


@contextmanager
def _clean_defaults() -> Generator[None]:
    """Reset what the SDK's settings keep outside of their context.

    A ContextProperty keeps the first value that it is given as a default for every other context
    (pulumi/_utils.py, ContextProperty.fset), so a test's monitor would be used by all later code.
    """
    key = "_ContextProperty__default"
    properties = [one for one in vars(sdk_settings.Settings).values() if hasattr(one, key)]
    before = [getattr(one, key) for one in properties]
    try:
        yield
    finally:
        for one, value in zip(properties, before, strict=True):
            setattr(one, key, value)


@contextmanager
def _no_stack_traces() -> Generator[None]:
    """Do not record where each resource was created: only the engine's display reads it.

    Under pytest that is some 60 frames for each resource, a third of a run's time. An SDK without
    this function is unchanged.
    """
    before = vars(sdk_resource).get(_STACK_TRACE)
    if before is None:
        yield
        return
    setattr(sdk_resource, _STACK_TRACE, source_pb2.StackTrace)
    try:
        yield
    finally:
        setattr(sdk_resource, _STACK_TRACE, before)


@contextmanager
def _program(program: Program) -> Generator[Callable[[], object]]:
    """Make a function of a program; the modules of a folder are unloaded afterwards."""
    if callable(program):
        yield program
        return
    folder = Path(program).resolve()
    main = folder / "__main__.py"
    if not main.is_file():
        message = f"{folder} has no __main__.py; give a function, or the folder of a Pulumi program"
        raise FileNotFoundError(message)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))  # as pulumi-language-python-exec does
    try:
        with chdir(folder):
            yield lambda: runpy.run_path(str(main), run_name="__main__") and None
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            top = sys.modules.get(name.partition(".")[0])
            file = getattr(top, "__file__", None)
            if file is not None and Path(file).resolve() in (
                folder / f"{name}.py",
                folder / name / "__init__.py",
            ):
                del sys.modules[name]


def _project_name(program: Program) -> str:
    if not callable(program) and (file := Path(program) / "Pulumi.yaml").is_file():
        return str(yaml.safe_load(file.read_text(encoding="utf-8"))["name"])
    return "project"


def _timestamp(value: date) -> str:
    """A date of a YAML file in the engine's JSON format."""
    return f"{value:%Y-%m-%d}T00:00:00Z"


def _config(config: Mapping[str, Any] | Path | str | None, project: str) -> dict[str, str]:
    """Configuration as the engine passes it: namespaced keys, text values, objects as JSON."""
    values: Mapping[str, Any]
    if isinstance(config, Path | str):
        document: Any = yaml.safe_load(Path(config).read_text(encoding="utf-8")) or {}
        values = document.get("config", {})
    else:
        values = config or {}
    results: dict[str, str] = {}
    for key, value in values.items():
        if is_object(value) and "secure" in value:
            message = f"config {key} is encrypted; pass its plain value: secrets={{{key!r}: ...}}"
            raise ValueError(message)
        name = key if ":" in key else f"{project}:{key}"
        results[name] = value if isinstance(value, str) else json.dumps(value, default=_timestamp)
    return results
