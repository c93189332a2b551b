"""Idle reclaim: warns owners of idle GPUs, and suspends workloads that stay idle.

A program that runs every few minutes in the cluster, in a plain Python image: it uses the standard library
only, and nothing of gpuyard. gpuyard renders its settings. docs/concepts/idle.md describes its events.
"""
