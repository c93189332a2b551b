"""Agents that run in the cluster: `idle`, `gate` and `requeue`, on one client and one loop.

They run in a plain Python image: they use the standard library only, and nothing of gpuyard, which renders
their settings and embeds their source in ConfigMaps.
"""
