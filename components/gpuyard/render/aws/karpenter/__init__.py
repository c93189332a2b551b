"""Karpenter on EKS: its `parts` in the cloud, its `rights` there, its `charts`, and the `nodes` it makes."""
