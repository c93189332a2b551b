"""AWS with EKS: the provider, and its decisions by subject."""
