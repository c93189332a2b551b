"""An account of a fake cloud: resources in a file of its folder, under a lock, so that they outlive a run.

The provider is a client of this: it creates, reads, updates and deletes, and gets errors with the service's
texts. Without a folder an account is kept in memory, for the validation of graphs.
"""

import contextlib
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gpuyard_simulate.api import ApiError, Unreachable
from testbed.plugins.cloud import calls, facts, faults, shapes
from testbed.plugins.cloud.checking import of_service
from testbed.plugins.cloud.inside import control_plane, joining
from testbed.plugins.cloud.inside.node import numbers
from testbed.plugins.cloud.inside.user_data import BadUserData
from testbed.plugins.cloud.motion import event_bus, interrupting, pace, schedule
from testbed.plugins.cloud.motion.pace import Clock
from testbed.plugins.cloud.service import (
    collisions,
    failing,
    machines,
    protection,
    reservations,
    ties,
)
from testbed.plugins.cloud.service.book import Book, as_far_as_there_is, read_book
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place

FOLDER = "GPUYARD_FAKE_CLOUD"
CALLER = "GPUYARD_FAKE_CLOUD_CALLER"
ATTEMPTS = 25  # of the AWS SDK, before it gives up
_PAUSE = 0.01
_SPOILING = ("capacity", "time-out")

Done = TypeVar("Done")


def caller() -> str:
    """The caller of AWS: a user of the account, unless the environment has another ARN."""
    return os.environ.get(CALLER) or f"arn:aws:iam::{shapes.ACCOUNT}:user/ci"


class Refused(Exception):
    """The cloud returned an error, and nothing was created."""


class Failed(Exception):
    """The resource exists, but failed."""

    def __init__(self, message: str, resource: Resource) -> None:
        super().__init__(message)
        self.resource = resource


class _Again(Exception):
    """The provider retries."""


@dataclass(frozen=True)
class _Kept:
    """A book, and the text of the file that holds it."""

    text: str
    book: Book


