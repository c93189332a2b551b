"""What only a cluster on EKS has inside: its autoscaler, and the device plugin of EFA."""
