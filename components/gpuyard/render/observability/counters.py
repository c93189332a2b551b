"""The list of counters of the DCGM exporter: its default list, and what rules, alerts and dashboards read."""

import re
from functools import cache
from pathlib import Path

from gpuyard_core.catalogue.metrics import DCGM, Metric, metrics_of

COUNTERS_FILE = "dcgm-metrics.csv"
"""The key that the GPU Operator mounts (gpu-operator v26.7 controllers/object_controls.go)."""
_FOLDER = Path(__file__).parent
_READERS = ("recording_rules.yaml", "alerts.yaml", "dashboards.yaml")
_NAME = re.compile(r"\bDCGM_\w+")


@cache
def counter_list() -> tuple[Metric, ...]:
    """The counters of the exporter; a GPU without one of them has no series of it."""
    texts = [(_FOLDER / name).read_text(encoding="utf-8") for name in _READERS]
    read = {name for text in texts for name in _NAME.findall(text)}
    known = metrics_of(DCGM).items()
    return tuple(each for name, each in known if each.served == "default" or name in read)


def counters_text() -> str:
    """The list as the exporter reads it: three columns, so a text has no comma."""
    lines = [f"{each.name}, {each.type.value}, {each.unit or each.name}" for each in counter_list()]
    return "\n".join([*lines, "DCGM_FI_DRIVER_VERSION, label, Driver version", ""])
