"""Metrics and alerts: which Prometheus, how large, and who receives alerts."""
