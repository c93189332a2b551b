"""In-cluster objects for EKS only: its autoscaler, and the device plugin of EFA."""
