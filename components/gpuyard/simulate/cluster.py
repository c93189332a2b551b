"""Bring a simulated cluster up, mend it, look at it, empty it, take it down."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from gpuyard.errors import EnvironmentMissing
from gpuyard.simulate import crds, credentials, processes
from gpuyard.simulate.api import Api, ApiError, ApiObject, Unreachable, connect, wait_until_ready
from gpuyard.simulate.kueue import manager as kueue_manager
from gpuyard.simulate.parts import PARTS, Part, Place
from gpuyard.simulate.state import (
    Folder,
    every_folder,
    folder_of,
    locked,
    new_settings,
    require_own,
    write_private,
)
from gpuyard.simulate.tools import Tools, find_tools

# Only a part that hangs waits so long: one that ends is noticed at once. Seen: 8 s, 60 s under heavy load.
START_SECONDS: Final = 300.0
# A port is free when it is chosen, and another one's when the part begins to listen there, seconds later.
STARTS: Final = 4
_TAKEN: Final = "address already in use"
_KUEUE: Final = next(part for part in PARTS if part.name == "kueue")
Say = Callable[[str], None]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part as it is now."""

    name: str
    pid: int | None
    alive: bool | None
    """None for what is not a process."""
    log: str | None
    port: int | None
    rss_mib: int
    state: str


@dataclass(frozen=True, slots=True)
class Status:
    """The whole cluster as it is now."""

    name: str
    ready: bool
    kubeconfig: str
    parts: tuple[PartStatus, ...]
    rss_mib: int
    checkout: str | None = None

    def as_json(self) -> dict[str, Any]:
        """For `--format json`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    says: str
    changed: bool
    seconds: float
    status: Status


def up(name: str, say: Say = lambda _: None, checkout: Path | None = None) -> Outcome:
    """Start what does not run; leaves alone what does. It remembers the `checkout` that deploys to it.

    Raises:
        EnvironmentMissing: the programs are not built, a part does not start, or the cluster belongs to
            another checkout.
    """
    began = time.monotonic()
    folder, tools = folder_of(name), find_tools()
    with locked(folder):
        if checkout:
            require_own(name, checkout)
        settings = folder.settings()
        fresh = settings is None
        if settings is None:
            started, status = _first_start(folder, tools, say, checkout)
        else:
            if checkout and not settings.checkout:
                settings = replace(settings, checkout=str(checkout))
                folder.keep(settings)
            started = _start_missing(Place(folder, settings, tools), say)
            status = _ready_status(folder)
    if not status.ready:
        dead = (
            ", ".join(part.name for part in status.parts if part.alive is False)
            or "the API server or Kueue does not answer"
        )
        raise EnvironmentMissing(
            f"cluster {name} did not become ready ({dead}); logs: {folder.path / 'logs'}"
        )
    seconds = time.monotonic() - began
    if fresh:
        message = f"cluster {name} is up after {seconds:.1f} s"
    elif started:
        message = f"cluster {name} was mended: started {', '.join(started)}"
    else:
        message = f"cluster {name} is already up, nothing changed"
    return Outcome(message, bool(started), seconds, status)


def renew_kueue(name: str, tools: Tools) -> bool:
    """Start Kueue anew where it runs with another configuration than the cluster has; whether it did."""
    processes.reap()
    folder = folder_of(name)
    if not folder.path.exists():
        return False  # to lock it would make it
    with locked(folder):
        settings = folder.settings()
        if settings is None or not _runs(folder, _KUEUE):
            return False
        place, api = Place(folder, settings, tools), connect(folder.kubeconfig)
        if not _prepare(api, place, installing=False):
            return False
        processes.stop(filter(None, [folder.recorded("kueue")]))
        _start(place, _KUEUE, lambda _: None)
        _finish_kueue(api, place)
    return True


def down(name: str) -> bool:
    """Stop every process and remove every file; says whether there was anything."""
    folder = folder_of(name)
    running = processes.marked_processes(_mark(folder))
    if not folder.path.exists() and not running:
        return False
    with locked(folder):
        _stop_all(folder)
        folder.remove()
    return True


def reset(name: str, say: Say = lambda _: None) -> Outcome:
    """Empty the cluster: a new, empty store under the same address and the same kubeconfig.

    Raises:
        EnvironmentMissing: as for `up`, or the cluster is not up at all.
    """
    folder = folder_of(name)
    if folder.settings() is None:
        raise EnvironmentMissing(
            f"there is no simulated cluster {name}; `gpuyard sim up --name {name}` starts it"
        )
    with locked(folder):
        _stop_all(folder)
        for part in ("etcd", "kueue", "parts"):
            Folder(part, folder.path / part).remove()
    outcome = up(name, say)
    message = (
        f"cluster {name} is empty again after {outcome.seconds:.1f} s, under the same kubeconfig"
    )
    return replace(outcome, says=message, changed=True)


def status(name: str) -> Status:
    """The cluster as it is now; changes nothing."""
    return _status(folder_of(name))


def every_status() -> list[Status]:
    """Every cluster of this user that was started and not removed, by name; changes nothing."""
    return [_status(folder) for folder in every_folder() if folder.settings()]


def _status(folder: Folder) -> Status:
    processes.reap()
    settings = folder.settings()
    parts = []
    for part in PARTS:
        process = folder.recorded(part.name)
        alive = process is not None and process.alive
        parts.append(
            PartStatus(
                name=part.name,
                pid=process.pid if process else None,
                alive=alive,
                log=str(folder.log(part.name)),
                port=settings.ports[part.ports[0]] if settings and part.ports else None,
                rss_mib=processes.rss_mib(process.pid) if process and alive else 0,
                state="running" if alive else "dead" if process else "not started",
            )
        )
    note = folder.path / "cluster-policy"
    if note.exists():
        parts.append(
            PartStatus(
                "cluster-policy",
                None,
                None,
                None,
                None,
                0,
                note.read_text(encoding="utf-8").strip(),
            )
        )
    ready = all(part.alive is not False for part in parts) and _answers(folder)
    return Status(
        folder.name,
        ready,
        str(folder.kubeconfig),
        tuple(parts),
        sum(part.rss_mib for part in parts),
        settings.checkout if settings else None,
    )


def _ready_status(folder: Folder) -> Status:
    """The status once everything answers: on a busy machine one look may miss what answered just now."""
    deadline = time.monotonic() + START_SECONDS
    while not (result := _status(folder)).ready and time.monotonic() < deadline:
        if any(part.alive is False for part in result.parts):
            break
        time.sleep(0.1)
    return result


def _answers(folder: Folder) -> bool:
    """Whether the API server and, behind it, Kueue's webhooks answer."""
    try:
        api = connect(folder.kubeconfig)
    except EnvironmentMissing:
        return False
    return api.is_ready() and kueue_manager.is_ready(api)


