"""Facts about managed clusters: names of cloud resources, networks, and components of EKS."""
