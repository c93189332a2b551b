"""Wait until an object is ready, or gone. Every wait has a limit and ends at once when the engine cancels."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from testbed.plugins.kubernetes import jsonpath, kstatus, pulumi_annotations, readiness
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import (
    ApiError,
    NoSuchKind,
    NotReady,
    Unreachable,
    cancelled,
    failed_to_start,
    timed_out,
)
from testbed.plugins.kubernetes.readiness import Look, State
from testbed.plugins.kubernetes.values import Object, path

DEFAULT_SECONDS = 600.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
Say = Callable[[str], None]


@dataclass
class Waiter:
    """Waits on behalf of one operation on one object."""

    cluster: Cluster
    stop: threading.Event
    say: Say  # a status line, shown while it lasts
    warn: Say  # a warning, kept

    def until_ready(
        self, inputs: Object, first: Object, before: Object | None, seconds: float
    ) -> Object:
        """Wait as the annotations or the kind's rules require; returns the live object."""
        rule, custom = _rule(inputs, first)
        if rule is None:
            return first
        key = _key(first)
        default = DEFAULT_SECONDS if custom else readiness.TIMEOUTS.get(key, DEFAULT_SECONDS)
        limit = pulumi_annotations.timeout(inputs, seconds, default)
        look = Look(self.cluster, first, before)
        live = self._wait(rule, look, limit, custom=custom)
        self.say("")  # clear the status line
        return live

    def _wait(self, rule: readiness.Rule, look: Look, limit: float, *, custom: bool) -> Object:
        live, state, pause = look.first, State(), _FIRST_PAUSE
        deadline = time.monotonic() + limit
        while True:
            live = self._fetch(live)
            state = rule(look, live)
            if state.ready:
                return live
            if state.failed:
                raise failed_to_start(live, state.reasons)
            if state.message:
                self.say(state.message)
            remaining = deadline - time.monotonic()
            if remaining <= 0 and custom:
                # The generic waiter reports the text of wait.ErrorInterrupted.
                raise NotReady("timed out waiting for the condition", live, state.reasons)
            if remaining <= 0:
                raise timed_out(live, state.reasons)
            if self.stop.wait(min(pause, remaining)):
                raise cancelled(live, state.reasons)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _fetch(self, live: Object) -> Object:
        """The live object; after a failed request the last one, because the time limit decides."""
        try:
            return self.cluster.get(live)
        except (ApiError, Unreachable):
            return live

    def until_gone(self, inputs: Object, live: Object, name: str, seconds: float) -> None:
        """Wait for the deletion to finish; on the limit, name the finalizers that may block it."""
        limit = pulumi_annotations.timeout(inputs, seconds, DEFAULT_SECONDS)
        deadline, pause = time.monotonic() + limit, _FIRST_PAUSE / 2
        while True:
            try:
                live = self.cluster.get(live, name)
            except NoSuchKind:
                return
            except ApiError as error:
                if error.not_found:
                    return
            except Unreachable as error:
                self.say(f"unexpected error while checking cluster state: {error}")
            remaining = deadline - time.monotonic()
            stopped = remaining > 0 and self.stop.wait(min(pause, remaining))
            if remaining <= 0 or stopped:
                finalizers = path(live, "metadata", "finalizers", default=[]) or []
                self.warn(f"finalizers might be preventing deletion ({', '.join(finalizers)})")
                raise (
                    cancelled(live, [])
                    if stopped
                    else NotReady("timed out waiting for the condition", live)
                )
            _, message = kstatus.compute(live)
            self.say(message)
            pause = min(pause * 1.5, _LONGEST_PAUSE)


def check_on_read(cluster: Cluster, inputs: Object, live: Object) -> None:
    """Refresh reports an object that is not ready as such."""
    if _key(live) not in readiness.CHECKED_ON_READ or pulumi_annotations.is_true(
        inputs, pulumi_annotations.SKIP_AWAIT
    ):
        return
    look = Look(cluster, live, live)
    # One check only: endpoints count as settled.
    look.memory.update(endpoints=None)
    state = readiness.RULES[_key(live)](look, live)
    if live["kind"] == "Service" and path(live, "spec", "type") != "LoadBalancer":
        return
    if not state.ready:
        raise failed_to_start(live, state.reasons)


def _key(obj: Object) -> str:
    return f"{obj['apiVersion']}/{obj['kind']}"


def _rule(inputs: Object, first: Object) -> tuple[readiness.Rule | None, bool]:
    """The readiness rule, and whether the user chose it; None when there is nothing to wait for."""
    if pulumi_annotations.is_true(inputs, pulumi_annotations.SKIP_AWAIT):
        return None, True
    if expressions := pulumi_annotations.wait_for(first):
        return _all([_expression(text) for text in expressions]), True
    built_in = readiness.RULES.get(_key(first))
    if built_in is None and os.environ.get("PULUMI_K8S_AWAIT_ALL") == "true":
        return _generic, False
    return built_in, False


def _generic(_look: Look, live: Object) -> State:
    current, message = kstatus.compute(live)
    return State(ready=current, message=message, reasons=[] if current else [message])


def _all(rules: list[readiness.Rule]) -> readiness.Rule:
    def every(look: Look, live: Object) -> State:
        for rule in rules:
            state = rule(look, live)
            if not state.ready:
                return state
        return State(ready=True)

    return every


def _expression(text: str) -> readiness.Rule:
    return _by_path(jsonpath.parse(text)) if text.startswith("jsonpath=") else _by_condition(text)


def _behind(live: Object, observed: object) -> bool:
    generation = path(live, "metadata", "generation")
    return isinstance(observed, int) and isinstance(generation, int) and observed < generation


def _by_path(expression: jsonpath.Expression) -> readiness.Rule:
    def rule(_look: Look, live: Object) -> State:
        if _behind(live, path(live, "status", "observedGeneration")):
            return State(message=f"Waiting for {expression.written}")
        matched, result = expression.matches(live)
        message = f"Waiting for {expression.written}={expression.value} ({result})"
        return State(ready=matched, message=message, reasons=[] if matched else [message])

    return rule


def _by_condition(text: str) -> readiness.Rule:
    kind, _, expected = text.removeprefix("condition=").partition("=")
    expected = expected or "True"

    def rule(_look: Look, live: Object) -> State:
        for item in path(live, "status", "conditions", default=[]) or []:
            if str(item.get("type", "")).lower() != kind.lower():
                continue
            observed = item.get("observedGeneration", path(live, "status", "observedGeneration"))
            result = str(item.get("status", ""))
            ready = result.lower() == expected.lower() and not _behind(live, observed)
            message = f"Resource has condition {kind}={result} (want {expected})"
            return State(ready=ready, message=message, reasons=[] if ready else [message])
        return State(message="Has no .status.conditions", reasons=[f"condition {kind} is missing"])

    return rule
