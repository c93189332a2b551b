"""NCCL under load: what a collective must reach, which way it went, and how ranks find each other."""
