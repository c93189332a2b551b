"""An account of a fake cloud: resources in a file of its folder, under a lock, so that they outlive a run.

The provider is a client of this: it asks to make, read, change and delete, and is refused in the service's
words. Without a folder an account lives in memory, as judges of graphs want it.
"""

import contextlib
import fcntl
import json
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from testbed.plugins.cloud import facts, faults, shapes
from testbed.plugins.cloud.checking import of_service
from testbed.plugins.cloud.service import collisions, machines, protection, ties
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place

FOLDER = "GPUYARD_FAKE_CLOUD"
ATTEMPTS = 25  # of the AWS SDK, before it gives up
_PAUSE = 0.01
_SPOILING = ("capacity", "time-out")

Done = TypeVar("Done")


class Refused(Exception):
    """The cloud said no, and nothing was made."""


class Failed(Exception):
    """What was asked for is there, and is not as it should be."""

    def __init__(self, message: str, resource: Resource) -> None:
        super().__init__(message)
        self.resource = resource


class _Again(Exception):
    """The provider asks once more."""


@dataclass
class _Book:
    """What the file holds."""

    resources: list[Resource] = field(default_factory=list[Resource])
    made: dict[str, int] = field(default_factory=dict[str, int])
    steps: int = 0
    used: dict[str, int] = field(default_factory=dict[str, int])
    objects: dict[str, int] = field(default_factory=dict[str, int])


class Account:
    """One account of one cloud."""

    def __init__(self, folder: Path | None = None, name: str = "cloud") -> None:
        self.folder = folder
        self.file = folder / f"{name}.json" if folder else None
        self._memory = _Book()
        self._lock = threading.RLock()
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    # ── the book ──────────────────────────────────────────────────────────────────────────────────
    @contextlib.contextmanager
    def _open(self) -> Generator[_Book]:
        """The book, for one change or look at a time; written when the block ends without an error."""
        with self._lock:
            if self.file is None:
                yield self._memory
                return
            with self.file.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                book = self._read()
                yield book
                fresh = self.file.with_suffix(".new")
                fresh.write_text(json.dumps(asdict(book), indent=1), encoding="utf-8")
                fresh.replace(self.file)

    def _read(self) -> _Book:
        if self.file is None or not self.file.exists():
            return _Book()
        read = json.loads(self.file.read_text(encoding="utf-8"))
        held = [
            Resource(
                each["kind"], each["id"], each["inputs"], each["state"], tuple(each["imports"])
            )
            for each in read.pop("resources")
        ]
        return _Book(resources=held, **read)

    def all(self, kind: str = "") -> list[Resource]:
        """Every resource, or those of one type."""
        with self._open() as book:
            return [each for each in book.resources if kind in {"", each.kind}]

    def find(self, kind: str, id_: str) -> Resource | None:
        """The resource of this id, or of this id for imports."""
        return next(
            (each for each in self.all(kind) if id_ == each.id or id_ in each.imports), None
        )

    def fill(self, bucket: str, objects: int) -> None:
        """Put objects into a bucket, or take them out."""
        with self._open() as book:
            book.objects[bucket] = objects

    def meddle(self, kind: str, id_: str, state: Mapping[str, Any] | None) -> None:
        """Change a resource behind everybody's back, or take it away."""
        with self._open() as book:
            here = next(each for each in book.resources if (each.kind, each.id) == (kind, id_))
            book.resources.remove(here)
            if state is not None:
                both = {**here.inputs, **{k: v for k, v in state.items() if k in here.inputs}}
                book.resources.append(
                    Resource(kind, id_, both, {**here.state, **state}, here.imports)
                )

    # ── changes ───────────────────────────────────────────────────────────────────────────────────
    def create(self, kind: str, name: str, inputs: Mapping[str, Any], place: Place) -> Resource:
        """Make a resource as the service does."""
        given = shapes.plain(inputs)
        return self._asked(
            "create", kind, name, given, lambda book: _make(book, kind, name, given, place)
        )

    def update(
        self,
        kind: str,
        name: str,
        id_: str,
        changed: Mapping[str, Any],
        gone: tuple[str, ...],
        place: Place,
    ) -> Resource:
        """Change those fields of a resource that differ, and take those away that are gone."""
        fields = shapes.plain(changed)
        return self._asked(
            "update", kind, name, fields, lambda book: _change(book, kind, id_, fields, gone, place)
        )

    def delete(self, kind: str, name: str, id_: str, inputs: Mapping[str, Any]) -> None:
        """Delete a resource; one that is gone is deleted."""
        given = shapes.plain(inputs)
        self._asked("delete", kind, name, given, lambda book: _remove(book, kind, id_, given))

    def _asked(
        self,
        at: str,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        act: Callable[["_Book"], Done],
    ) -> Done:
        """One change, with the faults that meet it; a throttled one is asked again."""
        for attempt in range(ATTEMPTS):
            try:
                return self._once(at, kind, name, inputs, act)
            except _Again as error:
                if attempt == ATTEMPTS - 1:
                    raise Refused(words(kind, at, str(error))) from None
                time.sleep(_PAUSE)
        raise AssertionError

    def _once(
        self,
        at: str,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        act: Callable[["_Book"], Done],
    ) -> Done:
        fault = self._fault(at, kind, name, inputs)
        if fault:
            time.sleep(fault.seconds)
            _before(fault, kind, at)
        with self._open() as book:
            try:
                done = act(book)
            except Refused as error:
                raise Refused(words(kind, at, str(error))) from None
            spoiled = None
            if fault and isinstance(done, Resource) and fault.word in _SPOILING:
                spoiled = _spoil(book, done, fault)
        if fault and fault.word in {"kill", "crash"}:
            _end(fault)
        if fault and spoiled:
            wanted = machines.of(kind, inputs, self.all())
            raise Failed(_failure(fault, kind, spoiled, wanted), spoiled)
        return done

    def _fault(
        self, at: str, kind: str, name: str, inputs: Mapping[str, Any]
    ) -> faults.Fault | None:
        script = faults.read(self.folder)[1]
        with self._open() as book:
            book.steps += 1
            wanted = machines.of(kind, inputs, book.resources)
            event = faults.Event(at, kind, name, book.steps, wanted.zones, wanted.types)
            for each in script:
                used = book.used.get(str(each.place), 0)
                if each.meets(event) and used < each.script.get("times", used + 1):
                    if each.word == "capacity" and not wanted.count:
                        continue  # nobody asks for a machine yet
                    book.used[str(each.place)] = used + 1
                    return each
        return None


