"""Training runtimes in a plan: frozen records of plain values."""

from dataclasses import dataclass

from gpuyard.spec.sections import Framework


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePlan:
    """A ClusterTrainingRuntime: one framework on the nodes of one pool."""

    name: str
    """Its name in the cluster, which TrainJobs refer to."""
    framework: Framework
    pool: str
    image: str | None
    """The image of the stack file; None: that of the framework."""
    teams: tuple[str, ...]
    """Teams with quota of the pool's whole GPUs; empty without teams."""
    shape: str | None = None
    """The shape whose claims its pods make; None if they request extended resources."""
