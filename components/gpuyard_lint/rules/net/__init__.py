"""Rules on networks of GPU nodes."""
