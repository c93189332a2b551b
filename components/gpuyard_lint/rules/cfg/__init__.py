"""Rules on the configuration of GPU software."""
