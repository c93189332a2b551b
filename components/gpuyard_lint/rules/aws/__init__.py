"""Rules on AWS and EKS."""
