"""Facts about clusters that a cloud runs: names of what they rest on, their networks, and EKS's own parts."""
