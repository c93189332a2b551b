"""Rules on configuration of GPU software."""
