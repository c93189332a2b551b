"""GPU requests of a pod, counted as the scheduler counts them.

Containers and sidecars run together and add up; init containers run one after the other, each beside
the sidecars started before it; the pod needs the larger of the two.
https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpuyard import names
from gpuyard.manifests.fields import known_value
from gpuyard.manifests.quantities import quantity

_DIGITS = 15
_PLAIN = re.compile(rf"\+?(\d{{1,{_DIGITS}}})(?:\.0*)?")
_MILLI = re.compile(rf"(\d{{1,{_DIGITS}}})m")
_WHOLE = 1000
_SHOWN = 40


def is_gpu_resource(name: str) -> bool:
    """Whole GPUs, shares of them, MIG slices and shares of slices."""
    return name in {names.GPU, names.GPU_SHARED} or name.startswith(names.MIG_PREFIX)


def requests_several_shares(limits: Mapping[Any, Any], shared: Collection[str] = ()) -> list[str]:
    """Shared resources of which a container asks for more than the device plugin gives it.

    `shared` are those whose names do not say that they are.
    """
    return [
        name
        for name, value in limits.items()
        if isinstance(name, str)
        and (names.is_shared(name) or name in shared)
        and (quantity(known_value(value)) or 0) > names.MOST_SHARES
    ]


def gpu_count(value: object) -> int | None:
    """A quantity of an extended resource as a number: whole and not negative, else None.

    `8`, `"8"` and `8.0` are eight. `"8000m"` is none, though the API server would take it for eight: nobody
    who writes thousandths of a GPU means whole ones.
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
    """GPU resources that one pod needs, and what is wrong with how it asks for them."""
    problems: list[str] = []
    total = pod_total(
        ((container, Counter(_requests(container, problems))) for container in init),
        (Counter(_requests(container, problems)) for container in main),
    )
    return {name: total[name] for name in sorted(total)}, tuple(problems)


def pod_total(
    init: Iterable[tuple[Mapping[Any, Any], Counter[str]]], main: Iterable[Counter[str]]
) -> Counter[str]:
    """What a pod needs at most at once, from what each of its containers asks for.

    Sidecars and containers add up; init containers run one after another beside earlier sidecars.
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
    """One container's GPU resources. Limits count; requests of GPUs must equal them."""
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
    return f"{name}: {shown} is no number of GPUs and is not counted; {fix}"


def _disagreement(
    name: str, limits: Mapping[Any, Any], requests: Mapping[Any, Any], count: int
) -> list[str]:
    if name not in limits:
        return [f"{name}: a request without a limit, which Kubernetes refuses; add limits: {count}"]
    if name in requests and gpu_count(requests[name]) != count:
        return [f"{name}: request and limit differ, which Kubernetes refuses; the limit is counted"]
    return []
