"""Starts, repairs, shows, resets and removes a simulated cluster."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate import crds, credentials, processes
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, connect, wait_until_ready
from gpuyard_simulate.kueue import manager as kueue_manager
from gpuyard_simulate.parts import PARTS, ClusterProcess, Place
from gpuyard_simulate.state import (
    Folder,
    every_folder,
    folder_of,
    locked,
    new_settings,
    require_own,
    write_private,
)
from gpuyard_simulate.tools import Tools, find_tools

# Only a part that hangs waits so long: one that ends is noticed at once. Seen: 8 s, 60 s under heavy load.
START_SECONDS: Final = 300.0
# A port is free when it is chosen; another process may take it in the seconds until the part listens.
STARTS: Final = 4
_TAKEN: Final = "address already in use"
_KUEUE: Final = next(part for part in PARTS if part.name == "kueue")
Say = Callable[[str], None]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part and its current state."""

    name: str
    pid: int | None
    alive: bool | None
    """None for a part that is not a process."""
    log: str | None
    port: int | None
    rss_mib: int
    state: str


@dataclass(frozen=True, slots=True)
class Status:
    """The whole cluster and its current state."""

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
    """Result of a command."""

    says: str
    changed: bool
    seconds: float
    status: Status


def up(name: str, say: Say = lambda _: None, checkout: Path | None = None) -> Outcome:
    """Start parts that do not run; running ones are unchanged. Records the `checkout` that deploys to it.

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
                folder.write_settings(settings)
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
        message = f"repaired cluster {name}: started {', '.join(started)}"
    else:
        message = f"cluster {name} is already up; nothing changed"
    return Outcome(message, bool(started), seconds, status)


def renew_kueue(name: str, tools: Tools) -> bool:
    """Restart Kueue where its configuration differs from the cluster's; returns whether it did."""
    processes.reap()
    folder = folder_of(name)
    if not folder.path.exists():
        return False  # locking it would create it
    with locked(folder):
        settings = folder.settings()
        if settings is None or not _runs(folder, _KUEUE):
            return False
        place, api = Place(folder, settings, tools), connect(folder.kubeconfig)
        if not _prepare(api, place, installing=False):
            return False
        processes.stop(filter(None, [folder.read_process("kueue")]))
        _start(place, _KUEUE, lambda _: None)
        _finish_kueue(api, place)
    return True


def down(name: str) -> bool:
    """Stop every process and remove every file; returns whether anything existed."""
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
            f"simulated cluster {name} does not exist; run `python -m gpuyard_simulate up --name {name}` to start it"
        )
    with locked(folder):
        _stop_all(folder)
        for part in ("etcd", "kueue", "parts"):
            Folder(part, folder.path / part).remove()
    outcome = up(name, say)
    message = f"reset cluster {name} in {outcome.seconds:.1f} s; the kubeconfig is unchanged"
    return replace(outcome, says=message, changed=True)


def status(name: str) -> Status:
    """The current state of the cluster; changes nothing."""
    return _status(folder_of(name))


def every_status() -> list[Status]:
    """Every cluster of this user that was started and not removed, by name; changes nothing."""
    return [_status(folder) for folder in every_folder() if folder.settings()]


def _status(folder: Folder) -> Status:
    processes.reap()
    settings = folder.settings()
    parts = []
    for part in PARTS:
        process = folder.read_process(part.name)
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
    """The status once everything answers: on a busy machine a single query may time out."""
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
    """Stop recorded parts and strays, dependents first so that logs do not fill with errors."""
    recorded = [folder.read_process(part.name) for part in reversed(PARTS)]
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
    """Start a new cluster; with other ports if another process took one of its ports."""
    for tries_left in reversed(range(STARTS)):
        settings = new_settings(folder, checkout)
        folder.write_settings(settings)
        try:
            started = _start_missing(Place(folder, settings, tools), say)
            result = _ready_status(folder)
            if result.ready or not tries_left or not (missing := _without_port(folder)):
                return started, result
        except EnvironmentMissing:
            if not tries_left or not (missing := _without_port(folder)):
                raise
        say(f"another process took a port of {', '.join(missing)}; restarting with other ports")
        _stop_all(folder)
        folder.empty()
    raise AssertionError  # the last try returns or raises


def _without_port(folder: Folder) -> list[str]:
    """The parts that ended because another process listens on their port."""
    return [
        part.name
        for part in PARTS
        if folder.read_process(part.name)
        and not _runs(folder, part)
        and _TAKEN in _log(folder, part.name)
    ]


def _start_missing(place: Place, say: Say) -> list[str]:
    """Start dead parts in order, each when its dependencies are ready; returns their names."""
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
        say("kueue: the cluster's configuration has changed; restarting")
        processes.stop(filter(None, [folder.read_process("kueue")]))
        missing.append(_KUEUE)
    for part in missing:
        if part.name not in {"etcd", "kube-apiserver"}:
            _start(place, part, say)
    _finish_kueue(api, place)
    return [part.name for part in PARTS if part in missing]


def _runs(folder: Folder, part: ClusterProcess) -> bool:
    process = folder.read_process(part.name)
    return process is not None and process.alive


def _stop_unrecorded(place: Place) -> None:
    """Stop processes of this cluster without a record: they would keep the ports."""
    known = {place.folder.read_process(part.name) for part in PARTS}
    processes.stop(
        [
            process
            for process in processes.marked_processes(_mark(place.folder))
            if process not in known
        ]
    )


def _start(place: Place, part: ClusterProcess, say: Say) -> None:
    say(f"starting {part.name}")
    mark = f"{_mark(place.folder)}{part.name}"
    process = processes.start(
        part.command(place), mark=mark, log=place.folder.log(part.name), env=part.environment()
    )
    place.folder.record(part.name, process)


def _ready_api(place: Place) -> Api:
    """Wait for the API server; its certificate, created at its first start, goes into the kubeconfig."""
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
    """Create the objects that the parts need; returns whether Kueue's configuration has changed."""
    if installing:
        policy, note = crds.cluster_policy(place.tools)
        if note:
            write_private(place.folder.path / "cluster-policy", note + "\n")
        kinds = [policy, *kueue_manager.crds(place), *crds.provisioning_request_crds(place.tools)]
        kinds += [*crds.dra_crds(place.tools), *crds.workload_crds()]
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
    """Apply objects in parallel; they do not depend on each other."""

    def apply(manifest: ApiObject) -> None:
        _patiently(folder, lambda: api.apply(manifest))

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(apply, manifests))


def _patiently(folder: Folder, act: Callable[[], _T]) -> _T:
    """Repeat an idempotent call while the API server is overloaded.

    Each new definition makes it process all its kinds.
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
    """Stop waiting for a part that has ended, and show its last output."""
    processes.reap()
    for name in names:
        process = folder.read_process(name)
        if process and not process.alive:
            raise EnvironmentMissing(
                f"{name} ended while starting: {_last_log_line(folder, name)}; see {folder.log(name)};"
                f" run `python -m gpuyard_simulate down --name {folder.name}`, then `up`, for a new cluster"
            )


def _last_log_line(folder: Folder, name: str) -> str:
    lines = _log(folder, name).strip().splitlines()
    return lines[-1][:300] if lines else "no output"


def _log(folder: Folder, name: str) -> str:
    """A part's output since the cluster was created; "" where its log is gone."""
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
