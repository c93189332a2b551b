"""The machine rows as tables, one per cloud, for review against their source.

Columns: gib is memory, gbps the network, efa the EFA interfaces, nvme local disk in GB, numa the NUMA nodes seen on
a real host, usd and spot US dollars an hour; spot is a range where zones differ. sold has the capacity types:
o on-demand, s Spot, r reserved, b capacity block or calendar mode, f Flex-start. layers is the number of network
topology labels that the cloud puts on a node. A dash is unknown.
No public listing of the NUMA nodes of GCE machines with GPUs, p5en.48xlarge and p6-b300.48xlarge was found on
2026-11-28.
`gpuyard_core.catalogue.machines` reads them.
"""

EC2_GPU = """
# type              gpu      gpus  vcpu   gib  gbps  efa   nvme  numa       usd         spot  sold  arch   layers  source
p6-b300.48xlarge    B300        8   192  4096  6400   16  30400     -   142.416  15.98-15.98  osrb  amd64      4  offers
p6-b200.48xlarge    B200        8   192  2048  3200    8  30400     2  113.9328  23.84-24.40  osrb  amd64      4  offers
p5en.48xlarge       H200        8   192  2048  3200   16  30400     -    63.296  14.82-20.78  osrb  amd64      3  offers
p5e.48xlarge        H200        8   192  2048  3200   32  30400     4         -            -  osrb  amd64      3  offers
p5.4xlarge          H100        1    16   256   100    1   3800     -      6.88            -  osrb  amd64      0  offers
p5.48xlarge         H100        8   192  2048  3200   32  30400     2     55.04  16.95-18.73  osrb  amd64      3  offers
p4de.24xlarge       A100-80     8    96  1152   400    4   8000     2   27.4471  14.26-20.13  osrb  amd64      3  offers
p4d.24xlarge        A100-40     8    96  1152   400    4   8000     2   21.9576  10.69-15.73  osrb  amd64      3  offers
p3dn.24xlarge       V100-32     8    96   768   100    1   1800     2    31.212            -  osr   amd64      3  offers
g7e.2xlarge         RTX6000     1     8    64    50    0   1900     1    3.3631  1.556-1.631  osr   amd64      3  offers
g7e.4xlarge         RTX6000     1    16   128    50    0   1900     1    3.9982  1.886-1.888  osr   amd64      3  offers
g7e.8xlarge         RTX6000     1    32   256   100    1   1900     1    5.2682  2.404-2.617  osr   amd64      3  offers
g7e.12xlarge        RTX6000     2    48   512   400    1   3800     1    8.2861  3.837-3.878  osr   amd64      3  offers
g7e.24xlarge        RTX6000     4    96  1024   800    2   7600     1   16.5722  7.585-7.691  osr   amd64      3  offers
g7e.48xlarge        RTX6000     8   192  2048  1600    4  15200     2   33.1443  14.97-15.34  osr   amd64      3  offers
g7.2xlarge          RTX4500     1     8    32    40    0    440     1      2.52            -  osr   amd64      0  offers
g7.4xlarge          RTX4500     1    16    64    80    0    875     1    3.0421            -  osr   amd64      0  offers
g7.8xlarge          RTX4500     1    32   128   100    1    930     1    4.0862            -  osr   amd64      0  offers
g7.12xlarge         RTX4500     2    48   192   175    1   1900     1    7.1283            -  osr   amd64      0  offers
g7.24xlarge         RTX4500     4    96   384   350    1   3800     1   14.2566            -  osr   amd64      0  offers
g7.48xlarge         RTX4500     8   192   768   700    2   7600     2   28.5133            -  osr   amd64      0  offers
g6e.xlarge          L40S        1     4    32   2.5    0    250     1     1.861  0.855-1.096  osr   amd64      3  offers
g6e.2xlarge         L40S        1     8    64     5    0    450     1    2.2421  0.719-1.131  osr   amd64      3  offers
g6e.4xlarge         L40S        1    16   128    20    0    600     1    3.0042  1.026-1.198  osr   amd64      3  offers
g6e.8xlarge         L40S        1    32   256    25    1    900     1    4.5286  1.243-1.407  osr   amd64      3  offers
g6e.12xlarge        L40S        4    48   384   100    1   3800     1   10.4926  3.706-5.766  osr   amd64      3  offers
g6e.16xlarge        L40S        1    64   512    35    1   1900     1    7.5772  1.554-1.969  osr   amd64      3  offers
g6e.24xlarge        L40S        4    96   768   200    2   3800     1   15.0656  4.949-5.747  osr   amd64      3  offers
g6e.48xlarge        L40S        8   192  1536   400    4   7600     2   30.1312  8.504-20.11  osr   amd64      3  offers
g6.xlarge           L4          1     4    16   2.5    0    250     1    0.8048  0.351-0.407  osr   amd64      0  offers
g6.2xlarge          L4          1     8    32     5    0    450     1    0.9776            -  osr   amd64      0  offers
g6.4xlarge          L4          1    16    64    10    0    600     1    1.3232            -  osr   amd64      0  offers
g6.8xlarge          L4          1    32   128    25    1    900     1    2.0144            -  osr   amd64      0  offers
g6.12xlarge         L4          4    48   192    40    1   3760     1    4.6016            -  osr   amd64      0  offers
g6.16xlarge         L4          1    64   256    25    1   1880     1    3.3968            -  osr   amd64      0  offers
g6.24xlarge         L4          4    96   384    50    1   3760     1    6.6752            -  osr   amd64      0  offers
g6.48xlarge         L4          8   192   768   100    1   7520     2   13.3504            -  osr   amd64      0  offers
gr6.4xlarge         L4          1    16   128    10    0    600     1    1.5392   0.65-0.679  osr   amd64      0  offers
gr6.8xlarge         L4          1    32   256    25    1    900     1    2.4464            -  osr   amd64      0  offers
g6f.large           L4        1/8     2     8   1.5    0    100     1     0.202            -  osr   amd64      0  offers
g6f.xlarge          L4        1/8     4    16   2.5    0    100     1    0.2375            -  osr   amd64      0  offers
g6f.2xlarge         L4        1/4     8    32     5    0    200     1     0.475  0.158-0.196  osr   amd64      0  offers
g6f.4xlarge         L4        1/2    16    64    10    0    450     1      0.95  0.394-0.427  osr   amd64      0  offers
gr6f.4xlarge        L4        1/2    16   128    10    0    450     1     1.066            -  osr   amd64      0  offers
g5.xlarge           A10G        1     4    16   2.5    0    250     1     1.006            -  osr   amd64      0  offers
g5.2xlarge          A10G        1     8    32     5    0    450     1     1.212            -  osr   amd64      0  offers
g5.4xlarge          A10G        1    16    64    10    0    600     1     1.624            -  osr   amd64      0  offers
g5.8xlarge          A10G        1    32   128    25    1    900     1     2.448            -  osr   amd64      0  offers
g5.12xlarge         A10G        4    48   192    40    1   3800     1     5.672            -  osr   amd64      0  offers
g5.16xlarge         A10G        1    64   256    25    1   1900     1     4.096            -  osr   amd64      0  offers
g5.24xlarge         A10G        4    96   384    50    1   3800     1     8.144            -  osr   amd64      0  offers
g5.48xlarge         A10G        8   192   768   100    1   7600     2    16.288            -  osr   amd64      0  offers
g5g.xlarge          T4G         1     4     8  1.25    0      0     1      0.42            -  osr   arm64      0  offers
g5g.2xlarge         T4G         1     8    16   2.5    0      0     1     0.556            -  osr   arm64      0  offers
g5g.4xlarge         T4G         1    16    32     5    0      0     1     0.828            -  osr   arm64      0  offers
g5g.8xlarge         T4G         1    32    64    12    0      0     1     1.372            -  osr   arm64      0  offers
g5g.16xlarge        T4G         2    64   128    25    0      0     1     2.744            -  osr   arm64      0  offers
g5g.metal           T4G         2    64   128    25    0      0     1     2.744            -  osr   arm64      0  offers
g4dn.xlarge         T4          1     4    16     5    0    125     1     0.526            -  osr   amd64      0  offers
g4dn.2xlarge        T4          1     8    32    10    0    225     1     0.752            -  osr   amd64      0  offers
g4dn.4xlarge        T4          1    16    64    20    0    225     1     1.204            -  osr   amd64      0  offers
g4dn.8xlarge        T4          1    32   128    50    1    900     1     2.176            -  osr   amd64      0  offers
g4dn.12xlarge       T4          4    48   192    50    1    900     1     3.912            -  osr   amd64      0  offers
g4dn.16xlarge       T4          1    64   256    50    1    900     2     4.352            -  osr   amd64      0  offers
g4dn.metal          T4          8    96   384   100    1   1800     2     7.824            -  osr   amd64      0  offers
p6e-gb200.36xlarge  GB200       4   144   960  1600    8  22500     -         -            -  b     arm64      3  unlisted
"""

