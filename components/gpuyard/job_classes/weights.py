"""Weights of the evidence for a workload class. `docs/concepts/classes.md` lists them."""

from collections.abc import Mapping

from gpuyard.job_classes.signals import JobClass

PROGRAM, SCRIPT, MPI, IMAGE, COMPONENT, NAME, QUEUE, SHAPE = 6, 5, 2, 4, 4, 2, 1, 1
"""Weights; the most explicit evidence has the largest."""

KINDS: Mapping[str, tuple[JobClass, int]] = {
    **dict.fromkeys(
        ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "TrainJob"),
        (JobClass.TRAINING, 5),
    ),
    "MPIJob": (JobClass.HPC, 2),
    "Notebook": (JobClass.NOTEBOOK, 8),
    "InferenceService": (JobClass.INFERENCE, 6),
    "RayService": (JobClass.INFERENCE, 6),
    "LeaderWorkerSet": (JobClass.INFERENCE, 3),
    "Job": (JobClass.BATCH, 1),
    "JobSet": (JobClass.BATCH, 1),
    "RayJob": (JobClass.BATCH, 1),
    "Job.batch.volcano.sh": (JobClass.BATCH, 1),
    "CronJob": (JobClass.BATCH, 3),
}
ENDS = frozenset({"Job", "JobSet", "CronJob", "RayJob", "Job.batch.volcano.sh"})
"""Kinds that run to completion: inference in them is batch, unless it listens on a port."""
STAYS = frozenset({
    "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "InferenceService", "LeaderWorkerSet",
    "RayService", "Service.serving.knative.dev",
})  # fmt: skip
GANG = 8
"""Minimum GPUs in one pod from which a finite job is most likely training."""
TRAINING_ENV = frozenset({"MASTER_ADDR", "WORLD_SIZE", "NPROC_PER_NODE"})
WAITED_FOR = 3
"""Minimum points for real-time inference."""

COMPONENT_LABELS = ("app.kubernetes.io/component",)
NAME_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app")