# ── what a change is ──────────────────────────────────────────────────────────────────────────────
def _refuse(said: list[str]) -> None:
    if said:
        raise Refused(said[0])


def _make(book: _Book, kind: str, name: str, inputs: Mapping[str, Any], place: Place) -> Resource:
    seen = book.made.get(f"{kind}/{name}", 0)
    word = shapes.words(kind, inputs, place, f"{name}/{seen}")
    _refuse([said.removeprefix(f"{kind}: ") for said in of_service(kind, inputs)])
    _refuse(ties.lacking(kind, inputs, book.resources))
    _refuse(machines.mismatches(kind, inputs, book.resources))
    _refuse(collisions.collisions(kind, word["id"], inputs, book.resources))
    book.made[f"{kind}/{name}"] = seen + 1
    state = shapes.filled(kind, word, inputs, place)
    machines.read_of_others(kind, state, book.resources)
    imports = shapes.import_ids(kind, {**word, **state, "id": word["id"]})
    made = Resource(kind, word["id"], inputs, state, imports)
    # Grants and tags are made again as they are there: the same one.
    book.resources = [each for each in book.resources if (each.kind, each.id) != (kind, made.id)]
    book.resources.append(made)
    return made


def _change(
    book: _Book,
    kind: str,
    id_: str,
    changed: Mapping[str, Any],
    gone: tuple[str, ...],
    place: Place,
) -> Resource:
    here = _held(book, kind, id_)
    if here is None:
        raise Refused(f"ResourceNotFoundException: {id_} does not exist")
    if here.state.get("status") in {"CREATE_FAILED", "CREATING"} and (changed or gone):
        raise Refused(
            f"InvalidRequestException: {id_} cannot be updated as it is not in Active State"
        )
    inputs = {**{k: v for k, v in here.inputs.items() if k not in gone}, **changed}
    others = [each for each in book.resources if each is not here]
    _refuse([said.removeprefix(f"{kind}: ") for said in of_service(kind, inputs)])
    _refuse(ties.lacking(kind, inputs, others))
    _refuse(machines.mismatches(kind, inputs, others))
    state = {**{k: v for k, v in here.state.items() if k not in gone}, **changed}
    state |= shapes.labelled(facts.resource(kind) or {"outputs": {}}, inputs, place)
    if kind.endswith(":LaunchTemplate") and set(changed) - _NO_VERSION | set(gone):
        state["latestVersion"] = here.state["latestVersion"] + 1
        if inputs.get("updateDefaultVersion"):
            state["defaultVersion"] = state["latestVersion"]
    fresh = Resource(kind, id_, inputs, state, here.imports)
    book.resources[book.resources.index(here)] = fresh
    return fresh


