"""Who installs the driver that answers claims.

The GPU Operator does, by a GPUCluster in the place of its ClusterPolicy: then no device plugin runs in the
cluster, and every GPU of it is claimed. On GKE NVIDIA has no procedure for that: there the driver's own
chart does, beside Google's driver, on nodes that the operator keeps off. Else it is the user's to install.
"""

from gpuyard.catalogue.software.images import IMAGES, NodeImage, find_image
from gpuyard.findings import Finding, Fix, Path, error, format_list, info
from gpuyard.plan.draft import Draft
from gpuyard.plan.software.gpu_operator import joins_operator
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool

CLAIM_IMAGE = IMAGES["cos"]
"""The image of GKE whose driver Google's DaemonSet brings, where its own device plugin is off."""


def installs_claims(spec: PlatformSpec) -> bool:
    """Whether our GPU Operator answers claims of this platform, and so counts no GPU."""
    return bool(_claimed(spec)) and spec.cloud is not Cloud.GCP and not joins_operator(spec)


def installs_claim_driver(spec: PlatformSpec) -> bool:
    """Whether the driver of claims comes by its own chart: on GKE, beside the driver that Google installs."""
    on_gke = spec.cloud is Cloud.GCP and not joins_operator(spec)
    return on_gke and bool(_claimed(spec)) and all(_image(p) is CLAIM_IMAGE for p in _claimed(spec))


def serves_claims(spec: PlatformSpec) -> bool:
    """Whether what we install answers claims, by whichever of the two."""
    return installs_claims(spec) or installs_claim_driver(spec)


def _claimed(spec: PlatformSpec) -> list[Pool]:
    return [pool for pool in spec.pools if pool.sharing.dra]


def _image(pool: Pool) -> NodeImage | None:
    """The image of a pool on GKE; without a word the one that a claimed pool gets."""
    if pool.image is None:
        return CLAIM_IMAGE
    result = find_image(pool.image, Cloud.GCP.value)
    return result[0] if result else None


def _left_to_user(spec: PlatformSpec) -> str:
    """Why the driver is the user's to install; empty where it is not."""
    if serves_claims(spec):
        return ""
    if joins_operator(spec):
        return "the GPU Operator of the cluster is another's"
    return f"the chart of NVIDIA's DRA driver goes beside Google's driver alone (image: {CLAIM_IMAGE.name})"


def check_claims_alone(draft: Draft) -> list[Finding]:
    """Refuse claims beside counted GPUs: the operator does one of them in a cluster."""
    spec = draft.spec
    counted = [p.name for p in draft.valid_pools.values() if p.dra is None and p.machine.gpus]
    if not counted or not installs_claims(spec):
        return []
    findings: list[Finding] = []
    for index, pool in enumerate(spec.pools):
        if pool.sharing.dra:
            at: Path = ("pools", index, "sharing")
            findings.append(
                error(
                    "dra.mixed",
                    at,
                    f"the GPU Operator either answers claims in a cluster or counts GPUs, and those of"
                    f" {format_list(counted)} are counted",
                    value="dra",
                    allowed="dra for every pool, or for none; a cluster of its own for one of the two",
                    fix=Fix(message="remove `sharing`", at=at),
                )
            )
    return findings


def check_claims_driver(draft: Draft) -> list[Finding]:
    """Say where claims are planned for, and nothing that answers them is installed."""
    why = _left_to_user(draft.spec)
    claimed = [pool.name for pool in draft.valid_pools.values() if pool.dra]
    if not why or not claimed:
        return []
    return [
        info(
            "dra.yours",
            ("pools",),
            f"{why}: until you install NVIDIA's DRA driver on nodes of {format_list(claimed)}, every pod that"
            " claims a GPU there waits",
        )
    ]
