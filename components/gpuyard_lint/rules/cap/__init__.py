"""Rules on capacity: pools of GPU nodes."""
