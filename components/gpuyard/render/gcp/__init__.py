"""A platform on GKE as the resources that are bought: a plan goes in, plain values come out."""
