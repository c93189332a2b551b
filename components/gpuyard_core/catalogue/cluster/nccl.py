"""NCCL's environment by fabric: the variables of multi-node pods, and what their images must contain.

Only required variables are listed. What a plugin decides itself is not set: a value from an old guide would
override it, and the job would be slower without a message.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclRecord:
    """The NCCL settings of one fabric."""

    fabric: str
    variables: Mapping[str, str] = field(default_factory=dict)
    script: str = ""
    """A file in the container, of the version installed on the node, that sets the rest; sourced first."""
    needs: str = ""
    """What the image or the pod must have for it."""
    privileges: str = ""
    """What its pods do that Pod Security allows at level `privileged` only, and GPU-ADM-03 rejects."""
    source: Source


RECORDS: Mapping[str, NcclRecord] = read_yaml("nccl", Mapping[str, NcclRecord])
"""NCCL settings by fabric, as named in machines and stack files. With the transport set, NCCL fails if it is
missing; without, NCCL would silently use sockets."""
ADAPTERS = "NCCL_IB_HCA"
"""The adapters that NCCL may use; after `=`, names are exact instead of prefixes."""
EFA_POD_HUGE_PAGES = 5120
"""Huge pages of a pod with EFA, in MiB (nccl.efa-pod)."""
