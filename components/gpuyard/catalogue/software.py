"""Versions of the software that a platform is made of, in one file so that one place is bumped."""

from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class Pin:
    """One component at one exact version."""

    name: str
    version: str
    source: Source


def _pin(name: str, version: str, where: str) -> Pin:
    return Pin(name, version, Source(where, date(2026, 11, 21)))


KUEUE = _pin("kueue", "0.19.2", "kubernetes-sigs/kueue v0.19.2 (2026-08-20)")
GPU_OPERATOR = _pin("gpu-operator", "26.7.0", "NVIDIA/gpu-operator v26.7.0 (2026-08-20)")

KUBERNETES_MINORS: tuple[str, ...] = ("1.33", "1.34", "1.35", "1.36")
"""Kubernetes minors that every pinned component supports (GPU Operator platform-support.rst 26.7)."""
