"""The GPU rows as a table: made for reading and for comparing with their sources.

Columns: gib is nominal memory, nvlink GB/s in the node's NVLink domain, pci the device id, driver the first
version that lists the device (a dash: older than the list, which begins at 515, or than any driver that still
gets fixes), mig the GPU it is cut like, by when the facts were seen, then further spellings.
`gpuyard.catalogue.gpus` reads it.
"""

from collections.abc import Mapping

from gpuyard.catalogue.sources import (
    EC2_NEEDS_595,
    NVIDIA_DEVICES,
    NVIDIA_DEVICES_UNSEEN,
    OPEN_DRIVER_LIST,
    Source,
)

SOURCES: Mapping[str, Source] = {
    "seen": NVIDIA_DEVICES,
    "unseen": NVIDIA_DEVICES_UNSEEN,
    "listed": OPEN_DRIVER_LIST,
    "g7": EC2_NEEDS_595,
}

GPU_ROWS = """
# name        product                                       gib  arch       cc    nvlink  pci   driver      mig        by      also
T4            Tesla-T4                                       16  Turing      7.5       0  1EB8  -           -          seen
T4G           NVIDIA-T4G                                     16  Turing      7.5       0  1EB4  -           -          seen
P100          Tesla-P100-PCIE-16GB                           16  Pascal      6.0       0  15F8  -           -          unseen  P100-PCIe
V100-16       Tesla-V100-SXM2-16GB                           16  Volta       7.0     300  1DB1  -           -          unseen  V100-16GB
V100-32       Tesla-V100-SXM2-32GB                           32  Volta       7.0     300  1DB5  -           -          unseen  V100-32GB
V100-PCIe-16  Tesla-V100-PCIE-16GB                           16  Volta       7.0       0  1DB4  -           -          unseen  V100-PCIE-16GB
A2            NVIDIA-A2                                      16  Ampere      8.6       0  -     -           -          listed
A10           NVIDIA-A10                                     24  Ampere      8.6       0  2236  -           -          listed
A10G          NVIDIA-A10G                                    24  Ampere      8.6       0  2237  -           -          seen
A30           NVIDIA-A30                                     24  Ampere      8.0     200  20B7  -           -          unseen
A40           NVIDIA-A40                                     48  Ampere      8.6       0  2235  -           -          listed
A100-40       NVIDIA-A100-SXM4-40GB                          40  Ampere      8.0     600  20B0  -           -          seen    A100-40GB
A100-80       NVIDIA-A100-SXM4-80GB                          80  Ampere      8.0     600  20B2  -           -          seen    A100-80GB
A100-PCIe-40  NVIDIA-A100-PCIE-40GB                          40  Ampere      8.0       0  20F1  -           A100-40    listed
A100-PCIe-80  NVIDIA-A100-80GB-PCIe                          80  Ampere      8.0       0  20B5  -           A100-80    listed
RTX-A5000     NVIDIA-RTX-A5000                               24  Ampere      8.6       0  2231  -           -          listed  RTXA5000 A5000
RTX-A6000     NVIDIA-RTX-A6000                               48  Ampere      8.6       0  2230  -           -          listed  RTXA6000 A6000
L4            NVIDIA-L4                                      24  Ada         8.9       0  27B8  525.47.22   -          seen
L40           NVIDIA-L40                                     48  Ada         8.9       0  26B5  525.47.06   -          listed
L40S          NVIDIA-L40S                                    48  Ada         8.9       0  26B9  535.43.09   -          seen
RTX-6000-Ada  NVIDIA-RTX-6000-Ada-Generation                 48  Ada         8.9       0  26B1  525.47.06   -          listed  RTX6000-Ada RTX-6000Ada
H100          NVIDIA-H100-80GB-HBM3                          80  Hopper      9.0     900  2330  525.47.07   -          seen    H100-SXM H100-SXM5
H100-PCIe     NVIDIA-H100-PCIe                               80  Hopper      9.0       0  2331  520.56.06   H100       listed
H100-94       NVIDIA-H100-NVL                                94  Hopper      9.0     600  2321  535.43.09   -          unseen  H100-94GB H100-NVL H100NVL
H20           NVIDIA-H20                                     96  Hopper      9.0     900  2329  535.43.25   H100-96    listed
H20-141       NVIDIA-H20-3e                                 141  Hopper      9.0     900  232C  535.216.03  H200       listed  H20-141GB H20-3e
H200          NVIDIA-H200                                   141  Hopper      9.0     900  2335  550.40.65   -          seen
H200-NVL      NVIDIA-H200-NVL                               141  Hopper      9.0     900  233B  565.57.01   H200       listed  H200NVL
GH200         NVIDIA-GH200-480GB                             96  Hopper      9.0     900  2342  535.43.19   H100-96    listed  NVIDIA-GH200-120GB
GH200-144     NVIDIA-GH200-144G-HBM3e                       144  Hopper      9.0     900  2348  565.57.01   -          listed  GH200-144GB
B200          NVIDIA-B200                                   180  Blackwell  10.0    1800  2901  570.133.20  -          seen
B300          NVIDIA-B300-SXM6-AC                           270  Blackwell  10.3    1800  3182  580.82.07   -          unseen
GB200         NVIDIA-GB200                                  186  Blackwell  10.0    1800  2941  570.123.10  -          unseen
GB300         NVIDIA-GB300                                  279  Blackwell  10.3    1800  31C2  580.82.07   -          unseen
RTX6000       NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition   96  Blackwell  12.0       0  2BB5  575.57.08   -          seen    RTX-PRO-6000
RTX4500       NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition   32  Blackwell  12.0       0  2C3A  595.71.05   -          g7      RTX-PRO-4500
"""