class Account:
    """One account of one cloud."""

    def __init__(
        self,
        folder: Path | None = None,
        name: str = "cloud",
        clock: Clock | None = None,
    ) -> None:
        self.folder = folder
        self._clock = clock or Clock()
        self.name = name
        self.file = folder / f"{name}.json" if folder else None
        self._memory = Book()
        self._kept: _Kept | None = None
        self._lock = threading.RLock()
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    # ── the book ──────────────────────────────────────────────────────────────────────────────────
    @contextlib.contextmanager
    def _open(self) -> Generator[Book]:
        """The book, for one change or read at a time; written when the block ends without an error."""
        with self._lock:
            if self.file is None:
                yield self._memory
                return
            with self.file.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                retained, self._kept = (
                    self._current(self.file),
                    None,
                )  # partly changed if the block fails
                yield retained.book
                self._kept = self._written(self.file, retained)

    def _current(self, file: Path) -> "_Kept":
        """The current book of the file; parsed only if another process has written it."""
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if self._kept and self._kept.text == text:
            return self._kept
        return _Kept(text, read_book(json.loads(text)) if text else Book())

    def _written(self, file: Path, retained: "_Kept") -> "_Kept":
        """The same, after writing the file if the book changed: most accesses change nothing."""
        text = json.dumps(vars(retained.book), default=vars)  # without indent: uses the C encoder
        if text == retained.text:
            return retained
        fresh = file.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)
        return _Kept(text, retained.book)

    def all(self, kind: str = "") -> list[Resource]:
        """Every resource, or those of one type."""
        with self._open() as book:
            return [each for each in book.resources if kind in {"", each.kind}]

    def find(self, kind: str, id_: str) -> Resource | None:
        """The resource with this id or import id."""
        return next(
            (each for each in self.all(kind) if id_ == each.id or id_ in each.imports), None
        )

    def creator(self, kind: str, id_: str) -> str:
        """The creator of a resource."""
        with self._open() as book:
            return book.creators.get(f"{kind}/{id_}", "")

    def publish(self, image: str, name: str) -> None:
        """Register a published image by its id."""
        with self._open() as book:
            book.images[image] = name

    def saw(self, actions: Iterable[str]) -> None:
        """Record the actions that the cloud would check."""
        with self._open() as book:
            book.asked = sorted({*book.asked, *actions})

    def asked(self) -> set[str]:
        """Every action and permission needed so far."""
        with self._open() as book:
            return set(book.asked)

    def met(self, place: int = 0) -> int:
        """How often a fault of the script occurred, by its index."""
        with self._open() as book:
            return book.used.get(str(place), 0)

    def fill(self, bucket: str, objects: int) -> None:
        """Set the number of objects in a bucket."""
        with self._open() as book:
            book.objects[bucket] = objects

    def images(self) -> dict[str, str]:
        """The published images."""
        with self._open() as book:
            return dict(book.images)

    def missing(self, id_: str) -> tuple[int, str]:
        """How many instances a node group lacks, and EKS's health message for it."""
        with self._open() as book:
            count, message = book.missing.get(id_, (0, ""))
            return count, message

    def coming(self, id_: str) -> int:
        """How many instances of a group or pool have not joined yet."""
        with self._open() as book:
            return book.coming.get(id_, 0)

    def settle(self) -> None:
        """Apply the passed time: scheduled interruptions happen, and due nodes join."""
        if self.folder is None:
            return
        passed = self._interrupt(self.folder)
        if passed or pace.read(self.folder).factor or self._any_coming():
            self._inside_follows(machines.GROUP, "update", None)

    def _any_coming(self) -> bool:
        with self._open() as book:
            return bool(book.coming)

    def _interrupt(self, folder: Path) -> bool:
        """Apply due interruptions; whether a node of a group is gone."""
        plan, api = schedule.read(folder), joining.client(folder)
        if plan is None or api is None:
            return False
        with self._open() as book:
            far = {place: list(each) for place, each in book.interrupted.items()}
        happened = interrupting.let_pass(api, self.name, plan, far, self._clock.now())
        for group, node in happened.gone:
            self._lose(folder, group, node)
        with self._open() as book:
            book.interrupted = far
            for each in happened.events:
                for queue in event_bus.queues_of(each, book.resources):
                    book.queued.setdefault(queue, []).append((self._clock.now(), each))
        return bool(happened.gone)

    def _lose(self, folder: Path, id_: str, node: str) -> None:
        """Record an interrupted machine; without capacity for a replacement, one is missing."""
        existing = self.all()
        group = next((each for each in existing if each.id == id_), None)
        if group is None:
            return
        fault = self._fault("scale", group.kind, id_, group.inputs)
        with self._open() as book:
            seen = as_far_as_there_is(group, book)
            names = joining.named(seen, book.resources, book.images, folder)
            short = fault is not None and fault.word == "capacity"
            if node in names and (short or group.kind == machines.GROUP):
                burned = book.burned.setdefault(id_, [])
                burned.append(numbers(len(names), seen.state)[names.index(node)])
            if short:
                count, _ = book.missing.get(id_, (0, ""))
                expected = machines.of(group.kind, group.inputs, book.resources)
                book.missing[id_] = (count + 1, failing.no_capacity(group.kind, expected))

    def receive(self, queue: str) -> list[dict[str, Any]]:
        """Take the events that EventBridge put into a queue, except those past its retention."""
        here = next(each for each in self.all(event_bus.QUEUE) if queue in each.names)
        oldest = self._clock.now() - here.inputs["messageRetentionSeconds"]
        with self._open() as book:
            return [each for at, each in book.queued.pop(here.id, []) if at >= oldest]

    def scale(self, id_: str, size: int) -> None:
        """Set the size of a group or pool, as its autoscaler does; started instances become nodes."""
        existing = self.all()
        here = next(each for each in existing if each.id == id_)
        requested, kind = machines.sized(here, size, existing), here.kind
        fault = self._fault("scale", kind, id_, {**here.inputs, **requested})
        with self._open() as book:
            before = machines.size_of(here, existing) - book.missing.pop(id_, (0, ""))[0]
            if fault and fault.word == "capacity" and size > before:
                expected = machines.of(kind, here.inputs, book.resources)
                book.missing[id_] = (size - before, failing.no_capacity(kind, expected))
        self.meddle(kind, id_, requested)

    def meddle(self, kind: str, id_: str, state: Mapping[str, Any] | None) -> None:
        """Change or remove a resource outside of Pulumi; its nodes follow."""
        with self._open() as book:
            here = next(each for each in book.resources if (each.kind, each.id) == (kind, id_))
            book.resources.remove(here)
            if state is not None:
                both = {**here.inputs, **{k: v for k, v in state.items() if k in here.inputs}}
                book.resources.append(
                    Resource(kind, id_, both, {**here.state, **state}, here.imports)
                )
        self._inside_follows(kind, "update", None)

    def _inside_follows(self, kind: str, at: str, done: object) -> None:
        """Update the control plane and its nodes to the account's clusters and groups."""
        if self.folder is None or control_plane.of(self.folder) is None:
            return
        try:
            if at == "create" and isinstance(done, Resource):
                joining.open_cluster(self.folder, done)
            if joining.concerns(kind, at):
                coming = self._nodes_follow(self.folder)
                while isinstance(done, Resource) and coming.nodes.get(done.id):
                    self._clock.sleep(
                        coming.seconds
                    )  # creating or changing a group waits for its nodes
                    coming = self._nodes_follow(self.folder)
        except (ApiError, Unreachable) as error:
            message = f"the fake cannot reach the control plane behind it: {error}"
            raise Refused(message) from None

    def _nodes_follow(self, folder: Path) -> joining.Coming:
        with joining.in_turn(folder):
            with self._open() as book:
                blocked = [as_far_as_there_is(each, book) for each in book.resources]
                images, ordered = dict(book.images), dict(book.ordered)
            coming = joining.follow(folder, self.name, blocked, images, ordered, self._clock.now())
            with self._open() as book:
                book.ordered, book.coming = ordered, dict(coming.nodes)
        return coming

    # ── changes ───────────────────────────────────────────────────────────────────────────────────
    def create(self, kind: str, name: str, inputs: Mapping[str, Any], place: Place) -> Resource:
        """Create a resource as the service does."""
        value = shapes.plain(inputs)
        return self._asked(
            "create",
            kind,
            name,
            value,
            lambda book: _make(book, kind, name, value, place, self.folder),
        )

    def update(
        self,
        kind: str,
        name: str,
        id_: str,
        changed: Mapping[str, Any],
        removed: tuple[str, ...],
        place: Place,
    ) -> Resource:
        """Update the fields of a resource that differ, and remove missing ones."""
        fields = shapes.plain(changed)
        return self._asked(
            "update",
            kind,
            name,
            fields,
            lambda book: _change(book, kind, id_, fields, removed, place),
        )

    def delete(self, kind: str, name: str, id_: str, inputs: Mapping[str, Any]) -> None:
        """Delete a resource; a missing one counts as deleted."""
        value = shapes.plain(inputs)
        self._asked("delete", kind, name, value, lambda book: _remove(book, kind, id_, value))

    def _asked(
        self,
        at: str,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        act: Callable[["Book"], Done],
    ) -> Done:
        """One change, with its faults; a throttled one is retried."""
        return _patiently(at, kind, lambda: self._once(at, kind, name, inputs, act))

    def look(self, at: str, kind: str, name: str) -> None:
        """Apply faults to a `read` or a function call (`ask`); a call to an unavailable service is retried."""

        def once() -> None:
            if fault := self._fault(at, kind, name, {}):
                self._take_time(fault)
                _before(fault, kind, at)

        if any(each.script.get("at") == at for each in faults.read(self.folder)[1]):
            _patiently(at, kind, once)

    def _once(
        self,
        at: str,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        act: Callable[["Book"], Done],
    ) -> Done:
        self.saw(calls.of(at, kind, inputs))
        fault = self._fault(at, kind, name, inputs)
        if fault:
            self._take_time(fault)
            _before(fault, kind, at)
        with self._open() as book:
            try:
                done = act(book)
            except Refused as error:
                raise Refused(failing.words(kind, at, str(error))) from None
            spoiled, why = None, None
            if fault and isinstance(done, Resource) and fault.word in _SPOILING:
                spoiled = _spoil(book, done, _AFTER[fault.word][_cloud(kind)])
            elif isinstance(done, Resource) and (at == "create" or _ROLLS & inputs.keys()):
                why = self._not_joining(book, done)
                if why and at == "update":
                    raise Refused(
                        failing.not_rolled(done, why)
                    )  # the old nodes stay, and so does the group
                if why:
                    spoiled = _spoil(book, done, _AFTER["capacity"][_cloud(kind)])
        self._inside_follows(kind, at, done)
        if why and spoiled:
            raise Failed(failing.without_nodes(spoiled, why), spoiled)
        if fault and fault.word in {"kill", "crash"}:
            _end(fault)
        if fault and spoiled:
            expected = machines.of(kind, inputs, self.all())
            raise Failed(failing.failure(fault.word, kind, spoiled, expected), spoiled)
        return done

    def _take_time(self, fault: faults.Fault) -> None:
        time.sleep(fault.seconds)
        while fault.word == "hold" and fault in faults.read(self.folder)[1]:
            time.sleep(_PAUSE)

    def _not_joining(self, book: Book, group: Resource) -> BadUserData | None:
        """Why no node of a new group joins; the instances' messages are written to their log."""
        inside = control_plane.of(self.folder)
        if (
            inside is None
            or self.folder is None
            or group.kind not in {machines.GROUP, machines.POOL}
        ):
            return None
        try:
            joining.asked_for(group, book.resources, book.images, inside)
        except BadUserData as why:
            joining.remember(self.folder, group, str(why))
            return why
        return None

    def _fault(
        self, at: str, kind: str, name: str, inputs: Mapping[str, Any]
    ) -> faults.Fault | None:
        script = faults.read(self.folder)[1]
        with self._open() as book:
            book.steps += at not in faults.LOOKS
            expected = machines.of(kind, inputs, book.resources)
            event = faults.Event(at, kind, name, book.steps, expected.zones, expected.types)
            for each in script:
                used = book.used.get(str(each.place), 0)
                if each.meets(event) and used < each.script.get("times", used + 1):
                    if each.word == "capacity" and not expected.count:
                        continue  # no machine is needed yet
                    book.used[str(each.place)] = used + 1
                    return each
        return None


