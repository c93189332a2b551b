"""Rules on metrics, alerts and scalers."""
