"""Karpenter on EKS: its AWS resources (`parts`), `rights`, `charts`, and the `nodes` it creates."""