GCE_GPU = """
# type               gpu      gpus  vcpu   gib  gbps   nvme            accelerator     usd    spot  sold  arch   layers  source
a2-highgpu-1g        A100-40     1    12    85    24      0      nvidia-tesla-a100   3.673   1.928  osrf  amd64      0  offers
a2-highgpu-2g        A100-40     2    24   170    32      0      nvidia-tesla-a100   7.347   3.856  osrf  amd64      0  offers
a2-highgpu-4g        A100-40     4    48   340    50      0      nvidia-tesla-a100  14.694   7.712  osrf  amd64      0  offers
a2-highgpu-8g        A100-40     8    96   680   100      0      nvidia-tesla-a100  29.387  15.424  osrf  amd64      0  offers
a2-megagpu-16g       A100-40    16    96  1360   100      0      nvidia-tesla-a100  55.740  29.256  osrf  amd64      0  offers
a2-ultragpu-1g       A100-80     1    12   170    24    375       nvidia-a100-80gb   5.069   2.760  osrf  amd64      0  offers
a2-ultragpu-2g       A100-80     2    24   340    32    750       nvidia-a100-80gb  10.138   5.519  osrf  amd64      0  offers
a2-ultragpu-4g       A100-80     4    48   680    50   1500       nvidia-a100-80gb  20.275  11.038  osrf  amd64      0  offers
a2-ultragpu-8g       A100-80     8    96  1360   100   3000       nvidia-a100-80gb  40.550  22.076  osrf  amd64      0  offers
a3-highgpu-1g        H100        1    26   234    25    750       nvidia-h100-80gb  11.061   6.326  srf   amd64      0  offers
a3-highgpu-2g        H100        2    52   468    50   1500       nvidia-h100-80gb  22.123  12.652  srf   amd64      0  offers
a3-highgpu-4g        H100        4   104   936   100   3000       nvidia-h100-80gb  44.245  25.305  srf   amd64      0  offers
a3-highgpu-8g        H100        8   208  1872  1000   6000       nvidia-h100-80gb  88.490  50.610  osrf  amd64      3  offers
a3-edgegpu-8g        H100        8   208  1872   600   6000       nvidia-h100-80gb       -       -  osrf  amd64      0  lists
a3-edgegpu-8g-nolssd  H100       8   208  1872   600      0       nvidia-h100-80gb       -       -  osr   amd64      0  lists
a3-megagpu-8g        H100        8   208  1872  1800   6000  nvidia-h100-mega-80gb   92.21   50.20  osrf  amd64      3  lists
a3-ultragpu-8g       H200        8   224  2952  3600  12000      nvidia-h200-141gb   86.76   47.66  srbf  amd64      3  lists
a3-ultragpu-8g-nolssd  H200      8   224  2952  3600      0       nvidia-h200-141gb       -       -  srbf  amd64      3  lists
a4-highgpu-8g        B200        8   224  3968  3600  12000            nvidia-b200       -   37.75  srbf  amd64      3  lists
a4x-highgpu-4g       GB200       4   140   884  2000  12000           nvidia-gb200       -       -  r     arm64      3  lists
a4x-maxgpu-4g-metal  GB300       4   144   960  3600  12000           nvidia-gb300       -       -  r     arm64      3  lists
g2-standard-4        L4          1     4    16    10      0              nvidia-l4   0.707   0.397  osrf  amd64      0  offers
g2-standard-8        L4          1     8    32    16      0              nvidia-l4   0.854   0.480  osrf  amd64      0  offers
g2-standard-12       L4          1    12    48    16      0              nvidia-l4   1.000   0.562  osrf  amd64      0  offers
g2-standard-16       L4          1    16    64    32      0              nvidia-l4   1.147   0.645  osrf  amd64      0  offers
g2-standard-24       L4          2    24    96    32      0              nvidia-l4   2.001   1.125  osrf  amd64      0  offers
g2-standard-32       L4          1    32   128    32      0              nvidia-l4   1.734   0.975  osrf  amd64      0  offers
g2-standard-48       L4          4    48   192    50      0              nvidia-l4   4.002   2.250  osrf  amd64      0  offers
g2-standard-96       L4          8    96   384   100      0              nvidia-l4   8.003   4.499  osrf  amd64      0  offers
g4-standard-6        RTX6000   1/8     6    22     -      0    nvidia-rtx-pro-6000   0.560   0.224  osrf  amd64      0  offers
g4-standard-12       RTX6000   1/4    12    45     -      0    nvidia-rtx-pro-6000   1.125   0.450  osrf  amd64      0  offers
g4-standard-24       RTX6000   1/2    24    90     -      0    nvidia-rtx-pro-6000   2.250   0.900  osrf  amd64      0  offers
g4-standard-48       RTX6000     1    48   180    50      0    nvidia-rtx-pro-6000   4.500   1.800  osrf  amd64      0  offers
g4-standard-96       RTX6000     2    96   360   100      0    nvidia-rtx-pro-6000   9.000   3.600  osrf  amd64      0  offers
g4-standard-192      RTX6000     4   192   720   200      0    nvidia-rtx-pro-6000  18.000   7.199  osrf  amd64      0  offers
g4-standard-384      RTX6000     8   384  1440   400      0    nvidia-rtx-pro-6000  35.999  14.399  osrf  amd64      0  offers
"""

