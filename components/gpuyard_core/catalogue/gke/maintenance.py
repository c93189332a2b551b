"""When GKE may upgrade: the required maintenance time, and the limits of maintenance exclusions."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

WINDOWS_SOURCE = Source(
    "GKE, maintenance windows and exclusions: 48 hours in a 32-day rolling window",
    date(2026, 11, 22),
    as_of=date(2026, 11, 22),
)
LEAST_HOURS = 48
"""Minimum maintenance hours in any 32 days."""

FREEZES_SOURCE = Source(
    "GKE, limitations of maintenance exclusions: three of the scope `no upgrades`, which cannot exceed 30 days; of"
    " 2026, second-hand: 90 days, and 30 recommended",
    date(2026, 11, 24),
    verified=False,
    as_of=date(2026, 11, 24),
)
MOST_FREEZES = 3
LONG_FREEZE_DAYS = 30
LONGEST_FREEZE_DAYS = 90

UPGRADE_SOURCE = Source(
    "GKE, node upgrade strategies: a surge of 20 nodes at once, PodDisruptionBudgets and grace periods of pods respected"
    " for an hour; nodeDrainConfig of NodePool in pulumi-gcp 10.2.0",
    date(2026, 11, 25),
    as_of=date(2026, 11, 25),
)
MOST_AT_ONCE = 20
"""Nodes of a pool that are replaced at the same time, including surge nodes."""
DRAIN_MINUTES = 60
"""Default grace period of pods."""