def _patiently(at: str, kind: str, once: Callable[[], Done]) -> Done:
    """Retry as often as the provider retries a throttled or unavailable service."""
    for attempt in range(ATTEMPTS):
        try:
            return once()
        except _Again as error:
            if attempt == ATTEMPTS - 1:
                raise Refused(failing.words(kind, at, str(error))) from None
            time.sleep(_PAUSE)
    raise AssertionError


# ── changes ───────────────────────────────────────────────────────────────────────────────────────
def _refuse(messages: list[str]) -> None:
    if messages:
        raise Refused(messages[0])


def _make(
    book: Book,
    kind: str,
    name: str,
    inputs: Mapping[str, Any],
    place: Place,
    folder: Path | None,
) -> Resource:
    seen = book.made.get(f"{kind}/{name}", 0)
    word = shapes.words(kind, inputs, place, f"{name}/{seen}")
    _refuse([message.removeprefix(f"{kind}: ") for message in of_service(kind, inputs)])
    _refuse(ties.lacking(kind, inputs, book.resources))
    _refuse(machines.mismatches(kind, inputs, book.resources))
    _refuse(collisions.collisions(kind, word["id"], inputs, book.resources))
    requested = Resource(kind, word["id"], inputs, dict(inputs))
    _refuse(list(reservations.lacking(folder, requested, book.resources, place.project)))
    book.made[f"{kind}/{name}"] = seen + 1
    state = shapes.filled(kind, word, inputs, place)
    machines.read_of_others(kind, state, book.resources)
    control_plane.put_behind(kind, state, control_plane.of(folder), book.resources)
    imports = shapes.import_ids(kind, {**word, **state, "id": word["id"]})
    created = Resource(kind, word["id"], inputs, state, imports)
    # Creating an existing grant or tag again returns the same one.
    book.resources = [each for each in book.resources if (each.kind, each.id) != (kind, created.id)]
    book.resources.append(created)
    book.creators[f"{kind}/{created.id}"] = caller()
    return created