def _mark(folder: Folder) -> str:
    return f"{folder.path}:"


def _stop_all(folder: Folder) -> None:
    """Stop recorded parts and strays, dependents first so that no log fills with complaints."""
    recorded = [folder.recorded(part.name) for part in reversed(PARTS)]
    processes.stop([process for process in recorded[:-2] if process])
    processes.stop(
        [
            *(process for process in recorded[-2:] if process),
            *processes.marked_processes(_mark(folder)),
        ]
    )


def _first_start(
    folder: Folder, tools: Tools, say: Say, checkout: Path | None
) -> tuple[list[str], Status]:
    """Start a new cluster; with other ports where somebody was quicker to take one of its own."""
    for tries_left in reversed(range(STARTS)):
        settings = new_settings(folder, checkout)
        folder.keep(settings)
        try:
            started = _start_missing(Place(folder, settings, tools), say)
            result = _ready_status(folder)
            if result.ready or not tries_left or not (missing := _without_port(folder)):
                return started, result
        except EnvironmentMissing:
            if not tries_left or not (missing := _without_port(folder)):
                raise
        say(
            f"somebody else took a port of {', '.join(missing)} meanwhile; starting anew with others"
        )
        _stop_all(folder)
        folder.empty()
    raise AssertionError  # the last try returns or raises


def _without_port(folder: Folder) -> list[str]:
    """The parts that ended because somebody else listens where they were to listen."""
    return [
        part.name
        for part in PARTS
        if folder.recorded(part.name)
        and not _runs(folder, part)
        and _TAKEN in _log(folder, part.name)
    ]


def _start_missing(place: Place, say: Say) -> list[str]:
    """Start dead parts in order, each when what it needs is ready; returns their names."""
    folder = place.folder
    missing = [part for part in PARTS if not _runs(folder, part)]
    _stop_unrecorded(place)
    if missing:
        credentials.write_keys(folder, place.settings)
    for part in missing[:]:
        if part.name in {"etcd", "kube-apiserver"}:
            _start(place, part, say)
    api = _ready_api(place)
    is_changed = _prepare(api, place, installing=_KUEUE in missing)
    if is_changed and _KUEUE not in missing:
        say("kueue: the cluster's configuration changed, starting it anew")
        processes.stop(filter(None, [folder.recorded("kueue")]))
        missing.append(_KUEUE)
    for part in missing:
        if part.name not in {"etcd", "kube-apiserver"}:
            _start(place, part, say)
    _finish_kueue(api, place)
    return [part.name for part in PARTS if part in missing]


