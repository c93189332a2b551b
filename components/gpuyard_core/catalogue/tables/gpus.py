"""The GPU rows as a table, for review against their sources.

Columns: gib is nominal memory, nvlink GB/s in the node's NVLink domain (without bridges between
cards, which A30 and the NVL cards can have), pci the device id, driver the first
version that lists the device (a dash: older than the list, which begins at 515, or than any driver that still
gets fixes), mig the GPU whose MIG geometry it shares, by the source of the facts, then other spellings.
`gpuyard_core.catalogue.gpus` reads it.
"""

from collections.abc import Mapping

from gpuyard_core.catalogue.sources import (
    EC2_NEEDS_595,
    NVIDIA_DEVICES,
    NVIDIA_DEVICES_UNSEEN,
    OPEN_DRIVER_LIST,
    WORKSTATION_GPUS,
    Source,
)

SOURCES: Mapping[str, Source] = {
    "seen": NVIDIA_DEVICES,
    "unseen": NVIDIA_DEVICES_UNSEEN,
    "listed": OPEN_DRIVER_LIST,
    "g7": EC2_NEEDS_595,
    "desk": WORKSTATION_GPUS,
}

GPU_ROWS = """
# name        product                                       gib  arch       cc    nvlink  pci   driver      mig        by      also
T4            Tesla-T4                                       16  Turing      7.5       0  1EB8  -           -          seen
T4G           NVIDIA-T4G                                     16  Turing      7.5       0  1EB4  -           -          seen
P100          Tesla-P100-PCIE-16GB                           16  Pascal      6.0       0  15F8  -           -          unseen  P100-PCIe
P4            Tesla-P4                                        8  Pascal      6.1       0  1BB3  -           -          unseen
V100-16       Tesla-V100-SXM2-16GB                           16  Volta       7.0     300  1DB1  -           -          unseen  V100-16GB
V100-32       Tesla-V100-SXM2-32GB                           32  Volta       7.0     300  1DB5  -           -          unseen  V100-32GB
V100-PCIe-16  Tesla-V100-PCIE-16GB                           16  Volta       7.0       0  1DB4  -           -          unseen  V100-PCIE-16GB
A2            NVIDIA-A2                                      16  Ampere      8.6       0  -     -           -          listed
A10           NVIDIA-A10                                     24  Ampere      8.6       0  2236  -           -          listed
A10G          NVIDIA-A10G                                    24  Ampere      8.6       0  2237  -           -          seen
A30           NVIDIA-A30                                     24  Ampere      8.0       0  20B7  -           -          unseen
A40           NVIDIA-A40                                     48  Ampere      8.6       0  2235  -           -          listed
A16           NVIDIA-A16                                     16  Ampere      8.6       0  -     -           -          listed
A100-40       NVIDIA-A100-SXM4-40GB                          40  Ampere      8.0     600  20B0  -           -          seen    A100-40GB
A100-80       NVIDIA-A100-SXM4-80GB                          80  Ampere      8.0     600  20B2  -           -          seen    A100-80GB
A100-PCIe-40  NVIDIA-A100-PCIE-40GB                          40  Ampere      8.0       0  20F1  -           A100-40    listed
A100-PCIe-80  NVIDIA-A100-80GB-PCIe                          80  Ampere      8.0       0  20B5  -           A100-80    listed
A800-40       NVIDIA-A800-SXM4-40GB                          40  Ampere      8.0     400  20BD  535.43.09   A100-40    listed  A800-40GB
A800-80       NVIDIA-A800-SXM4-80GB                          80  Ampere      8.0     400  20F3  515.86.01   A100-80    listed  A800-80GB A800
A800-PCIe-80  NVIDIA-A800-80GB-PCIe                          80  Ampere      8.0       0  20F5  515.86.01   A100-80    listed
RTX-A4000     NVIDIA-RTX-A4000                               16  Ampere      8.6       0  24B0  -           -          listed  RTXA4000 A4000
RTX-A4500     NVIDIA-RTX-A4500                               20  Ampere      8.6       0  2232  -           -          listed  RTXA4500 A4500
RTX-A5000     NVIDIA-RTX-A5000                               24  Ampere      8.6       0  2231  -           -          listed  RTXA5000 A5000
RTX-A6000     NVIDIA-RTX-A6000                               48  Ampere      8.6       0  2230  -           -          listed  RTXA6000 A6000
RTX-3090      NVIDIA-GeForce-RTX-3090                        24  Ampere      8.6       0  2204  -           -          listed  RTX3090
L4            NVIDIA-L4                                      24  Ada         8.9       0  27B8  525.47.22   -          seen
L40           NVIDIA-L40                                     48  Ada         8.9       0  26B5  525.47.06   -          listed
L40S          NVIDIA-L40S                                    48  Ada         8.9       0  26B9  535.43.09   -          seen
L2            NVIDIA-L2                                      24  Ada         8.9       0  27B6  535.43.23   -          listed
L20           NVIDIA-L20                                     48  Ada         8.9       0  26BA  535.43.23   -          listed
RTX-6000-Ada  NVIDIA-RTX-6000-Ada-Generation                 48  Ada         8.9       0  26B1  525.47.06   -          listed  RTX6000-Ada RTX-6000Ada
RTX-5000-Ada  NVIDIA-RTX-5000-Ada-Generation                 32  Ada         8.9       0  26B2  535.43.08   -          listed  RTX5000-Ada RTX-5000Ada
RTX-4500-Ada  NVIDIA-RTX-4500-Ada-Generation                 24  Ada         8.9       0  27B1  535.43.10   -          listed  RTX4500-Ada RTX-4500Ada
RTX-4000-Ada  NVIDIA-RTX-4000-Ada-Generation                 20  Ada         8.9       0  27B2  535.43.08   -          listed  RTX4000-Ada RTX-4000Ada
RTX-4090      NVIDIA-GeForce-RTX-4090                        24  Ada         8.9       0  2684  525.47.06   -          listed  RTX4090
H100          NVIDIA-H100-80GB-HBM3                          80  Hopper      9.0     900  2330  525.47.07   -          seen    H100-SXM H100-SXM5
H100-PCIe     NVIDIA-H100-PCIe                               80  Hopper      9.0       0  2331  520.56.06   H100       listed
H100-94       NVIDIA-H100-NVL                                94  Hopper      9.0       0  2321  535.43.09   -          unseen  H100-94GB H100-NVL H100NVL
H800          NVIDIA-H800                                    80  Hopper      9.0     400  2324  525.47.22   H100       listed  H800-SXM H800-SXM5
H800-PCIe     NVIDIA-H800-PCIe                               80  Hopper      9.0       0  2322  525.47.22   H100       listed
H800-94       NVIDIA-H800-NVL                                94  Hopper      9.0       0  233A  535.43.09   H100-94    listed  H800-94GB H800-NVL H800NVL
H20           NVIDIA-H20                                     96  Hopper      9.0     900  2329  535.43.25   H100-96    listed
H20-141       NVIDIA-H20-3e                                 141  Hopper      9.0     900  232C  535.216.03  H200       listed  H20-141GB H20-3e
H200          NVIDIA-H200                                   141  Hopper      9.0     900  2335  550.40.65   -          seen
H200-NVL      NVIDIA-H200-NVL                               141  Hopper      9.0       0  233B  565.57.01   H200       listed  H200NVL
GH200         NVIDIA-GH200-480GB                             96  Hopper      9.0     900  2342  535.43.19   H100-96    listed  NVIDIA-GH200-120GB
GH200-144     NVIDIA-GH200-144G-HBM3e                       144  Hopper      9.0     900  2348  565.57.01   -          listed  GH200-144GB
B200          NVIDIA-B200                                   180  Blackwell  10.0    1800  2901  570.133.20  -          seen
B300          NVIDIA-B300-SXM6-AC                           270  Blackwell  10.3    1800  3182  580.82.07   -          unseen
GB200         NVIDIA-GB200                                  186  Blackwell  10.0    1800  2941  570.123.10  -          unseen
GB300         NVIDIA-GB300                                  279  Blackwell  10.3    1800  31C2  580.82.07   -          unseen
RTX6000       NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition   96  Blackwell  12.0       0  2BB5  575.57.08   -          seen    RTX-PRO-6000
RTX4500       NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition   32  Blackwell  12.0       0  2C3A  595.71.05   -          g7      RTX-PRO-4500
RTX5000-48    NVIDIA-RTX-PRO-5000-Blackwell                  48  Blackwell  12.0       0  -     570.153.02  -          listed  RTX-PRO-5000 RTX-PRO-5000-48GB
RTX5000-72    NVIDIA-RTX-PRO-5000-72GB-Blackwell             72  Blackwell  12.0       0  -     580.94.13   -          listed  RTX-PRO-5000-72GB
RTX6000-WS    NVIDIA-RTX-PRO-6000-Blackwell-Workstation-Edition      96  Blackwell  12.0       0  2BB1  570.123.07  RTX6000    desk    RTX-PRO-6000-Workstation
RTX6000-MaxQ  NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition 96  Blackwell  12.0       0  2BB4  570.123.07  RTX6000    desk    RTX-PRO-6000-Max-Q
RTX-5090      NVIDIA-GeForce-RTX-5090                        32  Blackwell  12.0       0  2B85  570.86.16   -          listed  RTX5090
"""