def _change(
    book: Book,
    kind: str,
    id_: str,
    changed: Mapping[str, Any],
    removed: tuple[str, ...],
    place: Place,
) -> Resource:
    here = _held(book, kind, id_)
    if here is None:
        raise Refused(f"ResourceNotFoundException: {id_} does not exist")
    if here.state.get("status") in {"CREATE_FAILED", "CREATING"} and (changed or removed):
        raise Refused(
            f"InvalidRequestException: {id_} cannot be updated as it is not in Active State"
        )
    inputs = {**{k: v for k, v in here.inputs.items() if k not in removed}, **changed}
    others = [each for each in book.resources if each is not here]
    _refuse([message.removeprefix(f"{kind}: ") for message in of_service(kind, inputs)])
    _refuse(ties.lacking(kind, inputs, others))
    _refuse(machines.mismatches(kind, inputs, others))
    _refuse(collisions.moved(kind, here.inputs, inputs, others))
    state = {**{k: v for k, v in here.state.items() if k not in removed}, **changed}
    state |= shapes.labelled(facts.resource(kind) or {"outputs": {}}, inputs, place)
    if kind.endswith(":LaunchTemplate") and set(changed) - _NO_VERSION | set(removed):
        state["latestVersion"] = here.state["latestVersion"] + 1
        if inputs.get("updateDefaultVersion"):
            state["defaultVersion"] = state["latestVersion"]
    fresh = Resource(kind, id_, inputs, state, here.imports)
    book.resources[book.resources.index(here)] = fresh
    return fresh


