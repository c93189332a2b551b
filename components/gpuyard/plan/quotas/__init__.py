"""Quotas of teams and cohorts, proved against capacity."""
