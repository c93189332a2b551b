"""Volcano: its chart with values from the plan, and a queue for each team and cohort."""
