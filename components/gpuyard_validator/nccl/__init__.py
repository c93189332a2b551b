"""NCCL under load: thresholds of collectives, their transport, and how ranks find each other."""
