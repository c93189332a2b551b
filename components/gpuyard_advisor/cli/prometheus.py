"""Queries a Prometheus server over its HTTP API."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

from gpuyard_advisor.usage.samples import Labels
from gpuyard_core.errors import EnvironmentMissing, UsageError

TOKEN_VARIABLE = "GPUYARD_PROMETHEUS_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable with a bearer token for servers that require one."""
_SECONDS = 60.0
_LIMIT = 512 * 1024 * 1024
"""Bytes of one answer; a larger one is a query for too much."""


class Prometheus:
    """A Prometheus server, by its address."""

    def __init__(self, address: str) -> None:
        scheme = urllib.parse.urlsplit(address).scheme
        if scheme not in {"http", "https"}:
            raise UsageError(
                f"{address}: not the address of a Prometheus: it starts with http:// or https://"
            )
        self.address = address.rstrip("/")

    def query(self, expression: str) -> list[tuple[Labels, float]]:
        """The present value of each series."""
        results = self._get("query", query=expression)
        return [(_labels(each["metric"]), float(each["value"][1])) for each in results]

    def query_range(
        self, expression: str, start: float, end: float, step: float
    ) -> Iterator[tuple[Labels, float, float]]:
        """Each sample between two times in seconds since 1970: its series, time and value."""
        results = self._get(
            "query_range", query=expression, start=str(start), end=str(end), step=str(step)
        )
        for each in results:
            labels = _labels(each["metric"])
            for time, value in each["values"]:
                yield labels, float(time), float(value)

    def targets(self) -> list[Any]:
        """The targets that are scraped, with their health."""
        return self._get("targets", "activeTargets", state="active")

    def rule_groups(self) -> list[Any]:
        """The groups of rules, with the health of each rule, without the alerts that fire."""
        return self._get("rules", "groups", exclude_alerts="true")

    def _get(self, path: str, field: str = "result", /, **parameters: str) -> list[Any]:
        url = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        request = urllib.request.Request(url)  # noqa: S310 - the scheme is checked above
        if token := os.environ.get(TOKEN_VARIABLE):
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
                body = response.read(_LIMIT + 1)
        except urllib.error.HTTPError as error:
            raise EnvironmentMissing(f"{self.address}: {_problem(error)}") from None
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise EnvironmentMissing(
                f"{self.address}: Prometheus did not respond: {reason}"
            ) from None
        if len(body) > _LIMIT:
            raise EnvironmentMissing(
                f"{self.address}: the answer is larger than {_LIMIT >> 20} MiB"
            )
        return _results(body, field, self.address)


def _results(body: bytes, field: str, address: str) -> list[Any]:
    try:
        answer = json.loads(body)
        results = answer["data"][field]
    except (ValueError, KeyError, TypeError):
        results = None
    if not isinstance(results, list):
        raise EnvironmentMissing(f"{address}: not the answer of a Prometheus")
    return results


def _problem(error: urllib.error.HTTPError) -> str:
    try:
        answer = json.loads(error.read(64 * 1024))
        return str(answer["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {error.code}"


def _labels(metric: dict[str, str]) -> Labels:
    return tuple(sorted(metric.items()))
