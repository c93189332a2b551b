"""How Kueue is set up, where the plan's answers and the rendered configuration must agree."""

WITHOUT_QUOTA = ("cpu", "memory", "ephemeral-storage", "pods", "hugepages-")
"""Beginnings of resource names that queues do not count, see docs/decisions/0008."""
FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "ray.io/raycluster",
    "jobset.x-k8s.io/jobset",
    "workload.codeflare.dev/appwrapper",
    "trainer.kubeflow.org/trainjob",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)
"""Kinds of jobs that queue: those of Kueue's chart (v0.19.2). Kueue waits for those whose definition is not
installed, and goes on."""
GANG_TIMEOUT = "5m"
"""How long an admitted gang may wait for its last pod. On fake nodes pods are ready at once when they have a
node, so only a gang that finds none runs into this; Kueue's half an hour would hide it."""
DEFAULT_GANG_TIMEOUT = "30m"
"""The same where Kueue's chart brings its own configuration (Kueue v0.19, `waitForPodsReady.timeout`)."""
FIRST_REQUEUE = "1 minute"
LONGEST_REQUEUE = "an hour"
"""How long an evicted gang stays away before it queues again: doubled each time, up to the longest
(Kueue v0.19, `requeuingStrategy.backoffBaseSeconds` and `backoffMaxSeconds`)."""
