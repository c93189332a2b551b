"""The simulated cluster: fake nodes without GPUs, on which no program runs."""

from gpuyard.provider import Provider
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import DatasetKind


class Simulated(Provider):
    """Fake nodes of machines that a cloud sells."""

    name = Cloud.SIMULATED
    service = ""
    images = ()

    # ── storage ───────────────────────────────────────────────────────────────────────────────────
    dataset_kinds = tuple(DatasetKind)


PROVIDER = Simulated()
