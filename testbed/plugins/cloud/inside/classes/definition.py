"""The definition of ComputeClasses, which every GKE cluster serves; the file beside this says its source."""

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("computeclasses.yaml")
PATH = "/apis/cloud.google.com/v1/computeclasses"


def definition() -> dict[str, Any]:
    """As it is applied."""
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))
