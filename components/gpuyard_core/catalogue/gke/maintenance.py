"""When GKE may upgrade: the required maintenance time, and the limits of maintenance exclusions."""

LEAST_HOURS = 48
"""Minimum maintenance hours in any 32 days (maintenance.windows)."""

MOST_FREEZES = 3  # maintenance.freezes
LONG_FREEZE_DAYS = 30
LONGEST_FREEZE_DAYS = 90

MOST_AT_ONCE = 20
"""Nodes of a pool that are replaced at the same time, including surge nodes."""
DRAIN_MINUTES = 60
"""Default grace period of pods (maintenance.upgrade)."""
