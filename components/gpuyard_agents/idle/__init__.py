"""Idle reclaim: warns owners of idle GPUs, and suspends workloads that stay idle.

It runs every few minutes. docs/concepts/idle.md describes its events.
"""