GCE_N1 = """
# type                 gpu      accelerator        gpus  vcpu  gib
n1-standard-4+1xt4     T4       nvidia-tesla-t4       1     4   15
n1-standard-8+1xt4     T4       nvidia-tesla-t4       1     8   30
n1-standard-16+1xt4    T4       nvidia-tesla-t4       1    16   60
n1-standard-32+1xt4    T4       nvidia-tesla-t4       1    32  120
n1-standard-16+2xt4    T4       nvidia-tesla-t4       2    16   60
n1-standard-32+2xt4    T4       nvidia-tesla-t4       2    32  120
n1-standard-16+4xt4    T4       nvidia-tesla-t4       4    16   60
n1-standard-32+4xt4    T4       nvidia-tesla-t4       4    32  120
n1-standard-64+4xt4    T4       nvidia-tesla-t4       4    64  240
n1-standard-96+4xt4    T4       nvidia-tesla-t4       4    96  360
n1-standard-4+1xp4     P4       nvidia-tesla-p4       1     4   15
n1-standard-8+1xp4     P4       nvidia-tesla-p4       1     8   30
n1-standard-16+1xp4    P4       nvidia-tesla-p4       1    16   60
n1-standard-8+2xp4     P4       nvidia-tesla-p4       2     8   30
n1-standard-16+2xp4    P4       nvidia-tesla-p4       2    16   60
n1-standard-32+2xp4    P4       nvidia-tesla-p4       2    32  120
n1-standard-16+4xp4    P4       nvidia-tesla-p4       4    16   60
n1-standard-32+4xp4    P4       nvidia-tesla-p4       4    32  120
n1-standard-64+4xp4    P4       nvidia-tesla-p4       4    64  240
n1-standard-96+4xp4    P4       nvidia-tesla-p4       4    96  360
n1-standard-4+1xp100   P100     nvidia-tesla-p100     1     4   15
n1-standard-8+1xp100   P100     nvidia-tesla-p100     1     8   30
n1-standard-16+1xp100  P100     nvidia-tesla-p100     1    16   60
n1-standard-8+2xp100   P100     nvidia-tesla-p100     2     8   30
n1-standard-16+2xp100  P100     nvidia-tesla-p100     2    16   60
n1-standard-32+2xp100  P100     nvidia-tesla-p100     2    32  120
n1-standard-16+4xp100  P100     nvidia-tesla-p100     4    16   60
n1-standard-32+4xp100  P100     nvidia-tesla-p100     4    32  120
n1-standard-64+4xp100  P100     nvidia-tesla-p100     4    64  240
n1-standard-96+4xp100  P100     nvidia-tesla-p100     4    96  360
n1-standard-4+1xv100   V100-16  nvidia-tesla-v100     1     4   15
n1-standard-8+1xv100   V100-16  nvidia-tesla-v100     1     8   30
n1-standard-8+2xv100   V100-16  nvidia-tesla-v100     2     8   30
n1-standard-16+2xv100  V100-16  nvidia-tesla-v100     2    16   60
n1-standard-16+4xv100  V100-16  nvidia-tesla-v100     4    16   60
n1-standard-32+4xv100  V100-16  nvidia-tesla-v100     4    32  120
n1-standard-32+8xv100  V100-16  nvidia-tesla-v100     8    32  120
n1-standard-64+8xv100  V100-16  nvidia-tesla-v100     8    64  240
n1-standard-96+8xv100  V100-16  nvidia-tesla-v100     8    96  360
"""
"""GPUs that can be attached to N1 machines: the machine type, then how many."""

GCE_N1_PRICES = """
# one      usd     spot
T4         0.35  0.1915
P4          0.6  0.1803
P100       1.46  0.7229
V100-16    2.48  1.2338
"""
"""US dollars per GPU hour in us-central1, without the price of the machine type."""
