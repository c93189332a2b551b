"""Backtest of the forecast on a public trace, against two naive forecasts.

    python benchmarks/forecast.py                    a second
    python benchmarks/forecast.py --derive FILE      write the hourly series that the tests read

Reads the openb trace from $GPUYARD_TRACES, else from `traces` next to $GPUYARD_UPSTREAM. The exit code is 1 if
a naive forecast has a smaller error. benchmarks/forecast.md describes the result.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

from gpuyard_advisor.usage.forecast import WEEK, Forecast, make_forecast

FIRST_HOUR = 119 * 24
"""Earlier hours hold only the few pods of the trace that live for months."""
STEP = 6
SERIES = ("gpus_in_use", "pods_running", "gpus_requested")
HEADER = """\
# Hourly series of 30 days: mean GPUs in use, mean running pods, GPUs requested by pods created in the hour.
# Derived by `benchmarks/forecast.py --derive` from openb_pod_list_default.csv of
# https://github.com/hkust-adsl/kubernetes-scheduler-simulator @8f3d6417 (data/csv), Apache-2.0.
"""


def trace() -> dict[str, list[float]]:
    """The hourly series of the trace."""
    folder = os.environ.get("GPUYARD_TRACES") or str(
        Path(os.environ.get("GPUYARD_UPSTREAM", "../shared/upstream"), "..", "traces")
    )
    path = Path(folder, "openb", "openb_pod_list_default.csv")
    if not path.exists():
        sys.exit(f"no {path}: set GPUYARD_TRACES to the folder that has openb/")
    with path.open(encoding="utf-8") as file:
        pods = list(csv.DictReader(file))
    last = max(int(pod["deletion_time"]) for pod in pods) // 3600
    series = {name: [0.0] * (last + 1) for name in SERIES}
    for pod in pods:
        gpus = int(pod["num_gpu"]) * int(pod["gpu_milli"]) / 1000
        created, ended = int(pod["creation_time"]), int(pod["deletion_time"])
        start = int(pod["scheduled_time"] or created)
        for hour in range(start // 3600, ended // 3600 + 1):
            part = (min(ended, (hour + 1) * 3600) - max(start, hour * 3600)) / 3600
            series["gpus_in_use"][hour] += gpus * part
            series["pods_running"][hour] += part
        series["gpus_requested"][created // 3600] += gpus
    return {name: values[FIRST_HOUR:last] for name, values in series.items()}


def backtest(values: list[float], step: int = STEP) -> tuple[dict[str, float], float, int]:
    """WAPE of the three forecasts, the part of hours in the interval, and the number of forecasts."""
    errors = {"gpuyard": 0.0, "naive": 0.0, "seasonal naive": 0.0}
    total, inside, bounded = 0.0, 0, 0
    origins = range(2 * WEEK, len(values) - WEEK + 1, step)
    for origin in origins:
        made = make_forecast(dict(enumerate(values[:origin])))
        if not isinstance(made, Forecast):
            raise TypeError(made.reason)
        for each in made.hours:
            actual = values[each.hour]
            total += actual
            errors["gpuyard"] += abs(actual - each.median)
            errors["naive"] += abs(actual - values[origin - 1])
            errors["seasonal naive"] += abs(actual - values[each.hour - WEEK])
            if each.lower is not None and each.upper is not None:
                bounded += 1
                inside += each.lower <= actual <= each.upper
    wape = {name: error / total for name, error in errors.items()}
    return wape, inside / bounded if bounded else 0.0, len(origins)


def derive(path: Path, series: dict[str, list[float]]) -> None:
    """Write the hourly series as CSV."""
    rows = zip(*(series[name] for name in SERIES), strict=True)
    lines = [",".join(f"{value:.2f}" for value in row) for row in rows]
    path.write_text("\n".join([HEADER + ",".join(SERIES), *lines, ""]), encoding="utf-8")


def main() -> int:
    """Print the backtest of each series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--derive", type=Path, metavar="FILE")
    given = parser.parse_args()
    series = trace()
    if given.derive:
        derive(given.derive, series)
        return 0
    won = True
    for name, values in series.items():
        wape, coverage, origins = backtest(values)
        won &= wape["gpuyard"] == min(wape.values())
        shown = ", ".join(f"{forecast} {error:.1%}" for forecast, error in wape.items())
        print(f"{name:15} WAPE: {shown}; {coverage:.0%} in the 80% interval; {origins} forecasts")
    return 0 if won else 1


if __name__ == "__main__":
    sys.exit(main())
