"""Storage of Google Cloud: images of the sidecar that mounts buckets."""

from gpuyard.plan.draft import Draft
from gpuyard.plan.storage.stores import datasets_of
from gpuyard.spec.sections import DatasetKind
from gpuyard.spec.teams import Team
from gpuyard_core.findings import Diagnostic, Fix, format_list, warning

SIDECAR = "gke.gcr.io/gcs-fuse-csi-driver-sidecar-mounter"
"""The sidecar that GKE adds to a pod that mounts a bucket."""


def check_storage(draft: Draft) -> list[Diagnostic]:
    """Warn of teams that mount a bucket and do not allow the image of the sidecar."""
    mounted = [d for _, d in datasets_of(draft) if d.kind is DatasetKind.BUCKET]
    return [
        warning(
            "storage.sidecar",
            ("teams", index, "allowed_images"),
            "its pods cannot mount the bucket: GKE adds a sidecar whose image is not allowed",
            given=format_list(_images(draft, team)),
            allowed=SIDECAR,
            fix=Fix(message=f"add {SIDECAR}"),
        )
        for index, team in enumerate(draft.spec.teams)
        if any(not d.teams or team.name in d.teams for d in mounted)
        and _images(draft, team)
        and not any(SIDECAR.startswith(each) for each in _images(draft, team))
    ]


def _images(draft: Draft, team: Team) -> tuple[str, ...]:
    admission = draft.spec.admission
    return team.allowed_images or (admission.allowed_images if admission else ())
