"""Who installs the driver that answers claims.

The GPU Operator does, by a GPUCluster in the place of its ClusterPolicy: then no device plugin runs in the
cluster, and every GPU of it is claimed. Where it cannot be told so, the driver is the user's to install.
"""

from gpuyard.findings import Finding, Fix, Path, listed, note, refuse
from gpuyard.plan.draft import Draft
from gpuyard.plan.software.gpu_operator import joins_operator
from gpuyard.spec.platform import Cloud, PlatformSpec


def installs_claims(spec: PlatformSpec) -> bool:
    """Whether our GPU Operator answers claims of this platform, and so counts no GPU."""
    return any(pool.sharing.dra for pool in spec.pools) and not _left_to_user(spec)


def _left_to_user(spec: PlatformSpec) -> str:
    """Why the driver is the user's to install; empty where it is not."""
    if spec.cloud is Cloud.GCP:
        return "NVIDIA has no procedure by which its GPU Operator answers claims on GKE"
    if joins_operator(spec):
        return "the GPU Operator of the cluster is another's"
    return ""


def check_claims_alone(draft: Draft) -> list[Finding]:
    """Refuse claims beside counted GPUs: the operator does one of them in a cluster."""
    spec = draft.spec
    counted = [p.name for p in draft.sound.values() if p.dra is None and p.machine.gpus]
    if not counted or not installs_claims(spec):
        return []
    findings: list[Finding] = []
    for index, pool in enumerate(spec.pools):
        if pool.sharing.dra:
            at: Path = ("pools", index, "sharing")
            findings.append(
                refuse(
                    "dra.mixed",
                    at,
                    f"the GPU Operator either answers claims in a cluster or counts GPUs, and those of"
                    f" {listed(counted)} are counted",
                    given="dra",
                    allowed="dra for every pool, or for none; a cluster of its own for one of the two",
                    fix=Fix(says="remove `sharing`", at=at),
                )
            )
    return findings


def check_claims_driver(draft: Draft) -> list[Finding]:
    """Say where claims are planned for, and nothing that answers them is installed."""
    why = _left_to_user(draft.spec)
    claimed = [pool.name for pool in draft.sound.values() if pool.dra]
    if not why or not claimed:
        return []
    return [
        note(
            "dra.yours",
            ("pools",),
            f"{why}: until you install NVIDIA's DRA driver on nodes of {listed(claimed)}, every pod that"
            " claims a GPU there waits",
        )
    ]
