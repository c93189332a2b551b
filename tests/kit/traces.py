"""The public openb trace, as demand: 7,064 pods with GPUs. Its folder is next to the upstream files."""

import csv
from collections import Counter
from fractions import Fraction

from kit.levels import upstream


def openb_pods() -> list[tuple[Fraction, int, int]]:
    """GPUs, thousandths of CPU threads and MiB of every pod that requests a GPU or a part of one."""
    path = upstream("..", "traces", "openb", "openb_pod_list_default.csv")
    with path.open(encoding="utf-8") as file:
        return [
            (
                Fraction(int(row["num_gpu"]) * int(row["gpu_milli"]), 1000),
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
            )
            for row in csv.DictReader(file)
            if row["num_gpu"] != "0"
        ]


def openb_fractions() -> Counter[Fraction]:
    """Number of pods by requested GPU fraction, without whole GPUs."""
    return Counter(gpus for gpus, _, _ in openb_pods() if gpus < 1)
