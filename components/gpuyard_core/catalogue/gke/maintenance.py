"""When GKE may upgrade: the required maintenance time, and the limits of maintenance exclusions."""

from gpuyard_core.catalogue.sources import find_source

WINDOWS_SOURCE = find_source("maintenance.windows")
LEAST_HOURS = 48
"""Minimum maintenance hours in any 32 days."""

FREEZES_SOURCE = find_source("maintenance.freezes")
MOST_FREEZES = 3
LONG_FREEZE_DAYS = 30
LONGEST_FREEZE_DAYS = 90

UPGRADE_SOURCE = find_source("maintenance.upgrade")
MOST_AT_ONCE = 20
"""Nodes of a pool that are replaced at the same time, including surge nodes."""
DRAIN_MINUTES = 60
"""Default grace period of pods."""
