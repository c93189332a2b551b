"""The definition of ComputeClasses, which every GKE cluster serves; its source is in computeclasses.yaml."""

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("computeclasses.yaml")
PATH = "/apis/cloud.google.com/v1/computeclasses"


def definition() -> dict[str, Any]:
    """The definition, ready to apply."""
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))