def _runs(folder: Folder, part: Part) -> bool:
    process = folder.recorded(part.name)
    return process is not None and process.alive


def _stop_unrecorded(place: Place) -> None:
    """Stop processes of ours that no record knows: they would hold the ports."""
    known = {place.folder.recorded(part.name) for part in PARTS}
    processes.stop(
        [
            process
            for process in processes.marked_processes(_mark(place.folder))
            if process not in known
        ]
    )


def _start(place: Place, part: Part, say: Say) -> None:
    say(f"starting {part.name}")
    mark = f"{_mark(place.folder)}{part.name}"
    process = processes.start(
        part.command(place), mark=mark, log=place.folder.log(part.name), env=part.environment()
    )
    place.folder.record(part.name, process)


def _ready_api(place: Place) -> Api:
    """Wait for the API server; its certificate, made at its first start, goes into the kubeconfig."""
    folder = place.folder
    deadline = time.monotonic() + START_SECONDS
    while not credentials.has_certificate(folder) and time.monotonic() < deadline:
        _fail_if_dead(folder, "etcd", "kube-apiserver")
        time.sleep(0.05)
    if not folder.kubeconfig.exists():
        credentials.write_kubeconfig(folder, place.settings)
    api = connect(folder.kubeconfig)
    while not wait_until_ready(api, 1.0):
        _fail_if_dead(folder, "etcd", "kube-apiserver")
        if time.monotonic() > deadline:
            raise EnvironmentMissing(
                f"the API server is not ready after {START_SECONDS:.0f} s; see {folder.log('kube-apiserver')}"
            )
    return api


def _prepare(api: Api, place: Place, *, installing: bool) -> bool:
    """Put into the cluster what the parts expect; says whether Kueue's configuration is another one now."""
    if installing:
        policy, note = crds.cluster_policy(place.tools)
        if note:
            write_private(place.folder.path / "cluster-policy", note + "\n")
        kinds = [policy, *kueue_manager.crds(place), *crds.provisioning_request(place.tools)]
        kinds += crds.of_claims(place.tools)
        _apply_all(api, place.folder, kinds)
        _apply_all(api, place.folder, kueue_manager.supporting_objects(place)[:1])
        _apply_all(api, place.folder, kueue_manager.supporting_objects(place)[1:])
    text = _patiently(place.folder, lambda: kueue_manager.wanted_configuration(api, place))
    path = kueue_manager.configuration_path(place)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    write_private(path, text)
    return True


def _apply_all(api: Api, folder: Folder, manifests: list[ApiObject]) -> None:
    """Apply objects side by side; none of them needs another one of the list."""

    def apply(manifest: ApiObject) -> None:
        _patiently(folder, lambda: api.apply(manifest))

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(apply, manifests))


def _patiently(folder: Folder, act: Callable[[], _T]) -> _T:
    """Do what can be done twice again, where the API server is too busy to answer in time, or says so.

    Each definition that comes makes it work through all its kinds.
    """
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return act()
        except (ApiError, Unreachable) as problem:
            _fail_if_dead(folder, "etcd", "kube-apiserver")
            passes = isinstance(problem, Unreachable) or problem.is_retryable
            if not passes or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _finish_kueue(api: Api, place: Place) -> None:
    """Give Kueue its certificates and wait until its webhooks answer; at once when they do."""
    folder = place.folder
    deadline = time.monotonic() + START_SECONDS
    while not (kueue_manager.is_listening(place) and kueue_manager.is_ready(api)):
        kueue_manager.copy_certificates(api, place)
        _fail_if_dead(folder, "kueue")
        if time.monotonic() > deadline:
            raise EnvironmentMissing(
                f"Kueue is not ready after {START_SECONDS:.0f} s; see {folder.log('kueue')}"
            )
        time.sleep(0.1)


def _fail_if_dead(folder: Folder, *names: str) -> None:
    """Stop waiting for a part that has ended, and show its last words."""
    processes.reap()
    for name in names:
        process = folder.recorded(name)
        if process and not process.alive:
            raise EnvironmentMissing(
                f"{name} ended while starting: {_last_log_line(folder, name)}; see {folder.log(name)};"
                f" `gpuyard sim down --name {folder.name}`, then `up`, begins with nothing"
            )


def _last_log_line(folder: Folder, name: str) -> str:
    lines = _log(folder, name).strip().splitlines()
    return lines[-1][:300] if lines else "it said nothing"


def _log(folder: Folder, name: str) -> str:
    """What a part has said since the cluster is there; "" where its log is gone."""
    try:
        return folder.log(name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


__all__ = [
    "ApiError",
    "Outcome",
    "PartStatus",
    "Status",
    "Unreachable",
    "down",
    "renew_kueue",
    "require_own",
    "reset",
    "status",
    "up",
]