# Changes of a launch template that create no new version.
_NO_VERSION = {"description", "defaultVersion", "updateDefaultVersion", "tags"}


def _remove(book: Book, kind: str, id_: str, inputs: Mapping[str, Any]) -> None:
    here = _held(book, kind, id_)
    if here is None:
        return
    _refuse(protection.refusals(here, book.objects.get(id_, 0)))
    if inputs.get("deletionPolicy") == "ABANDON" or kind in protection.STAYS:
        return
    _refuse([message] if (message := ties.kept(here, book.resources)) else [])
    along = [here, *ties.users(here, book.resources, "~")]
    book.resources = [each for each in book.resources if each not in along]


def _held(book: Book, kind: str, id_: str) -> Resource | None:
    return next((each for each in book.resources if (each.kind, each.id) == (kind, id_)), None)


# ── faults ────────────────────────────────────────────────────────────────────────────────────────
def _before(fault: faults.Fault, kind: str, at: str) -> None:
    """Faults that occur before anything is created."""
    aws = kind.startswith("aws:")
    match fault.word:
        case "kill-before":
            _end(fault)
        case "throttle":
            slow = "ThrottlingException: Rate exceeded"
            raise _Again(
                slow if aws else "Error 429: Quota exceeded for quota metric, rateLimitExceeded"
            )
        case "unavailable":
            broken = "ServiceUnavailableException: https response error StatusCode: 503"
            raise _Again(
                broken if aws else "Error 503: The service is currently unavailable., backendError"
            )
        case "not-assumable":
            raise _Again("InvalidParameterException: The role could not be assumed by the service")
        case "quota":
            more = "VcpuLimitExceeded: You have requested more vCPU capacity than your current limit allows"
            short = "Error 403: Insufficient regional quota to satisfy request, quotaExceeded"
            raise Refused(failing.words(kind, at, more if aws else short))
        case "unsold":
            message = (
                "Your requested instance type is not supported in your requested Availability Zone"
            )
            existing = "Error 400: the machine type does not exist in zone, invalid"
            raise Refused(
                failing.words(
                    kind, at, f"InvalidParameterException: {message}" if aws else existing
                )
            )
        case "refuse":
            raise Refused(failing.words(kind, at, str(fault.script.get("message", "AccessDenied"))))
        case _:
            return


def _end(fault: faults.Fault) -> None:
    """End the process, and for a killed command also the engine that started it."""
    if fault.word != "crash":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


_AFTER = {
    "capacity": {"aws": "CREATE_FAILED", "gcp": "ERROR"},
    "time-out": {"aws": "CREATING", "gcp": "CREATING"},
}


# Changes of a group that replace its instances.
_ROLLS = {"launchTemplate", "version", "releaseVersion"}


def _cloud(kind: str) -> str:
    return kind.partition(":")[0]


def _spoil(book: Book, created: Resource, status: str) -> Resource:
    spoiled = Resource(
        created.kind,
        created.id,
        created.inputs,
        {**created.state, "status": status},
        created.imports,
    )
    book.resources[book.resources.index(created)] = spoiled
    return spoiled
