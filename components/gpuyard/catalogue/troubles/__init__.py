"""What a sign of trouble means and what is done then: XIDs, the driver's own advice, and what programs say."""

from gpuyard.catalogue.troubles.table import TROUBLES, Area, Remedy, Trouble, find_trouble, seen_by

__all__ = ["TROUBLES", "Area", "Remedy", "Trouble", "find_trouble", "seen_by"]