# What changes of a launch template make no new version.
_NO_VERSION = {"description", "defaultVersion", "updateDefaultVersion", "tags"}


def _remove(book: _Book, kind: str, id_: str, inputs: Mapping[str, Any]) -> None:
    here = _held(book, kind, id_)
    if here is None:
        return
    _refuse(protection.refusals(here, book.objects.get(id_, 0)))
    if inputs.get("deletionPolicy") == "ABANDON" or kind in protection.STAYS:
        return
    _refuse([said] if (said := ties.kept(here, book.resources)) else [])
    along = [here, *ties.users(here, book.resources, "~")]
    book.resources = [each for each in book.resources if each not in along]


def _held(book: _Book, kind: str, id_: str) -> Resource | None:
    return next((each for each in book.resources if (each.kind, each.id) == (kind, id_)), None)


# ── what a fault does ─────────────────────────────────────────────────────────────────────────────
def _before(fault: faults.Fault, kind: str, at: str) -> None:
    """Faults that show before anything is made."""
    aws = kind.startswith("aws:")
    match fault.word:
        case "kill-before":
            _end(fault)
        case "throttle":
            slow = "ThrottlingException: Rate exceeded"
            raise _Again(
                slow if aws else "Error 429: Quota exceeded for quota metric, rateLimitExceeded"
            )
        case "not-assumable":
            raise _Again("InvalidParameterException: The role could not be assumed by the service")
        case "quota":
            more = "VcpuLimitExceeded: You have requested more vCPU capacity than your current limit allows"
            short = "Error 403: Insufficient regional quota to satisfy request, quotaExceeded"
            raise Refused(words(kind, at, more if aws else short))
        case "refuse":
            raise Refused(words(kind, at, str(fault.script.get("message", "AccessDenied"))))
        case _:
            return


def _end(fault: faults.Fault) -> None:
    """End the process, and where a whole command is killed the engine that started it."""
    if fault.word != "crash":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _spoil(book: _Book, made: Resource, fault: faults.Fault) -> Resource:
    aws = made.kind.startswith("aws:")
    status = ("CREATE_FAILED" if aws else "ERROR") if fault.word == "capacity" else "CREATING"
    spoiled = Resource(
        made.kind, made.id, made.inputs, {**made.state, "status": status}, made.imports
    )
    book.resources[book.resources.index(made)] = spoiled
    return spoiled


def _failure(fault: faults.Fault, kind: str, made: Resource, wanted: machines.Wanted) -> str:
    """What the provider says of something that is there and failed."""
    if fault.word == "time-out":
        return (
            f"waiting for {_service(kind)} ({made.id}) create: timeout while waiting for state to become "
            f"'ACTIVE' (last state: 'CREATING')"
        )
    type_, zone = ", ".join(sorted(wanted.types)), ", ".join(sorted(wanted.zones))
    if kind.startswith("gcp:"):
        return (
            f"Error waiting for creating GKE NodePool: {type_} in {zone}: the zone does not have enough "
            "resources available to fulfill the request. (GCE_STOCKOUT)"
        )
    return (
        f"waiting for EKS Node Group ({made.id}) create: unexpected state 'CREATE_FAILED', wanted target "
        "'ACTIVE'. last error: AsgInstanceLaunchFailures: Could not launch instances. "
        f"InsufficientInstanceCapacity - We currently do not have sufficient {type_} capacity in the "
        f"Availability Zone you requested ({zone})."
    )


def _service(kind: str) -> str:
    return " ".join(kind.rpartition(":")[0].partition(":")[2].split("/"))


def words(kind: str, at: str, message: str) -> str:
    """A refusal as the provider passes it on."""
    service, _, name = kind.partition(":")[2].rpartition(":")[0].partition("/")
    if kind.startswith("gcp:"):
        return f"{at} {name}: googleapi: {message}"
    called = f"{at.capitalize()}{name[:1].upper()}{name[1:]}"
    request = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}{message}")
    return (
        f"operation error {service.upper()}: {called}, https response error StatusCode: 400, "
        f"RequestID: {request}, {message}"
    )
