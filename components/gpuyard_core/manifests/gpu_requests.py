"""GPU requests of a pod, counted as the scheduler counts them.

Containers and sidecars run together and are added; init containers run one after the other, each
with the sidecars started before it. The pod needs the larger of the two sums.
https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpuyard_core import names
from gpuyard_core.manifests.fields import known_value
from gpuyard_core.manifests.quantities import quantity

_DIGITS = 15
_PLAIN = re.compile(rf"\+?(\d{{1,{_DIGITS}}})(?:\.0*)?")
_MILLI = re.compile(rf"(\d{{1,{_DIGITS}}})m")
_WHOLE = 1000
_SHOWN = 40


def is_gpu_resource(name: str) -> bool:
    """Whether the resource is whole GPUs, shares of them, MIG slices or shares of slices."""
    return name in {names.GPU, names.GPU_SHARED} or name.startswith(names.MIG_PREFIX)


def multiple_share_requests(limits: Mapping[Any, Any], shared: Collection[str] = ()) -> list[str]:
    """Shared resources of which a container requests more than the device plugin allows.

    `shared` lists shared resources whose names do not show it.
    """
    return [
        name
        for name, value in limits.items()
        if isinstance(name, str)
        and (names.is_shared(name) or name in shared)
        and (quantity(known_value(value)) or 0) > names.MOST_SHARES
    ]


def gpu_count(value: object) -> int | None:
    """A quantity of an extended resource as a whole number that is not negative, else None.

    `8`, `"8"` and `8.0` are eight. `"8000m"` is None, although the API server accepts it as eight:
    a quantity of GPUs in thousandths is most likely a mistake.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if 0 <= value < 10**_DIGITS and value == int(value) else None
    match = _PLAIN.fullmatch(value.strip()) if isinstance(value, str) and value.isascii() else None
    return int(match[1]) if match else None


def pod_gpu_request(
    init: Sequence[Mapping[Any, Any]], main: Sequence[Mapping[Any, Any]]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """GPU resources that one pod needs, and the errors of its requests."""
    problems: list[str] = []
    total = peak_pod_requests(
        ((container, Counter(_requests(container, problems))) for container in init),
        (Counter(_requests(container, problems)) for container in main),
    )
    return {name: total[name] for name in sorted(total)}, tuple(problems)


def peak_pod_requests(
    init: Iterable[tuple[Mapping[Any, Any], Counter[str]]], main: Iterable[Counter[str]]
) -> Counter[str]:
    """The maximum that a pod needs at once, from the requests of its containers.

    Sidecars and containers are added; init containers run one after another with earlier sidecars.
    """
    sidecars: Counter[str] = Counter()
    peak: Counter[str] = Counter()
    for container, asks in init:
        if container.get("restartPolicy") == "Always":
            sidecars += asks
            peak |= sidecars
        else:
            peak |= sidecars + asks
    return peak | sum(main, start=sidecars)


def _requests(container: Mapping[Any, Any], problems: list[str]) -> dict[str, int]:
    """The GPU resources of one container. Limits count; requests of GPUs must equal them."""
    resources = container.get("resources")
    limits, requests = (_part(resources, key) for key in ("limits", "requests"))
    asks: dict[str, int] = {}
    for name in dict.fromkeys([*limits, *requests]):
        if not (isinstance(name, str) and is_gpu_resource(name)):
            continue
        value = limits.get(name, requests.get(name))
        count = gpu_count(value)
        if count is None:
            problems.append(_not_a_count(name, value))
            continue
        asks[name] = count
        problems += _disagreement(name, limits, requests, count)
    return asks


def _part(resources: object, key: str) -> Mapping[Any, Any]:
    result = resources.get(key) if isinstance(resources, Mapping) else None
    return result if isinstance(result, Mapping) else {}


def _not_a_count(name: str, value: object) -> str:
    shown = repr(value) if len(repr(value)) <= _SHOWN else repr(value)[: _SHOWN - 1] + "…"
    milli = _MILLI.fullmatch(value) if isinstance(value, str) else None
    meant = int(milli[1]) // _WHOLE if milli and int(milli[1]) % _WHOLE == 0 else None
    fix = f"write {meant}" if meant else "write a whole number"
    return f"{name}: {shown} is not a number of GPUs and is not counted; {fix}"


def _disagreement(
    name: str, limits: Mapping[Any, Any], requests: Mapping[Any, Any], count: int
) -> list[str]:
    if name not in limits:
        return [f"{name}: a request without a limit, which Kubernetes rejects; add limits: {count}"]
    if name in requests and gpu_count(requests[name]) != count:
        return [f"{name}: request and limit differ, which Kubernetes rejects; the limit is counted"]
    return []
