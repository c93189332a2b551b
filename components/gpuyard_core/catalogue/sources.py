"""Sources of facts: origin, date, date of the check, and a second source."""

from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True, slots=True)
class Source:
    """One origin of facts.

    `verified` is False for figures that were read second-hand, inferred or never seen on hardware;
    outputs mark such figures.
    """

    title: str
    checked_on: date
    """The date on which the source was read."""
    verified: bool = True
    as_of: date = field(kw_only=True)
    """The date of the facts: of the release or the list; without one, the date on which it was read."""
    second: str = ""
    """An independent source with the same facts; empty if none is known."""

    @property
    def formatted_date(self) -> str:
        """The date of the facts: `on 2026-07-20`; for a source without a date, when it was read."""
        dated = self.as_of != self.checked_on
        return f"on {self.as_of}" if dated else f"of unknown date, read on {self.checked_on}"

    @property
    def unverified_suffix(self) -> str:
        """The suffix of unverified figures."""
        return "" if self.verified else ", not verified"


EC2_OFFERS = Source(
    "EC2 DescribeInstanceTypes as shipped by moto 5.2.5, prices from karpenter-provider-aws"
    " zz_generated.pricing_aws.go (us-east-1, generated 2026-07-20)",
    date(2026, 11, 21),
    as_of=date(2026, 7, 20),
    second="Karpenter's instance-types.md and bandwidths (2026-08-18); prices of GPU machines: tsaol/aws-gpu",
)
EC2_NOT_LISTED = Source(
    "public announcements; absent from DescribeInstanceTypes data",
    date(2026, 11, 21),
    verified=False,
    as_of=date(2026, 11, 21),
)
EC2_UNDESCRIBED = Source(
    "AWS documentation, Configure UltraServer instances (NVIDIA IMEX), and aws/eks-charts"
    " aws-efa-k8s-device-plugin name the types; no listing with their memory, network or price was found",
    date(2026, 11, 28),
    verified=False,
    as_of=date(2026, 11, 28),
)
EC2_SPOT = Source(
    "skypilot-catalog v9 aws/vms.csv, undated: lowest and highest zone of us-east-1 or us-west-2,"
    " without zones whose spot price is the on-demand price; g6, g6e, g6f, gr6 and g7e at 3e9a175, of us-east-1",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
GCE_OFFERS = Source(
    "karpenter-provider-gcp initial-prices.json (us-central1, refreshed 2026-08-03)",
    date(2026, 11, 21),
    as_of=date(2026, 8, 3),
    second="Cyclenerd's pricing.yml (2026-07-30)",
)
GCE_LISTS = Source(
    "skypilot-catalog v9 gcp/vms.csv, undated (us-central1), and cluster-toolkit v1.95.0",
    date(2026, 11, 21),
    verified=False,
    as_of=date(2026, 11, 21),
)
GCE_CONSUMPTION = Source(
    "ai-hypercomputer/docs/consumption-models: spot and flex-start for any GPU machine except A4X, calendar mode (future"
    " reservations of up to 90 days) for A4 and A3 Ultra; GKE's autoscaler (gce price model) has no flex-start for"
    " a3-edgegpu-8g-nolssd, and takes precedence for that type",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
GCE_N1 = Source(
    "sizes from Cyclenerd's machinetypes.csv at dac3128, allowed GPUs by CPUs from gpuhunt providers/gcp.py at"
    " 3584151; prices: the machine type as in karpenter-provider-gcp (us-central1) and each GPU as in skypilot-catalog"
    " v9 gcp/vms.csv at 2c3d7ea7, undated",
    date(2026, 11, 28),
    verified=False,
    as_of=date(2026, 8, 3),
)
GCE_GPUDIRECT = Source(
    "cluster-toolkit v1.95.0 GKE examples (networks of A3, A4 and A4X node pools)",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
NVIDIA_DEVICES = Source(
    "NVIDIA supported-device list 595 in amazon-eks-ami, NVML names seen on EC2 hosts"
    " (ec2instances.info, 2025-12 to 2026-07)",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
NVIDIA_DEVICES_UNSEEN = Source(
    "NVIDIA supported-device list 595; compute capability or memory from public material",
    date(2026, 11, 21),
    verified=False,
    as_of=date(2026, 11, 21),
)
OPEN_DRIVER_LIST = Source(
    "README of NVIDIA/open-gpu-kernel-modules, tags 515.43.04 to 595.45.04: names, device ids and the first"
    " version that lists them; memory, links and compute capability from public material",
    date(2026, 11, 21),
    verified=False,
    as_of=date(2026, 11, 21),
)
EC2_NEEDS_595 = Source(
    "awslabs/amazon-eks-ami doc/usage/g7-ami.md: 595 or later; NVIDIA's open driver lists the device from 580.142"
    " too, the list in the AMI with driver 580 does not",
    date(2026, 11, 21),
    verified=False,
    as_of=date(2026, 11, 21),
)
VOLTA_ENDS = Source(
    "NVIDIA's UNIX deprecation schedule: 580 is the last branch for Maxwell, Pascal and Volta;"
    " awslabs/amazon-eks-ami g7-ami.md: 595 is not for P3",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
MIG_GUIDE = Source(
    "MIG User Guide v580 and `nvidia-smi mig -lgipp` listings; mig-parted builder_test.go v0.15.0",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)
MIG_RTX4500 = Source(
    "NVIDIA AI Enterprise release 8, vGPU reference for Blackwell, table 52: 1g.16gb (2) and 2g.32gb (1); variants from"
    " the MIG User Guide (610); placements inferred from the counts. The operator's static layouts have none",
    date(2026, 11, 22),
    verified=False,
    as_of=date(2026, 11, 22),
)
MIG_RTX5000 = Source(
    "MIG User Guide 610, supported GPUs and RTX PRO 5000 Blackwell MIG profiles (48 GB): names and counts; placements"
    " inferred from the counts",
    date(2026, 11, 28),
    verified=False,
    as_of=date(2026, 10, 13),
)
WORKSTATION_GPUS = Source(
    "README of NVIDIA/open-gpu-kernel-modules, tags 570.123.07 and later; MIG User Guide 610, supported GPUs: four"
    " instances, as the Server Edition, from driver 575.51.03 on",
    date(2026, 11, 28),
    verified=False,
    as_of=date(2026, 10, 13),
)
MIG_INFERRED = Source(
    "profile names and counts from mig-parted v0.15.0; placements inferred from the same family",
    date(2026, 11, 21),
    verified=False,
    as_of=date(2026, 11, 21),
)
