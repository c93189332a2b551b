"""NCCL's environment by fabric: the variables of multi-node pods, and what their images must contain.

Only required variables are listed. What a plugin decides itself is not set: a value from an old guide would
override it, and the job would be slower without a message.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 23)
_NCCL_USER_GUIDE = Source(
    "NCCL user guide, environment variables (NCCL 2.30)",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)


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


_SCRIPT_FIRST = "the files that Google's installer puts on nodes, mounted as in its documentation"
RECORDS: Mapping[str, NcclRecord] = {
    record.fabric: record
    for record in (
        NcclRecord(
            fabric="EFA",
            needs="aws-ofi-nccl in the image; FI_PROVIDER, NCCL_PROTO and NCCL_MIN_CHANNELS stay unset",
            source=Source(
                "awslabs/awsome-distributed-training 1.architectures/efa-cheatsheet.md",
                _LOOKED_UP,
                as_of=_LOOKED_UP,
            ),
        ),
        NcclRecord(
            fabric="GPUDirect-TCPX",
            variables={
                "NCCL_SOCKET_IFNAME": "eth0",
                "NCCL_GPUDIRECTTCPX_CTRL_DEV": "eth0",
                "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME": "eth1,eth2,eth3,eth4",
                "NCCL_CROSS_NIC": "0",
                "NCCL_ALGO": "Ring",
                "NCCL_PROTO": "Simple",
                "NCCL_NSOCKS_PERTHREAD": "4",
                "NCCL_SOCKET_NTHREADS": "1",
            },
            needs=f"{_SCRIPT_FIRST}; the receive daemon in the same pod",
            privileges="the receive daemon adds NET_ADMIN and mounts /sys and /proc/sys of the node",
            source=Source(
                "environment of a3-highgpu-8g as run with GKE's TCPX, two programs that agree; core bindings,"
                " which differ, are omitted",
                _LOOKED_UP,
                verified=False,
                as_of=_LOOKED_UP,
            ),
        ),
        NcclRecord(
            fabric="GPUDirect-TCPXO",
            variables={
                "NCCL_LIB_DIR": "/usr/local/nvidia/lib64",
                "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": "/dev/aperture_devices",
            },
            script="/usr/local/nvidia/lib64/nccl-env-profile.sh",
            needs=f"{_SCRIPT_FIRST}; the receive daemon in the same pod",
            privileges="the receive daemon adds NET_ADMIN and mounts /sys, /proc/sys and /dev/aperture_devices of the"
            " node",
            source=Source(
                "GoogleCloudPlatform/cluster-toolkit, a3-megagpu-8g examples: nccl-env-profile.sh, then the devices",
                _LOOKED_UP,
                as_of=_LOOKED_UP,
            ),
        ),
        NcclRecord(
            fabric="GPUDirect-RDMA",
            variables={"LD_LIBRARY_PATH": "/usr/local/gib/lib64:/usr/local/nvidia/lib64"},
            script="/usr/local/gib/scripts/set_nccl_env.sh",
            needs=f"{_SCRIPT_FIRST} (gIB)",
            source=Source(
                "GKE workloads with gIB on a3-ultragpu-8g and later: set_nccl_env.sh is sourced first",
                _LOOKED_UP,
                verified=False,
                as_of=_LOOKED_UP,
            ),
        ),
        NcclRecord(
            fabric="infiniband",
            variables={"NCCL_NET": "IB"},
            needs="libibverbs in the image, and the adapters in the pod",
            source=_NCCL_USER_GUIDE,
        ),
        NcclRecord(
            fabric="roce",
            variables={"NCCL_NET": "IB"},
            needs="libibverbs in the image, and the adapters in the pod; NCCL 2.21 or later finds the GID itself",
            source=_NCCL_USER_GUIDE,
        ),
        NcclRecord(
            fabric="ethernet",
            variables={"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"},
            source=_NCCL_USER_GUIDE,
        ),
    )
}
"""NCCL settings by fabric, as named in machines and stack files. With the transport set, NCCL fails if it is
missing; without, NCCL would silently use sockets."""
ADAPTERS = "NCCL_IB_HCA"
"""The adapters that NCCL may use; after `=`, names are exact instead of prefixes."""
EFA_POD_HUGE_PAGES = 5120
"""Huge pages of a pod with EFA, in MiB."""
EFA_POD_SOURCE = Source(
    "Amazon EKS User Guide, node-efa: vpc.amazonaws.com/efa with hugepages-2Mi: 5120Mi in examples (a copy of the page)."
    " aws/karpenter-provider-aws issue 3315: Karpenter starts no node for a pod that requests huge pages",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 3, 22),
)
